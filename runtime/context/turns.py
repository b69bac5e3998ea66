"""Turns: what a step's model said and saw before, as history that only grows.

The bytes of earlier turns stay as they are, so that an endpoint finds them in its cache. Where the
next turn would not fit, that is an *epoch*: the oldest results are shortened to a line that names
the handle by which they can be read again, until there is room for some turns more. What an epoch
did follows from the turns before it alone, so that every later prompt does the same.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from .chunks import Chunk
from .errors import ContextRefusedError
from .excerpt import cut_middle, excerpt, left_out
from .fence import attribute
from .fit import Choice, Count, size
from .material import Left
from .prompt import Neutralised
from .rank import Ranked
from .request import Bounds, Item, Request, Said, Turn
from .sanitise import sanitise

RESULTS_SHARE: Final = 1 / 3  # of the room: what all results of one turn take at most
ANSWER_SHARE: Final = 1 / 4  # of the room: what a model's own text takes at most
RESULT_TOKENS: Final = 2_000  # of one result
LEAST_TOKENS: Final = 48  # below which nothing is cut
KEPT_SHARE: Final = 0.6  # of the room, after an epoch that shortens
STANDING_SHARE: Final = 0.85  # of the room, after one that leaves whole turns out
NOTE_TOKENS: Final = 40  # of the line that says which turns are left out
SHORT_CHARS: Final = 200  # of what a model said, after an epoch
HISTORY_SHARE: Final = 0.5  # of the history that other material leaves to the turns of a step
PROBLEM_TOKENS: Final = 500  # that it takes to say why an answer did not fit


class Piece(NamedTuple):
    """One thing of a turn, as it stands in the prompt at first and after an epoch."""

    turn: int
    handle: str
    fresh: Choice
    short: Choice

    @property
    def shrinks(self) -> bool:
        """Whether an epoch can shorten it."""
        return self.short.sized.whole_tokens < self.fresh.sized.whole_tokens


Make = Callable[[int, Said, int], Piece]  # of a turn's number, what was said, and its tokens


class Fitted(NamedTuple):
    """The turns that are in."""

    choices: list[Choice]
    left: list[Left]
    epochs: int


def kept_for_turns(request: Request, bound: Bounds) -> int:
    """Tokens that other material leaves, from the first prompt of a step on, to its later turns."""
    half = round(bound.budgets.history * HISTORY_SHARE)
    if request.tools:
        return half
    # One that must answer in a given form may be asked once more.
    return min(half, bound.budgets.headroom + PROBLEM_TOKENS) if request.answer_schema else 0


def fit_turns(turns: Sequence[Turn], room: int, make: Make, count: Count) -> Fitted:
    """The turns in *room* tokens, the oldest results shortened where it is full.

    Args:
        turns: In order.
        room: What there is for them.
        make: `make_piece` under *count*; most turns were made for the prompt before.
        count: How tokens are counted.

    Raises:
        ContextRefusedError: There is no room for the newest turn.
    """
    standing = _Standing(room, count)
    for turn in turns:
        results = sum(said.kind != "answer" for said in turn.said)
        each = min(RESULT_TOKENS, int(room * RESULTS_SHARE) // max(results, 1))
        own = int(room * ANSWER_SHARE)
        standing.add([make(turn.number, s, own if s.kind == "answer" else each) for s in turn.said])
    if standing.tokens > room:
        raise ContextRefusedError(
            f"turn {turns[-1].number} of the step",
            standing.tokens,
            max(room, 0),
            "budgets.history",
            "raise budgets.history and the effective window",
        )
    return standing.fitted()


def make_piece(count: Count, turn: int, said: Said, tokens: int) -> Piece:
    """One thing of a turn in about *tokens*, harmless, and what an epoch makes of it."""
    text, neutralised = sanitise(said.text)
    whole = text.strip("\n") or "[empty]"
    mark = left_out(attribute(said.handle), said.extent) if said.handle else ""
    first = excerpt(whole, max(tokens, LEAST_TOKENS), count, mark)
    brief = mark or cut_middle(whole, SHORT_CHARS)
    short = brief if len(brief) < len(first) else first
    reason = "turn" if first == whole else "turn, the middle of it left out"
    return Piece(
        turn,
        said.handle,
        _choice(said, first, neutralised, reason, first != whole, count),
        _choice(said, short, neutralised, "", short != whole, count),
    )


def _choice(
    said: Said,
    text: str,
    neutralised: tuple[Neutralised, ...],
    reason: str,
    cut: bool,
    count: Count,
) -> Choice:
    lines = text.split("\n")
    chunks = (Chunk(0, len(lines), ""),)
    item = _item(said, text)
    ranked = Ranked(item, lines, range(1, len(lines) + 1), chunks, (0.0,), neutralised)
    return Choice(size(ranked, count), ((0, len(lines)),), reason, cut)


def _item(said: Said, text: str) -> Item:
    return Item(id=said.id, section="history", kind=said.kind, text=text, source=said.source)


class _Standing:
    """The turns so far and what epochs did to them."""

    def __init__(self, room: int, count: Count) -> None:
        self._room = room
        self._count = count
        self._pieces: list[Piece] = []
        self._shortened: dict[int, int] = {}  # the epoch in which a piece was, by its place
        self._dropped: dict[int, int] = {}
        self._epochs = 0
        self.tokens = 0

    def add(self, pieces: list[Piece]) -> None:
        """One turn more; an epoch where it does not fit."""
        newest = len(self._pieces)
        self._pieces += pieces
        self.tokens += sum(piece.fresh.sized.whole_tokens for piece in pieces)
        if self.tokens > self._room:
            self._epochs += 1
            self._make_room(newest)

    def _make_room(self, newest: int) -> None:
        """Results first, then what the model said, then whole turns; the oldest of each first."""
        places = [at for at in range(newest) if at not in self._dropped]
        for at in sorted(places, key=lambda at: not self._pieces[at].handle):
            if self.tokens > self._room * KEPT_SHARE:
                self._shorten(at)
        for at in places:
            if self.tokens > self._room * STANDING_SHARE and at not in self._dropped:
                self._drop(at)
        for at in range(newest, len(self._pieces)):
            if self.tokens > self._room:
                self._shorten(at)

    def _shorten(self, at: int) -> None:
        if self._pieces[at].shrinks and at not in self._shortened:
            self.tokens -= self._size(at)
            self._shortened[at] = self._epochs
            self.tokens += self._size(at)

    def _drop(self, at: int) -> None:
        # A turn goes as a whole: a result without its call would be a riddle.
        turn = self._pieces[at].turn
        self.tokens += 0 if self._dropped else NOTE_TOKENS
        for each, piece in enumerate(self._pieces):
            if piece.turn == turn:
                self.tokens -= self._size(each)
                self._dropped[each] = self._epochs

    def _note(self) -> Choice:
        last = max(self._pieces[at].turn for at in self._dropped)
        said = Said(id="turns:left-out", kind="note", text=f"[turns 0 to {last} are left out]")
        return _choice(said, said.text, (), "says which turns are left out", False, self._count)

    def _size(self, at: int) -> int:
        piece = self._pieces[at]
        choice = piece.short if at in self._shortened else piece.fresh
        return choice.sized.whole_tokens

    def fitted(self) -> Fitted:
        """What stands now."""
        choices = [self._note()] if self._dropped else []
        left: list[Left] = []
        for at, piece in enumerate(self._pieces):
            if at in self._dropped:
                ranked = piece.fresh.ranked
                reason = f"epoch {self._dropped[at]} left the oldest turns out"
                left.append(Left(ranked.item, reason, ranked.neutralised))
            elif at in self._shortened:
                reason = f"epoch {self._shortened[at]} shortened the oldest turns"
                choices.append(piece.short._replace(reason=reason))
            else:
                choices.append(piece.fresh)
        return Fitted(choices, left, self._epochs)
