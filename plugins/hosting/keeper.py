"""Keeps one plugin at work: a thread that starts its process, hears it, and starts it again."""

import contextlib
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Protocol

import structlog
from msgspec import Struct

from cortex.bus import ANNOUNCEMENTS, DEADLINES, SUBSCRIPTIONS, CortexError, Event
from cortex.bus.events import (
    ComponentAnnounced,
    GrantRevoked,
    PluginCrashed,
    PluginDenied,
    PluginLoad,
    PluginLoaded,
)
from cortex.runtime.access import new_token

from ..checking import Description
from ..errors import PluginRefusedError
from ..granted import Granted, client_of
from ..installed import Installed
from ..manifest import Limits
from .door import Pass
from .frames import Go, Told
from .policy import after_crash
from .process import PluginProcess, how_it_ended

FLOODS = "it floods the bus: it published more than its manifest says it does"
COMES_BACK = (DEADLINES, SUBSCRIPTIONS, ANNOUNCEMENTS)  # with the next start, to what it left
READY_S = 60.0  # in which a started plugin has to be at work

log = structlog.get_logger("cortex.plugins")


class House(Protocol):
    """What a keeper needs of the runtime that its plugin runs beside."""

    def check(self, load: PluginLoad, described: Description) -> None:
        """Raise PluginRefusedError for what may not be started so."""
        ...

    def start(self, load: PluginLoad, plugin: Installed) -> PluginProcess:
        """Start its process, which says what it is and waits for its token."""
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

    def record(self, *events: Event) -> None:
        """Publish in the runtime's name."""
        ...


class Ended(Struct, frozen=True):
    """How a process came to its end."""

    reason: str
    limits: Limits
    worked_s: float = 0.0  # since it was ready


class Keeper:
    """One plugin that is loaded; `stop` ends it for good."""

    def __init__(
        self,
        load: PluginLoad,
        plugin: Installed,
        house: House,
        *,
        names: Sequence[str] = (),
    ) -> None:
        self.load, self._plugin, self._house = load, plugin, house
        self.names = tuple(names)  # of its components, as of its last start
        self._stopping = threading.Event()
        self._flooded = threading.Event()
        self._process: PluginProcess | None = None
        self._thread = threading.Thread(target=self._run, name=f"cortex-plugin-{load.plugin}")
        self._thread.start()

    def begin_to_stop(self) -> None:
        """Let it come to its end; `stop` waits for that."""
        self._stopping.set()
        self._ring()

    def stop(self) -> None:
        """End it in good order, or kill it; no process is left when this returns."""
        self.begin_to_stop()
        self._thread.join()

    def _ring(self) -> None:
        process = self._process
        if process is not None:
            process.wake()

    def _run(self) -> None:
        try:
            self._keep()
        except (CortexError, OSError) as error:
            if not self._stopping.is_set():
                self._refuse(str(error))
        except Exception as error:  # noqa: BLE001  # it is no other plugin's affair
            log.error("plugin_keeper_failed", plugin=self.load.plugin, error=str(error))
            self._refuse(f"it cannot be kept: {error}")

    def _refuse(self, reason: str) -> None:
        with contextlib.suppress(CortexError):
            self._house.withdraw(self.load.plugin, self.names)
        self._tell(PluginDenied(plugin=self.load.plugin, reason=reason))

    def _keep(self) -> None:
        times = 0
        while not self._stopping.is_set():
            ended = self._live()
            if self._stopping.is_set():
                return
            following = after_crash(times, ended.worked_s, ended.limits.restarts)
            times = following.times
            self._house.withdraw(self.load.plugin, self.names)
            self._tell(
                PluginCrashed(
                    plugin=self.load.plugin,
                    reason=ended.reason,
                    times=times,
                    again_s=following.again_s,
                    given_up=following.given_up,
                )
            )
            if following.given_up:
                return
            self._stopping.wait(following.again_s)

    def _live(self) -> Ended:
        """One life of its process."""
        self._flooded.clear()
        process = self._process = self._house.start(self.load, self._plugin)
        life = _Life(process)
        try:
            self._serve(life)
        except BaseException:
            process.end(kill=True)
            raise
        else:
            # One that was not ready has nothing that it could bring to a good end.
            code = process.end(kill=bool(life.reason) or not life.ready)
            if (life.limits is None or life.denied) and not self._stopping.is_set():
                raise PluginRefusedError(life.reason or f"{how_it_ended(code)}: see its log")
            worked_s = time.monotonic() - life.ready if life.ready else 0.0
            return Ended(life.reason or how_it_ended(code), life.limits or Limits(), worked_s)
        finally:
            self._process = None
            if life.limits is not None:
                self._house.shut_out(self.load.plugin)
                reason = "unloaded" if self._stopping.is_set() else "its process has ended"
                client = client_of(self.load.plugin)
                self._tell(GrantRevoked(client=client, reason=reason, keeps=COMES_BACK))

    def _flood(self) -> None:
        self._flooded.set()
        self._ring()

    def _serve(self, life: "_Life") -> None:
        """Hear a process until it ends, has to, or is no longer wanted."""
        while not life.reason and not self._stopping.is_set() and not life.process.ended:
            for told in life.tidings():
                life.reason = life.reason or told.failed
                life.denied = life.denied or told.denied
                if told.described is not None:
                    self._admit(life, told.described)
                if told.ready and life.limits is not None:
                    self._announce(life, told)
            if self._flooded.is_set():
                life.reason = FLOODS

    def _admit(self, life: "_Life", described: Description) -> None:
        """Let it in, as what it says it is."""
        if life.limits is not None:
            life.reason = "it says twice what it is"
            return
        self._house.check(self.load, described)
        self.names = described.names
        limits = described.manifest.limits
        granted = Granted.of(self.load.granted)
        token = new_token()
        entry = Pass(self.load.plugin, token, granted, limits.events_per_s)
        entry.names, entry.flooded = frozenset(self.names), self._flood
        self._house.admit(entry)
        life.limits = limits
        life.process.give(Go(token))

    def _announce(self, life: "_Life", told: Told) -> None:
        load = self.load
        try:
            self._house.announce(load.plugin, self.names, told.announced)
        except PluginRefusedError as error:
            life.reason = str(error)
            return
        life.ready = time.monotonic()
        self._tell(
            PluginLoaded(
                plugin=load.plugin,
                version=load.version,
                components=self.names,
                granted=load.granted,
                place=load.place,
                confined=load.confined,
            )
        )

    def _tell(self, *events: Event) -> None:
        with contextlib.suppress(CortexError):  # the hub closes, or its log is full
            self._house.record(*events)


class _Life:
    """What is known of a process so far."""

    def __init__(self, process: PluginProcess) -> None:
        self.process = process
        self.limits: Limits | None = None  # once it was let in
        self.ready = 0.0  # when it was; 0 before
        self.reason = ""  # why it has to end
        self.denied = False  # it lacks a grant without which it cannot start
        self._heard = time.monotonic()

    def tidings(self) -> list[Told]:
        """What it tells next; one that is silent for too long has to end."""
        silent_s = self.limits.silent_s if self.limits and self.ready else READY_S
        told = self.process.tidings(self._heard + silent_s - time.monotonic())
        now = time.monotonic()
        if told:
            self._heard = now
        elif now - self._heard >= silent_s:
            what = "it hangs: it was not heard of" if self.ready else "it did not get ready"
            self.reason = f"{what} for {silent_s:g} s"
        return told
