"""Two plugins that ask the knowledge store: one that may, and one that may not; tests load them."""

from collections.abc import Callable, Iterator

import msgspec

from cortex.bus import Event, NotGrantedError
from cortex.bus.events import KnowledgeFind, StepCompleted, StepExecute
from cortex.plugins import Manifest
from cortex.runtime.kernel import Component, Delivery, Serves, on

PATIENCE_S = 120.0

FINDER = Manifest(
    name="finder",
    version="1.0.0",
    cortex=">=0.1",
    components=("plugin_finder:LookUp",),
    subscribes=("step.execute=look_up", "knowledge.find"),
    publishes=("step.completed",),
)
STRANGER = msgspec.structs.replace(
    FINDER,
    name="stranger",
    components=("plugin_finder:LookAway",),
    subscribes=("step.execute=look_away",),
)


class LookUp(Component):
    """Says what the knowledge store answers, or why it does not."""

    workers = 1
    serves = (Serves("action", "look_up"),)

    def __init__(self, ask: Callable[..., Event]) -> None:
        self._ask = ask

    @on(StepExecute, where={"action": "look_up"})
    def look(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Look it up."""
        try:
            answer = self._ask(KnowledgeFind(text=event.parameters["text"], limit=1), PATIENCE_S)
            result = {"topics": [each["topic"] for each in getattr(answer, "passages", ())]}
        except NotGrantedError as error:
            result = {"refused": [str(error)]}
        yield StepCompleted(execution_id=event.execution_id, step_id=event.step_id, result=result)


class LookAway(LookUp):
    """The same under another name."""

    serves = (Serves("action", "look_away"),)

    @on(StepExecute, where={"action": "look_away"})
    def look(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Look it up."""
        yield from super().look(event, delivery)
