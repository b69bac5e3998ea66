"""Runs the recorded facts of an execution through another version of its process.

The real decider is called with what the log holds: requests and answers of people, gates, models
and handlers. A question that the record does not answer ends that execution; nobody is asked, and
nothing happens in the world. The first decision that differs from the recorded one is kept.
"""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from cortex.bus import Event, Recorded
from cortex.bus.events import (
    ComponentFailed,
    ContextCompile,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionIgnored,
    ExecutionPaused,
    ExecutionRequest,
    ExecutionStarted,
    GateEvaluated,
    ModelInvoke,
    StepCompleted,
    StepDelegated,
    StepFailed,
)
from cortex.runtime.directives import InForce, Ledgers
from cortex.runtime.executions import (
    CHILD_FACTS,
    ENGINE,
    MANAGER,
    NO_PROCESS,
    Execution,
    Offers,
    RecordedCalls,
    advance,
    family,
    leave,
    left_behind,
    scopes_of,
    speaks_for,
    stood_at,
    take_back,
)
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, Delivery, Forget, Later, Output
from cortex.runtime.processes import LinkedProcess, part_of
from cortex.runtime.projections import STREAM
from cortex.runtime.registry import STREAM as REGISTRY
from cortex.runtime.registry import Registry, registry_of, tools_before

from .counterpart import Counterpart, place_of, rows_of
from .decisions import OtherDecision
from .divergence import Decision, of_event, of_record
from .questions import ANSWERS, NEVER, OTHERWISE, QUESTIONS, Unanswered, is_same, key_of, name_of

# What says which version runs; all else is what that version does.
VERSION: Final = ("process_version", "digest", "linked")
_READ = msgspec.json.Decoder(LinkedProcess).decode


class NextEvent(msgspec.Struct, frozen=True):
    """What an execution is to be told next."""

    run: Counterpart
    event: Event
    at: Recorded  # with the position and time at which it is decided about
    source: str


class OtherProcess:
    """One execution, and those that it calls, decided again with another process."""

    def __init__(self, history: History, config: Config) -> None:
        self._history, self._wait_s = history, config.tools.wait_s
        self._announced = history.stream(REGISTRY)
        self._registries: dict[int, Registry] = {}  # by the number of announcements
        self._runs: dict[str, Counterpart] = {}
        self._records: dict[tuple[str, int], RecordedCalls] = {}  # that forks and what-ifs used
        self._recorded: dict[str, str] = {}  # the recorded execution, by the id that it has now
        self._queue: list[tuple[int, int, NextEvent]] = []  # by position, then in order
        self._last: Recorded | None = None  # what was decided about last
        self.unanswered: list[Unanswered] = []
        self.first: OtherDecision | None = None
        self.answered: list[str] = []  # topics of the answers that were taken from the record
        self.events = self.same = self.pending = self._said = 0

    @property
    def executions(self) -> int:
        """Number of the executions that were decided again."""
        return len(self._runs)

    def run(self, execution_id: str, process: LinkedProcess, inputs: dict[str, Any]) -> Counterpart:
        """Decide *execution_id* with *process* and *inputs*, as far as the record answers."""
        root = self._new(execution_id, execution_id, process)
        root.facts = [(r, self._begun(root, r, e, inputs)) for r, e in root.facts]
        while step := self._next():
            self._tell(step)
        if self.first is None:
            self._look_for_left()
        return root

    def refuse(self, started: Recorded, reason: str) -> None:
        """The execution would not have begun."""
        failed = ExecutionFailed(execution_id=started.stream.removeprefix(STREAM), reason=reason)
        cause = started.causation or started.position
        self.first = OtherDecision(MANAGER, cause, 0, of_record(started), of_event(failed))

    def _begun(
        self, root: Counterpart, record: Recorded, event: Event, inputs: dict[str, Any]
    ) -> Event:
        """The start of *root* with its process, in the place of the recorded one."""
        if not isinstance(event, ExecutionStarted):
            return event
        version, digest = root.process.version, root.process.digest
        now = replace(event, process_version=version, digest=digest, inputs=inputs)
        if not self._is_same(record, now):
            root.differs = True
            cause = record.causation or record.position
            self.first = OtherDecision(MANAGER, cause, 0, of_record(record), of_event(now))
        return now

    def _new(
        self, new_id: str, recorded_id: str, process: LinkedProcess, *, led: bool = False
    ) -> Counterpart:
        rows = rows_of(self._history, recorded_id)
        run = self._runs[new_id] = Counterpart(new_id, process, rows, led=led)
        self._recorded[new_id] = recorded_id
        return run

    def _next(self) -> NextEvent | None:
        """What comes next in the log: what was decided already, or a recorded fact that fits."""
        found = [
            (run.facts[index][0].position, run, index)
            for run in self._runs.values()
            if not (run.ended or run.blocked) and (index := run.next_fact()) is not None
        ]
        fact = min(found, key=lambda each: each[0], default=None)
        if self._queue and (fact is None or self._queue[0][0] <= fact[0]):
            return heappop(self._queue)[2]
        if fact is not None:
            _, run, index = fact
            record, event = run.take(index)
            if record.topic in ANSWERS:
                self.answered.append(record.topic)
            return NextEvent(run, event, record, record.source)
        return next(self._backoffs(), None)

    def _backoffs(self) -> Iterator[NextEvent]:
        for run in self._runs.values():
            waited = None if run.ended or run.blocked else run.backoff()
            if waited is not None and self._last is not None:
                at = replace(self._last, time_ns=max(waited.at_ns, self._last.time_ns))
                yield NextEvent(run, waited.event, at, ENGINE)

    def _tell(self, step: NextEvent) -> None:
        """Let the decider decide about one event, and look at what it decides."""
        run, event, self._last = step.run, step.event, step.at
        self.events += 1
        at = step.at
        source = self._source(run, event, step.source)
        delivery = Delivery(at.position, at.time_ns, ENGINE, source, at.correlation, at.causation)
        after, said = self._decided(run, event, delivery)
        # As the engine does: what a child did reaches its parent all the same.
        own = event.stream() == STREAM + run.state.execution_id
        reason = left_behind(after, self._parent) if own and said and after.parent else ""
        if reason:
            after, said = leave(run.state, event, reason, run.process, delivery)
        run.state = after
        for output in said:
            self._say(run, output, at)
        left = run.own[0][0] if run.own else None
        if left is not None and left.causation == at.position and not run.ended:
            self._differ(run, at, of_record(left), None)

    def _decided(
        self, run: Counterpart, event: Event, delivery: Delivery
    ) -> tuple[Execution, list[Output]]:
        position = delivery.position
        recorded = self._recorded_calls(run, event)
        serves = self._registry(position).serves
        there = self._offers(position), serves, recorded, self._in_force(position)
        if not isinstance(event, ComponentFailed):
            return advance(run.state, event, run.process, delivery, *there)
        reason = f"{event.component} could not handle {event.about}: {event.reason}"
        return take_back(run.state, run.parked(event), reason, run.process, delivery, *there)

    def _in_force(self, position: int) -> Callable[[Execution], InForce]:
        """Looks up what people had laid down at *position*."""
        history = self._history
        ledgers = Ledgers(history.stream, history.blobs, history.vocabulary)
        return lambda state: ledgers.in_force(scopes_of(state, self._parent), position)

    def _recorded_calls(self, run: Counterpart, event: Event) -> RecordedCalls | None:
        """The record that the recorded execution used, if it was a fork or a what-if."""
        started = event if isinstance(event, ExecutionStarted) else run.state.started
        if started is None or started.variation is None:
            return None
        key = started.fork_of, started.variation.through
        if key not in self._records:
            records = family(*key, self._history.stream, self._history.vocabulary)
            self._records[key] = RecordedCalls(records, self._history.vocabulary)
        return self._records[key]

    def _parent(self, execution_id: str) -> Execution:
        """A parent as it is now; of one that is not replayed, nothing is known."""
        run = self._runs.get(execution_id)
        return run.state if run is not None else Execution(execution_id=execution_id)

    def _source(self, run: Counterpart, event: Event, source: str) -> str:
        """Who counts as the publisher: the record answers for whoever would be asked now."""
        asked: tuple[str, ...] = run.state.asked
        answers = isinstance(event, GateEvaluated | StepCompleted | StepFailed)
        return asked[0] if answers and asked and not speaks_for(source, asked) else source

    def _say(self, run: Counterpart, output: Output, at: Recorded) -> None:
        if isinstance(output, Later):
            run.deadlines[output.name] = output
        elif isinstance(output, Forget):
            run.deadlines.pop(output.name, None)
        elif output.stream() == STREAM + run.state.execution_id:
            self._own(run, output, at)
        else:
            self._hand_on(run, output, at)

    def _own(self, run: Counterpart, event: Event, at: Recorded) -> None:
        """The execution says *event* of itself."""
        there = self._compare(run, event, at)
        if run.ended:
            return
        if isinstance(event, ExecutionPaused | ExecutionHalted):
            run.state = stood_at(run.state, event, (there or at).position)
        if isinstance(event, StepDelegated):
            run.delegated[event.child] = place_of(event)
            run.steps.add(event.step_id)
            self._recorded.setdefault(event.child, run.children.get(place_of(event), ""))
        if type(event) in QUESTIONS:
            self._ask(run, event)
        parent = self._runs.get(run.state.parent)
        if parent is not None and type(event) in CHILD_FACTS:
            self._later(NextEvent(parent, event, there or at, ENGINE))

    def _hand_on(self, run: Counterpart, event: Any, at: Recorded) -> None:
        """The execution says *event* to another one, which may begin with it."""
        if run.ended:
            return
        other = self._runs.get(event.execution_id)
        if other is None and isinstance(event, ExecutionStarted):
            other = self._item(run, event)
        elif other is None and isinstance(event, ExecutionRequest):
            other = self._child(run, event)
        if other is not None:
            self._later(NextEvent(other, event, other.handed_at(event.topic_name()) or at, ENGINE))

    def _later(self, step: NextEvent) -> None:
        self._said += 1
        heappush(self._queue, (step.at.position, self._said, step))

    def _item(self, run: Counterpart, started: ExecutionStarted) -> Counterpart | None:
        recorded, part = self._recorded.get(started.execution_id, ""), started.part
        if part is None:
            return None
        if not recorded:
            named = f"item {part.item}"
            self._unanswered(run, started, part.step_id, named, 1, NEVER)
            return None
        process = part_of(run.process, part.step_id, started.parent_step)
        return self._new(started.execution_id, recorded, process, led=True)

    def _child(self, run: Counterpart, request: ExecutionRequest) -> Counterpart | None:
        recorded = self._recorded.get(request.execution_id, "")
        step_id, attempt, *_ = run.delegated.get(request.execution_id, ("", 1))
        if not recorded:
            self._unanswered(run, request, step_id, request.process, attempt, NEVER)
            return None
        history, process = self._history, NO_PROCESS
        stream = history.stream(STREAM + recorded)
        asked = next((r for r in stream if r.topic == request.topic_name()), None)
        if asked is not None and not self._is_same(asked, request):
            self._unanswered(run, request, step_id, request.process, attempt, OTHERWISE)
        started = history.execution(recorded).started
        if started is not None and started.linked:
            process = _READ(history.blobs.get(started.linked))
        return self._new(request.execution_id, recorded, process, led=True)

    def _ask(self, run: Counterpart, question: Any) -> None:
        """The execution asks a question: see whether the record has an answer to it."""
        key = key_of(question)
        if key is None:
            return
        recorded = run.asked.get(key, [])
        name, attempt, prompt = name_of(question), question.attempt, key[1:4]
        run.steps.add(question.step_id)
        if not any(name_of(each) == name for each in recorded):
            run.blocked = True
            self._unanswered(run, question, question.step_id, name, attempt, NEVER)
            return
        run.open[key] = question
        same = any(is_same(question, each) for each in recorded)
        if isinstance(question, ContextCompile):
            # A prompt is compiled, and asked of nobody: its model is the one who would answer.
            run.other_prompts.difference_update({prompt} if same else ())
            run.other_prompts.update(() if same else {prompt})
        elif not same or (isinstance(question, ModelInvoke) and prompt in run.other_prompts):
            self._unanswered(run, question, question.step_id, name, attempt, OTHERWISE)

    def _unanswered(
        self, run: Counterpart, event: Event, step: str, name: str, attempt: int, why: str
    ) -> None:
        run.blocked = run.blocked or why == NEVER
        asker, topic = run.state.execution_id, event.topic_name()
        self.unanswered.append(Unanswered(asker, step, topic, name, attempt, why))

    def _compare(self, run: Counterpart, event: Event, at: Recorded) -> Recorded | None:
        """The record of the same decision, if everything before was the same, too."""
        if run.differs or isinstance(event, ExecutionIgnored):
            return None
        if not run.own and at.position not in run.decided:
            run.ended = True  # the log ends before the decision
            self.pending += 1
            return None
        record = run.own[0][0] if run.own else None
        if record is not None and self._is_same(record, event):
            run.own.pop(0)
            run.decided.add(at.position)
            self.same += 1
            return record
        recorded = of_record(record) if record is not None else None
        self._differ(run, at, recorded, of_event(event))
        return None

    def _differ(
        self, run: Counterpart, at: Recorded, recorded: Decision | None, now: Decision | None
    ) -> None:
        """From here on, *run* goes another way than the recorded execution."""
        if self.first is None:
            self.first = OtherDecision(ENGINE, at.position, 0, recorded, now)
        run.differs = True

    def _is_same(self, record: Recorded, event: Event) -> bool:
        if record.topic != event.topic_name():
            return False
        recorded, now = of_record(record).body, self._named(of_event(event).body)
        without = VERSION if isinstance(event, ExecutionStarted | ContextCompile) else ()
        return _without(self._named(recorded), without) == _without(now, without)

    def _named(self, value: Any) -> Any:
        """*value*, with each execution under the id that the record has for it."""
        if isinstance(value, str):
            return self._recorded.get(value) or value
        if isinstance(value, dict):
            return {key: self._named(each) for key, each in value.items()}
        return [self._named(each) for each in value] if isinstance(value, list) else value

    def _look_for_left(self) -> None:
        """Find what was decided then, and is not decided any more."""
        left = [
            row[0]
            for run in self._runs.values()
            if not (run.ended or run.blocked)
            for row in run.own[:1]
            if not isinstance(row[1], ExecutionIgnored)
        ]
        record = min(left, key=lambda each: each.position, default=None)
        if record is not None:
            cause = record.causation or record.position
            self.first = OtherDecision(ENGINE, cause, 0, of_record(record), None)

    def _registry(self, position: int) -> Registry:
        before = sum(record.position < position for record in self._announced)
        if before not in self._registries:
            read = self._history.event
            self._registries[before] = registry_of(self._announced[:before], read)
        return self._registries[before]

    def _offers(self, position: int) -> Offers:
        history = self._history
        return Offers(
            lambda entries: tools_before(history.stream, history.event, entries, position),
            self._wait_s,
        )


def _without(body: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key not in names}
