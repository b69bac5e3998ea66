"""A node of memory, its limits, and when two nodes say the same."""

import hashlib
import re
import unicodedata
from typing import Final, NamedTuple

import msgspec

from cortex.bus import Recorded
from cortex.bus.events import (
    EdgeType,
    Form,
    Kind,
    MemoryEdge,
    MemoryRecord,
    MemoryRecorded,
    Origin,
)

from .errors import MemoryInvalidError
from .scopes import check_scope

LONGEST_CONTENT: Final = 16_000  # characters
LONGEST_QUOTE: Final = 4_000  # characters, of a quote and of a source
MOST_EDGES: Final = 64  # of a new node
MOST_ENTITIES: Final = 32
LONGEST_ENTITY: Final = 200  # characters
MOST_DIMENSIONS: Final = 4_096  # of an embedding
MOST_VALUE: Final = 3.4e38  # of a number in it, which is stored as float32
MOST_USES: Final = 1_000_000  # that an import may say of a node
LONGEST_NAME: Final = 200  # characters, of who said it there
LONGER_NAME: Final = 6  # characters of a subject's name; a random id may hold a shorter one
KINDS: Final[tuple[Kind, ...]] = (
    "decision",
    "correction",
    "preference",
    "observation",
    "outcome",
)
EDGES: Final[tuple[EdgeType, ...]] = (
    "supersedes",
    "refines",
    "contradicts",
    "led_to",
    "caused_by",
)
OF_MODELS: Final[frozenset[Kind]] = frozenset({"observation", "outcome"})
# The same statement with other capitals, blanks or a full stop at its end is the same statement.
_BLANKS: Final = re.compile(r"\s+")
_NAME: Final = re.compile(r"[a-z0-9]{4,40}")


class Node(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A statement with its origin; the garbage collector of Python need not look at it."""

    id: str
    kind: Kind
    content: str
    scope: str
    origin: Origin
    by: str  # who recorded it, as the hub authenticated them
    position: int  # of the event that recorded it
    time_ns: int  # of that event, UTC nanoseconds
    subject: str = ""  # id of whose personal data it is; "" for nobody's
    confidence: float = 1.0
    happened_ns: int = 0  # since when it is so; 0: since it was recorded
    entities: tuple[str, ...] = ()
    source: str = ""
    quote: str = ""
    consolidation_id: str = ""
    embedding: tuple[float, ...] = ()
    episode: str = ""  # of what a rule derived: what happened, equal for what is of one kind
    times: int = 0  # of what a consolidation made: how often it was seen
    form: Form = ""  # and what it is
    said_by: str = ""  # who recorded it where it was imported from; "" if it was not imported

    @property
    def since_ns(self) -> int:
        """Since when it is so, UTC nanoseconds."""
        return self.happened_ns or self.time_ns


class NodeFilter(NamedTuple):
    """Which nodes may be seen."""

    scopes: frozenset[str]
    subject: str | None  # whose data, beside nobody's; None for everybody's

    def has(self, node: Node) -> bool:
        """Whether *node* is one of them."""
        return node.scope in self.scopes and (
            self.subject is None or node.subject in ("", self.subject)
        )


class Edge(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An edge between two nodes: "a supersedes b", "a led_to b"."""

    node_id: str  # from which it leads
    edge: EdgeType
    to: str
    position: int  # of the event that added it
    by: str = ""
    certainty: float = 1.0  # of one that a rule found, below 1
    because: str = ""  # what the rule found


def same_digest(scope: str, subject: str, content: str) -> bytes:
    """Equal for statements that are one: 16 bytes."""
    plain = unicodedata.normalize("NFKC", content).casefold()
    plain = _BLANKS.sub(" ", plain).strip().rstrip(".!")
    said = f"{scope}\0{subject}\0{plain}"
    return hashlib.sha256(said.encode()).digest()[:16]


def episode_digest(episode: str) -> str:
    """Equal for one kind of episode, and without its text; "" for none."""
    return hashlib.sha256(episode.encode()).hexdigest()[:16] if episode else ""


def check_record(asked: MemoryRecord) -> None:
    """Refuse a node that is malformed.

    Raises:
        MemoryInvalidError: What is wrong, what was expected, and what to do.
    """
    check_content(asked.content)
    check_scope(asked.scope)
    if asked.kind not in KINDS:
        raise MemoryInvalidError(f"{asked.kind!r} is no kind of memory: {', '.join(KINDS)}")
    if not 0 <= asked.confidence <= 1:  # also of what is no number
        raise MemoryInvalidError(
            f"a confidence of {asked.confidence} is not between 0 and 1: leave it out for 1"
        )
    if asked.happened_ns < 0:
        raise MemoryInvalidError("the time since which it is so is before 1970: give a later one")
    if asked.origin == "model" and asked.kind not in OF_MODELS:
        raise MemoryInvalidError(
            f"a model cannot record a {asked.kind}: record an observation, and a person decides"
        )
    _check_lists(asked)
    _check_import(asked)
    if asked.node_id and not _NAME.fullmatch(asked.node_id):
        raise MemoryInvalidError(
            f"{asked.node_id[:80]!r} is no id: write 4 to 40 small letters and digits, or none"
        )
    name = asked.subject.casefold()
    if name and (asked.node_id == name or (len(name) >= LONGER_NAME and name in asked.node_id)):
        raise MemoryInvalidError(
            "the id of the memory has the name of its subject, and is recorded in clear: write "
            "another one, or none"
        )


def check_content(content: str) -> None:
    """Refuse an empty statement, and one that is a document.

    Raises:
        MemoryInvalidError: It is one of them.
    """
    if not content.strip():
        raise MemoryInvalidError("the memory is empty: say what is to be remembered")
    if len(content) > LONGEST_CONTENT:
        raise MemoryInvalidError(
            f"the memory has {len(content):,} characters, it may have {LONGEST_CONTENT:,}: "
            "put the text into a file of knowledge/, and record what follows from it"
        )


def _check_lists(asked: MemoryRecord) -> None:
    if len(asked.edges) > MOST_EDGES or len(asked.entities) > MOST_ENTITIES:
        raise MemoryInvalidError(
            f"there are {len(asked.edges)} edges and {len(asked.entities)} entities, a memory may "
            f"have {MOST_EDGES} and {MOST_ENTITIES}: leave some out, or link them later"
        )
    if max(map(len, (*asked.entities, "")), default=0) > LONGEST_ENTITY:
        raise MemoryInvalidError(f"an entity has more than {LONGEST_ENTITY} characters: name it")
    if not all(map(str.strip, asked.entities)):
        raise MemoryInvalidError("an entity is empty: name it, or leave it out")
    if len(asked.quote) > LONGEST_QUOTE or len(asked.source) > LONGEST_QUOTE:
        raise MemoryInvalidError(
            f"the quote or the source has more than {LONGEST_QUOTE:,} characters: shorten it"
        )
    # What float32 cannot hold would be stored as infinite; what is no number fits no bound.
    if len(asked.embedding) > MOST_DIMENSIONS or not all(
        -MOST_VALUE <= value <= MOST_VALUE for value in asked.embedding
    ):
        raise MemoryInvalidError(
            f"the embedding has {len(asked.embedding):,} values: give at most {MOST_DIMENSIONS:,} "
            "float32 numbers, those of the embedder, or none"
        )


def _check_import(asked: MemoryRecord) -> None:
    if not (asked.uses or asked.used_ns or asked.said_by):
        return
    if not asked.node_id:
        raise MemoryInvalidError(
            "how often a memory was used, and who said it elsewhere, belongs to an import: leave "
            "it out, or give the node_id that the memory had there"
        )
    if not 0 <= asked.uses <= MOST_USES or asked.used_ns < 0:
        raise MemoryInvalidError(
            f"{asked.uses:,} uses are not between 0 and {MOST_USES:,}, or the last of them is "
            "before 1970: leave them out"
        )
    if len(asked.said_by) > LONGEST_NAME:
        raise MemoryInvalidError(
            f"who said it has more than {LONGEST_NAME} characters: leave it out"
        )


def edge_of(node_id: str, edge: MemoryEdge, position: int, by: str) -> Edge:
    """The edge that a new node has, as it is stored."""
    return Edge(node_id=node_id, edge=edge.edge, to=edge.to, position=position, by=by)


def node_of(record: Recorded, event: MemoryRecorded) -> Node:
    """The node that *event* recorded."""
    return Node(
        id=event.node_id,
        kind=event.kind,
        content=event.content,
        scope=event.scope,
        origin=event.origin,
        by=event.by,
        position=record.position,
        time_ns=record.time_ns,
        subject=record.subject or "",
        confidence=event.confidence,
        happened_ns=event.happened_ns,
        entities=event.entities,
        source=event.source,
        quote=event.quote,
        consolidation_id=event.consolidation_id,
        embedding=event.embedding,
        times=event.times,
        form=event.form,
        said_by=event.said_by,
    )
