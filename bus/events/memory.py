"""Memory: what was learned, what it rests on, what replaced it, and what is searched."""

from typing import Any, Literal, TypeAlias

import msgspec

from ..event import Event, Query

Kind: TypeAlias = Literal["decision", "correction", "preference", "observation", "outcome"]
EdgeType: TypeAlias = Literal["supersedes", "refines", "contradicts", "led_to", "caused_by"]
# Who says so. A model's words are never a fact about the user: see `memory.record`.
Origin: TypeAlias = Literal["person", "rule", "component", "model"]
# What a consolidation makes: of what was said again and again, of a long chain, of executions; and
# of a summary that somebody put into fewer words.
Form: TypeAlias = Literal["", "cluster", "summary", "episodes", "wording"]


class MemoryEdge(msgspec.Struct, frozen=True):
    """An edge from a new node to one that exists: "supersedes", "m4t2..."."""

    edge: EdgeType
    to: str  # id of the other node


class Recurrence(msgspec.Struct, frozen=True):
    """What executions left again and again in one way: their ends, or decisions of people."""

    nodes: tuple[str, ...]  # ids of the newest, at most 64, oldest first
    times: int  # how often it was so, in all
    first_ns: int  # UTC nanoseconds
    last_ns: int


class MemoryRecord(Event, frozen=True, kw_only=True, tag="memory.record"):
    """Ask to record a node; `memory.recorded` has its id, or `memory.refused` says why not.

    The same statement again, in the same scope and of the same subject, becomes a further source
    of the node that exists. What a model says (`origin`) may be an observation or an outcome, and
    replaces nothing that a person or a rule recorded.
    """

    belongs = ("memory", "")
    routing = "scope"
    subject_field = "subject"
    personal = ("content", "entities", "quote", "source", "embedding")

    kind: Kind
    content: str  # one statement; at most 16,000 characters
    scope: str = "user"  # "user", "project:NAME", "process:NAME" or "execution:ID"
    subject: str = ""  # whose personal data it is; "" for nobody's
    origin: Origin = "component"
    confidence: float = 1.0  # from 0 to 1
    edges: tuple[MemoryEdge, ...] = ()  # from the new node
    entities: tuple[str, ...] = ()  # names that it is about
    happened_ns: int = 0  # since when it is so, UTC nanoseconds; 0: since it is recorded
    source: str = ""  # what it was taken from: an execution, a path, a URL
    quote: str = ""  # the text there that says so
    embedding: tuple[float, ...] = ()  # by a remote model, which is not asked again; else empty
    update: bool = True  # whether it replaces what it surely updates, without an edge
    node_id: str = ""  # the wanted id, of an import; "" for a new one
    # Of an import with such an id: in how many prompts it was before, when last, and who said it.
    uses: int = 0
    used_ns: int = 0  # UTC nanoseconds; 0 for never
    said_by: str = ""


class MemoryCorrect(Event, frozen=True, kw_only=True, tag="memory.correct"):
    """Ask to replace a node by what is right: a new node of kind "correction" supersedes it."""

    belongs = ("memory", "")
    routing = "scope"
    subject_field = "subject"
    personal = ("content",)

    node_id: str
    content: str
    scope: str = "user"  # of the node
    subject: str = ""  # that of the node
    origin: Origin = "component"


class MemoryLink(Event, frozen=True, kw_only=True, tag="memory.link"):
    """Ask for an edge between two nodes; one that exists is not added again."""

    belongs = ("memory", "")
    routing = "scope"

    node_id: str  # from which the edge leads
    edge: EdgeType
    to: str
    scope: str = "user"  # of the first node
    origin: Origin = "component"


class MemoryPin(Event, frozen=True, kw_only=True, tag="memory.pin"):
    """Ask to pin a node, so that its chain is never collected, or to release it."""

    belongs = ("memory", "")
    routing = "scope"

    node_id: str
    scope: str = "user"
    pinned: bool = True


class MemoryForget(Event, frozen=True, kw_only=True, tag="memory.forget"):
    """Ask to take a node out of memory; the log keeps it, and `memory.restore` brings it back."""

    belongs = ("memory", "")
    routing = "scope"
    subject_field = "subject"
    personal = ("why",)

    node_id: str
    scope: str = "user"
    why: str = ""
    subject: str = ""  # that of the node, so that `why` is encrypted for it; "" for nobody's


class MemoryRestore(Event, frozen=True, kw_only=True, tag="memory.restore"):
    """Ask to bring back a node that was forgotten or collected."""

    belongs = ("memory", "")
    routing = "scope"

    node_id: str
    scope: str = "user"


class MemoryConsolidate(Event, frozen=True, kw_only=True, tag="memory.consolidate"):
    """Ask to consolidate a scope now: `memory.consolidated` says what was read and written."""

    belongs = ("consolidation", "")
    routing = "scope"

    scope: str = ""  # "" for all scopes
    most: int = 1_000  # nodes to read, from 1 to 5,000


class MemoryReword(Event, frozen=True, kw_only=True, tag="memory.reword"):
    """Ask for a summary in the words of a draft, which a model wrote for instance.

    What the draft lost is put back; `memory.consolidated` says what was written, or
    `memory.refused` why nothing was.
    """

    belongs = ("memory", "")
    routing = "scope"
    subject_field = "subject"
    personal = ("draft",)

    node_id: str  # of the summary
    draft: str  # it in fewer words; at most 16,000 characters
    scope: str = "user"  # of the summary
    subject: str = ""  # that of the summary


class MemoryUndo(Event, frozen=True, kw_only=True, tag="memory.undo"):
    """Ask to take back all that one consolidation wrote."""

    belongs = ("memory", "")

    consolidation_id: str


class MemoryRecorded(Event, frozen=True, kw_only=True, tag="memory.recorded"):
    """A node is in memory, or an existing one has one more source."""

    belongs = ("memory", "node_id")
    routing = "scope"
    subject_field = "subject"
    personal = ("content", "entities", "quote", "source", "embedding")

    node_id: str
    kind: Kind
    content: str  # "" if the node exists
    scope: str
    subject: str = ""
    origin: Origin
    by: str  # who recorded it, as the hub authenticated them
    confidence: float = 1.0
    edges: tuple[MemoryEdge, ...] = ()
    entities: tuple[str, ...] = ()
    happened_ns: int = 0
    source: str = ""
    quote: str = ""
    embedding: tuple[float, ...] = ()
    again: bool = False  # whether the node exists: this is a further source of it
    consolidation_id: str = ""  # the consolidation that wrote it
    form: Form = ""  # and what it made; "" for a cluster of an earlier version, too
    times: int = 0  # and how often what it says was seen; 0: as often as it cites
    uses: int = 0  # prompts that it was in before it was imported
    used_ns: int = 0  # time of the last of them, UTC nanoseconds; 0 for never
    said_by: str = ""  # who recorded it where it was imported from, as that file says


class MemoryCorrected(Event, frozen=True, kw_only=True, tag="memory.corrected"):
    """A node was corrected: another one is in its place."""

    belongs = ("memory", "node_id")
    routing = "scope"

    node_id: str  # what was wrong
    scope: str
    correction: str  # id of the node that replaces it
    by: str


class MemoryLinked(Event, frozen=True, kw_only=True, tag="memory.linked"):
    """An edge was added."""

    belongs = ("memory", "node_id")
    routing = "scope"
    personal = ("because",)

    node_id: str  # from which it leads
    edge: EdgeType
    to: str
    scope: str
    by: str
    certainty: float = 1.0  # of one that a rule found, below 1
    because: str = ""  # what the rule found


class MemorySuperseded(Event, frozen=True, kw_only=True, tag="memory.superseded"):
    """A node is no longer current: a newer one is in its place."""

    belongs = ("memory", "node_id")
    routing = "scope"
    personal = ("because",)

    node_id: str
    scope: str
    successor: str  # id of the node that replaces it
    by: str
    certainty: float = 1.0  # of one that a rule found, below 1
    because: str = ""  # what the rule found


class MemoryPinned(Event, frozen=True, kw_only=True, tag="memory.pinned"):
    """A node is pinned: its chain is never collected."""

    belongs = ("memory", "node_id")
    routing = "scope"

    node_id: str
    scope: str
    by: str


class MemoryUnpinned(Event, frozen=True, kw_only=True, tag="memory.unpinned"):
    """A node is no longer pinned."""

    belongs = ("memory", "node_id")
    routing = "scope"

    node_id: str
    scope: str
    by: str


class MemoryForgotten(Event, frozen=True, kw_only=True, tag="memory.forgotten"):
    """A node left memory, because somebody asked for it."""

    belongs = ("memory", "node_id")
    routing = "scope"
    personal = ("why",)

    node_id: str
    scope: str
    by: str
    why: str = ""


class MemoryCollected(Event, frozen=True, kw_only=True, tag="memory.collected"):
    """Nodes left memory, because nothing reached them; the log keeps them. So did packages."""

    belongs = ("memory", "")

    nodes: tuple[str, ...]  # their ids
    collection: int  # the number in `gc.collected`, from 1
    through: int = 0  # position up to which the collection looked at memory
    more: bool = False  # whether another part of the collection follows
    packages: tuple[str, ...] = ()  # ids of those that no prompt had for long


class MemoryRestored(Event, frozen=True, kw_only=True, tag="memory.restored"):
    """A node that was forgotten or collected is back, as it was recorded."""

    belongs = ("memory", "node_id")
    routing = "scope"
    subject_field = "subject"
    personal = ("content", "entities", "quote", "source")

    node_id: str
    scope: str
    by: str
    content: str
    entities: tuple[str, ...] = ()
    source: str = ""
    quote: str = ""
    subject: str = ""  # that of the node, which its request need not name
    happened_ns: int = 0  # since when it is so, as it was stated; 0 if it was not


class MemoryConsolidated(Event, frozen=True, kw_only=True, tag="memory.consolidated"):
    """A consolidation ended: what it read, and the nodes that it wrote."""

    belongs = ("memory", "consolidation_id")
    routing = "scope"

    consolidation_id: str
    scope: str
    read: tuple[str, ...]  # ids of the nodes that it read, which the next one does not read again
    wrote: tuple[str, ...] = ()  # ids of the new nodes
    through: int = 0  # position up to which it has seen the log
    left: int = 0  # nodes that its budget left for the next one


class MemoryRecurred(Event, frozen=True, kw_only=True, tag="memory.recurred"):
    """Which things happened in executions again and again, since they were last promoted.

    It answers `memory.consolidate`; each of them becomes a memory, and `memory.consolidated`
    follows if there are any.
    """

    belongs = ("memory", "")

    found: tuple[Recurrence, ...] = ()
    scope: str = ""  # that was looked at; "" for all
    through: int = 0  # position up to which memory was looked at
    left: int = 0  # outcomes and decisions that the budget left for the next consolidation


class MemoryUndone(Event, frozen=True, kw_only=True, tag="memory.undone"):
    """What a consolidation wrote left memory; what it read is as it was."""

    belongs = ("memory", "consolidation_id")

    consolidation_id: str
    nodes: tuple[str, ...]  # that it had written
    by: str


class MemoryRefused(Event, frozen=True, kw_only=True, tag="memory.refused"):
    """A request about memory was refused; memory did not change."""

    belongs = ("memory", "")
    routing = "scope"
    personal = ("reason",)

    asked: str  # topic of the request; its position is the causation
    reason: str  # one line: what is wrong, what was expected, what to do
    by: str
    scope: str = ""  # that the request names; "" if it names none


class MemoryRequest(Event, frozen=True, kw_only=True, tag="memory.request"):
    """Find what a step is to remember under `memory:`, before its prompt is compiled."""

    belongs = ("execution", "execution_id")
    personal = ("texts", "scopes", "preferred_packages", "avoided_packages")

    execution_id: str
    step_id: str
    attempt: int = 1
    texts: tuple[str, ...]  # the questions, with values filled in
    scopes: tuple[str, ...]  # that the step sees, narrowest first
    history: bool = False  # whether what was superseded comes back, too
    limit: int = 20  # most nodes, of all texts together
    tokens: int | None = None  # limit of their estimated tokens; None for the default
    found: str = ""  # digest of the nodes on record, which count: nothing is searched then
    # Ids, or their beginnings, of packages that people laid down to use, and that they prohibited.
    preferred_packages: tuple[str, ...] = ()
    avoided_packages: tuple[str, ...] = ()


class MemoryRequested(Event, frozen=True, kw_only=True, tag="memory.requested"):
    """Memory was searched for a step, or by its model with a tool."""

    belongs = ("execution", "execution_id")
    personal = ("query", "notes", "problem")

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int  # 0 if the step itself searched
    call_id: str  # of the tool; "" if the step searched before its prompt
    query: str  # several are separated by newlines
    nodes: tuple[str, ...] = ()  # ids of those found, best first
    found: str = ""  # digest of the blob with the nodes, their scores and parts
    through: int = 0  # position that the answer holds for
    notes: tuple[str, ...] = ()  # warnings
    problem: str = ""  # why the search was not possible


class MemoryFind(Query, frozen=True, kw_only=True, tag="memory.find"):
    """Ask for the nodes of a scope that match texts best; the answer is a `MemoryAnswer`."""

    routing = "scope"

    texts: tuple[str, ...]  # in natural language, one answer each
    scope: str = "user"
    history: bool = False  # whether what was superseded comes back, too
    limit: int = 10  # most nodes for each text


class MemoryGet(Query, frozen=True, kw_only=True, tag="memory.get"):
    """Ask for a node with its chain; the answer is a `MemoryAnswer`."""

    routing = "scope"

    node_id: str  # or a beginning that only one node has
    scope: str = "user"


class MemoryAnswer(Query, frozen=True, kw_only=True, tag="memory.answer"):
    """Nodes as maps, and the position that the answer holds for."""

    answers: tuple[dict[str, Any], ...] = ()  # one for each text: nodes, notes, certainty
    chain: dict[str, Any] = {}  # for `memory.get`: nodes, edges, current, contradictions
    position: int = 0
    problem: str = ""  # why there is no answer
