"""What one thing of a turn looks like in a prompt: as it was said, and after an epoch."""

from typing import Final, NamedTuple

from cortex.runtime.retrieval import Chunk

from ..layout.fence import attribute, cut_middle, excerpt, left_out
from ..prompt import Neutralised
from ..request import Item, TurnPart
from ..segments import Epoch
from ..selection.compress import Shorten, is_json
from ..selection.fit import Choice, Count, size
from ..selection.material import Left, Ranked, clean_text

LEAST_TOKENS: Final = 48  # below which nothing is cut
SHORT_CHARS: Final = 200  # of what a model said, after an epoch


class TurnPiece(NamedTuple):
    """One thing of a turn, as it stands in the prompt at first and after an epoch."""

    turn: int
    said: TurnPart
    fresh: Choice
    short: Choice

    @property
    def shrinks(self) -> bool:
        """Whether an epoch can shorten it."""
        return self.short.sized.whole_tokens < self.fresh.sized.whole_tokens


class Fitted(NamedTuple):
    """The turns that are in."""

    choices: tuple[Choice, ...] = ()
    left: tuple[Left, ...] = ()
    declared: tuple[Epoch, ...] = ()
    away: tuple[TurnPart, ...] = ()  # what is not, or not any more, in as it was said; in order


def make_piece(
    count: Count, shorten: Shorten | None, turn: int, said: TurnPart, tokens: int
) -> TurnPiece:
    """One thing of a turn in about *tokens*, harmless, and what an epoch makes of it."""
    text, neutralised = clean_text(said.text, untrusted=said.kind != "answer")
    whole = text.strip("\n") or "[empty]"
    mark = left_out(attribute(said.handle), said.extent) if said.handle else ""
    made = shorten(whole, "json") if shorten and said.handle and is_json(whole) else None
    shown = made.text.strip("\n") if made else whole
    first = excerpt(shown, max(tokens, LEAST_TOKENS), count, mark)
    brief = mark or cut_middle(whole, SHORT_CHARS)
    short = brief if len(brief) < len(first) else first
    reason = "turn" if first == shown else "turn, the middle of it left out"
    form = (made.form, made.saved) if made and first == shown else ("", 0)
    fresh = _choice(said, first, neutralised, reason, first != shown, count)
    sized = fresh.sized
    if form[0]:
        sized = size(sized.ranked._replace(form=form[0], saved=form[1]), count)
    return TurnPiece(
        turn,
        said,
        fresh._replace(sized=sized),
        _choice(said, short, neutralised, "", short != whole, count),
    )


def _choice(
    said: TurnPart,
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


def _item(said: TurnPart, text: str) -> Item:
    return Item(id=said.id, section="history", kind=said.kind, text=text, source=said.source)


def note_of(last: int, count: Count) -> Choice:
    """The line that says that turns up to *last* are left out."""
    said = TurnPart(id="turns:left-out", kind="note", text=f"[turns 0 to {last} are left out]")
    return _choice(said, said.text, (), "says which turns are left out", False, count)
