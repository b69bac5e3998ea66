"""The shell: the one pykka actor class, which drives a feed and answers queries on its thread.

Its mailbox holds control only: at most one `Wake`, its alarms, the `Call`s of askers, and `Stop`.
Events are fetched, so the log is the queue. No exception of a component leaves `on_receive`: in
pykka an exception after a `tell` would end the actor, and a `SystemExit` every actor of the
process.

pykka is used by its public interface. An inbox and a future of our own (`SimpleQueue`, one lock)
would answer a query by the mailbox at 1.2 to 1.5 x a bare actor, instead of 0.92 to 0.96 x; steps
are as fast without them.
"""

import contextlib
import traceback
from collections.abc import Callable, Sequence
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
)

from .feed import Flush, Idle, Pause, Program, Quiet, Step
from .host import Host, told, trace_of
from .leases import Leases
from .recall import Ending, Rest
from .spawned import ChildDiedError

ROUNDS = 16  # requests in a row before the mailbox gets a turn, so that calls are not starved

log = Logger("cortex.kernel")


class Wake(msgspec.Struct, frozen=True):
    """There may be something to fetch."""


class Rung(msgspec.Struct, frozen=True):
    """The alarm that was set for *at_ns* has rung."""

    at_ns: int


class Call(msgspec.Struct, frozen=True):
    """Somebody asks something; the answer is the actor's reply."""

    query: Event


class Stop(msgspec.Struct, frozen=True):
    """End in good order, after what is being handled."""


class FailedCall(msgspec.Struct, frozen=True):
    """The reply to a `Call` whose handler raised."""

    error: BaseException


class Hooks(msgspec.Struct, frozen=True):
    """Whom a shell tells how it fares; called on its thread, must return at once."""

    started: Callable[[], None]  # it is subscribed, or ready for calls where it only answers
    failed: Callable[[str], None]  # it ends after this
    rested: Callable[[], None]  # it has ended, for want of work
    is_news: Callable[[str], bool]  # whether the component's last failure had another traceback


class Pulse(msgspec.Struct):
    """What others may see of a shell, and the one thing they may tell it without its mailbox."""

    busy_since_ns: int = 0  # by the hub's steady clock; 0 while it waits
    rung: bool = False  # a `Wake` is in the mailbox
    abandoned: bool = False  # somebody else does its work now: end as soon as you can
    ending: bool = False  # a `Stop` is in the mailbox: begin nothing that takes long


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
    ) -> None:
        super().__init__()
        self._label = label  # "TestsPass" or, of several workers, "TestsPass/2"
        self._source = label.partition("/")[0]  # workers of one component publish under one name
        self._hub = hub
        self._host = host
        self._program = program
        self._hooks = hooks
        self._leases = leases
        self._pulse = pulse
        self._answers: Sequence[Answer] | None = None  # what the program waits for
        self._rests: Idle | Pause | None = None  # what the program does, if it does nothing
        self._until_ns: int | None = None  # when that is over by itself
        self._alarm_ns: int | None = None  # for when the hub has an alarm of this shell
        self._ended = False  # what is still in the mailbox comes too late

    def on_start(self) -> None:
        """Start the component on this thread; who waits for it is told either way."""
        try:
            self._host.start()
        except BaseException as error:  # noqa: BLE001  # a failing on_start still gives a ref
            self._fail(error)
            return
        if self._program is None:
            self._host.share()
            self._hooks.started()
        self._wake()

    def on_receive(self, message: object) -> Any:
        """Do what the mailbox says; lets nothing escape."""
        if self._ended:
            return _too_late(message)
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
                if not isinstance(self._rests, Pause):  # it fetches by itself after that
                    self._drive(self._program)
        except Ending:
            self._end()
        except Rest:
            self._end()
            self._hooks.rested()
        except BaseException as error:  # noqa: BLE001  # the supervisor decides
            if not isinstance(message, Call):
                self._fail(error)
                return None
            if isinstance(error, ChildDiedError):  # its fold died with it
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
        """Let an idle program commit what it has put off."""
        program = self._program
        if program is None or not isinstance(self._rests, Idle):
            return
        with contextlib.suppress(StopIteration, Flush):
            step = program.throw(Flush)
            while not isinstance(step, Idle | Pause):
                step = program.send(self._submit(step))

    def _next(self, program: Program) -> Step:
        rests, until_ns, answers = self._rests, self._until_ns, self._answers
        self._rests = self._until_ns = self._answers = None
        if isinstance(rests, Idle) and until_ns is not None and self._hub.steady_ns() >= until_ns:
            return program.throw(Quiet)
        if rests is not None:
            return program.send(())
        return next(program) if answers is None else program.send(answers)

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
        # One that rings earlier is enough: it sets the next. A busy feed rests a thousand times a
        # second, and its quiet is over before any of those alarms.
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
        else:
            self._drive(self._program)

    def _tell(self, message: Rung) -> None:
        with contextlib.suppress(pykka.ActorDeadError):
            self.actor_ref.tell(message)

    def _fail(self, error: BaseException) -> None:
        if not isinstance(error, HubClosedError):
            trace = "" if isinstance(error, CortexError) else trace_of(error)
            # No `exc_info`: where nobody has configured structlog it would draw every local of
            # every frame, secrets too, and take longer for that than the restart does.
            log.warning(
                "component_failed",
                component=self._label,
                error=told(error),
                where=_where(error),
                **({"exception": trace} if trace and self._hooks.is_news(trace) else {}),
            )
            self._hooks.failed(told(error))
        self._end()

    def _end(self) -> None:
        self._ended = True
        if not self._pulse.abandoned:
            self._leases.drop(self._label, give_back=True)
        try:
            self._host.stop()
        except Exception as error:  # noqa: BLE001  # it is ending anyway
            log.warning("component_stop_failed", component=self._label, error=str(error))
        self.stop()


def _where(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def _too_late(message: object) -> FailedCall | None:
    if isinstance(message, Call):
        return FailedCall(UnansweredError(message.query.topic_name()))
    return None


def wake(shell: pykka.ActorRef[Shell], pulse: Pulse) -> None:
    """Put one `Wake` into the mailbox of *shell* unless one is there; safe from any thread."""
    if not pulse.rung:
        pulse.rung = True
        with contextlib.suppress(pykka.ActorDeadError):
            shell.tell(Wake())


def ask(shell: pykka.ActorRef[Shell], query: Query, timeout_s: float) -> Event:
    """Put *query* to *shell*.

    Raises:
        TimeoutError: No answer within *timeout_s*.
        UnansweredError: The shell ended before it came to it.
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
