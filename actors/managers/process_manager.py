"""The manager that decides which process runs: for requests, triggers and schedules."""

import itertools
from collections.abc import Callable, Iterator, Mapping

import msgspec

from cortex.bus import Event, Recorded, Vocabulary
from cortex.bus.events import (
    VOCABULARY,
    ComponentFailed,
    ExecutionDeferred,
    ExecutionFailed,
    ExecutionRequest,
    GrantRevoked,
    LogClockJumped,
    ProcessCompiled,
    ProcessRejected,
    ProcessRetired,
    ProcessSubmit,
    ProcessUnchanged,
    ProcessUnlinked,
    StepWake,
    TriggerReceived,
    TriggerUnmatched,
    TriggerWake,
)
from cortex.runtime.kernel import Component, Config, Delivery, Forget, Home, Later, Output, on
from cortex.runtime.log import Blobs
from cortex.runtime.processes import ScheduleTrigger

from . import files, schedules
from .calendar import Calendar
from .catalogue import Catalogue
from .choosing import (
    Chosen,
    Preferences,
    Refusal,
    for_request,
    for_trigger,
    matched,
    meant,
    not_matched,
)
from .forks import Forks
from .goals import Goals
from .starter import Starter
from .unmatched import Unmatched, forgotten
from .waiting import UNLINKED, WAKE, Waiting


class ManagerSnapshot(msgspec.Struct, frozen=True):
    """The contents of a snapshot."""

    catalogue: bytes
    waiting: bytes
    calendar: Calendar = msgspec.field(default_factory=Calendar)
    unmatched: bytes = b""


class ProcessManager(Component):
    """Starts executions on compiled processes, or reports why not."""

    recalls = 4
    folds_results = (ExecutionDeferred, TriggerUnmatched)

    def __init__(
        self,
        blobs: Blobs,
        config: Config,
        history: Callable[[str], Iterator[Recorded]],
        home: Home | None = None,
        user_preferences: Mapping[str, str] | None = None,
        vocabulary: Vocabulary = VOCABULARY,
    ) -> None:
        self._catalogue = Catalogue(blobs)
        self._wait_s = config.processes.wait_s
        self._waiting = Waiting(history, vocabulary)
        self._unmatched = Unmatched(history, vocabulary, self._wait_s)
        self._calendar = Calendar()
        self._history = history
        self._preferences = Preferences(config.preferences, user_preferences or {})
        servers = tuple(server.name for server in config.tools.mcp)
        goals = Goals(history, vocabulary, servers)
        self._starter = Starter(
            self._catalogue, self._preferences, goals, blobs, config.models.max_cost
        )
        self._forks = Forks(history, vocabulary, blobs)
        self._workspace = str(home.path.parent) if home else ""

    def recall(self, event: Event, delivery: Delivery) -> None:
        """Apply the compiler's events, and start what waited for them."""
        match event:
            case ProcessCompiled() | ProcessRetired():
                self._enter(event)
                self._waiting.answered(delivery.causation or 0, delivery.time_ns)
            case ProcessUnlinked():
                self._catalogue.fold(event)
                self._waiting.answered(delivery.causation or 0, delivery.time_ns)
            case ProcessSubmit():
                self._waiting.submit(event, delivery.position, delivery.time_ns)
            case ComponentFailed():
                self._waiting.answered(event.position, delivery.time_ns)
            case ExecutionRequest():
                self._hold(event, delivery)
            case LogClockJumped():
                self._calendar.jumped(event)
            case TriggerReceived():
                self._fired(event, delivery)
            case StepWake() if event.what in (WAKE, UNLINKED):
                self._waiting.woken(event)
            case ExecutionDeferred():
                self._waiting.take_up(event)
            case TriggerUnmatched() | TriggerWake() | GrantRevoked():
                self._unmatched.recall(event)
            case _:
                self._waiting.answered(delivery.causation or 0, delivery.time_ns)

    def snapshot(self) -> bytes:
        """The catalogue, waiting requests, and past runs of schedules."""
        kept = ManagerSnapshot(
            self._catalogue.snapshot(),
            self._waiting.snapshot(),
            self._calendar,
            self._unmatched.snapshot(),
        )
        return _ENCODE(kept)

    def restore(self, snapshot: bytes) -> None:
        """Restore all of it."""
        kept = _KEPT(snapshot)
        self._catalogue.restore(kept.catalogue)
        self._waiting.restore(kept.waiting)
        self._calendar = kept.calendar
        self._unmatched.restore(kept.unmatched)

    @on(ProcessCompiled)
    @on(ProcessRetired)
    def enter(
        self, event: ProcessCompiled | ProcessRetired, delivery: Delivery
    ) -> Iterator[Output]:
        """Add or remove the process, and arm its schedules."""
        for index, schedule in self._enter(event):
            if schedule is None:
                yield Forget(schedules.deadline(event.name, index))
            else:
                trigger_id = delivery.new_id(index + 1)
                now_ns = delivery.time_ns - self._calendar.ahead_ns
                yield from self._rearmed(event.name, index, schedule, now_ns, trigger_id)
        new = self._catalogue.table.get(event.name)
        if new is not None and isinstance(event, ProcessCompiled):
            yield from self._waiting.linked(new, delivery.time_ns)
            yield from self._unmatched.arrived(new, delivery.time_ns)
        yield from self.answered(event, delivery)

    def _enter(
        self, event: ProcessCompiled | ProcessRetired
    ) -> list[tuple[int, ScheduleTrigger | None]]:
        """Fold what the compiler said; returns the schedules that changed by it."""
        old = self._catalogue.table.get(event.name)
        self._catalogue.fold(event)
        changed = [*schedules.changed(old, self._catalogue.table.get(event.name))]
        for index, _ in changed:
            self._calendar.forget(schedules.deadline(event.name, index))
        return changed

    @on(LogClockJumped)
    def set_clock(self, event: LogClockJumped, delivery: Delivery) -> Iterator[Output]:
        """Arm every schedule for its next time by the current clock.

        If the clock was set past that time, it is due, and late.
        """
        if not self._calendar.jumped(event):
            return
        ids, after_ns = map(delivery.new_id, itertools.count(1)), self._calendar.through_ns()
        for name in self._catalogue.table.names():
            for index, schedule in enumerate(
                schedules.schedules_of(self._catalogue.table.get(name))
            ):
                yield from self._rearmed(name, index, schedule, after_ns, next(ids))

    @on(ProcessUnlinked)
    def unlink(self, event: ProcessUnlinked, delivery: Delivery) -> Iterator[Output]:
        """Refuse new executions until what is missing is back; schedules stay armed."""
        self._catalogue.fold(event)
        yield from self.answered(event, delivery)

    @on(ProcessSubmit)
    def submitted(self, event: ProcessSubmit, delivery: Delivery) -> None:
        """Hold requests that the submission may affect until it is answered."""
        self._waiting.submit(event, delivery.position, delivery.time_ns)

    @on(ProcessRejected)
    @on(ProcessUnchanged)
    @on(ComponentFailed)
    def answered(self, event: Event, delivery: Delivery) -> Iterator[Output]:
        """Continue with requests that waited for the answer."""
        position = delivery.causation or 0
        if isinstance(event, ComponentFailed):
            position = event.position
        yield from self._waiting.answered(position, delivery.time_ns)

    @on(StepWake)
    def woken(self, event: StepWake, delivery: Delivery) -> Iterator[Output]:
        """Begin an execution that waited for the compiler, or for its process."""
        request = self._waiting.woken(event) if event.what in (WAKE, UNLINKED) else None
        if request is not None:
            yield from self._begin(request, delivery, last=event.what == UNLINKED)

    @on(ExecutionDeferred)
    def deferred(self, event: ExecutionDeferred, delivery: Delivery) -> Iterator[Output]:
        """Restore requests deferred before this start."""
        yield from self._waiting.said(event, delivery.time_ns)

    @on(ExecutionRequest)
    def start_execution(self, event: ExecutionRequest, delivery: Delivery) -> Iterator[Output]:
        """Begin an execution, or report why not; after earlier submissions are compiled."""
        bound = self._hold(event, delivery)
        if isinstance(bound, Refusal):
            yield ExecutionFailed(execution_id=event.execution_id, reason=bound.reason)
        elif bound is not None:
            yield bound
        else:
            yield from self._begin(event, delivery)

    def _hold(self, event: ExecutionRequest, delivery: Delivery) -> Later | Refusal | None:
        # A child was linked with its parent, and ad-hoc work needs no process.
        if event.parent or not event.process or event.fork_of:
            return None
        if self._catalogue.table.get(event.process, event.process_version or -1):
            return None  # that version exists
        return self._waiting.hold(event, delivery.time_ns)

    def _begin(
        self, event: ExecutionRequest, delivery: Delivery, *, last: bool = False
    ) -> Iterator[Output]:
        """Begin *event* or report why not; it may wait for its process, but not at the last try."""
        if event.fork_of and not event.parent:
            yield from self._forked(event, delivery)
            return
        begun = self._starter.start(event, delivery)
        wanted_s = self._wait_s if event.wait_s is None else max(0.0, event.wait_s)
        waits_s = min(wanted_s, self._wait_s) if self._waiting.has_room(event) else 0.0
        if isinstance(begun, Refusal) and begun.unlinked and waits_s and not last:
            name = begun.unlinked.process.name
            yield from self._waiting.defer(event, name, begun.missing, delivery.time_ns, waits_s)
            return
        if isinstance(begun, Refusal):
            yield ExecutionFailed(execution_id=event.execution_id, reason=begun.reason)
        else:
            yield begun
        yield from self._waiting.begun(event.execution_id)

    def _forked(self, event: ExecutionRequest, delivery: Delivery) -> Iterator[Output]:
        begun = self._forks.begun(event, delivery)
        if isinstance(begun, Refusal):
            yield ExecutionFailed(execution_id=event.execution_id, reason=begun.reason)
        else:
            yield from begun

    @on(TriggerReceived)
    def answer(self, event: TriggerReceived, delivery: Delivery) -> Iterator[Output]:
        """Choose the process that answers a trigger, and request its execution."""
        if self._repeated(event, delivery):
            return
        if event.fields.get("source") == schedules.SOURCE and "process" in event.fields:
            yield from self._scheduled(event, delivery)
            return
        if event.fields.get("source") == files.SOURCE and "process" in event.fields:
            yield from self._of_files(event, delivery)
            return
        chosen = for_trigger(self._catalogue, self._preferences, event.fields)
        if isinstance(chosen, Refusal):
            yield from self._unmatched.refused(event, chosen, delivery)
        else:
            yield from matched(event, chosen, delivery, delivery.source)

    @on(TriggerUnmatched)
    def unmatched(self, event: TriggerUnmatched, delivery: Delivery) -> Iterator[Output]:
        """Restore triggers that waited before this start."""
        yield from self._unmatched.said(event, delivery)

    @on(TriggerWake)
    def look_again(self, event: TriggerWake, delivery: Delivery) -> Iterator[Output]:
        """Choose again for a trigger that waits, or give it up."""
        held = self._unmatched.open(event)
        if held is None:
            return
        chosen = for_trigger(self._catalogue, self._preferences, held.event.fields)
        if isinstance(chosen, Refusal) and not event.last:
            return  # a tie, or it was retired meanwhile
        if isinstance(chosen, Chosen):
            yield forgotten(held.event)
        yield from matched(held.event, chosen, delivery, held.source)
        self._unmatched.drop(held.event)

    @on(GrantRevoked)
    def revoked(self, event: GrantRevoked, delivery: Delivery) -> Iterator[Output]:
        """End the wait of triggers from a client whose grant is gone."""
        for held in self._unmatched.of_client(event.client):
            yield forgotten(held.event)
            yield not_matched(
                held.event, f"the grant of {event.client}, which published it, was revoked"
            )
            self._unmatched.drop(held.event)

    def _scheduled(self, event: TriggerReceived, delivery: Delivery) -> Iterator[Output]:
        name = str(event.fields["process"])
        found = self._fired(event, delivery)
        if found is None:
            yield not_matched(event, f"{name} no longer has this schedule")
            return
        index, schedule, firing = found
        if firing.run:
            chosen = meant(for_request(self._catalogue, self._preferences, name, 0))
            if isinstance(chosen, Chosen):
                chosen = Chosen(chosen.process, "its schedule")
            yield from matched(event, chosen, delivery, delivery.source)
        else:
            reason = f"it came {firing.late_s:.0f} s late, and {name} skips missed times"
            if firing.early:
                reason = f"it came too early, because the clock was set back; {name} waits for it"
            elif schedule.missed != "skip":
                reason = f"{name} ran for that time already, before the clock was set back"
            yield not_matched(event, reason)
        yield from self._armed(name, index, schedule, firing.next_ns, delivery.new_id(index + 1))

    def _fired(
        self, event: TriggerReceived, delivery: Delivery
    ) -> tuple[int, ScheduleTrigger, schedules.Firing] | None:
        """The decision about a due time; None if no current schedule has it."""
        name = str(event.fields.get("process"))
        process = self._catalogue.table.get(name)
        found = schedules.find(process, event.fields) if process else None
        if found is None or event.fields.get("source") != schedules.SOURCE:
            return None
        index, schedule = found
        now_ns = delivery.time_ns - self._calendar.ahead_ns
        due_ns = schedules.due_ns_of(event.fields, now_ns)
        firing = schedules.firing(schedule, due_ns, now_ns)
        at = schedules.deadline(name, index)
        if self._calendar.has_run(at, due_ns):  # the clock passes it for a second time
            firing = msgspec.structs.replace(firing, run=False)
        elif firing.run:
            self._calendar.ran_at(at, schedule, due_ns)
        return index, schedule, firing

    def _rearmed(
        self,
        name: str,
        index: int,
        schedule: ScheduleTrigger,
        after_ns: int,
        trigger_id: str,
    ) -> Iterator[Output]:
        """The deadline of a schedule's first time after *after_ns*."""
        due_ns = schedules.next_due_ns(schedule, after_ns)
        yield from self._armed(name, index, schedule, due_ns, trigger_id, skipped=True)

    def _armed(
        self,
        name: str,
        index: int,
        schedule: ScheduleTrigger,
        due_ns: int | None,
        trigger_id: str,
        *,
        skipped: bool = False,
    ) -> Iterator[Output]:
        """The deadline of a schedule's time *due_ns*, or of the next future one."""
        calendar, at = self._calendar, schedules.deadline(name, index)
        due_ns = calendar.to_come(at, schedule, due_ns, skipped=skipped)
        yield from schedules.armed(
            name, index, schedule, due_ns, calendar.ahead_ns, self._workspace, trigger_id
        )

    def _of_files(self, event: TriggerReceived, delivery: Delivery) -> Iterator[Output]:
        name = str(event.fields["process"])
        if not files.triggers_of(self._catalogue.table.get(name)):
            yield not_matched(event, f"{name} no longer watches files")
            return
        chosen = meant(for_request(self._catalogue, self._preferences, name, 0))
        if isinstance(chosen, Chosen):
            chosen = Chosen(chosen.process, "its file trigger")
        yield from matched(event, chosen, delivery, delivery.source)

    def _repeated(self, event: TriggerReceived, delivery: Delivery) -> bool:
        """Whether this trigger was received before: its sender may repeat it."""
        for record in self._history(event.stream()):
            if record.position >= delivery.position:
                return False
            if record.topic == event.topic_name():
                return True
        return False


_ENCODE = msgspec.msgpack.Encoder().encode
_KEPT = msgspec.msgpack.Decoder(ManagerSnapshot).decode
