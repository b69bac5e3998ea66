"""The supervisor's driver: one thread that starts shells, and restarts them when they fail.

What it starts is a shell, or a thread that keeps the process of a plugin.
"""

import itertools
import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

import msgspec

from cortex.bus import Clock, Logger, lasting, root_of

from . import supervision
from .running import Running, Watching
from .shell import Hooks

LOOK_S = 1.0  # how often to check for hung shells
START_TRIES = 6  # failures in a row, in about three seconds, after which waiting ends

log = Logger("cortex.kernel")


R = TypeVar("R", bound=Running)
Make = Callable[[Hooks], R]
Tell = Callable[[str, str, int], None]  # component label, reason, number of restarts


class _Watch(Generic[R]):
    """A supervised shell: how to start one, the state machine's view, the running one."""

    def __init__(self, make: Make[R], watching: Watching) -> None:
        self.make = make
        self.watching = watching
        self.watched = supervision.Watched()
        self.running: R | None = None
        self.life = 0  # counts shells: news of an earlier one is ignored
        self.settled = threading.Event()  # set if it is ready, or has failed too often to wait for
        self.made = threading.Event()  # set if there is a shell, or none could be started


class _News(msgspec.Struct, frozen=True):
    label: str
    life: int
    kind: str  # "begin", "afresh", "started", "failed", "rested"
    reason: str = ""


class Supervisor(Generic[R]):
    """Keeps shells running; `watch` adds one, `close` ends all.

    Args:
        clock: Its monotonic time counts.
        tell: Called for each start after a failure; None if what starts says so itself.
        name: Of its thread.
    """

    def __init__(
        self, clock: Clock, tell: Tell | None = None, name: str = "cortex-supervisor"
    ) -> None:
        self._steady_ns = clock.monotonic_ns  # the clock for all waits
        self._tell = tell
        self._watches: dict[str, _Watch[R]] = {}
        self._ready: set[str] = set()  # labels whose shell was ready at least once
        self._changing = threading.Lock()  # while one is replaced or removed; never for long
        self._news: queue.SimpleQueue[_News | None] = queue.SimpleQueue()
        self._lives = itertools.count(1)
        self._traces: dict[str, str] = {}  # last traceback shown, by component
        self._closed = False
        self._lock = threading.Lock()  # otherwise a shell that is being stopped could be restarted
        self._look_ns: int | None = None  # end of the next backoff
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._begun = False

    def watch(
        self,
        label: str,
        make: Make[R],
        watching: Watching = Watching(),  # noqa: B008  # frozen
    ) -> threading.Event:
        """Start a shell and keep it running; after `begin` it returns at once.

        The event is set once it is ready, or has failed `START_TRIES` times before that.
        """
        watch = _Watch(make, watching)
        with self._changing:
            self._watches[label] = watch
        self._news.put(_News(label, 0, "begin"))
        self.begin()
        return watch.settled

    def afresh(self, label: str) -> None:
        """Start it without a wait, and forget its failures, unless it runs; it is another now."""
        self._news.put(_News(label, 0, "afresh"))

    def begin(self) -> None:
        """Start the thread, unless it is running."""
        if self._begun:  # not under the lock: a publisher must not wait for the start of shells
            return
        with self._lock:
            if not self._begun:
                self._begun = True
                self._thread.start()

    def look(self) -> None:
        """Look at the clock now, because the caller has moved it."""
        self._news.put(None)

    def is_ready(self, label: str) -> bool:
        """Whether the shell was ready at least once."""
        return label in self._ready

    def running(self, label: str, wait_s: float = 0.0) -> R | None:
        """The running shell of *label*; None while there is none.

        Waits up to *wait_s* for one that is being started: its first actions may be visible
        before it is registered here.
        """
        watch = self._watches.get(label)
        begins = watch is not None and watch.watched.status in ("new", "starting")
        if watch is not None and watch.running is None and begins:
            watch.made.wait(lasting(wait_s))
        return watch.running if watch is not None else None

    def problem(self, label: str) -> str:
        """Why the shell last failed; empty if it did not."""
        return self._watches[label].watched.reason

    def unwatch(self, label: str, patience_s: float) -> None:
        """Stop one shell, or abandon it after *patience_s*."""
        with self._lock:
            watch = self._watches.pop(label, None)
            self._ready.discard(label)
            if watch is None:
                return
            watch.watched, _ = supervision.stopped(watch.watched, self._steady_ns())
        self._end([watch], patience_s)

    def close(self, patience_s: float = 5.0) -> None:
        """Stop every shell; abandon those that hang."""
        self._closed = True
        self._news.put(None)
        if self._begun:
            self._thread.join()
        watches, self._watches = list(self._watches.values()), {}
        self._end(watches, patience_s)

    def _end(self, watches: list[_Watch[R]], patience_s: float) -> None:
        running = [w.running for w in watches if w.running is not None]
        for shell in running:
            shell.end()
        until_ns = self._steady_ns() + int(patience_s * 1e9)
        for shell in running:
            left_s = max(0.0, (until_ns - self._steady_ns()) / 1e9)
            if not shell.ended_within(left_s):
                log.warning("component_left_behind", actor=str(shell))
                shell.abandon()

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
            self._look_ns = None  # each waiting shell sets it again
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
            with self._changing:
                if self._watches.get(news.label) is watch:  # else it has begun again already
                    del self._watches[news.label]
            return
        restarts = watch.watching.restarts()
        if news.kind == "begin":
            result = supervision.begin(now_ns, restarts)
        elif news.kind == "afresh":
            result = supervision.afresh(watch.watched, now_ns, restarts)
        elif news.kind == "started":
            result = supervision.started(watch.watched, now_ns)
            self._ready.add(news.label)
            watch.settled.set()
        else:
            watch.running = None
            result = supervision.failed(watch.watched, news.reason, now_ns, restarts)
            if result[0].failures >= START_TRIES:
                watch.settled.set()
        self._obey(news.label, watch, result)

    def _look(self, label: str, watch: _Watch[R], now_ns: int) -> None:
        restarts = watch.watching.restarts()
        if watch.watched.status == "running" and watch.watching.overdue(now_ns):
            self._obey(label, watch, supervision.hung(watch.watched, "it hangs", now_ns, restarts))
        self._obey(label, watch, supervision.looked_at(watch.watched, now_ns, restarts))

    def _obey(self, label: str, watch: _Watch[R], result: supervision.Result) -> None:
        before, (watch.watched, orders) = watch.watched, result
        for order in orders:
            if isinstance(order, supervision.Start):
                self._start(label, watch)
            elif isinstance(order, supervision.Abandon):
                self._abandon(watch)
            elif isinstance(order, supervision.Restarted):
                if self._tell is not None:
                    self._report(label, partial(self._tell, label, order.reason, order.times))
            else:
                self._look_ns = min(self._look_ns or order.at_ns, order.at_ns)
        if watch.watched is not before and watch.watched.status in ("waiting", "given up"):
            self._report(label, partial(watch.watching.failed, watch.watched))

    def _abandon(self, watch: _Watch[R]) -> None:
        shell, watch.running, watch.life = watch.running, None, -1
        if shell is not None:
            shell.abandon()

    def _report(self, label: str, tell: Callable[[], None]) -> None:
        try:
            tell()
        except Exception as error:  # noqa: BLE001  # nothing may end supervision, a full disk least
            log.warning("restart_not_recorded", component=label, error=str(error))

    def _start(self, label: str, watch: _Watch[R]) -> None:
        life = watch.life = next(self._lives)
        watch.made.clear()
        hooks = Hooks(
            started=lambda: self._news.put(_News(label, life, "started")),
            failed=lambda reason: self._news.put(_News(label, life, "failed", reason)),
            rested=lambda: self._rested(label, life, watch),
            is_news=lambda trace: self._is_news(label, trace),
        )
        try:
            watch.running = watch.make(hooks)
        except Exception as error:  # noqa: BLE001  # a component that cannot even be made
            hooks.failed(f"{type(error).__name__}: {error}")
        watch.made.set()

    def _rested(self, label: str, life: int, watch: _Watch[R]) -> None:
        self._news.put(_News(label, life, "rested"))  # first, because it may start again at once
        watch.watching.rested()

    def _is_news(self, label: str, trace: str) -> bool:
        """Whether *trace* differs from the last one of the same component."""
        component = root_of(label)  # its workers usually fail in the same way
        before, self._traces[component] = self._traces.get(component), trace
        return before != trace
