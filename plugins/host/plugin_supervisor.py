"""Keeps one plugin running: a thread starts its process, reads its reports, and restarts it."""

import contextlib
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from cortex.bus import (
    ANNOUNCEMENTS,
    DEADLINES,
    SUBSCRIPTIONS,
    CortexError,
    Event,
    Logger,
    steady_ns,
    steady_s,
)
from cortex.bus.events import (
    ComponentAnnounced,
    GrantRevoked,
    PluginCrashed,
    PluginDenied,
    PluginLoad,
    PluginLoaded,
)
from cortex.runtime.access import new_token
from cortex.runtime.kernel import supervision

from ..checking import Description
from ..errors import PluginRefusedError
from ..granted import Granted, client_of
from ..installed import Installed
from ..manifest import Limits
from .frames import Go, PluginFrame
from .gateway import Pass
from .process import HEARD_S, Life, PluginProcess, how_it_ended, restarts

FLOODS = "it floods the bus: it published more than its manifest says it does"
COMES_BACK = (DEADLINES, SUBSCRIPTIONS, ANNOUNCEMENTS)  # with the next start, to what it left
LOOK_S = 0.2  # between two looks at one of two processes
REST_S = 15.0  # for the old version to stop before it is replaced

log = Logger("cortex.plugins")


class HostPort(Protocol):
    """What a supervisor needs of the runtime that its plugin runs beside."""

    def check(self, load: PluginLoad, described: Description) -> None:
        """Raise PluginRefusedError for what may not be started so."""
        ...

    def granted(self, load: PluginLoad) -> Granted:
        """What it may do."""
        ...

    def start(self, load: PluginLoad, plugin: Installed) -> PluginProcess:
        """Start its process, which describes itself and waits for its token."""
        ...

    def admit(self, entry: Pass) -> None:
        """Let it in to the hub."""
        ...

    def shut_out(self, plugin: str) -> None:
        """Let it in no more."""
        ...

    def announce(
        self, plugin: str, names: Sequence[str], said: Iterable[ComponentAnnounced]
    ) -> None:
        """Announce what its components serve; PluginRefusedError for what is another's."""
        ...

    def withdraw(self, plugin: str, names: Sequence[str]) -> None:
        """Take back what it announced."""
        ...

    def forget(self, names: Iterable[str]) -> None:
        """Remove what these components, which are gone for good, subscribed to."""
        ...

    def record(self, *events: Event) -> None:
        """Publish in the runtime's name."""
        ...


class Ended(Struct, frozen=True):
    """How a process came to its end."""

    reason: str
    limits: Limits
    ready_ns: int = 0  # when it was ready; 0 if it never was


class PluginSupervisor:
    """One plugin that is loaded; `stop` ends it for good."""

    def __init__(
        self,
        load: PluginLoad,
        plugin: Installed,
        host: HostPort,
        *,
        names: Sequence[str] = (),
    ) -> None:
        self.load, self._plugin, self._host = load, plugin, host
        self.names = tuple(names)  # of its components, as of its last start
        self._stopping = threading.Event()
        self._flooded = threading.Event()
        self._lock = threading.Lock()
        self._next: tuple[PluginLoad, Installed] | None = None  # its replacement
        self._over = False  # nothing reads `_next` any more
        self._before: tuple[PluginLoad, Installed] | None = None  # until its replacement works
        self._returning = False  # `_next` was running before
        self._lives: tuple[Life, ...] = ()  # the process that is at work, and one that is to be
        self._thread = threading.Thread(target=self._run, name=f"cortex-plugin-{load.plugin}")
        self._thread.start()

    @property
    def at_work(self) -> bool:
        """Whether it is at work now."""
        return any(life.ready_ns for life in self._lives)

    def replace(self, load: PluginLoad, plugin: Installed) -> bool:
        """Start its present version, and end the running one once the new one works.

        If it does not, the running one continues, and `plugin.denied` says why. False if this
        supervisor has ended, so that there is nothing to replace.
        """
        with self._lock:
            if self._over or self._stopping.is_set():
                return False
            self._next = (load, plugin)
        self._ring()
        return True

    def begin_to_stop(self) -> None:
        """Ask it to end; `stop` waits for that."""
        self._stopping.set()
        self._ring()

    def stop(self) -> None:
        """End it in good order, or kill it; no process is left when this returns."""
        self.begin_to_stop()
        self._thread.join()

    def _ring(self) -> None:
        for life in self._lives:
            life.process.wake()

    def _run(self) -> None:
        while True:
            self._keep_or_refuse()
            with self._lock:
                following, self._next = self._next, None
                self._over = following is None or self._stopping.is_set()
            if following is None or self._over:
                return
            self._before = None if self._returning else (self.load, self._plugin)
            self._returning = False
            self.load, self._plugin = following

    def _keep_or_refuse(self) -> None:
        try:
            self._keep()
        except (CortexError, OSError) as error:
            if self._stopping.is_set() or self._next is not None:
                return  # no caller waits for it
            if not self._returned(str(error)):
                self._refuse(str(error))
        except Exception as error:  # noqa: BLE001  # it is no other plugin's affair
            log.error("plugin_keeper_failed", plugin=self.load.plugin, error=str(error))
            self._refuse(f"it cannot be kept: {error}")

    def _refuse(self, reason: str) -> None:
        with contextlib.suppress(CortexError):
            self._host.withdraw(self.load.plugin, self.names)
        self._tell(PluginDenied(plugin=self.load.plugin, reason=reason))

    def _returned(self, reason: str) -> bool:
        """Whether this version never worked and replaced another, which then runs again."""
        before, self._before = self._before, None
        if before is None:
            return False
        self._tell(PluginDenied(plugin=self.load.plugin, reason=reason, kept=True))
        with self._lock:
            self._returning = self._next is None
            self._next = self._next or before
        return True

    def _keep(self) -> None:
        watched, _ = supervision.begin(steady_ns())
        while not self._stopping.is_set():
            ended = self._live()
            if self._stopping.is_set():
                return
            if not ended.ready_ns and (self._next is not None or self._returned(ended.reason)):
                return  # it never worked, and another version takes over
            if ended.ready_ns:
                watched, _ = supervision.started(watched, ended.ready_ns)
            now_ns = steady_ns()
            watched, _ = supervision.failed(watched, ended.reason, now_ns, restarts(ended.limits))
            given_up = watched.status == "given up"
            again_s = 0.0 if given_up else (watched.again_ns - now_ns) / 1e9
            self._host.withdraw(self.load.plugin, self.names)
            self._tell(
                PluginCrashed(
                    plugin=self.load.plugin,
                    reason=ended.reason,
                    times=watched.failures,
                    again_s=again_s,
                    given_up=given_up,
                )
            )
            if given_up or self._next is not None:
                return
            self._stopping.wait(again_s)
            watched, _ = supervision.looked_at(watched, watched.again_ns)

    def _live(self) -> Ended:
        """One life of its process, or of those that take its place one after the other."""
        self._flooded.clear()
        life = self._begun(self.load, self._plugin)
        try:
            while (heir := self._serve(life)) is not None:
                life = heir
        except BaseException:
            self._end_all()
            raise
        else:
            # One that was not ready has nothing that it could bring to a good end.
            code = life.process.end(kill=bool(life.reason) or not life.ready_ns)
            if (life.limits is None or life.denied) and not self._stopping.is_set():
                raise PluginRefusedError(life.reason or f"{how_it_ended(code)}: see its log")
            limits = life.limits or Limits()
            return Ended(life.reason or how_it_ended(code), limits, life.ready_ns)
        finally:
            self._lives = ()
            if life.limits is not None:
                self._host.shut_out(self.load.plugin)
                reason = "unloaded" if self._stopping.is_set() else "its process has ended"
                client = client_of(self.load.plugin)
                self._tell(GrantRevoked(client=client, reason=reason, keeps=COMES_BACK))

    def _begun(self, load: PluginLoad, plugin: Installed) -> Life:
        life = Life(self._host.start(load, plugin))
        self._lives = (*self._lives, life)
        return life

    def _end_all(self) -> None:
        for life in self._lives:
            life.process.end(kill=True)

    def _flood(self) -> None:
        self._flooded.set()
        self._ring()

    def _serve(self, life: Life) -> Life | None:
        """Hear a process until it ends, has to, or is no longer wanted; what takes its place."""
        while not life.reason and not self._stopping.is_set() and not life.process.ended:
            self._hear(life)
            if self._next is not None and not life.ready_ns:
                return None  # it need not even begin
            if life.ready_ns and not life.reason and (heir := self._replaced(life)) is not None:
                return heir
        return None

    def _replaced(self, old: Life) -> Life | None:
        """The replacement of *old*, if it is wanted and works; otherwise *old*, which continues."""
        with self._lock:
            following, self._next = self._next, None
        if following is None:
            return None
        before, names = (self.load, self._plugin), self.names
        try:
            new = self._begun(*following)
            new.load = following[0]
            self._until(new, lambda: new.described is not None, beside=old)
            self._put_to_rest(old)
            self.load, self._plugin = following
            self._go(new)
            self._until(new, lambda: new.ready_ns > 0)
        except (CortexError, OSError) as error:
            for life in self._lives[1:]:
                life.process.end(kill=True)
            self._lives = (old,)
            self.load, self._plugin = before
            if not self._stopping.is_set():
                self._go_back(old, names, str(error))
            return None
        old.process.end(kill=not old.resting)
        self._lives = (new,)
        self._host.forget(name for name in names if name not in self.names)
        return new

    def _until(self, life: Life, met: Callable[[], bool], *, beside: Life | None = None) -> None:
        """Hear *life*, and what is at work beside it, until it has come so far.

        Raises:
            PluginRefusedError: It does not.
        """
        while not met():
            if life.reason or life.process.ended or self._stopping.is_set():
                raise PluginRefusedError(life.reason or "its process ended: see its log")
            self._hear(life, LOOK_S)
            if beside is not None:
                self._hear(beside, 0.0)

    def _put_to_rest(self, life: Life) -> None:
        """Stop its work in a way that lets it continue later."""
        life.process.give(Go(""))
        until = steady_s() + REST_S
        while not (life.resting or life.process.ended) and steady_s() < until:
            self._hear(life, LOOK_S)
        life.ready_ns = 0
        self._host.shut_out(self.load.plugin)

    def _go_back(self, old: Life, names: Sequence[str], reason: str) -> None:
        """Let *old* continue, with the code that it has in memory."""
        self._tell(PluginDenied(plugin=self.load.plugin, reason=reason, kept=True))
        if old.ready_ns:
            return  # it never came to rest
        if not old.resting:
            old.reason = old.reason or "it did not stop in time to be replaced"
            return
        self._host.shut_out(self.load.plugin)
        old.returns = True
        self._go(old)
        self._until(old, lambda: old.ready_ns > 0)
        self.names = tuple(names)

    def _hear(self, life: Life, most_s: float = HEARD_S) -> None:
        """Read the next message of a process, and act on it."""
        for told in life.tidings(most_s):
            life.reason = life.reason or told.failed
            life.denied = life.denied or told.denied
            life.resting = life.resting or told.resting
            if told.described is not None:
                self._admit(life, told.described)
            if told.ready and life.limits is not None:
                self._announce(life, told)
        if self._flooded.is_set() and life.limits is not None:
            life.reason = FLOODS

    def _admit(self, life: Life, described: Description) -> None:
        """Admit it as what it describes itself to be, unless another one is still running."""
        if life.described is not None:
            life.reason = "it describes itself twice"
            return
        self._host.check(life.load or self.load, described)
        life.described = described
        if life.load is None:
            self._go(life)

    def _go(self, life: Life) -> None:
        """Admit it, with a new token."""
        described = life.described
        if described is None:
            return
        self.names = tuple(dict.fromkeys((*self.names, *described.names)))
        limits = described.manifest.limits
        granted = self._host.granted(self.load)
        token = new_token()
        entry = Pass(self.load.plugin, token, granted, limits.events_per_s, described.names)
        entry.flooded = self._flood
        self._host.admit(entry)
        life.limits, life.resting = limits, False
        life.heard()
        life.process.give(Go(token))

    def _announce(self, life: Life, told: PluginFrame) -> None:
        load = self.load
        names = life.described.names if life.described else ()
        try:
            self._host.announce(load.plugin, self.names, told.announced)
        except PluginRefusedError as error:
            life.reason = str(error)
            return
        life.ready_ns = steady_ns()
        self.names, self._before = names, None
        if life.returns:
            return  # it was running before, and continues
        self._tell(
            PluginLoaded(
                plugin=load.plugin,
                version=load.version,
                components=names,
                granted=load.granted,
                place=load.place,
                confined=load.confined,
            )
        )

    def _tell(self, *events: Event) -> None:
        with contextlib.suppress(CortexError):  # the hub closes, or its log is full
            self._host.record(*events)
