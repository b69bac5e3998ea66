"""The life of a process definition: submitted, compiled or rejected, unlinked, retired."""

from hashlib import sha256
from typing import Any

from ..event import Event
from ..limits import is_too_long


class ProcessSubmit(Event, frozen=True, kw_only=True, tag="process.submit"):
    """Ask to compile sources together and to enter them in the process table.

    Cortex links existing processes again if what they name has changed, also for a request without
    files. It answers every file: with `process.compiled` for each changed part, `process.rejected`,
    or `process.unchanged`.
    """

    belongs = ("sources", "")

    sources: dict[str, str]  # digest of the blob that holds the YAML text, by file name
    removed: tuple[str, ...] = ()  # files that are gone; their processes are retired
    strict: bool = False  # warnings count as errors


class ProcessCompiled(Event, frozen=True, kw_only=True, tag="process.compiled"):
    """A process or an interface was compiled; executions may name this digest from now on."""

    belongs = ("process", "name")
    routing = "name"

    name: str
    process_version: int  # as its source says
    digest: str  # SHA-256 of the linked form: covers everything that affects a run
    source_digest: str  # SHA-256 of its own source
    linked: str  # digest of the blob that holds the linked form
    source: str  # digest of the blob that holds the source text
    file: str = ""
    abstract: bool = False
    warnings: tuple[dict[str, Any], ...] = ()  # diagnostics that did not block


class ProcessRejected(Event, frozen=True, kw_only=True, tag="process.rejected"):
    """A source was not compiled; nothing changed in the process table.

    Cortex compiles it automatically when the missing part arrives: a component, or another source.
    """

    belongs = ("source", "file")

    file: str
    diagnostics: tuple[dict[str, Any], ...]  # all of the file, each with code and range
    source: str = ""  # digest of the blob that holds the source text; "" if it was not read
    strict: bool = False  # warnings counted as errors

    def stream(self) -> str:
        """The stream of the file; it uses the digest of a path that is too long for a name."""
        name = super().stream()
        return f"source/{sha256(self.file.encode()).hexdigest()}" if is_too_long(name) else name


class ProcessUnchanged(Event, frozen=True, kw_only=True, tag="process.unchanged"):
    """The submitted sources are already in the process table."""

    belongs = ("sources", "")

    files: tuple[str, ...]


class ProcessUnlinked(Event, frozen=True, kw_only=True, tag="process.unlinked"):
    """Something that the process needs is gone; new executions are refused until it is back."""

    belongs = ("process", "name")
    routing = "name"

    name: str
    digest: str
    missing: tuple[str, ...]  # "action write_code", "gate tests_pass", "topic team.rota"


class ProcessRetired(Event, frozen=True, kw_only=True, tag="process.retired"):
    """The process, or one version of it, is no longer offered; it stays readable."""

    belongs = ("process", "name")
    routing = "name"

    name: str
    reason: str
    files: tuple[str, ...] = ()  # removed source files
    process_version: int = 0  # 0 for all of them
