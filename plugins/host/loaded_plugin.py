"""One loaded plugin: a thread starts its process and reads its reports until it ends.

The kernel's supervisor starts that thread, again after a crash. A plugin of another version that is
loaded meanwhile takes the place of the running one in the same thread.
"""

import contextlib
import threading
from collections.abc import Callable, Sequence

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
    GrantRevoked,
    PluginCrashed,
    PluginDenied,
    PluginLoad,
    PluginLoaded,
)
from cortex.runtime.access import new_token
from cortex.runtime.kernel import Hooks, Supervisor, Watched, Watching

from ..checking import Description
from ..errors import PluginRefusedError
from ..granted import client_of
from ..installed import Installed
from ..manifest import Limits
from .frames import Go, PluginFrame
from .gateway import Pass
from .plugin_host import PluginHost
from .process import HEARD_S, Life, how_it_ended, restarts
from .versions import Version, Versions

FLOODS = "it floods the bus: it published more than its manifest says it does"
COMES_BACK = (DEADLINES, SUBSCRIPTIONS, ANNOUNCEMENTS)  # with the next start, to what it left
LOOK_S = 0.2  # between two looks at one of two processes
REST_S = 15.0  # for the old version to stop before it is replaced

log = Logger("cortex.plugins")


class Ended(Struct, frozen=True):
    """How a process came to its end."""

    reason: str
    worked: bool  # it was ready


class LoadedPlugin:
    """One plugin that is loaded, and kept running by *supervisor*; `stop` ends it for good.

    For the supervisor it is what runs: a thread that lives as long as the plugin's process.
    """

    def __init__(
        self,
        load: PluginLoad,
        plugin: Installed,
        host: PluginHost,
        supervisor: "Supervisor[LoadedPlugin]",
        *,
        names: Sequence[str] = (),
    ) -> None:
        self._host, self._versions = host, Versions(Version(load, plugin))
        self.names = tuple(names)  # of its components, as of its last start
        self._supervisor, self._limits = supervisor, Limits()  # of the process that ended last
        self._started: Callable[[], None] = lambda: None  # of the hooks of the present thread
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._flooded = threading.Event()
        self._lives: tuple[Life, ...] = ()  # the process that is at work, and one that is to be
        watching = Watching(failed=self._crashed, restarts=lambda: restarts(self._limits))
        supervisor.watch(load.plugin, self._begin, watching)

    @property
    def load(self) -> PluginLoad:
        """The request for its present version."""
        return self._versions.present.load

    @property
    def at_work(self) -> bool:
        """Whether it is at work now."""
        return any(life.ready_ns for life in self._lives)

    def replace(self, load: PluginLoad, plugin: Installed) -> bool:
        """Start its present version, and end the running one once the new one works.

        If it does not, the running one continues, and `plugin.denied` says why. False if it was
        refused or given up, so that there is nothing to replace.
        """
        if self._stopping.is_set() or not self._versions.want(Version(load, plugin)):
            return False
        self._ring()
        self._supervisor.afresh(load.plugin)
        return True

    def end(self) -> None:
        """Ask it to end in good order; `wait` waits for that."""
        self._stopping.set()
        self._ring()

    def ended_within(self, wait_s: float) -> bool:
        """Wait until its process has ended, whatever *wait_s*: none may be left, and none hangs."""
        if self._thread is not None:
            self._thread.join()
        return True

    def abandon(self) -> None:
        """Ask it to end: its thread always can."""
        self.end()

    def stop(self) -> None:
        """End it in good order, or kill it; no process is left when this returns."""
        self.end()
        self._supervisor.unwatch(self.load.plugin, 0.0)

    def _begin(self, hooks: Hooks) -> "LoadedPlugin":
        name = f"cortex-plugin-{self.load.plugin}"
        self._thread = threading.Thread(target=self._work, args=(hooks,), name=name)
        self._thread.start()
        return self

    def _ring(self) -> None:
        for life in self._lives:
            life.process.wake()

    def _work(self, hooks: Hooks) -> None:
        """Run it, and other versions while none has worked.

        A crash goes to *hooks*, so that the supervisor starts it again.
        """
        self._started = hooks.started
        self._versions.follow(last=False)
        while (crash := self._crash()) is None:
            if self._stopping.is_set() or not self._versions.follow():
                hooks.rested()  # it was refused, or is to end
                return
        hooks.failed(crash)

    def _crash(self) -> str | None:
        """The end of its process, if it must be started again after that."""
        try:
            ended = self._live()
        except (CortexError, OSError) as error:
            if not self._gives_way(str(error)):
                self._refuse(str(error))
            return None
        except Exception as error:  # noqa: BLE001  # it is no other plugin's affair
            log.error("plugin_keeper_failed", plugin=self.load.plugin, error=str(error))
            self._refuse(f"it cannot be kept: {error}")
            return None
        if self._stopping.is_set() or (not ended.worked and self._gives_way(ended.reason)):
            return None
        return ended.reason

    def _gives_way(self, reason: str) -> bool:
        """Whether no caller waits for this version, which does not work."""
        return (
            self._stopping.is_set() or self._versions.is_another_wanted or self._goes_back(reason)
        )

    def _refuse(self, reason: str) -> None:
        with contextlib.suppress(CortexError):
            self._host.withdraw(self.load.plugin, self.names)
        self._tell(PluginDenied(plugin=self.load.plugin, reason=reason))

    def _goes_back(self, reason: str) -> bool:
        """Whether this version never worked and replaced another, which then runs again."""
        back = self._versions.go_back()
        if back:
            self._tell(PluginDenied(plugin=self.load.plugin, reason=reason, kept=True))
        return back

    def _crashed(self, watched: Watched) -> None:
        """Record a crash, and what was decided about it."""
        given_up = watched.status == "given up"
        another = self._versions.give_up() if given_up else self._versions.is_another_wanted
        self._host.withdraw(self.load.plugin, self.names)
        self._tell(
            PluginCrashed(
                plugin=self.load.plugin,
                reason=watched.reason,
                times=watched.failures,
                again_s=0.0 if given_up else (watched.again_ns - watched.since_ns) / 1e9,
                given_up=given_up,
            )
        )
        if another:
            self._supervisor.afresh(self.load.plugin)

    def _live(self) -> Ended:
        """One life of its process, or of those that take its place one after the other."""
        self._flooded.clear()
        life = self._begun(self._versions.present)
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
            self._limits = life.limits or Limits()
            return Ended(life.reason or how_it_ended(code), life.ready_ns > 0)
        finally:
            self._lives = ()
            if life.limits is not None:
                self._host.shut_out(self.load.plugin)
                reason = "unloaded" if self._stopping.is_set() else "its process has ended"
                client = client_of(self.load.plugin)
                self._tell(GrantRevoked(client=client, reason=reason, keeps=COMES_BACK))

    def _begun(self, version: Version) -> Life:
        life = Life(self._host.start(version.load, version.plugin))
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
            if self._versions.is_another_wanted and not life.ready_ns:
                return None  # it need not even begin
            if life.ready_ns and not life.reason and (heir := self._replaced(life)) is not None:
                return heir
        return None

    def _replaced(self, old: Life) -> Life | None:
        """The replacement of *old*, if it is wanted and works; otherwise *old*, which continues."""
        following = self._versions.taken()
        if following is None:
            return None
        before, names = self._versions.present, self.names
        try:
            new = self._begun(following)
            new.load = following.load
            self._until(new, lambda: new.described is not None, beside=old)
            self._put_to_rest(old)
            self._versions.present = following
            self._go(new)
            self._until(new, lambda: new.ready_ns > 0)
        except (CortexError, OSError) as error:
            for life in self._lives[1:]:
                life.process.end(kill=True)
            self._lives = (old,)
            self._versions.present = before
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
        self._started()
        self.names = names
        self._versions.works()
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
