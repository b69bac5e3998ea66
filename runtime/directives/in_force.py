"""What is in force for one piece of work: its scopes together, of which the narrower one wins."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Any, Final

from msgspec import Struct, json

from cortex.bus import Blobs, CortexError, Recorded, Vocabulary
from cortex.bus.events import VOCABULARY, Rule

from .ledger import EMPTY_LEDGER, ENGINE, FACT, MAIN, Content, ScopeLedger, evolve, parts_changed
from .state import INITIAL
from .stored_changes import loaded

QUOTED: Final = 200  # characters of a directive where it is quoted; prompts have it whole


class LaidDown(Struct, frozen=True, kw_only=True):
    """One fact or policy that is in force, and where it comes from."""

    kind: str  # "fact" or "policy"
    name: str  # "premise", or the item
    value: str  # the fact's, or "use" or "prohibit"
    scope: str
    position: int  # of the request behind it

    @property
    def text(self) -> str:
        """The directive in words."""
        if self.kind == FACT:
            return f"{self.name}: {self.value}"
        return f"{self.value} {self.name}"

    @property
    def quoted(self) -> str:
        """The directive with its origin, as a refusal names it; the beginning of a long one."""
        text = self.text if len(self.text) <= QUOTED else f"{self.text[:QUOTED]} ..."
        return f"`{text}` of the scope {self.scope} (event {self.position})"


class InForce(Struct, frozen=True, kw_only=True):
    """All that is in force for one piece of work."""

    directives: tuple[LaidDown, ...] = ()  # in the order of kind and name
    overruled: tuple[LaidDown, ...] = ()  # by one of a narrower scope
    waits: tuple[str, ...] = ()  # scopes with an open question, narrowest first
    question: str = ""  # the first of them

    @property
    def prohibited(self) -> tuple[LaidDown, ...]:
        """What must not be used."""
        return tuple(each for each in self.directives if each.value == "prohibit" and _rules(each))

    @property
    def wanted(self) -> tuple[LaidDown, ...]:
        """What is to be used."""
        return tuple(each for each in self.directives if each.value == "use" and _rules(each))

    @property
    def digest(self) -> str:
        """SHA-256 of what is in force, without where it comes from; "" if it is nothing."""
        if not self.directives:
            return ""
        said = [(each.kind, each.name, each.value) for each in self.directives]
        return sha256(json.encode(said)).hexdigest()

    def rule(self, item: str) -> Rule | None:
        """What is laid down about *item*."""
        for each in self.directives:
            if _rules(each) and each.name == item:
                return "use" if each.value == "use" else "prohibit"
        return None


NOTHING = InForce()
SCOPES_KEPT = 2_048


def _rules(each: LaidDown) -> bool:
    return each.kind != FACT


def in_force(ledgers: Sequence[tuple[str, ScopeLedger]]) -> InForce:
    """What is in force where *ledgers* are those of the scopes, the narrowest first."""
    held: dict[str, LaidDown] = {}
    overruled: list[LaidDown] = []
    waits: list[str] = []
    question = ""
    for scope, ledger in ledgers:
        content = ledger.branches[MAIN].content
        overruled += [
            each
            for each in laid_down(scope, content)
            if held.setdefault(f"{each.kind}/{each.name}", each) is not each
        ]
        if content.state.pending is not None:
            waits.append(scope)
            question = question or content.state.pending.prompt
    if not held and not waits:
        return NOTHING
    return InForce(
        directives=tuple(held[name] for name in sorted(held)),
        overruled=tuple(overruled),
        waits=tuple(waits),
        question=question,
    )


def laid_down(scope: str, content: Content) -> list[LaidDown]:
    """The facts and policies of one scope, in order."""
    found: list[LaidDown] = []
    for part, _, value in parts_changed(INITIAL, content.state):
        kind, _, name = part.partition("/")
        position = content.position(part)
        found.append(LaidDown(kind=kind, name=name, value=value, scope=scope, position=position))
    return found


class Ledgers:
    """The ledgers of scopes, read from their streams when they are first asked for, then kept."""

    def __init__(
        self,
        history: Callable[[str], Iterable[Recorded]],
        blobs: Blobs,
        vocabulary: Vocabulary = VOCABULARY,
        *,
        decides: bool = False,
    ) -> None:
        """Read with *history*; who *decides* has each fact as soon as it handled its request."""
        self._history, self._blobs, self._vocabulary = history, blobs, vocabulary
        self._decides = decides
        self._kept: OrderedDict[str, ScopeLedger] = OrderedDict()
        self._last: tuple[list[tuple[str, ScopeLedger]], InForce] = [], NOTHING

    def forget(self) -> None:
        """Read all streams again, when they are asked for."""
        self._kept.clear()

    def in_force(self, scopes: Sequence[str], before: int | None = None) -> InForce:
        """What is in force in *scopes*, the narrowest first; see `at`."""
        ledgers = [(each, self.at(each, before)) for each in scopes]
        same = len(ledgers) == len(self._last[0]) and all(
            one[0] == other[0] and one[1] is other[1]
            for one, other in zip(ledgers, self._last[0], strict=True)
        )
        if not same:
            self._last = ledgers, in_force(ledgers)
        return self._last[1]

    def at(self, scope: str, before: int | None = None) -> ScopeLedger:
        """The ledger of *scope*; if it is not kept, after the facts *before* a position.

        Raises:
            CortexError: A blob with changes is missing or damaged.
        """
        ledger = self._kept.get(scope)
        if ledger is None:
            ledger = self._kept[scope] = self._read(scope, before)
            if len(self._kept) > SCOPES_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(scope)
        return ledger

    def put(self, scope: str, ledger: ScopeLedger) -> None:
        """Keep *ledger* as that of *scope*."""
        self._kept[scope] = ledger

    def fold(self, scope: str, fact: Any, causation: int | None) -> None:
        """Add a fact to a ledger that is kept; one that is not is read with it."""
        ledger = self._kept.get(scope)
        if ledger is None:
            return
        try:
            self._kept[scope] = evolve(ledger, loaded(fact, self._blobs.get), causation or 0)
        except CortexError:
            # Not as it was before: who asks is told that it cannot be read.
            del self._kept[scope]

    def _read(self, scope: str, before: int | None) -> ScopeLedger:
        ledger = EMPTY_LEDGER
        for record in self._history(f"directive/{scope}"):
            # The facts of a page of requests stand in the log behind all of them.
            place = (self._decides and record.causation) or record.position
            if before is not None and place >= before:
                continue
            if record.source == ENGINE and not record.erased:
                fact = loaded(self._vocabulary.read(record), self._blobs.get)
                ledger = evolve(ledger, fact, record.causation or 0)
        return ledger
