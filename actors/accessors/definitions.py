"""The known definitions: a fold of compilations, and the changes of a new one."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from cortex.bus import CortexError, Event
from cortex.bus.events import (
    ProcessCompiled,
    ProcessRejected,
    ProcessRetired,
    ProcessUnlinked,
)
from cortex.runtime.log import Blobs
from cortex.runtime.processes import (
    SHIPPED,
    Compilation,
    Diagnostic,
    LinkedInterface,
    LinkedProcess,
    Rejections,
    absent_by,
    errors_of,
    is_shipped,
    known_sources,
)

Linked = LinkedProcess | LinkedInterface

MOST_BYTES = 192 * 1024  # of findings in one event, as JSON


class DefinitionsSnapshot(msgspec.Struct, frozen=True):
    """The contents of a snapshot."""

    sources: dict[str, str]
    compiled: tuple[ProcessCompiled, ...]
    missing: dict[str, tuple[str, ...]]
    retired: tuple[tuple[str, int, str], ...]  # name, version, reason
    rejected: tuple[ProcessRejected, ...] = ()


class Definitions:
    """Compiled processes and interfaces by name and version, and their sources."""

    def __init__(self, blobs: Blobs) -> None:
        self.sources: dict[str, str] = {}  # digest of the text's blob, by file
        self.rejections = Rejections()  # of files; an older accepted form may be in the sources
        self._blobs = blobs
        self._compiled: dict[tuple[str, int], ProcessCompiled] = {}
        self._missing: dict[str, tuple[str, ...]] = {}  # by name
        self._retired: dict[tuple[str, int], str] = {}  # reason by name and version

    def fold(self, event: Event) -> None:
        """Apply an event about a definition."""
        if isinstance(event, ProcessRejected):
            event = msgspec.structs.replace(event, diagnostics=())  # they stay in the log
        self.rejections.fold(event, self.sources)
        match event:
            case ProcessCompiled():
                self.sources[event.file] = event.source
                self._compiled[event.name, event.process_version] = event
                self._missing.pop(event.name, None)
                self._retired.pop((event.name, event.process_version), None)
            case ProcessUnlinked():
                self._missing[event.name] = event.missing
            case ProcessRetired():
                for name, version in self._compiled:
                    if name == event.name and event.process_version in (0, version):
                        self._retired[name, version] = event.reason
                self.drop(event.files)

    def kept(self) -> DefinitionsSnapshot:
        """The state, for `restore`."""
        retired = tuple((*key, reason) for key, reason in self._retired.items())
        return DefinitionsSnapshot(
            dict(self.sources),
            tuple(self._compiled.values()),
            self._missing,
            retired,
            tuple(self.rejections.by_file.values()),
        )

    def restore(self, kept: DefinitionsSnapshot) -> None:
        """Restore the state from `kept`."""
        self.sources = dict(kept.sources)
        self._compiled = {(e.name, e.process_version): e for e in kept.compiled}
        self._missing = dict(kept.missing)
        self._retired = {(name, version): reason for name, version, reason in kept.retired}
        self.rejections.by_file = {each.file: each for each in kept.rejected}

    def drop(self, files: Iterable[str]) -> None:
        """Forget files that are gone or empty."""
        for file in files:
            self.sources.pop(file, None)
            self.rejections.by_file.pop(file, None)

    def known(self) -> dict[tuple[str, int], str]:
        """Source digest of every version that was ever compiled."""
        return known_sources(self._compiled.values())

    def changes(self, compilation: Compilation, sources: Mapping[str, str]) -> Iterator[Event]:
        """The changes of *compilation* of *sources* as events, which are not folded yet."""
        found: set[str] = set()
        for (file, _), unit in compilation.units.items():
            if unit.linked is None:
                continue
            found.add(unit.name)
            event = self._event(unit.linked, unit.definition.source_digest, file, sources[file])
            event = msgspec.structs.replace(event, warnings=plain(unit.diagnostics))
            before = self._compiled.get((event.name, event.process_version))
            retired = (event.name, event.process_version) in self._retired
            back = event.name in self._missing or retired
            # A file that goes back to an earlier content changes only the file.
            if back or before != event or self.sources.get(file) != event.source:
                yield event
        for name, newest in self._newest().items():
            if name in found:
                yield from self._outdated(name, compilation, sources)
            elif (name, newest.process_version) not in self._retired:
                yield from self._gone(name, newest, compilation, sources)

    def listed(self, name: str = "", text: str = "") -> Iterator[dict[str, Any]]:
        """The newest version of each process and interface, or every version of *name*."""
        words = text.lower().split()
        shown = self._compiled.values() if name else self._newest().values()
        for event in sorted(shown, key=lambda e: (e.name, e.process_version)):
            if name and event.name != name:
                continue
            about = self._about(event)
            said = f"{event.name} {about['description']}".lower().replace("_", " ")
            if all(word in said for word in words):
                yield about

    def _about(self, event: ProcessCompiled) -> dict[str, Any]:
        linked = self._read(event.linked)
        return {
            "name": event.name,
            "version": event.process_version,
            "kind": "interface" if isinstance(linked, LinkedInterface) else "process",
            "abstract": event.abstract,
            "description": linked.description if linked else "",
            "digest": event.digest,
            "source_digest": event.source_digest,
            "linked": event.linked,
            "source": event.source,
            "file": event.file,
            "missing": list(self._missing.get(event.name, ())),
            "retired": self._retired.get((event.name, event.process_version), ""),
        }

    def _read(self, digest: str) -> Linked | None:
        try:
            data = self._blobs.get(digest)
        except CortexError:
            return None  # without its blob there is no description here; `doctor` reports the blob
        return _linked(data)

    def _event(self, linked: Linked, source_digest: str, file: str, source: str) -> ProcessCompiled:
        return ProcessCompiled(
            name=linked.name,
            process_version=linked.version,
            digest=linked.digest,
            source_digest=source_digest,
            linked=self._blobs.put(msgspec.json.encode(linked)),
            source=source,
            file=file,
            abstract=linked.abstract if isinstance(linked, LinkedProcess) else True,
        )

    def _newest(self) -> dict[str, ProcessCompiled]:
        """The newest version of each; a retired one only if there is no other."""
        newest: dict[str, ProcessCompiled] = {}
        for key in sorted(self._compiled, key=lambda key: (key not in self._retired, key)):
            newest[key[0]] = self._compiled[key]
        return newest

    def _outdated(
        self, name: str, compilation: Compilation, sources: Mapping[str, str]
    ) -> Iterator[Event]:
        """Retire versions whose file is gone, if other versions of that name exist.

        A version that a newer one replaced in its file can still be named by its number. Shipped
        processes and the user's are never versions of the same process.
        """
        units = [unit for unit in compilation.units.values() if unit.name == name]
        shipped = all(is_shipped(unit.key[0]) for unit in units)
        held = {unit.definition.version for unit in units}
        for (_, version), event in sorted(self._compiled.items()):
            if event.name != name or version in held or (name, version) in self._retired:
                continue
            if event.file not in sources:
                reason = f"version {version} is no longer in {event.file}"
                yield ProcessRetired(
                    name=name, reason=reason, files=(event.file,), process_version=version
                )
            elif is_shipped(event.file) != shipped:
                reason = f"{name} is the process that comes with Cortex again"
                if not shipped:
                    reason = f"{name} is a process of yours; the shipped one is {SHIPPED}{name}"
                yield ProcessRetired(name=name, reason=reason, process_version=version)

    def _gone(
        self,
        name: str,
        newest: ProcessCompiled,
        compilation: Compilation,
        sources: Mapping[str, str],
    ) -> Iterator[Event]:
        units = [unit for unit in compilation.units.values() if unit.name == name]
        if not units:
            held = {e.file for e in self._compiled.values() if e.name == name}
            files = tuple(sorted(held - set(sources)))
            reason = f"it is no longer in {newest.file}"
            yield ProcessRetired(name=name, reason=reason, files=files)
            return
        missing = tuple(absent_by(e) for unit in units for e in errors_of(unit.diagnostics))
        if self._missing.get(name) != missing:
            yield ProcessUnlinked(name=name, digest=newest.digest, missing=missing)


def plain(diagnostics: Iterable[Diagnostic]) -> tuple[dict[str, Any], ...]:
    """*diagnostics* as events hold them, in the form that is read back; at most as many as fit."""
    found = [msgspec.json.encode(each) for each in diagnostics]
    size_bytes = 0
    for number, each in enumerate(found):
        size_bytes += len(each)
        if size_bytes > MOST_BYTES:
            last = msgspec.json.decode(each)
            last["message"] = f"{len(found) - number} more findings are left out"
            last["remedy"], last["fix"] = "correct those before it first", None
            return (*map(msgspec.json.decode, found[:number]), last)
    return tuple(map(msgspec.json.decode, found))


def _linked(data: bytes) -> Linked:
    try:
        return msgspec.json.decode(data, type=LinkedProcess)
    except msgspec.ValidationError:
        return msgspec.json.decode(data, type=LinkedInterface)
