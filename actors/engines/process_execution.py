"""The engine that leads every execution through its process.

It is ordered and has no effects: what it does follows from the events before it, so that a restart
loads an execution from its stream and goes on where it was. States are kept in memory only to save
that reading.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import ClassVar

import msgspec

from cortex.bus import CortexError, Event, Recorded, Vocabulary
from cortex.bus.events import (
    ComponentAnnounced,
    ComponentFailed,
    ComponentWithdrawn,
    ContextCompiled,
    ContextEdit,
    ContextRefused,
    EffectIntended,
    EffectSettle,
    EffectUnknown,
    ExecutionCancel,
    ExecutionCancelled,
    ExecutionCharged,
    ExecutionCompleted,
    ExecutionEdit,
    ExecutionFailed,
    ExecutionFinish,
    ExecutionHalted,
    ExecutionPause,
    ExecutionPaused,
    ExecutionRefused,
    ExecutionRequest,
    ExecutionResume,
    ExecutionResumed,
    ExecutionStarted,
    GateEvaluated,
    KnowledgeRequested,
    ModelFailed,
    ModelResponded,
    StepCompleted,
    StepFailed,
    StepPropose,
    StepSettle,
    StepUnclaimed,
    StepWake,
    ToolDenied,
    ToolFailed,
    ToolReturned,
)
from cortex.runtime.access import Announcers, root_of
from cortex.runtime.executions import (
    CHILD_FACTS,
    NO_PROCESS,
    OUTPUTS,
    STEP_ANSWERS,
    Execution,
    Offers,
    Serving,
    advance,
    asked_in_adhoc,
    fold,
    give_up,
    ignore,
    leave,
    left_behind,
    may_answer,
    observed,
    speaks_for,
    stood_at,
    take_back,
    takers_of,
)
from cortex.runtime.kernel import Component, Config, Delivery, Output, on
from cortex.runtime.log import Blobs
from cortex.runtime.processes import LinkedProcess, part_of

from .offers import announcers_at, offers_at

PROCESSES_KEPT = 256

History = Callable[[str], Iterator[Recorded]]
_READ = msgspec.json.Decoder(LinkedProcess).decode


class ProcessExecutionEngine(Component):
    """Asks gates, contexts, models and handlers in turn, and records how executions end."""

    # More than one page of events can touch (256 events, each an execution and its parent): an
    # execution must not leave memory before what was said about it is in the log.
    executions_kept: ClassVar[int] = 1_024

    def __init__(
        self,
        history: History,
        vocabulary: Vocabulary,
        blobs: Blobs,
        config: Config | None = None,
    ) -> None:
        self._tools = (config or Config()).tools
        self._history = history
        self._vocabulary = vocabulary
        self._blobs = blobs
        self._executions: OrderedDict[str, Execution] = OrderedDict()
        self._processes: OrderedDict[str, LinkedProcess] = OrderedDict()
        self._announcers: Announcers | None = None  # read when somebody is asked
        self._handled = 0  # position of the newest event that was handled

    @on(ComponentAnnounced)
    @on(ComponentWithdrawn)
    def announced(self, event: ComponentAnnounced | ComponentWithdrawn, delivery: Delivery) -> None:
        """Know who serves what from now on."""
        self._begin(delivery)
        if self._announcers is not None:
            self._announcers.take(event, delivery.source)
        self._handled = delivery.position

    @on(ComponentFailed)
    def take_back(self, event: ComponentFailed, delivery: Delivery) -> Iterator[Output]:
        """What follows where a component was asked and could not even say that it failed."""
        self._begin(delivery)
        asked = self._parked(event, delivery)
        said: list[Output] = []
        if asked is not None and delivery.correlation and _may_give_up(event, asked, delivery):
            reason = f"{event.component} could not handle {event.about}: {event.reason}"
            state = self._load(delivery.correlation, delivery.position)
            if event.component == delivery.component:
                state, said = give_up(state, asked, reason, delivery)
            else:
                process = self._process(state, asked)
                there = self._offers(delivery), self._serves(delivery)
                state, said = take_back(state, asked, reason, process, delivery, *there)
            self._keep([state])
        self._handled = delivery.position
        yield from said

    @on(ContextCompiled)
    @on(ContextEdit)
    @on(ContextRefused)
    @on(EffectIntended)
    @on(EffectSettle)
    @on(EffectUnknown)
    @on(ExecutionCancel)
    @on(ExecutionCancelled)
    @on(ExecutionCharged)
    @on(ExecutionCompleted)
    @on(ExecutionEdit)
    @on(ExecutionFailed)
    @on(ExecutionFinish)
    @on(ExecutionHalted)
    @on(ExecutionPause)
    @on(ExecutionPaused)
    @on(ExecutionRefused)
    @on(ExecutionRequest)
    @on(ExecutionResume)
    @on(ExecutionResumed)
    @on(ExecutionStarted)
    @on(GateEvaluated)
    @on(KnowledgeRequested)
    @on(ModelFailed)
    @on(ModelResponded)
    @on(StepCompleted)
    @on(StepFailed)
    @on(StepPropose)
    @on(StepSettle)
    @on(StepUnclaimed)
    @on(StepWake)
    @on(ToolDenied)
    @on(ToolFailed)
    @on(ToolReturned)
    def handle(self, event: Event, delivery: Delivery) -> Iterator[Output]:
        """What follows from *event* for its execution, and for the one that waits for it."""
        self._begin(delivery)
        before = self._load(event.stream().removeprefix("execution/"), delivery.position)
        own = delivery.source == delivery.component and type(event) in OUTPUTS
        if own:
            after, said = stood_at(before, event, delivery.position), list[Output]()
        else:
            after, said = self._advance(before, event, delivery)
            if said and after.parent and (reason := self._left_behind(after, delivery)):
                process = self._process(before, event)
                after, said = leave(before, event, reason, process, delivery)
        states = [after]
        # What others say in its words about a child does not reach the parent either.
        told = type(event) in CHILD_FACTS and (own or after is not before)
        if told and after.parent not in ("", after.execution_id):
            parent = self._load(after.parent, delivery.position)
            parent, more = self._advance(parent, event, delivery)
            states.append(parent)
            said = [*said, *more]
        self._keep(states)
        self._handled = delivery.position
        yield from said

    def _begin(self, delivery: Delivery) -> None:
        if delivery.position <= self._handled:
            # Handed out again, so what was said last time is not in the log.
            self._executions.clear()
            self._announcers = None

    def _left_behind(self, state: Execution, delivery: Delivery) -> str:
        """Why *state* may not go on: what it is a part of has ended, or gone on without it."""
        seen = {state.execution_id}
        while state.parent and state.parent not in seen and not state.over:
            parent = self._load(state.parent, delivery.position)
            if reason := left_behind(parent, state.execution_id):
                return reason
            seen.add(state.parent)
            state = parent
        return ""

    def _parked(self, event: ComponentFailed, delivery: Delivery) -> Event | None:
        """The event of an execution that a component failed on."""
        for record in self._history(f"execution/{delivery.correlation}"):
            if record.position == event.position:
                return self._vocabulary.read(record)
        return None

    def _advance(
        self, state: Execution, event: Event, delivery: Delivery
    ) -> tuple[Execution, list[Output]]:
        try:
            process = self._process(state, event)
        except (CortexError, msgspec.DecodeError) as error:
            if delivery.attempt < self.max_attempts:
                raise  # the disk may think better of it
            reason = f"its process cannot be read: {error}"
            return give_up(state, event, reason, delivery)
        serves = self._serves(delivery)
        if state.adhoc and type(event) in STEP_ANSWERS:
            asked = asked_in_adhoc(event, self._history(event.stream()), self._vocabulary, serves)
            if not may_answer(state, event, asked, delivery.source):
                return ignore(state, event, asked, delivery)
        after, said = advance(state, event, process, delivery, self._offers(delivery), serves)
        if after.adhoc and after is not state:
            action = observed(event, self._history(event.stream()), self._vocabulary)
            if action is not None:
                said = [*said, action]
        return after, said

    def _serves(self, delivery: Delivery) -> Serving:
        """Who serves what as of the event that is handled; read once, and folded from then on."""
        if self._announcers is None:
            self._announcers = announcers_at(delivery.position, self._history, self._vocabulary)
        return self._announcers.serves

    def _offers(self, delivery: Delivery) -> Offers:
        wait_s = self._tools.wait_s
        return offers_at(delivery.position, self._history, self._vocabulary, wait_s)

    def _load(self, execution_id: str, position: int) -> Execution:
        state = self._executions.get(execution_id)
        if state is None:
            records = self._history(f"execution/{execution_id}")
            state = fold(execution_id, records, self._vocabulary, before=position)
        return state

    def _keep(self, states: list[Execution]) -> None:
        for state in states:
            self._executions[state.execution_id] = state
            self._executions.move_to_end(state.execution_id)
        while len(self._executions) > self.executions_kept:
            self._executions.popitem(last=False)

    def _process(self, state: Execution, event: Event) -> LinkedProcess:
        started = event if isinstance(event, ExecutionStarted) else state.started
        if started is None or not started.linked:
            return NO_PROCESS
        part = started.part
        key = started.linked
        if part is not None:
            key = f"{key}/{part.step_id}/{part.step_id == started.parent_step}"
        process = self._processes.get(key)
        if process is None:
            process = _READ(self._blobs.get(started.linked))
            if part is not None and any(each.id == part.step_id for each in process.steps):
                process = part_of(process, part.step_id, started.parent_step)
            self._processes[key] = process
            if len(self._processes) > PROCESSES_KEPT:
                self._processes.popitem(last=False)
        self._processes.move_to_end(key)
        return process


def _may_give_up(event: ComponentFailed, asked: Event, delivery: Delivery) -> bool:
    """Whether it says so itself: the component that was asked, or the engine that failed on it."""
    if root_of(delivery.source) != event.component:
        return False
    if event.component == delivery.component:
        return True
    return speaks_for(event.component, takers_of(asked))
