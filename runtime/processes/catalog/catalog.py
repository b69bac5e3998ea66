"""The processes in a log: compiled, unlinked and retired ones; read-only."""

from collections.abc import Sequence

import msgspec

from cortex.bus.events import ProcessCompiled, ProcessRejected, ProcessRetired, ProcessUnlinked
from cortex.runtime.kernel import NotFoundError, RefusedError
from cortex.runtime.projections import HomeLog, Selection

from .. import LinkedInterface, LinkedProcess, ProcessTable, Rejections, Tie

CHANGES = Selection(topics=("process.*",))


class Compiled(msgspec.Struct):
    """One version of a process or an interface."""

    position: int
    time_ns: int
    event: ProcessCompiled


class Catalog:
    """Processes and interfaces by name and version."""

    def __init__(self, history: HomeLog) -> None:
        self.compiled: dict[tuple[str, int], Compiled] = {}  # the newest form of each version
        self.sources: dict[str, str] = {}  # digest of the accepted text, by file
        self.missing: dict[str, tuple[str, ...]] = {}
        self.retired: dict[str, str] = {}
        self._outdated: set[tuple[str, int]] = set()  # versions that were retired by themselves
        self._history = history
        rejections = Rejections()
        self.rejected: dict[str, ProcessRejected] = rejections.by_file  # until it is accepted
        for record in history.select(CHANGES):
            event = history.event(record)
            if event is None:
                continue
            at, cause = record.position, record.causation or record.position
            rejections.fold(event, self.sources, position=at, cause=cause)
            match event:
                case ProcessCompiled():
                    key = event.name, event.process_version
                    self.compiled[key] = Compiled(record.position, record.time_ns, event)
                    self.sources[event.file] = event.source
                    self.missing.pop(event.name, None)
                    self.retired.pop(event.name, None)
                    self._outdated.discard(key)
                case ProcessUnlinked():
                    self.missing[event.name] = event.missing
                case ProcessRetired():
                    self._retire(event)
                    for file in event.files:
                        self.sources.pop(file, None)

    def _retire(self, event: ProcessRetired) -> None:
        keys = {key for key in self.compiled if key[0] == event.name}
        if event.process_version:
            self._outdated.add((event.name, event.process_version))
        if not event.process_version or keys <= self._outdated:
            self.retired[event.name] = event.reason

    @property
    def known(self) -> dict[str, str]:
        """Digest of the newest text, by file, of all that were accepted or rejected."""
        return {**self.sources, **{f: each.source for f, each in self.rejected.items()}}

    def names(self) -> list[str]:
        """Names of all that is offered, sorted."""
        return sorted({name for name, _ in self.compiled} - self.retired.keys())

    def versions(self, name: str) -> list[Compiled]:
        """The versions of *name*, the lowest first.

        Raises:
            NotFoundError: There is none.
        """
        found = [self.compiled[key] for key in sorted(self.compiled) if key[0] == name]
        if not found:
            raise self.unknown(name)
        return found

    def get(self, name: str, version: int | None = None) -> Compiled:
        """*name* in *version*, or in its highest.

        Raises:
            NotFoundError: There is no such process, or not in that version.
        """
        versions = self.versions(name)
        if version is None:
            kept = [c for c in versions if (name, c.event.process_version) not in self._outdated]
            return (kept or versions)[-1]
        for compiled in versions:
            if compiled.event.process_version == version:
                return compiled
        numbers = ", ".join(str(each.event.process_version) for each in versions)
        raise NotFoundError("process", f"{name} {version}", f"is not here: it has {numbers}")

    def linked(self, compiled: Compiled) -> LinkedProcess | LinkedInterface:
        """The linked form.

        Raises:
            BlobError: It cannot be read.
            RefusedError: The blob is not a linked process.
        """
        event = compiled.event
        data = self._history.blobs.get(event.linked)
        try:
            try:
                return msgspec.json.decode(data, type=LinkedProcess)
            except msgspec.ValidationError:
                return msgspec.json.decode(data, type=LinkedInterface)
        except msgspec.DecodeError as error:
            raise RefusedError(
                f"{event.name} {event.process_version} cannot be read: the blob "
                f"{event.linked[:12]} that event {compiled.position} names is not a linked process "
                f"({error}); compile it again under a new version"
            ) from None

    def process(self, name: str, version: int | None = None) -> LinkedProcess:
        """The linked process *name*.

        Raises:
            NotFoundError: There is no such process, or it is an interface.
        """
        linked = self.linked(self.get(name, version))
        if isinstance(linked, LinkedProcess):
            return linked
        raise NotFoundError("process", name, "is an interface: name a process that implements it")

    def implementing(self, interface: str, wanted: Sequence[str] = ()) -> str:
        """The process that runs for *interface*, preferably one of *wanted*.

        Raises:
            NotFoundError: There is none.
            RefusedError: Several match equally.
        """
        linked = (self.linked(self.get(name)) for name in self.names())
        table = ProcessTable().add(each for each in linked if isinstance(each, LinkedProcess))
        match = table.implementing(interface, wanted)
        if match is None:
            raise NotFoundError(
                "process", interface, "is an interface, and no process that can run implements it"
            )
        if isinstance(match, Tie):
            raise RefusedError(f"{interface} is an interface: {match}")
        return match.chosen.name

    def unknown(self, name: str) -> NotFoundError:
        """The error for a process that is not there."""
        from difflib import get_close_matches

        near = get_close_matches(name, self.names(), n=1)
        hint = f"did you mean {near[0]}?" if near else "`cortex process list` shows what is"
        return NotFoundError("process", name, f"is not here: {hint}")
