"""An execution that is decided again with another process, beside the recorded one."""

from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace

from cortex.bus import Event, Recorded
from cortex.bus.events import (
    ComponentFailed,
    ContextEdit,
    EffectSettle,
    ExecutionBreak,
    ExecutionCancel,
    ExecutionEdit,
    ExecutionFinish,
    ExecutionIgnored,
    ExecutionPause,
    ExecutionRequest,
    ExecutionResume,
    ExecutionStarted,
    StepDelegated,
    StepPropose,
    StepSettle,
    StepUnclaimed,
    StepWake,
)
from cortex.runtime.executions import ENGINE, INPUTS, Execution, counted, is_own
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Later
from cortex.runtime.processes import LinkedProcess
from cortex.runtime.projections import STREAM, Selection

from .questions import QUESTIONS, Key, closes, key_of

Row = tuple[Recorded, Any]

# What a person says of an execution that stands; they say it when it stands.
_WHILE_STOPPED: Final = (
    ContextEdit,
    EffectSettle,
    ExecutionEdit,
    ExecutionFinish,
    StepPropose,
    StepSettle,
)
_ASKED: Final = (
    *_WHILE_STOPPED,
    ExecutionBreak,
    ExecutionCancel,
    ExecutionPause,
    ExecutionResume,
)
_TAKEN: Final = frozenset((*INPUTS, *_ASKED, ComponentFailed, StepWake))
# Backoffs are over by themselves; that a time ran out has to be on record.
_BACKOFFS: Final = ("retry", "model", "offers")


class Counterpart:
    """One execution as it goes with the other process, and what the log has of the recorded one.

    Args:
        execution_id: The id that it has now.
        process: What it runs.
        rows: The recorded events that count, in order; none if there is no such execution.
        own: What the engine recorded in it.
        led: Whether a parent is replayed with it, whose requests are not taken from the log.
    """

    def __init__(
        self,
        execution_id: str,
        process: LinkedProcess,
        rows: Iterable[Row] = (),
        *,
        led: bool = False,
    ) -> None:
        self.process = process
        self.state = Execution(execution_id=execution_id)
        self.facts: list[Row] = []  # not taken yet
        self.handed: list[Recorded] = []  # what its parent asked of it
        self.own: list[Row] = []  # decisions of the engine that are not compared yet
        self.asked: dict[Key, list[Any]] = {}  # recorded questions
        self.asked_at: dict[int, Key] = {}  # the same by position
        self.children: dict[Key, str] = {}  # recorded executions that carried out steps
        self.open: dict[Key, Any] = {}  # questions that wait for their answers
        self.deadlines: dict[str, Later] = {}
        self.decided: set[int] = set()  # positions about which a decision was the same
        self.differs = self.ended = self.blocked = False
        self.other_prompts: set[Key] = set()
        self.delegated: dict[str, Key] = {}  # the place of each child that it asked for
        self.steps: set[str] = set()  # that it asked for
        for record, event in rows:
            self._add(record, event, led=led)

    @property
    def stands(self) -> bool:
        """Whether it waits for a person."""
        return self.state.status in ("paused", "halted")

    def next_fact(self) -> int | None:
        """The index of the next recorded fact that fits; None if there is none."""
        fitting = (n for n, (_, event) in enumerate(self.facts) if self._takes(event))
        return next(fitting, None)

    @property
    def no_longer(self) -> tuple[str, ...]:
        """Recorded steps for which it does not ask any more, if it came to an end of its own."""
        if not (self.differs and (self.state.over or self.stands)):
            return ()
        then = [key[1] for key in self.asked] + [key[0] for key in self.children]
        return tuple(dict.fromkeys(step for step in then if step and step not in self.steps))

    def take(self, index: int) -> Row:
        """Take that fact: it is this execution's now."""
        record, event = self.facts.pop(index)
        key = key_of(event)
        question = self.open.get(key) if key is not None else None
        if key is not None and closes(event):
            self.open.pop(key, None)
        if "execution_id" in event.__struct_fields__:
            event = replace(event, execution_id=self.state.execution_id)
        if question is not None and "index" in event.__struct_fields__:
            event = replace(event, index=question.index)  # of a gate, among the present ones
        if isinstance(event, ExecutionStarted):
            event = replace(event, parent=self.state.parent or event.parent)
        if isinstance(event, StepWake):
            self._drop(event)
        return record, event

    def handed_at(self, topic: str) -> Recorded | None:
        """The record of the next event on *topic* that its parent handed to it; None if none is."""
        found = next((record for record in self.handed if record.topic == topic), None)
        if found is not None:
            self.handed.remove(found)
        return found

    def parked(self, event: ComponentFailed) -> Event:
        """The question that a component could not handle; it is closed now."""
        question: Event = self.open.pop(self.asked_at[event.position])
        return question

    def backoff(self) -> Later | None:
        """The wait that is over first, if it is one that ends by itself."""
        if not self.differs or self.state.status != "running":
            return None
        waits = [each for each in self.deadlines.values() if _is_backoff(each.event)]
        found = min(waits, key=lambda each: each.at_ns, default=None)
        if found is not None:
            del self.deadlines[found.name]
        return found

    def _add(self, record: Recorded, event: Any, *, led: bool) -> None:
        key = key_of(event)
        if isinstance(event, ExecutionIgnored):
            return  # it is about an answer that does not count
        if is_own(record):
            self.own.append((record, event))
        elif led and _is_parents(record, event):
            self.handed.append(record)
        elif type(event) in _TAKEN:
            self.facts.append((record, event))
        if type(event) in QUESTIONS and key is not None and record.source == ENGINE:
            self.asked.setdefault(key, []).append(event)
            self.asked_at[record.position] = key
        if isinstance(event, StepDelegated):
            self.children[place_of(event)] = event.child

    def _takes(self, event: Any) -> bool:
        match event:
            case StepWake():
                there = (each.event for each in self.deadlines.values())
                return replace(event, execution_id=self.state.execution_id) in there
            case ComponentFailed():
                return self.asked_at.get(event.position) in self.open
            case StepUnclaimed():
                return any(key[:2] == ("step", event.step_id) for key in self.open)
            case ExecutionRequest():
                return self.state.status == "unknown"
            case ExecutionStarted():
                return self.state.status in ("unknown", "requested")
            case ExecutionResume() if self.differs:
                return self.stands and (event.gate in ("", self.state.open_gate))
            case _:
                pass
        if isinstance(event, _WHILE_STOPPED) and self.differs:
            return self.stands
        key = key_of(event)
        return key is None or key in self.open

    def _drop(self, event: StepWake) -> None:
        for name in [name for name, each in self.deadlines.items() if each.event == event]:
            del self.deadlines[name]


def rows_of(history: History, execution_id: str) -> list[Row]:
    """The events of one execution that count, the engine's behind what they follow from."""
    if not execution_id:
        return []
    rows: list[Row] = list(counted(history.stream(STREAM + execution_id), history.vocabulary))
    parked = Selection(execution=execution_id, topics=(ComponentFailed.topic_name(),))
    rows += [(record, history.event(record)) for record in history.select(parked)]
    return sorted(rows, key=lambda row: _place(row[0]))


def _place(record: Recorded) -> tuple[int, int]:
    own = is_own(record) and record.causation
    return (own or record.position, record.position)


def place_of(event: StepDelegated) -> Key:
    """What a child carries out."""
    return event.step_id, event.attempt, event.purpose, event.item


def _is_parents(record: Recorded, event: Event) -> bool:
    return record.source == ENGINE and isinstance(
        event, (*_ASKED, ExecutionRequest, ExecutionStarted)
    )


def _is_backoff(event: Event) -> bool:
    return isinstance(event, StepWake) and event.what in _BACKOFFS
