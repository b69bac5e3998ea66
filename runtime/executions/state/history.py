"""One execution from its stream: which events count, and in which order they are folded."""

from collections.abc import Iterable

from cortex.bus import Event, Recorded, Vocabulary
from cortex.bus.events import (
    ActionObserved,
    ExecutionIgnored,
    StepCompleted,
    StepExecute,
    StepFailed,
)

from .asked import ANSWERS, ENGINE, Names, Serving, addressed, ignored_as, names_of, speaks_for
from .evolve import INPUTS, OUTPUTS, evolve, stood_at
from .state import Execution, Ignored

PREFIX = "execution/"
_INPUTS = frozenset(cls.topic_name() for cls in INPUTS)
_OUTPUTS = frozenset(cls.topic_name() for cls in OUTPUTS)
_IGNORED = ExecutionIgnored.topic_name()


def is_own(record: Recorded) -> bool:
    """Whether the engine published it, so that it is folded right after its cause."""
    return record.source == ENGINE and record.topic in _OUTPUTS and record.causation is not None


def in_order(records: Iterable[Recorded], before: int | None = None) -> list[Recorded]:
    """*records* of one stream in the order in which the engine handled them.

    The engine's reactions are committed with a whole page, so they can be recorded behind events
    that came after their cause. Here they follow their cause. With *before*, only the records
    that count when the event at that position is handled.
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
    """The execution folded from its stream, up to the event at position *before*."""
    state = Execution(execution_id=execution_id)
    ordered = in_order(records, before)
    ignored = _ignored(ordered, vocabulary)
    for record in ordered:
        event, own, source = vocabulary.read(record), is_own(record), record.source
        if ignored and state.adhoc and not own and _said(event, source) in ignored:
            continue  # the state there holds the outcome, and not who was asked
        state = evolve(state, event, record.time_ns, own=own, source=source)
        if own:
            state = stood_at(state, event, record.position)
    return state


def asked_in_adhoc(
    answer: Event, records: Iterable[Recorded], vocabulary: Vocabulary, serves: Serving
) -> Names:
    """Who was asked for *answer* in an ad-hoc execution; empty if nobody was."""
    asked = _step_asked(answer, records, vocabulary)
    return names_of(addressed(asked, serves)) if asked is not None else ()


def may_answer(state: Execution, answer: Event, asked: Names, source: str) -> bool:
    """Whether an answer of *source* counts in an ad-hoc execution that asked *asked*.

    The recorded request decides: a component that serves it only later does not count.
    """
    return speaks_for(source, asked) and ignored_as(answer, source) not in state.ignored


def observed(
    answer: Event, records: Iterable[Recorded], vocabulary: Vocabulary
) -> ActionObserved | None:
    """The action of an ad-hoc execution that *answer* ended; None if nobody asked for it."""
    asked = _step_asked(answer, records, vocabulary)
    if asked is None:
        return None
    return ActionObserved(
        execution_id=asked.execution_id,
        action=asked.action,
        parameters=asked.parameters,
        outcome="completed" if isinstance(answer, StepCompleted) else "failed",
    )


def _step_asked(
    answer: Event, records: Iterable[Recorded], vocabulary: Vocabulary
) -> StepExecute | None:
    """The request that *answer* is about; None if nobody asked, or it answers no such request."""
    if not isinstance(answer, StepCompleted | StepFailed):
        return None
    for record in records:
        if record.topic != StepExecute.topic_name():
            continue
        asked = vocabulary.read(record)
        if not isinstance(asked, StepExecute) or asked.step_id != answer.step_id:
            continue
        if asked.attempt == answer.attempt:
            return asked
    return None


def _ignored(ordered: Iterable[Recorded], vocabulary: Vocabulary) -> frozenset[Ignored]:
    """Answers that the engine recorded as ignored: it records that after reading them."""
    found: set[Ignored] = set()
    for record in ordered:
        if record.topic == _IGNORED:
            event = vocabulary.read(record)
            if isinstance(event, ExecutionIgnored):
                found.add((event.by, event.answer, event.step_id, event.attempt))
    return frozenset(found)


def _said(event: Event, source: str) -> Ignored | None:
    return ignored_as(event, source) if type(event) in ANSWERS else None
