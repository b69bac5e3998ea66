"""Components: what they announce, and whether they work."""

from typing import Any

from ..event import Event


class ComponentAnnounced(Event, frozen=True, kw_only=True, tag="component.announced"):
    """A component announces what it serves; the registry is a projection of these events."""

    belongs = ("registry", "")
    routing = "kind"

    component: str
    kind: str  # "action", "gate" or "model"
    name: str  # what `step.execute`, `gate.evaluate` or `model.invoke` route on
    parameters: dict[str, Any] = {}  # JSON Schema
    result: dict[str, Any] = {}  # JSON Schema
    traits: dict[str, Any] = {}  # "asks_model", "read_only", a model's description
    answer: dict[str, Any] = {}  # JSON Schema of the answer that an action needs from a model


class ComponentWithdrawn(Event, frozen=True, kw_only=True, tag="component.withdrawn"):
    """A component no longer serves this; processes that depend on it are unlinked."""

    belongs = ("registry", "")
    routing = "kind"

    component: str
    kind: str
    name: str


class ComponentStarted(Event, frozen=True, kw_only=True, tag="component.started"):
    """A component is ready for events."""

    belongs = ("component", "component")

    component: str
    runtime: str


class ComponentRestarted(Event, frozen=True, kw_only=True, tag="component.restarted"):
    """A component was started again after it failed."""

    belongs = ("component", "component")

    component: str
    runtime: str
    reason: str
    times: int  # restarts since it last worked


class ComponentFailed(Event, frozen=True, kw_only=True, tag="component.failed"):
    """A component could not handle an event; the event is parked and the component continues."""

    belongs = ("component", "component")
    personal = ("reason",)

    component: str
    reason: str
    position: int = 0  # of the parked event; 0 if no event is the cause
    about: str = ""  # topic of that event
    attempts: int = 0
    trace: str = ""  # digest of the blob that holds the traceback of the last try


class ComponentRetry(Event, frozen=True, kw_only=True, tag="component.retry"):
    """Ask a component to retry an event that it parked.

    The result is recorded as if it had come the first time; if the event fails again,
    `component.failed` parks it again. Components with an ordered feed receive this event in any
    host, without a grant for it.
    """

    belongs = ("component", "component")
    routing = "component"
    personal = ()

    component: str
    position: int  # of the parked event


class ComponentDrop(Event, frozen=True, kw_only=True, tag="component.drop"):
    """A person removes a parked event from the list; the event stays in the log."""

    belongs = ("component", "component")
    routing = "component"
    personal = ("note",)

    component: str
    position: int  # of the parked event
    note: str = ""
