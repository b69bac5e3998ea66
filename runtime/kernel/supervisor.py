"""The supervisor's driver: one thread that starts shells, and starts them again when they fail."""

import contextlib
import itertools
import queue
import threading
from collections.abc import Callable

import msgspec
import pykka

from cortex.bus import Clock, Logger, SystemClock, lasting

from . import supervision
from .shell import Hooks, Shell, Stop

LOOK_S = 1.0  # how often shells are looked at for one that hangs
START_TRIES = 6  # failures in a row, within some three seconds, after which nobody waits any more

log = Logger("cortex.kernel")


class Staffed(msgspec.Struct, frozen=True):
    """A shell at work, how to let go of it when it hangs, and how to have it end soon."""

    ref: pykka.ActorRef[Shell]
    abandon: Callable[[], None]
    hurry: Callable[[], None]  # before it is told to stop: what takes long is left off


Make = Callable[[Hooks], Staffed]
Tell = Callable[[str, str, int], None]  # component label, reason, times it was restarted


class _Watch:
    """A supervised shell: how to make one, the state machine's view, the one that is at work."""

    def __init__(
        self, make: Make, overdue: Callable[[int], bool], rested: Callable[[], None]
    ) -> None:
        self.make = make
        self.overdue = overdue
        self.rested = rested
        self.watched = supervision.Watched()
        self.staffed: Staffed | None = None
        self.life = 0  # news of an earlier shell does not count
        self.ready = False  # it was, at least once
        self.settled = threading.Event()  # it is ready, or failed too often to be waited for
        self.manned = threading.Event()  # there is a shell, or none could be made


class _News(msgspec.Struct, frozen=True):
    label: str
    life: int
    kind: str  # "begin", "started", "failed", "rested"
    reason: str = ""


class Supervisor:
    """Keeps shells alive; `watch` adds one, `close` ends them all."""

    def __init__(self, clock: Clock, tell: Tell) -> None:
        self._steady_ns = SystemClock.steady_of(clock)  # whoever waits, waits by this
        self._tell = tell
        self._watches: dict[str, _Watch] = {}
        self._news: queue.SimpleQueue[_News | None] = queue.SimpleQueue()
        self._lives = itertools.count(1)
        self._traces: dict[str, str] = {}  # by component, the traceback that was shown last
        self._closed = False
        self._lock = threading.Lock()  # or a shell that is being stopped could be started again
        self._look_ns: int | None = None  # when a shell's backoff is over
        self._thread = threading.Thread(target=self._run, name="cortex-supervisor", daemon=True)
        self._begun = False

    def watch(
        self,
        label: str,
        make: Make,
        overdue: Callable[[int], bool],
        rested: Callable[[], None] = lambda: None,
    ) -> threading.Event:
        """Start a shell and keep one alive from now on; returns at once once `begin` was called.

        The event is set once it is ready, or has failed `START_TRIES` times before it ever was.
        *rested* is called, on the shell's thread, where it ended for want of work: it is watched
        no longer then.
        """
        watch = _Watch(make, overdue, rested)
        self._watches[label] = watch
        self._news.put(_News(label, 0, "begin"))
        self.begin()
        return watch.settled

    def begin(self) -> None:
        """Start the thread, unless that was done."""
        if self._begun:  # not under the lock: who brings work must not wait for who starts shells
            return
        with self._lock:
            if not self._begun:
                self._begun = True
                self._thread.start()

    def look(self) -> None:
        """Look at the clock now: somebody has moved it."""
        self._news.put(None)

    def is_ready(self, label: str) -> bool:
        """Whether the shell was ready at least once."""
        return self._watches[label].ready

    def shell(self, label: str, wait_s: float = 0.0) -> pykka.ActorRef[Shell] | None:
        """The shell that is at work under *label*; None while there is none.

        One that is being made is waited for, *wait_s* at most: what it does first may be seen
        before it is known here.
        """
        watch = self._watches.get(label)
        if watch is not None and watch.staffed is None and watch.watched.status == "starting":
            watch.manned.wait(lasting(wait_s))
        return watch.staffed.ref if watch and watch.staffed else None

    def problem(self, label: str) -> str:
        """Why the shell last failed; empty where it did not."""
        return self._watches[label].watched.reason

    def unwatch(self, label: str, patience_s: float) -> None:
        """Stop one shell in good order, or leave it behind after *patience_s*."""
        with self._lock:
            watch = self._watches.pop(label, None)
            if watch is None:
                return
            watch.watched, _ = supervision.stopped(watch.watched, self._steady_ns())
        self._end([watch], patience_s)

    def close(self, patience_s: float = 5.0) -> None:
        """Stop every shell in good order; one that hangs is left behind."""
        self._closed = True
        self._news.put(None)
        if self._begun:
            self._thread.join()
        watches, self._watches = list(self._watches.values()), {}
        self._end(watches, patience_s)

    def _end(self, watches: list[_Watch], patience_s: float) -> None:
        staff = [w.staffed for w in watches if w.staffed is not None]
        for staffed in staff:
            staffed.hurry()
            with contextlib.suppress(pykka.ActorDeadError):
                staffed.ref.tell(Stop())
        until_ns = self._steady_ns() + int(patience_s * 1e9)
        for staffed in staff:
            left_s = max(0.0, (until_ns - self._steady_ns()) / 1e9)
            if not staffed.ref.actor_stopped.wait(lasting(left_s)):
                log.warning("component_left_behind", actor=str(staffed.ref))
                staffed.abandon()

    def _run(self) -> None:
        while not self._closed:
            try:
                news = self._news.get(timeout=lasting(self._patience_s()))
            except queue.Empty:
                news = None
            now_ns = self._steady_ns()
            try:
                self._turn(news, now_ns)
            except Exception as error:  # noqa: BLE001  # nothing may end supervision
                log.error("supervision_failed", error=str(error))

    def _turn(self, news: _News | None, now_ns: int) -> None:
        with self._lock:
            self._look_ns = None  # whoever waits says again until when
            if news is not None:
                self._hear(news, now_ns)
            for label, watch in list(self._watches.items()):
                self._look(label, watch, now_ns)

    def _patience_s(self) -> float:
        if self._look_ns is None:
            return LOOK_S
        return min(LOOK_S, max(0.0, (self._look_ns - self._steady_ns()) / 1e9))

    def _hear(self, news: _News, now_ns: int) -> None:
        watch = self._watches.get(news.label)
        if watch is None or news.life not in (0, watch.life):
            return
        if news.kind == "rested":
            del self._watches[news.label]
            return
        if news.kind == "begin":
            result = supervision.begin(now_ns)
        elif news.kind == "started":
            result = supervision.started(watch.watched, now_ns)
            watch.ready = True
            watch.settled.set()
        else:
            watch.staffed = None
            result = supervision.failed(watch.watched, news.reason, now_ns)
            if result[0].failures >= START_TRIES:
                watch.settled.set()
        self._obey(news.label, watch, result)

    def _look(self, label: str, watch: _Watch, now_ns: int) -> None:
        if watch.watched.status == "running" and watch.overdue(now_ns):
            self._obey(label, watch, supervision.hung(watch.watched, "it hangs", now_ns))
        self._obey(label, watch, supervision.looked_at(watch.watched, now_ns))

    def _obey(self, label: str, watch: _Watch, result: supervision.Result) -> None:
        watch.watched, orders = result
        for order in orders:
            if isinstance(order, supervision.Start):
                self._start(label, watch)
            elif isinstance(order, supervision.Abandon):
                self._abandon(watch)
            elif isinstance(order, supervision.Restarted):
                self._report(label, order)
            else:
                self._look_ns = min(self._look_ns or order.at_ns, order.at_ns)

    def _abandon(self, watch: _Watch) -> None:
        staffed, watch.staffed, watch.life = watch.staffed, None, -1
        if staffed is not None:
            staffed.abandon()

    def _report(self, label: str, order: supervision.Restarted) -> None:
        try:
            self._tell(label, order.reason, order.times)
        except Exception as error:  # noqa: BLE001  # nothing may end supervision, a full disk least
            log.warning("restart_not_recorded", component=label, error=str(error))

    def _start(self, label: str, watch: _Watch) -> None:
        life = watch.life = next(self._lives)
        watch.manned.clear()
        hooks = Hooks(
            started=lambda: self._news.put(_News(label, life, "started")),
            failed=lambda reason: self._news.put(_News(label, life, "failed", reason)),
            rested=lambda: self._rested(label, life, watch),
            is_news=lambda trace: self._is_news(label, trace),
        )
        try:
            watch.staffed = watch.make(hooks)
        except Exception as error:  # noqa: BLE001  # a component that cannot even be made
            hooks.failed(f"{type(error).__name__}: {error}")
        watch.manned.set()

    def _rested(self, label: str, life: int, watch: _Watch) -> None:
        self._news.put(_News(label, life, "rested"))  # before: it may begin anew at once
        watch.rested()

    def _is_news(self, label: str, trace: str) -> bool:
        """Whether *trace* is not what a shell of the same component failed with before."""
        component = label.partition("/")[0]  # its workers mostly fail alike
        before, self._traces[component] = self._traces.get(component), trace
        return before != trace
