"""The processes of a home, for programs: rows, search results, and one with its parts."""

import msgspec

from cortex.bus.events import ExecutionStarted
from cortex.runtime.executions.view import History, find_processes, rows_of, took_s
from cortex.runtime.kernel import RefusedError, iso
from cortex.runtime.log import BlobError
from cortex.runtime.models import Inferred
from cortex.runtime.processes import LinkedInterface, LinkedProcess, absence, inferred_needs
from cortex.runtime.processes.catalog import Catalog, Compiled
from cortex.runtime.projections import Selection

STARTED = Selection(topics=(ExecutionStarted.topic_name(),))


class Fared(msgspec.Struct, kw_only=True):
    """One version of a process, and the results of its executions."""

    version: int
    compiled: str  # UTC
    digest: str
    runs: int = 0
    completed: int = 0
    failed: int = 0  # failed, halted or cancelled
    tokens: int = 0  # of all runs
    duration_s: float = 0.0  # of all runs


class ProcessRow(msgspec.Struct, kw_only=True):
    """One process or interface in a list."""

    name: str
    version: int
    kind: str  # process, abstract or interface
    status: str  # ready, unlinked, retired or unreadable
    description: str
    missing: list[str]  # what keeps it from being run; why it cannot be read
    digest: str
    file: str

    @property
    def about(self) -> str:
        """Why it cannot be run, or else what it is for."""
        if self.status == "unreadable":
            return "; ".join(self.missing)
        missing = "; ".join(map(absence, self.missing))
        return missing if self.status == "unlinked" else self.description


class FoundProcess(ProcessRow, kw_only=True):
    """A process that was found."""

    score: float  # 1 is the best by words and meaning; links may add to it
    why: dict[str, float]  # the parts of the score


class InspectDocument(msgspec.Struct, kw_only=True):
    """A process as it was linked."""

    process: ProcessRow
    linked: LinkedProcess | LinkedInterface
    inferred: dict[str, Inferred] = {}  # by step: what its work asks of a model beyond its `needs`


def process_rows(catalog: Catalog, *, retired: bool = False) -> list[ProcessRow]:
    """Processes and interfaces in their newest versions; with *retired* those, too."""
    names = {name for name, _ in catalog.compiled} if retired else set(catalog.names())
    return [_row(catalog, catalog.get(name)) for name in sorted(names)]


def matching_processes(
    history: History, question: str, limit: int
) -> tuple[list[FoundProcess], list[str]]:
    """The processes that fit a question best, best first, and notes on the search."""
    found, catalog = find_processes(history, question, limit), Catalog(history)
    rows = []
    for hit in found.hits:
        row = msgspec.structs.asdict(_row(catalog, catalog.get(hit.key)))
        rows.append(FoundProcess(**row, score=hit.score, why=hit.why))
    return rows, list(found.notes)


def inspected(catalog: Catalog, name: str, version: int | None = None) -> InspectDocument:
    """A process with all its parts.

    Raises:
        NotFoundError: There is no process of that name and version.
    """
    compiled = catalog.get(name, version)
    linked = catalog.linked(compiled)
    inferred: dict[str, Inferred] = {}
    if isinstance(linked, LinkedProcess):
        needs = {step.id: inferred_needs(linked, step) for step in linked.steps}
        inferred = {step: each for step, each in needs.items() if each.needs}
    return InspectDocument(process=_row(catalog, compiled), linked=linked, inferred=inferred)


def process_history(history: History, name: str) -> list[Fared]:
    """The versions of a process, and how the executions of each went."""
    found = {
        each.event.process_version: Fared(
            version=each.event.process_version,
            compiled=iso(each.time_ns),
            digest=each.event.digest,
        )
        for each in Catalog(history).versions(name)
    }
    for record in history.select(STARTED):
        event = history.event(record)
        if not isinstance(event, ExecutionStarted) or event.process != name:
            continue
        if event.part is not None:
            continue  # an item of a step is part of a run
        past = found.get(event.process_version)
        if past is None:
            continue
        state = history.execution(event.execution_id)
        past.runs += 1
        past.completed += state.status == "completed"
        past.failed += state.status in ("failed", "halted", "cancelled")
        past.tokens += state.tokens
        past.duration_s += took_s(rows_of(history, event.execution_id))
    return [found[version] for version in sorted(found)]


def _row(catalog: Catalog, compiled: Compiled) -> ProcessRow:
    event = compiled.event
    missing = list(catalog.missing.get(event.name, ()))
    status = "retired" if event.name in catalog.retired else "unlinked" if missing else "ready"
    interface, description = False, ""
    try:
        linked = catalog.linked(compiled)
        interface, description = isinstance(linked, LinkedInterface), linked.description
    except (BlobError, RefusedError) as error:  # the others are there all the same
        status, missing = "unreadable", [str(error)]
    return ProcessRow(
        name=event.name,
        version=event.process_version,
        kind="interface" if interface else "abstract" if event.abstract else "process",
        status=status,
        description=description,
        missing=missing,
        digest=event.digest,
        file=event.file,
    )
