"""Decides about requests: which facts follow, or why a request is refused. Pure."""

from collections.abc import Iterator, Sequence

import msgspec

from cortex.bus import Event
from cortex.bus.events import (
    MemoryConsolidate,
    MemoryConsolidated,
    MemoryCorrect,
    MemoryCorrected,
    MemoryEdge,
    MemoryForget,
    MemoryForgotten,
    MemoryLink,
    MemoryLinked,
    MemoryPin,
    MemoryPinned,
    MemoryRecord,
    MemoryRecorded,
    MemoryRecurred,
    MemoryRefused,
    MemoryRestore,
    MemoryRestored,
    MemoryReword,
    MemorySuperseded,
    MemoryUndo,
    MemoryUndone,
    MemoryUnpinned,
)

from .checks import REPLACING, Checks, check_nobodys, check_subject, check_time
from .consolidation import MOST_READ, plan
from .episodes import promoted
from .errors import MemoryInvalidError
from .nodes import check_content, check_record, same_digest
from .past import Past, no_past
from .requests import FindUpdates, RequestRecord, Update, no_updates, recorded, written
from .rewording import reworded
from .scopes import check_scope
from .state import Known, MemoryState
from .written import WrittenMemory


class Decider:
    """Decides about requests in turn; `state` is what follows from the facts so far."""

    def __init__(
        self,
        state: MemoryState,
        updates: FindUpdates = no_updates,
        past: Past = no_past,
    ) -> None:
        self.state, self._updates, self._past = state, updates, past
        self._checks = Checks(state, past)

    def decide(self, request: Event, asked: RequestRecord) -> tuple[Event, ...]:
        """The facts that follow from *request*, applied to the state; or the refusal."""
        try:
            facts = tuple(self._with_outdated(self._facts(request, asked), asked))
        except MemoryInvalidError as error:
            topic, scope = request.topic_name(), request.key() or ""
            return (MemoryRefused(asked=topic, reason=str(error), by=asked.by, scope=scope),)
        for fact in facts:
            # A consolidation names the subject of each of its nodes by its id.
            subject = asked.subject
            if isinstance(fact, MemoryRecorded) and fact.consolidation_id:
                subject = fact.subject
            self.state.apply(fact, subject)
        return facts

    def _with_outdated(self, facts: Iterator[Event], asked: RequestRecord) -> Iterator[Event]:
        """The facts; behind them, what a consolidation made of nodes that they change leaves."""
        changed: dict[str, str] = {}
        for fact in facts:
            yield fact
            if isinstance(fact, MemorySuperseded | MemoryCorrected | MemoryForgotten):
                changed[fact.node_id] = (
                    "forgotten" if isinstance(fact, MemoryForgotten) else "replaced"
                )
            elif isinstance(fact, MemoryUndone):
                changed |= dict.fromkeys(fact.nodes, "undone")
        # Also what was superseded: it says the same.
        outdated = {by: each for each in changed for by in self.state.cited_by.get(each, ())}
        for node_id, source in outdated.items():
            if node_id not in changed and self.state.is_live(node_id):
                yield MemoryForgotten(
                    node_id=node_id,
                    scope=self._checks.known(node_id).scope,
                    by=asked.by,
                    why=f"memory {source}, which it cites, was {changed[source]}",
                )

    def _facts(self, request: Event, asked: RequestRecord) -> Iterator[Event]:
        match request:
            case MemoryRecord():
                yield from self._record(request, asked)
            case MemoryCorrect():
                yield from self._correct(request, asked)
            case MemoryLink():
                yield from self._link(request, asked)
            case MemoryPin():
                yield from self._pin(request, asked)
            case MemoryForget():
                yield from self._forget(request, asked)
            case MemoryRestore():
                yield from self._restore(request, asked)
            case MemoryUndo():
                yield from self._undo(request, asked)
            case MemoryConsolidate():
                yield from self._consolidate(request, asked)
            case MemoryReword():
                yield from self._reword(request, asked)
            case MemoryRecurred():
                yield from self._recurred(request, asked)
            case _:
                pass

    def _scopes(self, request: Event, asked: RequestRecord) -> frozenset[str] | None:
        """The scopes in which who asks may make such a request; None for every scope."""
        return self.state.writers.scopes(asked.by, request.topic_name())

    def _record(self, request: MemoryRecord, asked: RequestRecord) -> Iterator[Event]:
        check_record(request)
        check_time(request, asked.time_ns)
        self._checks.embedding(request)
        if request.node_id and self._scopes(request, asked) is not None:
            # Whether it is taken would say that another scope has it.
            raise MemoryInvalidError(
                f"{asked.by} may write in single scopes only, and cannot choose the id of a "
                "memory: leave node_id out"
            )
        digest = same_digest(request.scope, asked.subject, request.content)
        same = self.state.same(digest)
        if same and not request.node_id:
            if not self._checks.outranks(request, same):
                yield from self._again(request, asked, same)
                return
            edges = (*request.edges, MemoryEdge("supersedes", same))
            request = msgspec.structs.replace(request, edges=tuple(dict.fromkeys(edges)))
        node_id = request.node_id or asked.node_id
        if node_id in self.state.nodes:
            yield from self._imported_again(request, asked, node_id)
            return
        known = Known(
            request.kind,
            request.scope,
            asked.subject,
            request.origin,
            digest,
            request.confidence,
        )
        named = [edge.to for edge in request.edges]
        self._check_edges(request, asked, node_id, known, request.edges)
        yield recorded(request, asked, node_id)
        for edge in request.edges:
            if edge.edge == "supersedes":
                yield self._superseded(edge.to, node_id, asked.by)
        if request.update and request.origin != "model":
            for update in self._updates(request, asked.subject, named):
                yield self._superseded(update.node_id, node_id, asked.by, update)

    def _again(self, request: MemoryRecord, asked: RequestRecord, same: str) -> Iterator[Event]:
        """One more source of a node, and the edges that it has not yet."""
        known = self.state.nodes[same]
        fresh = [e for e in request.edges if (e.edge, e.to) not in self.state.edges.get(same, ())]
        self._check_edges(request, asked, same, known, fresh)
        yield msgspec.structs.replace(
            recorded(request, asked, same),
            content="",
            edges=(),
            embedding=(),
            again=True,
            uses=0,
            used_ns=0,
        )
        for edge in fresh:
            yield from self._linked(same, edge, asked.by)

    def _check_edges(
        self,
        request: MemoryRecord,
        asked: RequestRecord,
        node_id: str,
        known: Known,
        edges: Sequence[MemoryEdge],
    ) -> None:
        scopes = self._scopes(request, asked)
        replaced = [edge.to for edge in edges if edge.edge == "supersedes"]
        for edge in edges:
            self._checks.edge(node_id, known, edge.edge, edge.to, scopes)
            if edge.edge == "supersedes":
                self._checks.replaceable(edge.to, (node_id, *replaced))

    def _imported_again(
        self, request: MemoryRecord, asked: RequestRecord, node_id: str
    ) -> Iterator[Event]:
        known = self.state.nodes[node_id]
        if known.digest != same_digest(request.scope, asked.subject, request.content):
            raise MemoryInvalidError(
                f"memory {node_id} exists and says something else: import it without its id"
            )
        yield from self._again(request, asked, node_id)

    def _correct(self, request: MemoryCorrect, asked: RequestRecord) -> Iterator[Event]:
        check_content(request.content)
        old = self._checks.node(request.node_id, request.scope)
        if request.origin == "model":
            raise MemoryInvalidError(
                f"a model cannot correct memory {request.node_id}: record an observation that "
                "contradicts it, and a person decides"
            )
        digest = same_digest(old.scope, old.subject, request.content)
        if digest == old.digest:
            raise MemoryInvalidError(
                f"memory {request.node_id} says that already: nothing is to be corrected"
            )
        if old.subject != asked.subject:
            raise MemoryInvalidError(
                f"memory {request.node_id} is about another subject: correct it with that subject"
            )
        same = self.state.same(digest)
        self._checks.replaceable(request.node_id, (same,))
        outranked = same if same and self._checks.outranks(request, same) else ""
        node_id = same if same and not outranked else asked.node_id
        if node_id != same:
            replaced = filter(None, (request.node_id, outranked))
            yield MemoryRecorded(
                node_id=node_id,
                kind="correction",
                content=request.content,
                scope=old.scope,
                subject=asked.subject,
                origin=request.origin,
                by=asked.by,
                edges=tuple(MemoryEdge("supersedes", each) for each in replaced),
            )
        if outranked:
            yield self._superseded(outranked, node_id, asked.by)
        yield MemoryCorrected(
            node_id=request.node_id, scope=old.scope, correction=node_id, by=asked.by
        )

    def _link(self, request: MemoryLink, asked: RequestRecord) -> Iterator[Event]:
        known = self._checks.node(request.node_id, request.scope, asked.subject)
        if request.origin == "model" and request.edge in REPLACING:
            known = msgspec.structs.replace(known, origin="model")
        scopes = self._scopes(request, asked)
        self._checks.edge(request.node_id, known, request.edge, request.to, scopes)
        if (request.edge, request.to) in self.state.edges.get(request.node_id, ()):
            raise MemoryInvalidError(
                f"memory {request.node_id} {request.edge} {request.to} already: nothing is added"
            )
        yield from self._linked(request.node_id, MemoryEdge(request.edge, request.to), asked.by)

    def _linked(self, node_id: str, edge: MemoryEdge, by: str) -> Iterator[Event]:
        scope = self._checks.known(node_id).scope
        yield MemoryLinked(node_id=node_id, edge=edge.edge, to=edge.to, scope=scope, by=by)
        if edge.edge == "supersedes":
            yield self._superseded(edge.to, node_id, by)

    def _superseded(
        self, node_id: str, successor: str, by: str, found: Update | None = None
    ) -> MemorySuperseded:
        return MemorySuperseded(
            node_id=node_id,
            scope=self._checks.known(node_id).scope,
            successor=successor,
            by=by,
            certainty=found.certainty if found else 1.0,
            because=found.because if found else "",
        )

    def _pin(self, request: MemoryPin, asked: RequestRecord) -> Iterator[Event]:
        scope = self._checks.node(request.node_id, request.scope, asked.subject).scope
        if request.pinned == (request.node_id in self.state.pinned):
            stands = "pinned already" if request.pinned else "not pinned"
            raise MemoryInvalidError(f"memory {request.node_id} is {stands}: nothing is changed")
        fact = MemoryPinned if request.pinned else MemoryUnpinned
        yield fact(node_id=request.node_id, scope=scope, by=asked.by)

    def _forget(self, request: MemoryForget, asked: RequestRecord) -> Iterator[Event]:
        scope = self._checks.node(request.node_id, request.scope, asked.subject).scope
        yield MemoryForgotten(node_id=request.node_id, scope=scope, by=asked.by, why=request.why)

    def _restore(self, request: MemoryRestore, asked: RequestRecord) -> Iterator[Event]:
        known = self._checks.of_scope(request.node_id, request.scope)
        check_subject(request.node_id, known, asked.subject)
        if self.state.is_live(request.node_id):
            raise MemoryInvalidError(
                f"memory {request.node_id} is there: nothing is to be restored"
            )
        was = self._past(request.node_id)
        if was is None:
            raise MemoryInvalidError(
                f"memory {request.node_id} cannot be read any more: its subject was erased"
            )
        yield MemoryRestored(
            node_id=request.node_id,
            scope=known.scope,
            subject=known.subject,
            by=asked.by,
            content=was.content,
            entities=was.entities,
            source=was.source,
            quote=was.quote,
            happened_ns=was.happened_ns,
        )

    def _undo(self, request: MemoryUndo, asked: RequestRecord) -> Iterator[Event]:
        check_nobodys(asked.subject)
        wrote = self.state.wrote.get(request.consolidation_id)
        if wrote is None:
            raise MemoryInvalidError(
                f"there is no consolidation {request.consolidation_id[:80]!r}, or it was undone: "
                "`cortex memory consolidations` lists them"
            )
        yield MemoryUndone(consolidation_id=request.consolidation_id, nodes=wrote, by=asked.by)

    def _consolidate(self, request: MemoryConsolidate, asked: RequestRecord) -> Iterator[Event]:
        """All nodes of a consolidation, and what it read: in one commit, or none of it."""
        check_nobodys(asked.subject)
        if request.scope:
            check_scope(request.scope)
        if not 1 <= request.most <= MOST_READ:
            raise MemoryInvalidError(
                f"a consolidation cannot read {request.most} memories: give a number from 1 to "
                f"{MOST_READ:,}; the next one goes on where it ends"
            )
        made = plan(self.state, request.scope, request.most, self._past)
        yield from self._wrote(made.written, request.scope, asked, made.read, made.left)

    def _reword(self, request: MemoryReword, asked: RequestRecord) -> Iterator[Event]:
        """A shorter wording of a summary, as a consolidation of its own: `undo` takes it back."""
        known = self._checks.node(request.node_id, request.scope)
        if known.subject != asked.subject:
            raise MemoryInvalidError(
                f"memory {request.node_id} is about another subject: reword it with that subject"
            )
        made = reworded(self.state, request.node_id, request.draft, self._past)
        yield from self._wrote((made,), request.scope, asked, (request.node_id,), 0)

    def _recurred(self, request: MemoryRecurred, asked: RequestRecord) -> Iterator[Event]:
        """What recurs in executions, as the collector found it: one commit, if it found any."""
        made = promoted(self.state, request.found, self._past)
        if request.found:
            cited = tuple(dict.fromkeys(each for one in made for each in one.ids))
            yield from self._wrote(made, request.scope, asked, cited, request.left)

    def _wrote(
        self,
        made: Sequence[WrittenMemory],
        scope: str,
        asked: RequestRecord,
        read: tuple[str, ...],
        left: int,
    ) -> Iterator[Event]:
        ids = [f"{asked.node_id}{n}" for n in range(1, len(made) + 1)]
        for node_id, one in zip(ids, made, strict=True):
            yield written(one, node_id, asked)
            for each in one.replaces:
                yield self._superseded(each, node_id, asked.by)
        yield MemoryConsolidated(
            consolidation_id=asked.node_id,
            scope=scope,
            read=read,
            wrote=tuple(ids),
            through=asked.position,
            left=left,
        )
