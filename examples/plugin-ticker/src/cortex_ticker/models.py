"""A model provider: the model `ticker` repeats the last line of its prompt."""

from collections.abc import Iterator

from cortex.bus import Event
from cortex.bus.events import ModelFailed, ModelInvoke, ModelResponded
from cortex.runtime.kernel import Component, Delivery, Serves, on
from cortex.runtime.log import BlobError, Blobs

MODEL = {"name": "ticker", "provider": "ticker", "window": 9_000, "local": True}


class Ticker(Component):
    """Answers for the model `ticker`."""

    workers = 1
    serves = (Serves("model", "ticker", traits=MODEL),)

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    @on(ModelInvoke, where={"provider": "ticker"})
    def invoke(self, event: ModelInvoke, delivery: Delivery) -> Iterator[Event]:
        """Say it again."""
        echoed = ("execution_id", "step_id", "attempt", "turn", "call", "model")
        call = {name: getattr(event, name) for name in echoed}
        try:
            lines = self._blobs.get(event.prompt).decode().splitlines()
        except BlobError as error:
            yield ModelFailed(**call, error=str(error), retry=False)
            return
        answer = {"text": lines[-1] if lines else ""}
        yield ModelResponded(**call, prompt=event.prompt, answer=answer)
