"""One execution from its stream: which events count, in which order, and what they come to."""

from collections.abc import Iterable

from cortex.bus import Event, Recorded, Vocabulary
from cortex.bus.events import ActionObserved, StepCompleted, StepExecute, StepFailed

from .evolve import INPUTS, OUTPUTS, evolve, stood_at
from .speakers import ENGINE
from .state import Execution

PREFIX = "execution/"
_INPUTS = frozenset(cls.topic_name() for cls in INPUTS)
_OUTPUTS = frozenset(cls.topic_name() for cls in OUTPUTS)


def is_own(record: Recorded) -> bool:
    """Whether the engine said it, so that it is folded where it was said."""
    return record.source == ENGINE and record.topic in _OUTPUTS and record.causation is not None


def in_order(records: Iterable[Recorded], before: int | None = None) -> list[Recorded]:
    """*records* of one stream in the order in which the engine took them up.

    What the engine says about an event is committed with a whole page, so that it may stand behind
    events which came after its cause. It belongs right after its cause all the same. With *before*,
    only what counts when the event at that position is taken up.
    """
    placed: list[tuple[int, int, Recorded]] = []
    for record in records:
        own = is_own(record)
        place = record.causation if own and record.causation else record.position
        if (own or record.topic in _INPUTS) and (before is None or place < before):
            placed.append((place, record.position, record))
    placed.sort(key=lambda item: item[:2])
    return [record for _, _, record in placed]


def fold(
    execution_id: str,
    records: Iterable[Recorded],
    vocabulary: Vocabulary,
    before: int | None = None,
) -> Execution:
    """The execution as its stream tells it, up to the event at position *before*."""
    state = Execution(execution_id=execution_id)
    for record in in_order(records, before):
        event, own, source = vocabulary.read(record), is_own(record), record.source
        state = evolve(state, event, record.time_ns, own=own, source=source)
        if own:
            state = stood_at(state, event, record.position)
    return state


def observed(
    answer: Event, records: Iterable[Recorded], vocabulary: Vocabulary
) -> ActionObserved | None:
    """What an ad-hoc execution did, now that *answer* says how it ended; None if nobody asked."""
    if not isinstance(answer, StepCompleted | StepFailed):
        return None
    for record in records:
        if record.topic != StepExecute.topic_name():
            continue
        asked = vocabulary.read(record)
        if not isinstance(asked, StepExecute) or asked.step_id != answer.step_id:
            continue
        if asked.attempt == answer.attempt:
            return ActionObserved(
                execution_id=asked.execution_id,
                action=asked.action,
                parameters=asked.parameters,
                outcome="completed" if isinstance(answer, StepCompleted) else "failed",
            )
    return None
