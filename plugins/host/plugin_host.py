"""Hosts plugins: their gateway to the hub, sandboxes, secrets and announcements."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from cortex.bus import Draft, Event, Publish, SubscriptionError, Unsubscribe, steady_s
from cortex.bus.events import (
    ComponentAnnounced,
    GrantGiven,
    GrantRevoked,
    PluginDenied,
    PluginLoad,
)
from cortex.bus.wire import HubServer
from cortex.runtime.kernel import Runtime
from cortex.runtime.registry import STREAM, Registration, registry_of

from ..checking import Description
from ..errors import PluginRefusedError, PluginSilentError, UnconfinedError
from ..granted import Granted, client_of, folders_in
from ..installed import Installed, code_of, installed
from ..manifest import MEMORY_MB, FileWant
from ..secrets import secret
from .frames import PluginFrame, Spec
from .gateway import GatewayAccess, Pass
from .process import PluginProcess, how_it_ended, output_of, path_of
from .sandbox import Walls, hidden_in, python_code, unavailable

SOCKET = "/run/cortex/bus.sock"  # where a confined plugin finds the hub
DESCRIBE_S = 60.0
PRINTED_BYTES = 1 << 20  # while it is looked at; more is an endless loop
END_BYTES = 4_096  # of its output, for the log


def describe(
    plugin: Installed,
    home: Path,
    *,
    confined: bool,
    logged: bool = False,
    within_s: float = DESCRIBE_S,
) -> Description:
    """The description of a plugin by its own code, which runs in a process without grants.

    Args:
        plugin: The installed plugin.
        home: Hidden from the process.
        confined: Whether that process runs in a sandbox.
        logged: Whether, on a failure, the end of its output goes to its log.
        within_s: Time limit.

    Raises:
        UnconfinedError: It should be confined, and cannot be.
        PluginSilentError: It does not describe itself.
    """
    walls = _walls_for(plugin, (), home) if confined else None
    spec = Spec("describe", plugin.where, path=_path_of(plugin), confined=confined)
    printed = _Printed()
    process = PluginProcess(spec, walls, {}, printed.take)
    told: PluginFrame | None = None
    try:
        told = _heard_from(process, printed, within_s)
    finally:
        code = process.end(kill=told is None or told.described is None)
    found = told.described if told is not None else None
    if logged and printed.size_bytes and (found is None or found.problems):
        output = output_of(path_of(home, plugin.name), {})
        output.take(printed.end)
        output.finish()
    if found is not None:
        return found
    why = (told.failed if told else "") or printed.last_line() or how_it_ended(code)
    raise PluginSilentError(plugin.name, why)


def _heard_from(process: PluginProcess, printed: "_Printed", within_s: float) -> PluginFrame | None:
    """What comes of looking at a plugin; None where its process ended without a word."""
    until = steady_s() + within_s
    while not process.ended:
        if printed.size_bytes > PRINTED_BYTES:
            return PluginFrame(failed=f"it printed more than {PRINTED_BYTES >> 10:,} KB about it")
        if steady_s() >= until:
            return PluginFrame(failed=f"it is still being imported after {within_s:g} s")
        if told := next(iter(process.tidings(until - steady_s())), None):
            return told
    return None


class _Printed:
    """The end of what a process prints, of bounded size however much that is."""

    def __init__(self) -> None:
        self.size_bytes = 0  # of all that came
        self._end = b""

    def take(self, data: bytes) -> None:
        self.size_bytes += len(data)
        self._end = (self._end + data)[-END_BYTES:]

    @property
    def end(self) -> bytes:
        """The last of it."""
        return self._end

    def last_line(self) -> str:
        said = self._end.decode(errors="replace").strip().splitlines()
        return said[-1][:200] if said else ""


class PluginHost:
    """The folder and processes of one runtime's plugins; `close` removes all of them."""

    def __init__(self, runtime: Runtime) -> None:
        if runtime.home is None:
            raise PluginRefusedError("plugins need a home: this runtime keeps all in memory")
        self._runtime, self._home, self._hub = runtime, runtime.home, runtime.hub
        self._client = runtime.client(runtime.name)
        self.access = GatewayAccess(self._denied, self._hub.steady_ns, runtime.config.limits)
        self._folder: Path | None = None
        self._server: HubServer | None = None
        self.taken: frozenset[str] = frozenset()  # names of components that are not plugins'

    def close(self) -> None:
        """Close the gateway, if it was ever opened."""
        if self._server is not None:
            self._server.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def open(self) -> None:
        """Open the gateway, unless it is open."""
        if self._server is None:
            self._folder = Path(tempfile.mkdtemp(prefix="cortex-"))  # no other user may enter it
            self._server = HubServer(self._hub, self._runtime.log, self._runtime.blobs, self.access)
            self._server.listen(self._url)

    @property
    def _url(self) -> str:
        return f"ipc://{self._folder}/bus.sock"

    def check(self, load: PluginLoad, described: Description) -> None:
        """Refuse what may not be started so.

        Raises:
            PluginRefusedError: The reason.
        """
        manifest = described.manifest
        if manifest.name != load.plugin:
            raise PluginRefusedError(f"it calls itself {manifest.name!r}")
        if manifest.digest() != load.digest:
            raise PluginRefusedError(
                f"version {manifest.version} is installed and asks for other things than the one "
                f"({load.version}) that was confirmed: look at it, and load it again"
            )
        if described.problems:
            raise PluginRefusedError("; ".join(described.problems))
        for name in described.names:
            other = self.access.pass_of(name)
            if name in self.taken or (other is not None and other.plugin != load.plugin):
                raise PluginRefusedError(f"there is a component called {name} already")

    def admit(self, entry: Pass) -> None:
        """Let a plugin in to the hub, and record what it may do.

        The record holds no digest of a token: this one is good at this gateway alone.
        """
        given: GrantGiven = entry.granted.grant(entry.client, "", entry.names)
        self.record(given)
        self.access.let_in(entry)

    def shut_out(self, plugin: str) -> None:
        """Let a plugin in no more."""
        self.access.shut_out(plugin)

    def granted(self, load: PluginLoad) -> Granted:
        """What a plugin may do, within the folders that its settings name."""
        settings = self._runtime.config.plugins.get(load.plugin, {})
        granted = Granted.of(load.granted)
        return msgspec.structs.replace(granted, workspaces=folders_in(settings))

    def start(self, load: PluginLoad, plugin: Installed) -> PluginProcess:
        """Start a plugin's process, which describes itself and waits for its token.

        Raises:
            PluginRefusedError: A granted file or secret does not exist.
            UnconfinedError: It cannot be confined, and the user has not accepted that.
        """
        self.open()
        granted = self.granted(load)
        given = {name: secret(self._home.path, name) for name in granted.secrets}
        self._runtime.mask.add(given.values())
        walls = self._walls(plugin, granted) if load.confined else None
        spec = Spec(
            "run",
            plugin.where,
            path=_path_of(plugin),
            url=f"ipc://{SOCKET}" if walls else self._url,
            client=client_of(load.plugin),
            settings=self._runtime.config.plugins.get(load.plugin, {}),
            start=load.start,
            memory_mb=int(load.limits.get("memory_mb", MEMORY_MB)),
            confined=walls is not None,
        )
        output = output_of(path_of(self._home.path, load.plugin), given)
        output.say(f"{load.plugin} {load.version} is started")
        return PluginProcess(spec, walls, given, output.take)

    def announce(
        self, plugin: str, names: Sequence[str], said: Iterable[ComponentAnnounced]
    ) -> None:
        """Announce what a plugin's components serve, unless the log has that already.

        Raises:
            PluginRefusedError: They may not serve it, or another component does.
        """
        standing = self._registered()
        events: list[Event] = []
        for each in said:
            other = standing.pop((each.kind, each.name), None)
            served = other.announced if other is not None else None
            if each.component not in names:
                raise PluginRefusedError(f"it announces {each.component}, which is not its own")
            if served is not None and served.component not in names:
                raise PluginRefusedError(
                    f"the {each.kind} {each.name} is served by {served.component} already"
                )
            if served != each:
                events.append(each)
        gone = [each for each in standing.values() if each.announced.component in names]
        self._speak_for(plugin, [*events, *(each.withdrawal() for each in gone)])

    def withdraw(self, plugin: str, names: Sequence[str]) -> None:
        """Take back what a plugin's components announced; what depends on it is unlinked."""
        found = self._registered().values()
        gone = [each.withdrawal() for each in found if each.announced.component in names]
        self._speak_for(plugin, gone)

    def withdraw_missing(self) -> None:
        """Take back what plugins announced that are not installed any more."""
        said: dict[str, list[Event]] = {}
        for each in self._registered().values():
            if each.plugin:
                said.setdefault(each.plugin, []).append(each.withdrawal())
        there = {plugin.name for plugin in installed()} if said else set()
        for plugin in said.keys() - there:
            self._speak_for(plugin, said[plugin])

    def let_go(self, plugin: str, names: Sequence[str], *, for_good: bool) -> None:
        """After a plugin's end, remove its announcements and, if *for_good*, its waiting work."""
        self.withdraw(plugin, names)
        if for_good:
            self.record(GrantRevoked(client=client_of(plugin), reason="unloaded"))
        self.forget(names if for_good else ())

    def forget(self, names: Iterable[str]) -> None:
        """Remove what these components, which are gone for good, subscribed to."""
        for name in names:
            with contextlib.suppress(SubscriptionError):  # it subscribed to nothing
                self._hub.ask_one(self._runtime.name, Unsubscribe(name))

    def record(self, *events: Event) -> None:
        """Publish in the runtime's name."""
        self._client.publish(*events)

    def _speak_for(self, plugin: str, events: Sequence[Event]) -> None:
        if events:
            drafts = tuple(Draft.of(event) for event in events)
            self._hub.ask_one(client_of(plugin), Publish(drafts))

    def _registered(self) -> dict[tuple[str, str], Registration]:
        client = self._client
        return dict(registry_of(client.read_stream(STREAM), client.vocabulary.read).registrations)

    def _denied(self, plugin: str, part: str, times: int) -> None:
        reason = "it needs more than it was granted"
        self.record(PluginDenied(plugin=plugin, reason=reason, part=part, times=times))

    def _walls(self, plugin: Installed, granted: Granted) -> Walls:
        walls = _walls_for(plugin, granted.files, self._home.path, self._home.workspace)
        socket = f"{self._folder}/bus.sock"
        return msgspec.structs.replace(walls, network=granted.network, placed=((socket, SOCKET),))


def _walls_for(
    plugin: Installed, files: Sequence[FileWant], home: Path, workspace: Path | None = None
) -> Walls:
    problem = unavailable()
    if problem:
        raise UnconfinedError(problem)
    modules = iter((plugin.where.partition(":")[0],))
    code = tuple(str(path) for path in (*python_code(), *code_of(modules, plugin.root)))
    shown = {each.path: _granted_file(each.path, home, workspace or home) for each in files}
    return Walls(
        code=code,
        hidden=hidden_in([*code, *shown.values(), "/usr"], [home]),
        readable=tuple(shown[each.path] for each in files if each.mode == "read"),
        writable=tuple(shown[each.path] for each in files if each.mode == "write"),
    )


def _granted_file(path: str, home: Path, workspace: Path) -> str:
    """Where a file that was granted is.

    Raises:
        PluginRefusedError: It is not there, or in the home, which no plugin sees.
    """
    found = workspace / path if path.startswith("./") else Path(path).expanduser()
    found = Path(os.path.realpath(found))
    if found.is_relative_to(os.path.realpath(home)):
        raise PluginRefusedError(f"{path} is in the home, of which no plugin sees anything")
    if not found.exists():
        raise PluginRefusedError(f"{path} was granted and does not exist: make it, or deny it")
    return str(found)


def _path_of(plugin: Installed) -> tuple[str, ...]:
    """Folders that Python does not search by itself: `-I` leaves out the user's own packages."""
    modules = iter((plugin.where.partition(":")[0],))
    return tuple(dict.fromkeys(str(path.parent) for path in code_of(modules, "")))
