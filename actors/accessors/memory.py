"""The accessor of memory: finds nodes for steps, and answers queries."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from cortex.bus import CortexError, Event, Log, Recorded, Vocabulary
from cortex.bus.events import (
    VOCABULARY,
    MemoryAnswer,
    MemoryFind,
    MemoryGet,
    MemoryRequest,
    MemoryRequested,
    PackageCompile,
)
from cortex.runtime.directives import (
    NOTHING,
    Overruling,
    RecentLedgers,
    ScopeLedger,
    in_force,
)
from cortex.runtime.kernel import Component, Config, Delivery, Home, on
from cortex.runtime.log import BlobError, Blobs
from cortex.runtime.memory import (
    MemoryInvalidError,
    MemoryMissingError,
    MemoryStoreError,
    PackageRow,
    RecalledNodes,
    Scope,
    in_packages,
    not_asked_for,
    recalled,
)
from cortex.runtime.retrieval import RetrievalError

from ..opened_memory import OpenedMemory

if TYPE_CHECKING:  # numpy and faiss take their time to load
    from cortex.runtime.memory import MemoryResult

MOST_TEXTS: Final = 64  # of one query
MOST_NODES: Final = 100  # for each text
EMPTY = "there is no text: say what to find"
FAILURES = (MemoryStoreError, RetrievalError)


class MemoryAccessor(Component):
    """Reads memory; it runs in its own process, which starts with the first query."""

    cpu = True

    def __init__(
        self,
        blobs: Blobs,
        history: Callable[[str], Iterator[Recorded]],
        config: Config | None = None,
        home: Home | None = None,
        vocabulary: Vocabulary = VOCABULARY,
        log: Log | None = None,
    ) -> None:
        self._blobs = blobs
        self._ledgers = RecentLedgers(history, blobs, vocabulary)
        self._last: tuple[ScopeLedger, Overruling] | None = None  # the one of the last query
        self._memory = OpenedMemory(home, config or Config(), history, vocabulary, log)

    def on_stop(self) -> None:
        """Close the store."""
        self._memory.close()

    @on(MemoryRequest)
    def request(self, event: MemoryRequest, delivery: Delivery) -> Iterator[Event]:
        """The nodes for a step; if memory cannot be used, the answer says so."""
        if event.found:
            yield _requested(event, found=event.found)
            return
        try:
            results = self._memory.find(
                event.texts,
                event.scopes,
                history=event.history,
                limit=event.limit,
                asked_ns=delivery.time_ns,
                thorough=False,
                # What a step is given becomes part of its prompt, which is erased with its subject.
                subject=delivery.subject or "",
            )
            found = recalled(results, event.limit, event.tokens)
            packages = self._packages(found)
        except FAILURES as error:
            yield _requested(event, problem=str(error))
            return
        nodes = tuple(each.id for each in found.nodes)
        found = in_packages(found, packages, event, delivery.subject or "", self._text_of)
        yield from _stale(packages, delivery)
        yield _requested(
            event,
            nodes=nodes,
            found=self._blobs.put(msgspec.json.encode(found)),
            through=found.position,
            notes=found.notes,
        )

    def _packages(self, found: RecalledNodes) -> list[PackageRow]:
        """The packages that have one of these nodes, as they were when these were found."""
        if not found.nodes:
            return []
        with self._memory.view(found.position) as view:
            return view.packages.holding([node.id for node in found.nodes])

    def _text_of(self, digest: str) -> str | None:
        try:
            return self._blobs.get(digest).decode()
        except BlobError:
            return None

    @on(MemoryFind)
    def find(self, event: MemoryFind, delivery: Delivery) -> Iterator[Event]:
        """The nodes for a query."""
        texts = tuple(text.strip() for text in event.texts)
        if not texts or not all(texts) or len(texts) > MOST_TEXTS:
            problem = EMPTY if len(texts) <= MOST_TEXTS else f"ask at most {MOST_TEXTS} texts"
            yield MemoryAnswer(problem=problem)
            return
        limit = min(max(event.limit, 1), MOST_NODES)
        try:
            scopes = (str(Scope.parse(event.scope)),)
            results = self._memory.find(
                texts, scopes, history=event.history, limit=limit, asked_ns=delivery.time_ns
            )
        except (MemoryInvalidError, *FAILURES) as error:
            yield MemoryAnswer(problem=str(error))
            return
        overruling, notes = self._overruling(scopes[0])
        marked = (_marked(result, overruling, notes) for result in results)
        answers = tuple(msgspec.to_builtins(result) for result in marked)
        yield MemoryAnswer(answers=answers, position=results[0].position)

    @on(MemoryGet)
    def get(self, event: MemoryGet, delivery: Delivery) -> Iterator[Event]:
        """A node with its chain."""
        try:
            scopes = (str(Scope.parse(event.scope)),)
            with self._memory.view() as view:
                chain, position = view.chain(event.node_id, scopes), view.position
        except (MemoryInvalidError, MemoryMissingError, *FAILURES) as error:
            yield MemoryAnswer(problem=str(error))
            return
        shown = msgspec.to_builtins(chain)
        overruling, _ = self._overruling(scopes[0])
        for node in shown["nodes"]:
            node["overruled_by"] = _quoted(overruling, node["content"])
        yield MemoryAnswer(chain=shown, position=position)

    def _overruling(self, scope: str) -> tuple[Overruling, tuple[str, ...]]:
        """What overrules memories of a scope, and a note if that cannot be read.

        A query is for one scope, and its asker may see that alone: so do the marks.
        """
        try:
            ledger, _ = self._ledgers.at(scope)
        except CortexError as error:
            return Overruling(NOTHING), (f"directives of {scope} cannot be read: {error}",)
        if self._last is None or self._last[0] is not ledger:
            self._last = ledger, Overruling(in_force([(scope, ledger)]))
        return self._last[1], ()


def _marked(
    found: "MemoryResult", overruling: Overruling, notes: tuple[str, ...]
) -> "MemoryResult":
    """*found*, where each hit says which directive overrules it; with further *notes*."""
    hits = (replace(hit, overruled_by=_quoted(overruling, hit.node.content)) for hit in found.hits)
    return replace(found, hits=tuple(hits), notes=(*found.notes, *notes))


def _quoted(overruling: Overruling, content: str) -> str:
    by = overruling.by(content)
    return by.quoted if by is not None else ""


def _stale(packages: Sequence[PackageRow], delivery: Delivery) -> Iterator[PackageCompile]:
    """Requests for packages that were stale when a step could have used them."""
    # What a step of somebody has published becomes theirs: the package would go with them.
    if delivery.subject is None:
        for package in not_asked_for(packages):
            yield PackageCompile(package_id=package.id, scope=package.scope)


def _requested(
    event: MemoryRequest,
    *,
    nodes: tuple[str, ...] = (),
    found: str = "",
    through: int = 0,
    notes: tuple[str, ...] = (),
    problem: str = "",
) -> MemoryRequested:
    return MemoryRequested(
        execution_id=event.execution_id,
        step_id=event.step_id,
        attempt=event.attempt,
        turn=0,
        call_id="",
        query="\n".join(event.texts),
        nodes=nodes,
        found=found,
        through=through,
        notes=notes,
        problem=problem,
    )
