"""The gate `approved`: a person says yes."""

from collections.abc import Iterator

import msgspec

from cortex.bus.events import GateEvaluate, GateEvaluated
from cortex.runtime.kernel import Component, Delivery, Serves, on

from .verdict import failed, parameters_of, passed, waiting


class ApprovedParameters(msgspec.Struct, frozen=True):
    """What `approved` takes."""

    question: str = "Shall this go on?"


class Approved(Component):
    """Waits for a person, then goes by the answer, which is recorded with who gave it."""

    workers = 1
    serves = (Serves("gate", "approved", ApprovedParameters, traits={"read_only": False}),)

    @on(GateEvaluate, where={"gate": "approved"})
    def evaluate(self, event: GateEvaluate, delivery: Delivery) -> Iterator[GateEvaluated]:
        """Ask, or judge the answer."""
        asked = parameters_of(event, ApprovedParameters)
        if isinstance(asked, GateEvaluated):
            yield asked
        elif event.answer == "approved":
            yield passed(event, question=asked.question, by=event.by)
        elif event.answer:
            yield failed(event, f"{event.by or 'somebody'} denied it", question=asked.question)
        else:
            yield waiting(event, asked.question)
