"""Components: what they announce, and how they fare."""

from typing import Any

from ..event import Event


class ComponentAnnounced(Event, frozen=True, kw_only=True, tag="component.announced"):
    """A component says what it serves; the registry is a projection of these."""

    belongs = ("registry", "")
    routing = "kind"

    component: str
    kind: str  # "action", "gate" or "model"
    name: str  # what `step.execute`, `gate.evaluate` or `model.invoke` route on
    parameters: dict[str, Any] = {}  # JSON Schema
    result: dict[str, Any] = {}  # JSON Schema
    traits: dict[str, Any] = {}  # "asks_model", "read_only", a model's description
    answer: dict[str, Any] = {}  # JSON Schema of what a model has to answer for an action


class ComponentWithdrawn(Event, frozen=True, kw_only=True, tag="component.withdrawn"):
    """A component no longer serves this; what depends on it is unlinked."""

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
    """A component could not handle an event; the event is parked and the component goes on."""

    belongs = ("component", "component")

    component: str
    reason: str
    position: int = 0  # of the parked event; 0 where no event is to blame
    about: str = ""  # topic of that event
    attempts: int = 0
    trace: str = ""  # digest of the blob that holds the traceback of the last try


class ComponentRetry(Event, frozen=True, kw_only=True, tag="component.retry"):
    """Ask a component to handle an event once more that it gave up.

    What comes of it is recorded as if it had come at first; where it fails again,
    `component.failed` parks it again. Components that are fed in order hear it, whoever hosts them,
    without a grant for it.
    """

    belongs = ("component", "component")
    routing = "component"

    component: str
    position: int  # of the parked event


class ComponentDrop(Event, frozen=True, kw_only=True, tag="component.drop"):
    """A person says that a parked event is not to be handled any more; it stays in the log."""

    belongs = ("component", "component")
    routing = "component"

    component: str
    position: int  # of the parked event
    note: str = ""
