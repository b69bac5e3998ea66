"""The shell: the one pykka actor class, which drives a feed and answers queries on its thread.

Its mailbox holds control only: at most one `Wake`, its alarms, the `Call`s of askers, and `Stop`.
Events are fetched, so the log is the queue. No exception of a component leaves `on_receive`: in
pykka an exception after a `tell` would end the actor, and a `SystemExit` every actor of the
process.

Only pykka's public interface is used: a query by the mailbox is as fast as a bare actor's `ask`
(`benchmarks/results/bench_bus.txt`). An inbox and a future of our own would answer it faster, but
steps would be no faster.
"""

import contextlib
import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any

import msgspec
import pykka

from cortex.bus import (
    Answer,
    Claimed,
    CortexError,
    Event,
    HubClosedError,
    HubPort,
    Logger,
    Query,
    Request,
    Subscribed,
    UnansweredError,
    root_of,
)

from ..hosts.host import Host, told, trace_of
from ..hosts.spawned import ChildDiedError
from .feed import Flush, Idle, Pause, Program, Quiet, Step
from .leases import Leases
from .recall import Ending, Rest
from .resting import Dormant, Pulse

ROUNDS = 16  # requests in a row before the mailbox gets a turn, so that calls do not starve

ALONE = nullcontext()  # nobody else uses its host

log = Logger("cortex.kernel")


class Wake(msgspec.Struct, frozen=True):
    """There may be events to fetch."""


class Rung(msgspec.Struct, frozen=True):
    """The alarm that was set for *at_ns* has rung."""

    at_ns: int


class Call(msgspec.Struct, frozen=True):
    """A query; the answer is the actor's reply."""

    query: Event


class Stop(msgspec.Struct, frozen=True):
    """End after the event that is being handled."""


class FailedCall(msgspec.Struct, frozen=True):
    """The reply to a `Call` whose handler raised."""

    error: BaseException


class Hooks(msgspec.Struct, frozen=True):
    """Callbacks for the state of a shell; called on its thread, must return at once."""

    started: Callable[[], None]  # it is subscribed, or ready for calls if it only answers
    failed: Callable[[str], None]  # it ends after this
    rested: Callable[[], None]  # it has ended, because there was no work
    is_news: Callable[[str], bool]  # whether the component's last failure had another traceback


class Shell(pykka.ThreadingActor):
    """Runs one host; see the module's docstring."""

    use_daemon_thread = True  # a hung handler must not keep the process alive

    def __init__(
        self,
        label: str,
        hub: HubPort,
        host: Host,
        program: Program | None,
        hooks: Hooks,
        leases: Leases,
        pulse: Pulse,
        dormant: Dormant | None = None,
        turn: AbstractContextManager[object] = ALONE,
        *,
        resumed: bool = False,
    ) -> None:
        super().__init__()
        self._label = label  # "TestsPass" or, for several workers, "TestsPass/2"
        self._source = root_of(label)  # all workers of a component publish under one name
        self._hub = hub
        self._host = host
        self._program = program
        self._hooks = hooks
        self._leases = leases
        self._pulse = pulse
        self._dormant = dormant  # keeps program and host while there is no thread; None: never
        self._turn = turn  # held while it uses its program or its host
        self._resumed = resumed  # the program is one that it has kept
        self._answers: Sequence[Answer] | None = None  # what the generator waits for
        # What the generator yielded, if it is idle.
        self._rests: Idle | Pause | None = Idle() if resumed else None
        self._until_ns: int | None = None  # when that ends by itself
        self._alarm_ns: int | None = None  # the time of its alarm at the hub
        self._ended = False  # the rest of the mailbox is too late
        self._stopped = False  # its host is, or is kept for another shell

    def on_start(self) -> None:
        """Start the component on this thread; reports success or failure."""
        try:
            if not self._resumed:
                self._host.start()
        except BaseException as error:  # noqa: BLE001  # a failing on_start still gives a ref
            self._fail(error)
            return
        if self._program is None:
            self._host.share()
        if self._program is None or self._resumed:
            self._hooks.started()
        self._wake()

    def on_stop(self) -> None:
        """Stop the host, whoever has stopped the actor."""
        self._stop_host()

    def on_failure(  # the names are pykka's
        self,
        exception_type: type[BaseException] | None,  # as above
        exception_value: BaseException | None,  # as above
        traceback: TracebackType | None,  # as above
    ) -> None:
        """Stop the host, after an error of the shell itself."""
        self._stop_host()

    def on_receive(self, message: object) -> Any:
        """Handle a message of the mailbox; never raises."""
        with self._turn:
            return _too_late(message) if self._ended else self._take(message)

    def _take(self, message: object) -> Any:
        try:
            if isinstance(message, Call):
                return self._host.answer(message.query)
            if isinstance(message, Stop):
                self._flush()
                self._end()
            elif isinstance(message, Rung):
                self._ring(message)
            elif self._program is not None:
                self._pulse.rung = False
                if not isinstance(self._rests, Pause):  # it fetches anyway after that
                    self._drive(self._program)
        except Ending:
            self._end()
        except Rest:
            self._end(rests=True)
            self._hooks.rested()
        except BaseException as error:  # noqa: BLE001  # the supervisor decides
            if not isinstance(message, Call):
                self._fail(error)
                return None
            if isinstance(error, ChildDiedError):  # its fold is lost with it
                self._fail(error)
            return FailedCall(error)
        return None

    def _wake(self) -> None:
        wake(self.actor_ref, self._pulse)

    def _drive(self, program: Program) -> None:
        for _ in range(ROUNDS):
            self._pulse.busy_since_ns = self._hub.steady_ns()
            step = self._next(program)
            self._pulse.busy_since_ns = 0
            if self._pulse.abandoned:
                self._end()
                return
            if isinstance(step, Idle | Pause):
                self._rest(step)
                return
            self._answers = self._submit(step)
        self._wake()

    def _flush(self) -> None:
        """Let an idle generator commit what it has postponed."""
        if self._program is not None and isinstance(self._rests, Idle):
            flush(self._program, self._submit)

    def _next(self, program: Program) -> Step:
        rests, until_ns, answers = self._rests, self._until_ns, self._answers
        self._rests = self._until_ns = self._answers = None
        if isinstance(rests, Idle) and rests.needs_thread and self._is_over(until_ns):
            return program.throw(Quiet)
        if rests is not None:
            return program.send(())
        return next(program) if answers is None else program.send(answers)

    def _is_over(self, until_ns: int | None) -> bool:
        return until_ns is not None and self._hub.steady_ns() >= until_ns

    def _submit(self, step: Sequence[Request]) -> Sequence[Answer]:
        self._leases.let_go(step)
        answers = self._hub.submit(self._source, step)
        for answer in answers:
            if isinstance(answer, Claimed):
                self._leases.hold(self._label, step, answer)
            elif isinstance(answer, Subscribed):
                self._hooks.started()
        return answers

    def _rest(self, step: Idle | Pause) -> None:
        self._rests = step
        for_ns = step.quiet_ns if isinstance(step, Idle) else step.for_ns
        if for_ns is not None:
            self._until_ns = self._hub.steady_ns() + for_ns
            self._set_alarm(self._until_ns)

    def _set_alarm(self, at_ns: int) -> None:
        # An earlier alarm is enough: it sets the next. A busy feed is idle a thousand times a
        # second, for shorter than any of those alarms.
        if self._alarm_ns is None or at_ns < self._alarm_ns:
            self._alarm_ns = at_ns
            self._hub.alarm(at_ns, lambda: self._tell(Rung(at_ns)))

    def _ring(self, rung: Rung) -> None:
        if self._alarm_ns == rung.at_ns:
            self._alarm_ns = None
        if self._program is None or self._until_ns is None:
            return
        if self._hub.steady_ns() < self._until_ns:
            self._set_alarm(self._until_ns)
        elif isinstance(self._rests, Idle) and not self._rests.needs_thread:
            self._sleep(self._program)
        else:
            self._drive(self._program)

    def _sleep(self, program: Program) -> None:
        """End the thread; the program goes on in another one, once there is something to do."""
        if self._dormant is not None and self._dormant.keep(program, self._host, self._pulse):
            self._ended = self._stopped = True
            self.stop()
            self._hooks.rested()

    def _tell(self, message: Rung) -> None:
        with contextlib.suppress(pykka.ActorDeadError):
            self.actor_ref.tell(message)

    def _fail(self, error: BaseException) -> None:
        try:
            if not isinstance(error, HubClosedError):
                self._report(error)
        finally:  # a line that cannot be written keeps no process running
            self._end()

    def _report(self, error: BaseException) -> None:
        trace = "" if isinstance(error, CortexError) else trace_of(error)
        # No `exc_info`: without a configuration structlog would print every local of every frame,
        # including secrets, and take longer than the restart.
        log.warning(
            "component_failed",
            component=self._label,
            error=told(error),
            where=_where(error),
            **({"exception": trace} if trace and self._hooks.is_news(trace) else {}),
        )
        self._hooks.failed(told(error))

    def _end(self, *, rests: bool = False) -> None:
        self._ended = True
        if not self._pulse.abandoned:
            self._leases.drop(self._label, give_back=True)
        if rests and self._host.is_kept():
            self._stopped = True
        self._stop_host()
        self.stop()

    def _stop_host(self) -> None:
        if self._stopped:
            return
        self._stopped = True
        try:
            self._host.stop()
        except Exception as error:  # noqa: BLE001  # it is ending anyway
            log.warning("component_stop_failed", component=self._label, error=str(error))


def flush(program: Program, submit: Callable[[Sequence[Request]], Sequence[Answer]]) -> None:
    """Let an idle generator commit what it has postponed."""
    with contextlib.suppress(StopIteration, Flush):
        step = program.throw(Flush)
        while not isinstance(step, Idle | Pause):
            step = program.send(submit(step))


def _where(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def _too_late(message: object) -> FailedCall | None:
    if isinstance(message, Call):
        return FailedCall(UnansweredError(message.query.topic_name()))
    return None


def wake(shell: pykka.ActorRef[Any], pulse: Pulse) -> None:
    """Put one `Wake` into the mailbox of *shell* unless one is there; safe from any thread."""
    if not pulse.rung:
        pulse.rung = True
        with contextlib.suppress(pykka.ActorDeadError):
            shell.tell(Wake())


def ask(shell: pykka.ActorRef[Shell], query: Query, timeout_s: float) -> Event:
    """Ask *query* of *shell*.

    Raises:
        TimeoutError: No answer within *timeout_s*.
        UnansweredError: The shell ended before it handled the query.
        CortexError: Whatever the component raised.
    """
    try:
        reply: Any = shell.ask(Call(query), timeout=timeout_s)
    except pykka.Timeout:
        raise TimeoutError from None
    except pykka.ActorDeadError:
        raise UnansweredError(query.topic_name()) from None
    if isinstance(reply, FailedCall):
        raise reply.error
    answer: Event = reply
    return answer
