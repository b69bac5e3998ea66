"""The engine that drives every execution through its process.

It is ordered and has no effects: its decisions depend only on earlier events, so that a restart
loads an execution from its stream and continues. States are kept in memory only to save
that reading.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar

import msgspec

from cortex.bus import CortexError, Event, Logger, Recorded, Vocabulary
from cortex.bus.events import (
    ComponentAnnounced,
    ComponentFailed,
    ComponentWithdrawn,
    ContextCompiled,
    ContextEdit,
    ContextRefused,
    DirectiveApplied,
    DirectiveBranched,
    DirectiveClarificationAsked,
    DirectiveMerged,
    DirectivePassed,
    DirectivePinned,
    DirectiveRedone,
    DirectiveUndone,
    EffectIntended,
    EffectSettle,
    EffectUnknown,
    ExecutionBreak,
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
    MemoryRequested,
    ModelFailed,
    ModelResponded,
    StepCompleted,
    StepFailed,
    StepInherited,
    StepPropose,
    StepSettle,
    StepUnclaimed,
    StepWake,
    ToolDenied,
    ToolFailed,
    ToolReturned,
)
from cortex.runtime.access import root_of
from cortex.runtime.directives import ENGINE as DIRECTIVES
from cortex.runtime.directives import InForce, Ledgers
from cortex.runtime.executions import (
    CHILD_FACTS,
    DECIDER,
    NO_PROCESS,
    OUTPUTS,
    STEP_ANSWERS,
    Execution,
    Offers,
    RecordedCalls,
    Serving,
    advance,
    asked_in_adhoc,
    family,
    fold,
    give_up,
    ignore,
    leave,
    left_behind,
    may_answer,
    observed,
    other_decider,
    scopes_of,
    speaks_for,
    stood_at,
    take_back,
    takers_of,
)
from cortex.runtime.kernel import Component, Config, Delivery, Output, on
from cortex.runtime.log import Blobs
from cortex.runtime.processes import LinkedProcess, forked, part_of
from cortex.runtime.registry import STREAM, Registry, evolve, registry_of, tools_before

PROCESSES_KEPT = 256
RECORDS_KEPT = 8  # that forks and what-ifs use

log = Logger("cortex.actors")

History = Callable[[str], Iterator[Recorded]]
_READ = msgspec.json.Decoder(LinkedProcess).decode


class ProcessExecutionEngine(Component):
    """Asks gates, contexts, models and handlers in turn, and records the ends of executions."""

    # More than a page of events can concern (256 events, each of an execution and its parent): an
    # execution must stay in memory until its events are in the log.
    executions_kept: ClassVar[int] = 1_024
    # What most executions consist of: its state, and its process, are in memory then.
    decides = (ExecutionRequest, ExecutionStarted, GateEvaluated, StepCompleted)

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
        self._records: OrderedDict[tuple[str, int], RecordedCalls] = OrderedDict()
        self._registry: Registry | None = None  # read on first use
        self._directives = Ledgers(history, blobs, vocabulary)
        self._handled = 0  # position of the newest event that was handled

    @on(DirectiveApplied)
    @on(DirectiveBranched)
    @on(DirectiveClarificationAsked)
    @on(DirectiveMerged)
    @on(DirectivePassed)
    @on(DirectivePinned)
    @on(DirectiveRedone)
    @on(DirectiveUndone)
    def laid_down(self, event: Event, delivery: Delivery) -> None:
        """Update what is in force."""
        self._begin(delivery)
        if delivery.source == DIRECTIVES:
            self._directives.fold(event.key() or "", event, delivery.causation)
        self._handled = delivery.position

    @on(ComponentAnnounced)
    @on(ComponentWithdrawn)
    def announced(self, event: ComponentAnnounced | ComponentWithdrawn, delivery: Delivery) -> None:
        """Update the registry."""
        self._begin(delivery)
        if self._registry is not None:
            self._registry = evolve(self._registry, event, delivery.source)
        self._handled = delivery.position

    @on(ComponentFailed)
    def take_back(self, event: ComponentFailed, delivery: Delivery) -> Iterator[Output]:
        """Handle a component that was asked and could not report its failure itself."""
        self._begin(delivery)
        asked = self._parked(event, delivery)
        said: list[Output] = []
        if asked is not None and delivery.correlation and _may_give_up(event, asked, delivery):
            reason = f"{event.component} could not handle {event.about}: {event.reason}"
            state = self._load(delivery.correlation, delivery.position)
            if event.component == delivery.component:
                state, said = give_up(state, asked, _blamed(reason, state), delivery)
            else:
                process = self._process(state, asked)
                there = (
                    self._offers(delivery),
                    self._serves(delivery),
                    self._recorded_calls(state, asked),
                    self._in_force(delivery),
                )
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
    @on(ExecutionBreak)
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
    @on(MemoryRequested)
    @on(ModelFailed)
    @on(ModelResponded)
    @on(StepCompleted)
    @on(StepFailed)
    @on(StepInherited)
    @on(StepPropose)
    @on(StepSettle)
    @on(StepUnclaimed)
    @on(StepWake)
    @on(ToolDenied)
    @on(ToolFailed)
    @on(ToolReturned)
    def handle(self, event: Event, delivery: Delivery) -> Iterator[Output]:
        """The results of *event* for its execution, and for the parent that waits for it."""
        self._begin(delivery)
        execution_id = event.stream().removeprefix("execution/")
        if delivery.version == 1:  # of its stream: there is nothing to load
            before = Execution(execution_id=execution_id)
        else:
            before = self._load(execution_id, delivery.position)
        own = delivery.source == delivery.component and type(event) in OUTPUTS
        if own:
            after, said = stood_at(before, event, delivery.position), list[Output]()
        else:
            after, said = self._advance(before, event, delivery)
            parents = partial(self._load, position=delivery.position)
            if said and after.parent and (reason := left_behind(after, parents)):
                process = self._process(before, event)
                after, said = leave(before, event, reason, process, delivery)
        states = [after]
        # Forged events of other clients about a child must not reach the parent either.
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
            # Delivered again, so the results of the last time are not in the log.
            self._executions.clear()
            self._registry = None
            self._directives.forget()

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
                raise  # a disk error may be temporary
            reason = f"its process cannot be read: {error}"
            return give_up(state, event, _blamed(reason, state), delivery)
        serves = self._serves(delivery)
        if state.adhoc and type(event) in STEP_ANSWERS:
            asked = asked_in_adhoc(event, self._history(event.stream()), self._vocabulary, serves)
            if not may_answer(state, event, asked, delivery.source):
                return ignore(state, event, asked, delivery)
        recorded = self._recorded_calls(state, event)
        there = self._offers(delivery), serves, recorded, self._in_force(delivery)
        after, said = advance(state, event, process, delivery, *there)
        if after.adhoc and after is not state:
            action = observed(event, self._history(event.stream()), self._vocabulary)
            if action is not None:
                said = [*said, action]
        return after, said

    def _serves(self, delivery: Delivery) -> Serving:
        """The registry at the event that is handled; read once, then cached."""
        if self._registry is None:
            read = self._vocabulary.read
            self._registry = registry_of(self._history(STREAM), read, before=delivery.position)
        return self._registry.serves

    def _recorded_calls(self, state: Execution, event: Event) -> RecordedCalls | None:
        """The record that a fork or a what-if uses; None for any other execution."""
        started = event if isinstance(event, ExecutionStarted) else state.started
        if started is None or started.variation is None:
            return None
        key = started.fork_of, started.variation.through
        recorded = self._records.get(key)
        if recorded is None:
            records = family(*key, self._history, self._vocabulary)
            recorded = self._records[key] = RecordedCalls(records, self._vocabulary)
            if len(self._records) > RECORDS_KEPT:
                self._records.popitem(last=False)
        self._records.move_to_end(key)
        return recorded

    def _in_force(self, delivery: Delivery) -> Callable[[Execution], InForce]:
        """Looks up what people had laid down at the event that is handled."""

        def found(state: Execution) -> InForce:
            scopes = scopes_of(state, partial(self._load, position=delivery.position))
            return self._directives.in_force(scopes, delivery.position)

        return found

    def _offers(self, delivery: Delivery) -> Offers:
        """Looks up the tools that existed at the event that is handled."""

        def tools(entries: Sequence[str]) -> Registry:
            read = self._vocabulary.read
            return tools_before(self._history, read, entries, delivery.position)

        return Offers(tools, self._tools.wait_s)

    def _load(self, execution_id: str, position: int) -> Execution:
        state = self._executions.get(execution_id)
        if state is None:
            records = self._history(f"execution/{execution_id}")
            state = fold(execution_id, records, self._vocabulary, before=position)
            if not state.over and other_decider(state.decider):
                log.info(
                    "execution_taken_over",
                    execution=execution_id,
                    decider=DECIDER,
                    begun_by=state.decider,
                )
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
        asked_first = started.fork_of if started.variation is None else ""
        key = f"{started.linked}/{asked_first}"
        if part is not None:
            key = f"{key}/{part.step_id}/{part.step_id == started.parent_step}"
        process = self._processes.get(key)
        if process is None:
            process = _READ(self._blobs.get(started.linked))
            if asked_first:
                process = forked(process, asked_first)
            if part is not None and any(each.id == part.step_id for each in process.steps):
                process = part_of(process, part.step_id, started.parent_step)
            self._processes[key] = process
            if len(self._processes) > PROCESSES_KEPT:
                self._processes.popitem(last=False)
        self._processes.move_to_end(key)
        return process


def _blamed(reason: str, state: Execution) -> str:
    """*reason*, with a note that another version began the execution, which may be the cause."""
    other = other_decider(state.decider)
    return f"{reason} ({other})" if other else reason


def _may_give_up(event: ComponentFailed, asked: Event, delivery: Delivery) -> bool:
    """Whether the event comes from the component that was asked, or from the failing engine."""
    if root_of(delivery.source) != event.component:
        return False
    if event.component == delivery.component:
        return True
    return speaks_for(event.component, takers_of(asked))
