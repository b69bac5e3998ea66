"""The documents of `cortex plugin` with --json."""

from msgspec import Struct

from ..manifest import Limits


class PluginRow(Struct, frozen=True):
    """One plugin, installed or once loaded."""

    name: str
    package: str  # that brings it; empty where it is not installed any more
    version: str
    state: str  # "unloaded", "loading", "loaded", "failing", "crashed", "given up" or "denied"
    place: str = ""  # "process" or "runtime", where it is loaded
    confined: bool = False
    reason: str = ""  # of what became of it
    failures: int = 0  # events that its components could not handle since it was loaded
    summary: str = ""  # one line: what it does


class PluginDocument(Struct, frozen=True):
    """What one plugin is, what it asks, and what it was granted."""

    name: str
    package: str
    version: str
    summary: str
    cortex: str  # versions of Cortex that it works with
    components: tuple[str, ...]
    asks: tuple[str, ...]  # parts, as --grant and --deny name them
    granted: tuple[str, ...]  # empty where it is not loaded
    state: str
    problems: tuple[str, ...] = ()  # that keep it from being loaded
    reason: str = ""
    failures: int = 0  # events that its components could not handle since it was loaded
    limits: Limits = Limits()  # after which it is ended, as it sets them itself
    effects: dict[str, str] = {}  # what its manifest declares, by action, tool or component


class LoadedDocument(Struct, frozen=True):
    """What came of a load, an unload or a reload."""

    name: str
    state: str
    granted: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    reason: str = ""  # why it was not


class NewDocument(Struct, frozen=True):
    """A package that was written."""

    name: str
    folder: str
    files: tuple[str, ...]


class LogDocument(Struct, frozen=True):
    """The last lines that a plugin printed."""

    name: str
    lines: tuple[str, ...]
