"""The plugin manager: folds events into the plugins that must run, and keeps them running."""

import contextlib
from collections.abc import Iterator

import msgspec

from cortex.bus import CortexError, Event, Logger, SubscriptionError, SystemClock, check_start
from cortex.bus.events import (
    PluginCrashed,
    PluginDenied,
    PluginLoad,
    PluginLoaded,
    PluginUnload,
    PluginUnloaded,
    RuntimeStarted,
)
from cortex.runtime.kernel import (
    Component,
    Delivery,
    Entry,
    NotReadyError,
    Output,
    Runtime,
    Supervisor,
    load,
    on,
)
from cortex.runtime.serving import PluginFared, plugin_after

from ..checking import Description, described
from ..errors import PluginRefusedError
from ..granted import client_of
from ..installed import Installed, installed_as, manifest_here
from .loaded_plugin import LoadedPlugin
from .plugin_host import PluginHost

log = Logger("cortex.plugins")


class PluginManager(Component):
    """Keeps loaded plugins running while its runtime runs.

    They start after the runtime: a plugin may need any other component.
    """

    recalls = 1

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._fared: dict[str, PluginFared] = {}
        self._taken: frozenset[str] = frozenset()  # names of the runtime's own components
        self._host: PluginHost | None = None
        self._loaded: dict[str, LoadedPlugin] = {}  # those with a process of their own
        self._supervisor: Supervisor[LoadedPlugin] | None = None
        self._beside: dict[str, Description] = {}  # those that run in the runtime itself

    def on_start(self) -> None:
        """Withdraw what is no longer installed, before the runtime is ready and work is asked."""
        if self._runtime.home is not None:
            with contextlib.suppress(CortexError, OSError):  # told where each plugin is started
                self._opened().withdraw_missing()

    def on_stop(self) -> None:
        """End every process; what is loaded stays so, and runs again with the next runtime."""
        self._loaded = {}
        if self._supervisor is not None:
            self._supervisor.close()
            self._supervisor = None
        if self._host is not None:
            self._host.close()
            self._host = None

    def recall(self, event: Event, delivery: Delivery) -> None:
        """Fold an event of an earlier start."""
        self._fold(event)

    def snapshot(self) -> bytes:
        """The fold."""
        return msgspec.msgpack.encode(self._fared)

    def restore(self, snapshot: bytes) -> None:
        """Take up the fold."""
        self._fared = msgspec.msgpack.decode(snapshot, type=dict[str, PluginFared])

    @on(RuntimeStarted)
    def started(self, event: RuntimeStarted, delivery: Delivery) -> Iterator[Output]:
        """Start what is loaded."""
        self._taken = frozenset(event.components)
        for name, fared in list(self._fared.items()):
            if fared.load is not None and not self._runs(name):
                yield from self._start(fared.load)

    @on(PluginLoad)
    def load(self, event: PluginLoad, delivery: Delivery) -> Iterator[Output]:
        """Start a plugin; a running version continues until the new one works."""
        self._fold(event)
        loaded, beside = self._loaded.get(event.plugin), self._beside.get(event.plugin)
        if event.start and (problem := _no_start(event.start, delivery.position)):
            kept = beside is not None or (loaded is not None and loaded.at_work)
            yield PluginDenied(plugin=event.plugin, reason=problem, kept=kept)
        elif event.place == "process" and loaded is not None:
            yield from self._replace(event, loaded)
        elif event.place == "runtime" and beside is not None:
            yield from self._replace_beside(event)
        else:
            self._end(event.plugin)
            yield from self._start(event)

    @on(PluginUnload)
    def unload(self, event: PluginUnload, delivery: Delivery) -> Iterator[Output]:
        """End a plugin, and remove everything it left."""
        names = self._end(event.plugin, for_good=True)
        log.info("plugin_unloaded", plugin=event.plugin, components=names)
        yield PluginUnloaded(plugin=event.plugin, reason=event.reason)

    @on(PluginLoaded)
    @on(PluginCrashed)
    @on(PluginDenied)
    @on(PluginUnloaded)
    def fared(self, event: Event, delivery: Delivery) -> Iterator[Output]:
        """Remember what became of a plugin."""
        self._fold(event)
        yield from ()

    def _fold(self, event: Event) -> None:
        plugin = getattr(event, "plugin", "")
        if plugin:
            self._fared[plugin] = plugin_after(self._fared.get(plugin, PluginFared()), event)

    def _runs(self, name: str) -> bool:
        return name in self._loaded or name in self._beside

    def _start(self, event: PluginLoad) -> Iterator[Output]:
        before = self._fared.get(event.plugin, PluginFared()).components
        try:
            plugin = installed_as(event.plugin)
            plugin.check_loaded(event)
            host = self._opened()
            if event.place == "runtime":
                yield self._start_beside(event, plugin, host)
                return
            supervisor = self._supervising()
            self._loaded[event.plugin] = LoadedPlugin(event, plugin, host, supervisor, names=before)
        except (CortexError, OSError) as error:
            with contextlib.suppress(CortexError):
                # Nobody serves what it announced before this start.
                self._opened().withdraw(event.plugin, before)
            yield PluginDenied(plugin=event.plugin, reason=str(error))

    def _replace(self, event: PluginLoad, loaded: LoadedPlugin) -> Iterator[Output]:
        try:
            plugin = installed_as(event.plugin)
            plugin.check_loaded(event)
        except CortexError as error:
            yield PluginDenied(plugin=event.plugin, reason=str(error), kept=loaded.at_work)
            return
        if not loaded.replace(event, plugin):
            self._end(event.plugin)
            yield from self._start(event)

    def _replace_beside(self, event: PluginLoad) -> Iterator[Output]:
        """The same in this process, whose code stays as it was imported."""
        before = self._fared[event.plugin].previous
        try:
            plugin, host = installed_as(event.plugin), self._opened()
            plugin.check_loaded(event)
            host.check(event, described(manifest_here(plugin)))
        except CortexError as error:
            yield PluginDenied(plugin=event.plugin, reason=str(error), kept=True)
            return
        self._end(event.plugin)
        try:
            yield self._start_beside(event, plugin, host)
        except CortexError as error:
            with contextlib.suppress(CortexError):
                if before is not None:
                    self._start_beside(before, plugin, host)
            kept = event.plugin in self._beside
            yield PluginDenied(plugin=event.plugin, reason=str(error), kept=kept)

    def _start_beside(self, event: PluginLoad, plugin: Installed, host: PluginHost) -> PluginLoaded:
        if not plugin.built_in and event.confined:
            raise PluginRefusedError(
                "it does not come with Cortex, and nothing confines it in the hub's process: its "
                "owner has to allow that"
            )
        found = described(manifest_here(plugin))
        host.check(event, found)
        settings = self._runtime.config.plugins.get(event.plugin, {})
        effects = found.manifest.effects
        added: list[str] = []
        listens = [load(each).listens(settings) for each in found.manifest.components]
        try:
            for component, name in zip(found.manifest.components, found.names, strict=True):
                entry = Entry(component, settings=settings, effects=effects, start=event.start)
                # In the plugin's name, not the runtime's, which has the owner's rights.
                self._runtime.add(entry, client=client_of(event.plugin))
                added.append(name)
        except NotReadyError as error:
            for name in added:
                self._runtime.remove(name)
            problem = error.problem.removeprefix(f"{PluginRefusedError.__name__}: ")
            raise PluginRefusedError(problem) from None
        self._beside[event.plugin] = found
        return PluginLoaded(
            plugin=event.plugin,
            version=event.version,
            components=found.names,
            granted=event.granted,
            place=event.place,
            confined=False,
            listens=", ".join(filter(None, listens)),
        )

    def _end(self, name: str, *, for_good: bool = False) -> tuple[str, ...]:
        loaded = self._loaded.pop(name, None)
        if loaded is not None:
            loaded.stop()
            self._opened().let_go(name, loaded.names, for_good=for_good)
            return loaded.names
        beside = self._beside.pop(name, None)
        for component in beside.names if beside else ():
            self._runtime.remove(component)
        return beside.names if beside else ()

    def _supervising(self) -> Supervisor[LoadedPlugin]:
        if self._supervisor is None:  # a process's time is the system's, whatever the runtime's
            self._supervisor = Supervisor(SystemClock(), name="cortex-plugins")
        return self._supervisor

    def _opened(self) -> PluginHost:
        if self._host is None:
            self._host = PluginHost(self._runtime)
        self._host.taken = self._taken
        return self._host


def _no_start(start: str, head: int) -> str:
    """Why nothing begins at *start* in a log with *head* events; "" where something does."""
    try:
        check_start(start, head)
    except SubscriptionError as error:
        return f"it {error.problem}"
    return ""
