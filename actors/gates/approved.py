"""The gate `approved`: a person says yes."""

from collections.abc import Callable, Iterator

import msgspec

from cortex.bus import Recorded, Vocabulary
from cortex.bus.events import VOCABULARY, GateEvaluate
from cortex.runtime.access import GRANTS, grants_in
from cortex.runtime.functions import GateStep, Verdict, gate
from cortex.runtime.kernel import Component

History = Callable[[str], Iterator[Recorded]]


class ApprovedParameters(msgspec.Struct, frozen=True):
    """What `approved` takes."""

    question: str = "Shall this go on?"
    by: tuple[str, ...] = ()  # clients that may answer, or "owner"; []: all with a grant to
    not_by_requester: bool = False  # True: the requester of the execution may not answer


class Approved(Component):
    """Asks a person, and passes if the answer is yes.

    The hub authenticates the client that answers, and Cortex records its name with the answer. If
    that client may not answer, the question stays open.
    """

    rests = True

    def __init__(
        self, history: History | None = None, vocabulary: Vocabulary | None = None
    ) -> None:
        self._history = history or (lambda _: iter(()))
        self._vocabulary = vocabulary or VOCABULARY

    @gate("approved", read_only=False)
    def evaluate(self, asked: ApprovedParameters, step: GateStep) -> Verdict:
        """Ask, or judge the answer."""
        event = step.event
        who = {"by": event.by, "requested_by": event.requested_by}
        if event.answer and (problem := self._problem(asked, event)):
            return Verdict.waiting(f"{asked.question} ({problem})")
        if event.answer == "approved":
            return Verdict.passed(question=asked.question, **who)
        if event.answer:
            reason = f"{event.by or 'a person'} denied it"
            return Verdict.failed(reason, question=asked.question, **who)
        who_may = f" ({' or '.join(asked.by)} may answer)" if asked.by else ""
        return Verdict.waiting(f"{asked.question}{who_may}")

    def _problem(self, asked: ApprovedParameters, event: GateEvaluate) -> str:
        """Why the answer of this person does not count; "" if it does."""
        by = event.by or "somebody"
        if asked.by and event.by not in asked.by:
            return f"not {by}: {' or '.join(asked.by)} may answer"
        if asked.not_by_requester and (not event.by or self._asked_for(event)):
            return f"not {by}, who requested it: another person may answer"
        return ""

    def _asked_for(self, event: GateEvaluate) -> bool:
        """Whether the person who answers also requested the execution, even by a component."""
        grants = grants_in(self._history(GRANTS), self._vocabulary)
        return grants.holds(event.by, event.requested_by)
