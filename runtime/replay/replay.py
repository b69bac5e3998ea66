"""Replays an execution, or the whole log, of a home."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import takewhile

import msgspec
from msgspec.structs import replace

from cortex.bus import Recorded
from cortex.bus.events import ExecutionStarted, StepDelegated
from cortex.runtime.context import COMPILER
from cortex.runtime.executions import DECIDER, other_decider
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, many
from cortex.runtime.projections import STREAM, Selection
from cortex.runtime.subjects import PersonalBlobs, stored_blobs

from .deciders import Decider, RecordedBlobs, deciders_of
from .decisions import DecisionReplay, OtherDecision
from .divergence import CAUSES, Divergence, ReplayedCause, changes_between
from .projections import ReplayedProjection, replay_projections
from .prompts import Prompts
from .questions import ANSWERS, Unanswered

A_PASS = 1_000  # events that a pass over the log reads in the time of one question to its index
UNANSWERED = "unanswered"  # how a replay ends that asks what nobody answered


class DeciderRow(msgspec.Struct, frozen=True):
    """A decider, and how much of it was compared."""

    name: str
    events: int  # that it decided about
    decisions: int  # that are the same as recorded


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay found."""

    execution: str | None  # None: of the whole log
    executions: int  # the execution and those that it called, or all
    events: int  # of them
    through: int  # position of the last event
    deciders: tuple[DeciderRow, ...]
    answered: dict[str, int]  # by kind, what was answered from the log; nothing was done again
    divergence: Divergence | None
    projections: tuple[ReplayedProjection, ...] = ()
    pending: int = 0  # events that a decider has not decided about yet
    parked: int = 0  # events that a decider could not handle
    reencoded: int = 0  # equal decisions that an older version wrote in other bytes
    rebuilt: int = 0  # prompts compiled from their recorded inputs: files have changed since
    skipped: int = 0  # executions that another version of the decider began; not compared
    erased: int = 0  # events whose subject was erased; not compared
    process: str = ""  # "triage 2": the version that took the place of the recorded one
    unanswered: tuple[Unanswered, ...] = ()  # what that version asks and the record does not answer
    no_longer: tuple[str, ...] = ()  # recorded steps for which it does not ask any more
    ended: str = ""  # the status that it comes to; "unanswered" where the record has no answer
    ended_then: str = ""  # the recorded status
    notes: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Whether everything is as it was recorded."""
        return self.divergence is None and not any(each.differs for each in self.projections)


def replay_execution(history: History, execution_id: str, config: Config) -> Replayed:
    """Decide again what was decided in an execution and in those that it called.

    No model is asked, and nothing happens in the world: the answers come from the log.

    Raises:
        CortexError: The log or a blob cannot be read.
    """
    ids = _with_called(history, execution_id)
    own = _records(history, ids)
    found = _replay(history, config, own.__contains__, own)
    others = {other_decider(history.execution(each).decider) for each in ids} - {""}
    notes = (*sorted(others), *found.notes)
    return replace(found, execution=execution_id, executions=len(ids), notes=notes)


def replay_home(history: History, config: Config) -> Replayed:
    """Decide again whatever was decided, and fold every projection again.

    What another version of the decider began is not compared: it may well differ.

    Raises:
        CortexError: The log, a blob or a projection cannot be read.
    """
    others = _of_others(history)
    skipped = frozenset[int]().union(*(_of_execution(history, each) for each in others))
    found = _replay(history, config, lambda position: position not in skipped)
    if history.home.as_of is not None:
        return replace(found, skipped=len(others))  # the home's projections are of the present
    projections = tuple(replay_projections(history))
    return replace(found, projections=projections, skipped=len(others))


def _of_others(history: History) -> list[str]:
    """The executions that another version of the decider began."""
    started = history.select(Selection(topics=(ExecutionStarted.topic_name(),)))
    return [
        event.execution_id
        for event in map(history.event, started)
        if isinstance(event, ExecutionStarted) and event.decider != DECIDER
    ]


class _ReplayTally:
    """Counts what is replayed."""

    def __init__(self) -> None:
        self.events = self.through = self.executions = 0
        self.answered: dict[str, int] = {}

    def add(self, record: Recorded) -> None:
        self.events += 1
        self.through = record.position
        self.executions += record.version == 1 and record.stream.startswith(STREAM)
        if (kind := ANSWERS.get(record.topic)) is not None:
            self.answered[kind] = self.answered.get(kind, 0) + 1


def _replay(
    history: History,
    config: Config,
    compares: Callable[[int], bool],
    own: Mapping[int, Recorded] | None = None,
) -> Replayed:
    """Replay the whole log, or *own* records of it, by position."""
    blobs = RecordedBlobs(stored_blobs(history.blobs))
    kept = history.blobs
    seen = kept.over(blobs) if isinstance(kept, PersonalBlobs) else blobs
    deciders = deciders_of(history, config, seen)
    prompts = Prompts(history)
    cursors = _cursors(history, deciders)
    replay = DecisionReplay(deciders, history.vocabulary, compares, cursors, prompts)
    counted, other = _ReplayTally(), None
    try:
        for record in history.read() if own is None else _around(history, own, deciders):
            if compares(record.position):
                counted.add(record)
            other = replay.take(record)
            if other is not None:
                break
        other = other or replay.end()
    finally:
        for each in deciders:
            each.stop()
    if other is not None and blobs.problem is not None:
        raise blobs.problem  # without it, nobody can decide as before
    divergence = None if other is None else divergence_of(history, other, prompts)
    return _report(replay, counted, divergence)


def _report(
    replay: DecisionReplay, counted: "_ReplayTally", divergence: Divergence | None
) -> Replayed:
    """What a replay has shown."""
    counts = replay.counts()
    return Replayed(
        execution=None,
        executions=counted.executions,
        events=counted.events,
        through=counted.through,
        deciders=tuple(DeciderRow(name, *counts[name]) for name in counts),
        answered=counted.answered,
        divergence=divergence,
        pending=replay.pending,
        parked=replay.parked,
        reencoded=replay.reencoded,
        rebuilt=replay.rebuilt,
        erased=replay.erased,
        notes=tuple(
            f"compiler version {version} made {many(count, 'prompt')} with other bytes, this is "
            f"{COMPILER}: not compared"
            for version, count in sorted(replay.other_compilers.items())
        ),
    )


def _cursors(history: History, deciders: Sequence[Decider]) -> dict[str, int] | None:
    """How far each decider has decided, as the log says; None for an earlier state of it."""
    if history.home.as_of is not None:
        return None
    names = {each.name for each in deciders}
    standings = history.log.state().standings if history.log is not None else ()
    return {each.name: each.cursor for each in standings if each.name in names}


def _with_called(history: History, execution_id: str) -> list[str]:
    """The execution, and those that it called, and they in turn."""
    found, known = [execution_id], {execution_id}
    for each in found:
        for record in history.stream(STREAM + each):
            if record.topic == StepDelegated.topic_name():
                event = history.event(record)
                if isinstance(event, StepDelegated) and event.child not in known:
                    known.add(event.child)
                    found.append(event.child)
    return found


def _records(history: History, ids: Sequence[str]) -> dict[int, Recorded]:
    """The events of these executions, and of what triggered the first, by position."""
    first = next((record.position for record in history.stream(STREAM + ids[0])), 1)
    head = history.log.state().head if history.log is not None else 0
    found: dict[int, Recorded] = {}
    if head - first < A_PASS * len(ids):
        found = _passed(history, ids, first)
    else:
        for each in ids:
            found |= _of_execution(history, each)
    started = history.execution(ids[0]).started
    if started is not None and started.trigger:
        found |= {r.position: r for r in history.stream(f"trigger/{started.trigger}")}
    return found


def _of_execution(history: History, execution_id: str) -> dict[int, Recorded]:
    """Its events, by position."""
    own = {r.position: r for r in history.stream(STREAM + execution_id)}
    return own | {r.position: r for r in history.select(Selection(execution=execution_id))}


def _passed(history: History, ids: Sequence[str], first: int) -> dict[int, Recorded]:
    """Those of these executions, which began at position *first*, by one pass over the log."""
    streams, wanted = {STREAM + each for each in ids}, set(ids)
    return {
        record.position: record
        for record in history.read(first - 1)
        if record.stream in streams or record.correlation in wanted
    }


def _around(
    history: History, own: Mapping[int, Recorded], deciders: Sequence[Decider]
) -> Iterator[Recorded]:
    """*own* and, up to the last of them, what the states of the deciders depend on; in order."""
    topics = frozenset[str]().union(*(each.folds for each in deciders))
    last = max(own, default=0)
    others = history.select(Selection(topics=tuple(sorted(topics))))
    before = takewhile(lambda record: record.position <= last, others)
    apart = (record for record in before if record.position not in own)
    return merge((own[place] for place in sorted(own)), apart, key=lambda record: record.position)


def divergence_of(history: History, other: OtherDecision, prompts: Prompts) -> Divergence:
    """What *other* means to people: what changed, and what led to it."""
    causes = tuple(_causes(history, other.cause))
    cause = history.at(other.cause)
    return Divergence(
        decider=other.decider,
        execution=cause.correlation if cause is not None else None,
        number=other.number,
        recorded=other.recorded,
        replayed=other.replayed,
        changes=changes_between(other.recorded, other.replayed),
        causes=causes,
        failure=other.failure,
        configured_later=cause is not None and prompts.is_configured_later(cause),
    )


def _causes(history: History, position: int | None) -> Iterator[ReplayedCause]:
    for _ in range(CAUSES):
        record = history.at(position) if position else None
        if record is None:
            return
        yield ReplayedCause(record.position, record.topic, record.source)
        position = record.causation
