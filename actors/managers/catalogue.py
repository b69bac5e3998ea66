"""The current processes: a fold over the compiler's events."""

import msgspec

from cortex.bus import CortexError, Event
from cortex.bus.events import ProcessCompiled, ProcessRetired, ProcessUnlinked
from cortex.runtime.log import Blobs
from cortex.runtime.processes import LinkedInterface, LinkedProcess, ProcessTable, is_shipped


class CatalogueSnapshot(msgspec.Struct, frozen=True):
    """The contents of a snapshot: enough to fold it again."""

    compiled: tuple[ProcessCompiled, ...]
    missing: dict[str, tuple[str, ...]]


class Catalogue:
    """The process table, with the missing parts of unlinked processes."""

    def __init__(self, blobs: Blobs) -> None:
        self.table = ProcessTable()
        self._blobs = blobs
        self._compiled: dict[tuple[str, int], ProcessCompiled] = {}
        self._missing: dict[str, tuple[str, ...]] = {}  # by digest of the linked form
        self._contracts: dict[tuple[str, int], LinkedInterface] = {}  # by name and version
        self._lost: dict[str, str] = {}  # why a process cannot be read, by name

    def fold(self, event: Event) -> None:
        """Apply one event; only the compiler's events have an effect."""
        match event:
            case ProcessCompiled():
                self._compile(event)
            case ProcessUnlinked():
                self._missing[event.digest] = event.missing
            case ProcessRetired():
                self._retire(event.name, event.process_version)

    def linked(self, process: LinkedProcess) -> str:
        """Digest of the blob with *process*."""
        return self._compiled[process.name, process.version].linked

    def missing(self, process: LinkedProcess) -> tuple[str, ...]:
        """The missing parts of *process*; none if it may run."""
        return self._missing.get(process.digest, ())

    def lost(self, name: str) -> str | None:
        """Why the compiled process *name* cannot be read, if its blob is gone."""
        return self._lost.get(name)

    def interfaces(self) -> set[str]:
        """Names of all interfaces that a process implements."""
        found: set[str] = set()
        for name in self.table.names():
            for process in self.table.versions(name):
                found.update(interface for interface, _ in process.implements)
        return found

    def contract(self, name: str) -> LinkedInterface | None:
        """The newest version of the interface *name*, whether or not anything implements it."""
        versions = [version for known, version in self._contracts if known == name]
        return self._contracts[name, max(versions)] if versions else None

    def contracts(self) -> set[str]:
        """Names of all compiled interfaces."""
        return {name for name, _ in self._contracts}

    def shipped(self) -> set[str]:
        """Names of the shipped processes."""
        return {
            name
            for name in self.table.names()
            if (process := self.table.get(name))
            and is_shipped(self._compiled[name, process.version].file)
        }

    def snapshot(self) -> bytes:
        """The catalogue, for `restore`."""
        return msgspec.msgpack.encode(
            CatalogueSnapshot(tuple(self._compiled.values()), self._missing)
        )

    def restore(self, snapshot: bytes) -> None:
        """Restore the catalogue from `snapshot`."""
        kept = msgspec.msgpack.decode(snapshot, type=CatalogueSnapshot)
        for event in kept.compiled:
            self._compile(event)
        self._missing = dict(kept.missing)

    def _retire(self, name: str, version: int) -> None:
        """Remove one version, or all of them if it is 0."""
        kept = [p for p in self.table.versions(name) if version not in (0, p.version)]
        self.table = self.table.without(name).add(kept)
        for key in [key for key in self._compiled if key[0] == name and version in (0, key[1])]:
            del self._compiled[key]
            self._contracts.pop(key, None)

    def _compile(self, event: ProcessCompiled) -> None:
        try:
            linked = self._read(event)
        except (CortexError, msgspec.DecodeError) as error:
            self._lost[event.name] = str(error)
            return
        self._lost.pop(event.name, None)
        self._missing.pop(event.digest, None)
        self._compiled[event.name, event.process_version] = event
        if isinstance(linked, LinkedProcess):
            self.table = self.table.add([linked])
        else:
            self._contracts[event.name, event.process_version] = linked

    def _read(self, event: ProcessCompiled) -> LinkedProcess | LinkedInterface:
        data = self._blobs.get(event.linked)
        try:
            return _PROCESS(data)
        except msgspec.ValidationError:
            return _INTERFACE(data)


_PROCESS = msgspec.json.Decoder(LinkedProcess).decode
_INTERFACE = msgspec.json.Decoder(LinkedInterface).decode
