"""What decides about requests must know of all nodes: a fold of the facts, without their texts.

Facts may be applied twice: by whoever decided them, and when they come back from the log.
"""

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias, TypeVar

import msgspec

from cortex.bus import Event
from cortex.bus.events import (
    EdgeType,
    Form,
    GcCollect,
    GrantGiven,
    GrantRevoked,
    Kind,
    MemoryCollected,
    MemoryConsolidated,
    MemoryCorrected,
    MemoryForgotten,
    MemoryLinked,
    MemoryPinned,
    MemoryRecorded,
    MemoryRestored,
    MemorySuperseded,
    MemoryUndone,
    MemoryUnpinned,
    Origin,
    SubjectErased,
)

from .nodes import same_digest
from .writers import WriterScopes

Gone: TypeAlias = Literal["forgotten", "collected", "undone"]
Key = TypeVar("Key", str, bytes)
LONGEST_SAID: Final = 600  # characters of what is compared with new statements
UNRECORDED: Final = 1 << 62  # the position of a fact that is not in the log yet


class Known(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What is known of a node."""

    kind: Kind
    scope: str
    subject: str  # id of whose personal data it is; "" for nobody's
    origin: Origin
    digest: bytes  # of what it says; see `same_digest`
    confidence: float = 1.0
    form: Form = ""  # what a consolidation made; "" for what was said
    times: int = 0  # and how often it was seen


class Embedded(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An embedding that was given."""

    size: int
    node_id: str
    by: str  # who gave it


class MemoryState(msgspec.Struct):
    """All nodes and edges, by id."""

    nodes: dict[str, Known] = {}
    edges: dict[str, tuple[tuple[EdgeType, str], ...]] = {}  # from a node
    successors: dict[str, tuple[str, ...]] = {}  # of a node that is not current
    gone: dict[str, Gone] = {}
    pinned: set[str] = set()
    wrote: dict[str, tuple[str, ...]] = {}  # nodes by the consolidation that wrote them
    # What current nodes say, since when (0: since they were recorded), and who says so; without
    # derived ones, those of consolidations, and long ones, which no single statement replaces.
    said: dict[str, tuple[str, int, str]] = {}
    heard: int = 0  # how often something was put into `said`, at its end
    read: set[str] = set()  # nodes in `said` that a consolidation has read
    cited_by: dict[str, tuple[str, ...]] = {}  # nodes that consolidations wrote about a node
    embedded: dict[str, Embedded] = {}  # the first embedding that was given, by scope
    by_digest: dict[bytes, str] = {}  # the first of the current nodes that say something
    equal: dict[bytes, tuple[str, ...]] = {}  # the others, if several say it
    # Nodes that were recorded, joined, pinned or restored, and the position of that fact:
    # `UNRECORDED` until it is in the log; after that it is kept while a collection goes on.
    touched: dict[str, int] = {}
    collecting: bool = False
    writers: WriterScopes = msgspec.field(default_factory=WriterScopes)

    def is_live(self, node_id: str) -> bool:
        """Whether the node is in memory."""
        return node_id not in self.gone

    def is_current(self, node_id: str) -> bool:
        """Whether the node is in memory, and nothing replaced it."""
        return node_id not in self.gone and node_id not in self.successors

    def same(self, digest: bytes) -> str:
        """The node in memory that says what has this *digest*, and is current; "" for none."""
        return self.by_digest.get(digest, "")

    def made_of(self, ids: Iterable[str], form: Form) -> tuple[str, ...]:
        """What consolidations made in this *form* that cites one of *ids*, and is current."""
        citing = dict.fromkeys(by for each in ids for by in self.cited_by.get(each, ()))
        return tuple(by for by in citing if self.is_current(by) and self.nodes[by].form == form)

    def times_told(self, ids: Iterable[str], form: Form) -> int:
        """How often what *ids* say was seen, by what consolidations made of them in this *form*."""
        told = {each for node_id in ids for each in self.cited_by.get(node_id, ())}
        return max((k.times for k in map(self.nodes.get, told) if k and k.form == form), default=0)

    def replaces(self, newer: str, older: str) -> bool:
        """Whether *newer* replaced *older*, or what replaced it, and so on."""
        seen, open_ = {older}, [older]
        while open_:
            for successor in self.successors.get(open_.pop(), ()):
                if successor == newer:
                    return True
                if successor not in seen:
                    seen.add(successor)
                    open_.append(successor)
        return False

    def heads(self, node_id: str) -> tuple[str, ...]:
        """What is current of all that replaced a node, in the order of the edges; it may be empty.

        The node itself, if nothing replaced it.
        """
        found: dict[str, None] = {}
        seen, open_ = {node_id}, [node_id]
        while open_:
            at = open_.pop(0)
            successors = self.successors.get(at, ())
            if not successors and at not in self.gone:
                found[at] = None
            fresh = [each for each in successors if each not in seen]
            seen.update(fresh)
            open_ += fresh
        return tuple(found)

    def left_alone(self, ids: Iterable[str], through: int) -> tuple[str, ...]:
        """Those of *ids* in memory that nothing touched after position *through*.

        Without what edges join to one that was: it may be kept by it.
        """
        wanted = {each for each in ids if self.is_live(each)}
        open_ = [each for each, at in self.touched.items() if at > through]
        seen = set(open_)
        joins: dict[str, list[str]] = {}
        for node_id in seen | wanted:
            for _, to in self.edges.get(node_id, ()):
                joins.setdefault(node_id, []).append(to)
                joins.setdefault(to, []).append(node_id)
        while open_:
            fresh = [each for each in joins.get(open_.pop(), ()) if each not in seen]
            seen.update(fresh)
            open_ += [each for each in fresh if each in wanted]
        return tuple(sorted(wanted - seen))

    def apply(self, fact: Event, subject: str = "", position: int = UNRECORDED) -> None:
        """Fold *fact*.

        Args:
            fact: A fact of memory; others change nothing.
            subject: Id of whose personal data its record carries.
            position: Of that record; none yet, for one that was just decided.
        """
        self._touch(fact, position)
        match fact:
            case MemoryRecorded():
                self._recorded(fact, subject)
            case MemoryCorrected():
                self._replaced(fact.node_id, fact.correction)
            case MemorySuperseded():
                self._replaced(fact.node_id, fact.successor)
            case MemoryLinked():
                self._linked(fact.node_id, fact.edge, fact.to)
            case MemoryPinned():
                self.pinned.add(fact.node_id)
            case MemoryUnpinned():
                self.pinned.discard(fact.node_id)
            case MemoryForgotten():
                self._left((fact.node_id,), "forgotten")
                self._release(fact.node_id)
            case MemoryCollected():
                self._left(fact.nodes, "collected")
            case MemoryRestored():
                self._restored(fact)
            case MemoryConsolidated():
                if not any(self.gone.get(each) == "undone" for each in fact.wrote):
                    self.wrote[fact.consolidation_id] = fact.wrote
                self.read.update(each for each in fact.read if each in self.said)
            case MemoryUndone():
                self._undone(fact.nodes)
                self.wrote.pop(fact.consolidation_id, None)
            case SubjectErased():
                self._erased(fact.subject)
            case GrantGiven() | GrantRevoked():
                self.writers.apply(fact)
            case _:
                pass

    def _touch(self, fact: Event, position: int) -> None:
        ids: tuple[str, ...] = ()
        match fact:
            case GcCollect():
                self.collecting = True
            case MemoryRecorded():
                ids = (fact.node_id, *(edge.to for edge in fact.edges))
            case MemoryLinked():
                ids = (fact.node_id, fact.to)
            case MemorySuperseded():
                ids = (fact.node_id, fact.successor)
            case MemoryCorrected():
                ids = (fact.node_id, fact.correction)
            case MemoryPinned() | MemoryRestored():
                ids = (fact.node_id,)
            case MemoryCollected() if not fact.more:
                self.collecting = False
                self.touched = {n: at for n, at in self.touched.items() if at == UNRECORDED}
            case _:
                pass
        if position == UNRECORDED or self.collecting:
            self.touched.update(dict.fromkeys(ids, position))
        else:
            for each in ids:
                self.touched.pop(each, None)

    def _recorded(self, fact: MemoryRecorded, subject: str) -> None:
        if fact.again or fact.node_id in self.nodes:
            return
        form: Form = (fact.form or "cluster") if fact.consolidation_id else ""
        cited = [edge.to for edge in fact.edges if edge.edge == "refines"] if form else []
        for each in cited:
            self.cited_by[each] = (*self.cited_by.get(each, ()), fact.node_id)
        digest = same_digest(fact.scope, subject, fact.content)
        self.nodes[fact.node_id] = Known(
            fact.kind,
            fact.scope,
            subject,
            fact.origin,
            digest,
            fact.confidence,
            form,
            (fact.times or len(cited)) if form else 0,
        )
        self._holds(fact.node_id)
        if not form:
            self._says(fact.node_id, fact.content, fact.happened_ns, fact.by)
        for edge in fact.edges:
            self._linked(fact.node_id, edge.edge, edge.to)
        if fact.embedding:
            given = Embedded(len(fact.embedding), fact.node_id, fact.by)
            self.embedded.setdefault(fact.scope, given)

    def _linked(self, node_id: str, edge: EdgeType, to: str) -> None:
        added, before = (edge, to), self.edges.get(node_id, ())
        if added not in before:
            self.edges[node_id] = (*before, added)
        if edge == "supersedes":
            self._replaced(to, node_id)

    def _replaced(self, node_id: str, successor: str) -> None:
        if self.gone.get(successor) == "undone":
            return
        self._silence(node_id)
        self._holds_no_more(node_id)
        self._release(node_id)
        before = self.successors.get(node_id, ())
        if successor not in before:
            self.successors[node_id] = (*before, successor)

    def _holds(self, node_id: str) -> None:
        """A node says what it says, if it is current; it may be one of several that do."""
        known = self.nodes.get(node_id)
        if known is None or not self.is_current(node_id):
            return
        first = self.by_digest.setdefault(known.digest, node_id)
        others = self.equal.get(known.digest, ())
        if node_id not in (first, *others):
            self.equal[known.digest] = (*others, node_id)

    def _holds_no_more(self, node_id: str) -> None:
        """A node is no longer current: one of those that say the same is the first now."""
        known = self.nodes.get(node_id)
        if known is None:
            return
        self._drop(self.equal, known.digest, node_id)
        if self.by_digest.get(known.digest) == node_id:
            del self.by_digest[known.digest]
            for other in self.equal.get(known.digest, ())[:1]:
                self.by_digest[known.digest] = other
                self._drop(self.equal, known.digest, other)

    def _says(self, node_id: str, content: str, since_ns: int, by: str) -> None:
        if len(content) <= LONGEST_SAID and node_id not in self.said:
            self.said[node_id] = content, since_ns, by
            self.heard += 1

    def _left(self, ids: Iterable[str], gone: Gone) -> None:
        for node_id in ids:
            self.gone[node_id] = gone
            self._silence(node_id)
            self._holds_no_more(node_id)

    def _undone(self, ids: Iterable[str]) -> None:
        """Nodes of a consolidation left, and their edges with them."""
        for node_id in ids:
            if self.gone.get(node_id) != "undone":
                self._left((node_id,), "undone")
                for edge, to in self.edges.get(node_id, ()):
                    if edge == "supersedes" and self._drop(self.successors, to, node_id):
                        self._holds(to)

    @staticmethod
    def _drop(of: dict[Key, tuple[str, ...]], key: Key, value: str) -> bool:
        """Take *value* from what *of* has under *key*; whether nothing is left there."""
        left = tuple(each for each in of.get(key, ()) if each != value)
        if left:
            of[key] = left
        else:
            of.pop(key, None)
        return not left

    def _silence(self, node_id: str) -> None:
        self.said.pop(node_id, None)
        self.read.discard(node_id)

    def _release(self, node_id: str) -> None:
        """A node changed: what was made of it says it no longer, and the others are read again."""
        for citing in self.cited_by.get(node_id, ()):
            for edge, to in self.edges.get(citing, ()):
                if edge == "refines" and self._drop(self.cited_by, to, citing):
                    self.read.discard(to)

    def _restored(self, fact: MemoryRestored) -> None:
        node_id = fact.node_id
        self.gone.pop(node_id, None)
        known = self.nodes.get(node_id)
        for edge, to in self.edges.get(node_id, ()):
            if edge == "supersedes":
                self._replaced(to, node_id)  # again, if it was undone
        if self.is_current(node_id) and not (known and known.form):
            self._says(node_id, fact.content, fact.happened_ns, fact.by)
        self._holds(node_id)

    def _erased(self, subject: str) -> None:
        """Drop what is known of the nodes of *subject*: nothing can bring them back."""
        erased = {each for each, known in self.nodes.items() if known.subject == subject}
        for node_id in erased:
            self._holds_no_more(node_id)
            del self.nodes[node_id]
            self.successors.pop(node_id, None)  # it may be imported again
            self._silence(node_id)
            self.cited_by.pop(node_id, None)
            for _, to in self.edges.get(node_id, ()):
                self._drop(self.cited_by, to, node_id)
            self.edges.pop(node_id, None)
            self.pinned.discard(node_id)
            self.gone.pop(node_id, None)
