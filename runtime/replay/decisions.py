"""Compares what deciders decide now with what they recorded, in one pass over the log.

What an ordered component decides about an event stands in the log behind that event, with its
position as the cause, and in the order of the causes. So a decision that is made now waits until
the recorded one comes; what is left when a later cause has its decisions was never recorded.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping

import msgspec

from cortex.bus import Draft, Event, Recorded, Vocabulary
from cortex.bus.events import (
    ComponentFailed,
    ContextCompiled,
    ExecutionStarted,
    StepWake,
    TriggerWake,
)
from cortex.runtime.context import COMPILER

from .deciders import Decider
from .divergence import Decision, of_draft, of_record
from .prompts import Prompts

OWN = "component."  # what a component says of itself is no decision
WAKES = (StepWake.topic_name(), TriggerWake.topic_name())  # come from deadlines alone
NEVER = 1 << 63  # behind every position


class OtherDecision(msgspec.Struct, frozen=True):
    """The first difference between what was recorded and what is decided now."""

    decider: str
    cause: int  # position of the event that was decided about
    number: int  # among the decisions about it, from 0
    recorded: Decision | None
    replayed: Decision | None
    failure: str = ""


class _Made(msgspec.Struct):
    """What a decider decides about one event; the first *compared* of it are recorded, too."""

    cause: int
    drafts: tuple[Draft, ...] = ()
    failure: str = ""
    compared: int = 0


class _Compared:
    """A decider, and what of its decisions is not compared yet."""

    def __init__(self, decider: Decider, cursor: int) -> None:
        self.decider = decider
        self.cursor = cursor  # it has decided about everything up to here
        self.events = self.decisions = 0
        self.made: deque[_Made] = deque()  # in the order of the causes
        self.last = _Made(0)  # the newest whose decisions were all compared
        self.due: dict[str, tuple[int, Draft]] = {}  # by deadline: its cause, and the event
        self.parked: set[int] = set()  # positions of events that it could not handle
        self.rebuilt: set[int] = set()  # of those whose prompt is compiled from its inputs

    def decide(self, record: Recorded) -> None:
        """Let the decider decide about *record*."""
        outcome = self.decider.decide(record)
        self.events += 1
        if outcome.failure is not None:
            self.made.append(_Made(record.position, failure=outcome.failure))
            return
        done = outcome.done[0]
        for name in done.forget:
            self.due.pop(name, None)
        for due in done.due:
            self.due[due.name] = record.position, due.draft
        if done.events:
            self.made.append(_Made(record.position, done.events))

    def left(self, before: int = NEVER) -> OtherDecision | None:
        """What is decided about an event before position *before*, and is not in the log."""
        if not self.made or self.made[0].cause >= before:
            return None
        return self.other(self.made[0], None)

    def other(self, made: _Made, recorded: Decision | None) -> OtherDecision:
        """The difference at the next decision of *made*."""
        draft = made.drafts[made.compared] if made.compared < len(made.drafts) else None
        replayed = of_draft(draft) if draft is not None else None
        name = self.decider.name
        return OtherDecision(name, made.cause, made.compared, recorded, replayed, made.failure)

    def was_due(self, record: Recorded) -> bool:
        """Whether *record* comes from a deadline that the decider set, which is then over."""
        for name, (cause, draft) in self.due.items():
            if (cause, draft.topic, draft.body) == (record.causation, record.topic, record.body):
                del self.due[name]
                return True
        return False

    def park(self, position: int) -> None:
        """Expect no decisions about the event at *position*."""
        self.parked.add(position)
        self.made = deque(each for each in self.made if each.cause != position)


class DecisionReplay:
    """The pass; `take` gets each record of the log in order, and `end` says that there are no more.

    Args:
        deciders: Whose decisions are compared.
        vocabulary: What events are read with.
        compares: Whether the decisions about the event at a position are compared; other events
            are only folded.
        cursors: By decider, the position up to which it has decided; None if that is not known:
            what is decided now and not recorded then counts as not decided yet.
        prompts: Says where a prompt cannot be decided about again, and compiles it from its inputs.
    """

    def __init__(
        self,
        deciders: Iterable[Decider],
        vocabulary: Vocabulary,
        compares: Callable[[int], bool],
        cursors: Mapping[str, int] | None,
        prompts: Prompts,
    ) -> None:
        self._vocabulary, self._compares, self._prompts = vocabulary, compares, prompts
        self._knows_cursors = cursors is not None
        known, otherwise = cursors or {}, 0 if self._knows_cursors else NEVER
        self._of = {
            each.name: _Compared(each, known.get(each.name, otherwise)) for each in deciders
        }
        self.pending = 0  # events that a decider has not decided about yet
        self._erased: set[int] = set()  # positions of events of which only placeholders are left
        self.reencoded = 0  # equal decisions that an older version encoded in other bytes
        # Prompts that an older compiler made and this one makes otherwise, by its version.
        self.other_compilers: Counter[int] = Counter()

    @property
    def parked(self) -> int:
        """Number of events that a decider could not handle when they came."""
        return sum(len(each.parked) for each in self._of.values())

    @property
    def erased(self) -> int:
        """Number of events whose subject was erased."""
        return len(self._erased)

    @property
    def rebuilt(self) -> int:
        """Number of prompts that were compiled from their recorded inputs."""
        return sum(len(each.rebuilt) for each in self._of.values())

    def counts(self) -> dict[str, tuple[int, int]]:
        """By decider: the events that it decided about, and its decisions that were compared."""
        return {name: (each.events, each.decisions) for name, each in self._of.items()}

    def take(self, record: Recorded) -> OtherDecision | None:
        """Compare *record* if it is a decision, and let the deciders decide about it."""
        if record.topic == ComponentFailed.topic_name():
            self._park(record)
        if record.erased:
            self._erased.add(record.position)
        found = None if record.erased else self._recorded(record)
        if found is not None:
            return found
        compares = self._compares(record.position) and not record.erased
        for each in self._of.values():
            if not each.decider.takes(record):
                continue
            if not compares:
                each.decider.note(record)
            elif record.position > each.cursor:
                self.pending += 1
            elif self._prompts.are_stale(record):
                each.rebuilt.add(record.position)
            else:
                each.decide(record)
        return None

    def end(self) -> OtherDecision | None:
        """The first that is decided now and was not recorded."""
        if not self._knows_cursors:
            self.pending += sum(len(each.made) for each in self._of.values())
            return None
        left = [other for each in self._of.values() if (other := each.left()) is not None]
        return min(left, key=lambda other: other.cause, default=None)

    def _park(self, record: Recorded) -> None:
        event = self._vocabulary.read(record)
        if isinstance(event, ComponentFailed) and event.component in self._of:
            self._of[event.component].park(event.position)

    def _recorded(self, record: Recorded) -> OtherDecision | None:
        """How *record* differs from what is decided now; None if it does not, or is no decision."""
        cause, known = record.causation, self._of.get(record.source)
        if known is None or cause is None or record.topic.startswith(OWN):
            return None
        if not self._compares(cause) or cause in known.parked or cause > known.cursor:
            return None
        if cause in self._erased:
            return None
        if record.topic in WAKES:
            return None  # a restart sets some of these deadlines once more
        left = known.left(before=cause)
        if left is not None:
            return left
        if cause in known.rebuilt:
            return self._rebuilt(known, record, cause)
        made = known.made[0] if known.made else None
        if made is None or made.cause != cause:
            if known.was_due(record):
                return None
            number = known.last.compared if known.last.cause == cause else 0
            return OtherDecision(known.decider.name, cause, number, of_record(record), None)
        if made.failure or not self._same(record, made.drafts[made.compared]):
            return None if known.was_due(record) else known.other(made, of_record(record))
        made.compared += 1
        known.decisions += 1
        if made.compared == len(made.drafts):
            known.last = known.made.popleft()
        return None

    def _rebuilt(self, known: _Compared, record: Recorded, cause: int) -> OtherDecision | None:
        problem = self._prompts.rebuild(record)
        if not problem:
            return None
        return OtherDecision(known.decider.name, cause, 0, of_record(record), None, problem)

    def _same(self, record: Recorded, draft: Draft) -> bool:
        told = record.topic, record.stream, record.key, record.correlation
        if told != (draft.topic, draft.stream, draft.key, draft.correlation):
            return False
        if (record.schema, record.body) == (draft.schema, draft.body):
            return True
        again = msgspec.structs.replace(record, schema=draft.schema, body=draft.body)
        old, new = self._vocabulary.read(record), self._vocabulary.read(again)
        # A version that did not know a field wrote no default for it.
        same = old == new or old == _as_by(old, new)
        self.reencoded += same
        return same or self._by_other_compiler(old, new)

    def _by_other_compiler(self, old: Event, new: Event) -> bool:
        """Whether both are the prompt of one turn for one model, and another compiler made it."""
        if not (isinstance(old, ContextCompiled) and isinstance(new, ContextCompiled)):
            return False
        compiler = self._prompts.compiler_of(old)
        of_both = {name: getattr(old, name) for name in _OF_COMPILER}
        if compiler == COMPILER or msgspec.structs.replace(new, **of_both) != old:
            return False
        self.other_compilers[compiler] += 1
        return True


# What a prompt consists of, in the event that it was compiled.
_OF_COMPILER = frozenset(ContextCompiled.__struct_fields__) - {
    *("execution_id", "step_id", "attempt", "turn", "model", "provider"),
}


def _as_by(old: Event, new: Event) -> Event:
    """*new*, with the version of Cortex that *old* names."""
    if isinstance(old, ExecutionStarted) and isinstance(new, ExecutionStarted):
        return msgspec.structs.replace(new, decider=old.decider)
    if isinstance(old, ContextCompiled) and isinstance(new, ContextCompiled):
        return msgspec.structs.replace(new, inputs=old.inputs)  # they hold the program's version
    return new
