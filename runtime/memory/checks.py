"""What the engine refuses: missing nodes, edges that lead nowhere, foreign scopes. Pure."""

from collections.abc import Collection, Mapping
from typing import Final

from cortex.bus.events import MemoryCorrect, MemoryRecord, Origin

from .errors import MemoryInvalidError
from .nodes import OF_MODELS
from .past import Past
from .rules import execution_of
from .state import Known, MemoryState

AHEAD_NS: Final = 86_400 * 10**9  # how far a clock elsewhere may be ahead of the log's
TRUSTED: Final[frozenset[Origin]] = frozenset({"person", "rule"})
# Who is believed more; see `TRUSTED`.
_TRUST: Final[Mapping[Origin, int]] = {"model": 0, "component": 1, "rule": 2, "person": 2}
REPLACING: Final = frozenset({"supersedes", "contradicts"})


class Checks:
    """Checks what requests name against the state.

    Each check raises `MemoryInvalidError`, which says what to do instead.
    """

    def __init__(self, state: MemoryState, past: Past) -> None:
        self._state, self._past = state, past

    def embedding(self, request: MemoryRecord) -> None:
        """Refuse an embedding of another length than the first one of its scope."""
        size, first = len(request.embedding), self._state.embedded.get(request.scope)
        if size and first is not None and size != first.size:
            raise MemoryInvalidError(
                f"the embedding has {size} values, and those of the scope {request.scope} have "
                f"{first.size} since {first.by} recorded memory {first.node_id}: use the same "
                "embedder, or give none"
            )

    def outranks(self, request: MemoryRecord | MemoryCorrect, same: str) -> bool:
        """Whether *request* is more than a further source of the node *same*, whose words it has.

        Who asks is trusted more, or what was seen is now decided: as a source of that node it would
        count as said by a model, or fade.
        """
        known = self._state.nodes[same]
        new, old = _TRUST[request.origin], _TRUST[known.origin]
        kind = request.kind if isinstance(request, MemoryRecord) else "correction"
        return new > old or (new == old and kind not in OF_MODELS and known.kind in OF_MODELS)

    def replaceable(self, node_id: str, by: Collection[str] = ()) -> None:
        """Refuse to replace a node a second time, unless what is in its place is among *by*.

        Of two who correct one memory, the second has not seen what the first one said.
        """
        heads = self._state.heads(node_id)
        others = [each for each in heads if each != node_id and each not in by]
        if others:
            raise MemoryInvalidError(
                f"memory {node_id} was replaced already: name {' and '.join(others)} instead, "
                f"current in its place (`cortex memory inspect {others[0]}` shows the chain)"
            )

    def edge(
        self, node_id: str, known: Known, edge: str, to: str, scopes: frozenset[str] | None = None
    ) -> None:
        """Refuse an edge that leads nowhere, to itself, in a circle, to another's, or beyond.

        *scopes* are those in which who asks may write; None for every scope. For them there is
        nothing in another one.
        """
        if node_id == to:
            raise MemoryInvalidError(f"memory {to} cannot have an edge to itself: name another one")
        other = self.known(to)
        if scopes is not None and other.scope != known.scope and other.scope not in scopes:
            raise absent(to)
        if not self._state.is_live(to):
            raise MemoryInvalidError(
                f"memory {to} is {self._state.gone[to]}: `cortex memory restore {to}` first"
            )
        if known.subject != other.subject:
            raise MemoryInvalidError(
                f"memory {to} is about another subject: what is of two people could not be erased "
                "for one of them"
            )
        if edge in REPLACING and known.origin == "model" and other.origin in TRUSTED:
            raise MemoryInvalidError(
                f"memory {to} was recorded by a {other.origin}, and a model cannot replace it: a "
                "person may, with `cortex memory correct`"
            )
        if edge != "supersedes":
            return
        if known.scope != other.scope:
            # What one project decides must not change what another one sees.
            raise MemoryInvalidError(
                f"memory {to} is of the scope {other.scope}: record what supersedes it in that "
                "scope, or refine or contradict it"
            )
        if self._state.replaces(to, node_id):
            raise circle(node_id, to)

    def known(self, node_id: str) -> Known:
        """What is known of a node, in memory or not; also of one that a rule derives."""
        known = self._known(node_id)
        if known is None:
            raise absent(node_id)
        return known

    def of_scope(self, node_id: str, scope: str) -> Known:
        """What is known of a node of *scope*, for which who asks has a grant, in memory or not.

        A node of another scope is refused in the words for one that does not exist.
        """
        known = self._known(node_id)
        if known is None or known.scope != scope:
            raise MemoryInvalidError(
                f"there is no memory {node_id[:80]!r} in the scope {scope}: `cortex memory search` "
                "shows ids with their scopes"
            )
        return known

    def node(self, node_id: str, scope: str, subject: str = "") -> Known:
        """A node in memory, if it is of *scope*, for which the asker has a grant.

        Args:
            node_id: Of the node.
            scope: That the request names.
            subject: Whose personal data the request carries; "" for nobody's.
        """
        known = self.of_scope(node_id, scope)
        check_subject(node_id, known, subject)
        if not self._state.is_live(node_id):
            raise MemoryInvalidError(
                f"memory {node_id} is {self._state.gone[node_id]}: "
                f"`cortex memory restore {node_id}` first"
            )
        return known

    def _known(self, node_id: str) -> Known | None:
        known = self._state.nodes.get(node_id)
        if known is not None:
            return known
        was = self._past(node_id) if execution_of(node_id) else None
        return None if was is None else Known(was.kind, was.scope, was.subject, was.origin, b"")


def absent(node_id: str) -> MemoryInvalidError:
    """The refusal of a node that is not there, or that who asks is not to know of."""
    return MemoryInvalidError(
        f"there is no memory {node_id[:80]!r}: `cortex memory search` shows ids"
    )


def check_subject(node_id: str, known: Known, subject: str) -> None:
    """Refuse a request of one subject about a node of another.

    Its fact would be erased with the subject of the request, and memory would change by that.

    Raises:
        MemoryInvalidError: The node is of another subject, or of nobody.
    """
    if subject and subject != known.subject:
        raise MemoryInvalidError(
            f"memory {node_id} is about another subject: ask without a subject, or with its own"
        )


def check_nobodys(subject: str) -> None:
    """Refuse a request of one subject that is about the nodes of many; see `check_subject`.

    Raises:
        MemoryInvalidError: It carries somebody's personal data.
    """
    if subject:
        raise MemoryInvalidError(
            "a consolidation is of everybody's memories: ask for it, or undo it, without a subject"
        )


def check_time(request: MemoryRecord, now_ns: int) -> None:
    """Refuse a time that is still to come; a clock elsewhere may be a day ahead of the log's.

    Raises:
        MemoryInvalidError: One of the times is.
    """
    if request.happened_ns > now_ns + AHEAD_NS:
        raise MemoryInvalidError(
            "the time since which it is so is more than a day ahead of the log's clock: set "
            "the clock that gave it, or leave the time out"
        )
    if request.used_ns > now_ns + AHEAD_NS:
        raise MemoryInvalidError(
            "the time of its last use is more than a day ahead of the log's clock: leave it out"
        )


def circle(newer: str, older: str) -> MemoryInvalidError:
    """The refusal of an edge by which two nodes would replace each other."""
    return MemoryInvalidError(
        f"memory {older} replaced {newer}, so {newer} cannot supersede it: record a new memory"
    )
