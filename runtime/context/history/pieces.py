"""The form of one part of a turn in a prompt: unchanged, and after an epoch."""

from collections import Counter as Tally
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Final, NamedTuple

import msgspec

from cortex.runtime.retrieval import Chunk

from ..blocks import Role, TurnItem
from ..layout.fence import cut_middle, excerpt, left_out
from ..layout.tools import harmless_json
from ..material import Choice, Left, Ranked, clean_text
from ..prompt import Neutralised
from ..request import SPOKEN, TurnPart
from ..sanitise import attribute, sanitise
from ..segments import Epoch
from ..selection.compress import Compressor, is_json
from ..selection.fit import Count, size

LEAST_TOKENS: Final = 48  # shorter parts are not cut
SHORT_CHARS: Final = 200  # of a model's text without sentences, after an epoch
SUMMARY_TOKENS: Final = 32  # of the sentences that remain after an epoch
CHARS_A_TOKEN: Final = 4  # first estimate for texts in a call's arguments
LEAST_ARGUMENT_CHARS: Final = 40
FAILED: Final = ("failed", "denied")


class TurnPiece:
    """One part of a turn, with its form at first and after an epoch.

    Args:
        turn: Its number, from 0.
        said: The part.
        fresh: Its first form.
        shorten: Returns its form after an epoch; called at most once, since most see no epoch.
    """

    def __init__(
        self, turn: int, said: TurnPart, fresh: Choice, shorten: Callable[[], Choice]
    ) -> None:
        self.turn, self.said, self.fresh, self._shorten = turn, said, fresh, shorten

    @cached_property
    def short(self) -> Choice:
        """Its form after an epoch."""
        return self._shorten()

    @property
    def shrinks(self) -> bool:
        """Whether an epoch can shorten it."""
        return self.short.sized.whole_tokens < self.fresh.sized.whole_tokens


class Fitted(NamedTuple):
    """The included turns."""

    choices: tuple[Choice, ...] = ()
    left: tuple[Left, ...] = ()
    declared: tuple[Epoch, ...] = ()
    away: tuple[TurnPart, ...] = ()  # parts that are shortened or dropped; in order


def make_piece(
    count: Count, compressor: Compressor | None, turn: int, said: TurnPart, tokens: int
) -> TurnPiece:
    """One part of a turn in about *tokens*, sanitised, and its form after an epoch.

    After an epoch a result has its handle and its most informative sentences, a text of the model
    only those sentences.
    """
    if said.kind == "call":
        return _made_call(count, turn, said, tokens)
    text, neutralised = clean_text(said.text, untrusted=said.kind != "answer")
    whole = text.strip("\n") or "[empty]"
    mark = left_out(attribute(said.handle), said.extent) if said.handle else ""
    data = is_json(whole)
    made = compressor.of_text(whole, "json") if compressor and said.handle and data else None
    shown = made.text.strip("\n") if made else whole
    # Sanitised again: a cut through a line may leave text that looks like a section.
    first, _ = sanitise(excerpt(shown, max(tokens, LEAST_TOKENS), count, mark))
    reason = "turn" if first == shown else "turn, the middle of it left out"
    form = (made.form, made.saved) if made and first == shown else ("", 0)
    fresh = _choice(turn, said, first, neutralised, reason, first != shown, count)
    sized = fresh.sized
    if form[0]:
        sized = size(sized.ranked._replace(form=form[0], saved=form[1]), count)

    def shorten() -> Choice:
        summary = compressor.summary(whole, SUMMARY_TOKENS) if compressor and not data else ""
        brief = mark or ("" if summary else cut_middle(whole, SHORT_CHARS))
        brief, _ = sanitise("\n".join(filter(None, (brief, summary))))
        short = brief if len(brief) < len(first) else first
        return _choice(turn, said, short, neutralised, "", short != whole, count)

    return TurnPiece(turn, said, fresh._replace(sized=sized), shorten)


def _made_call(count: Count, turn: int, said: TurnPart, tokens: int) -> TurnPiece:
    """A call: its arguments stay one JSON object, however short."""
    found: Tally[str] = Tally()
    arguments = harmless_json(_arguments(said.text), found)
    neutralised = tuple(Neutralised(what, times) for what, times in found.most_common())
    whole = _json(arguments)
    first, chars = whole, max(tokens, LEAST_TOKENS) * CHARS_A_TOKEN
    while count(first) > max(tokens, LEAST_TOKENS):
        first = _shortened(arguments, chars)
        if chars <= LEAST_ARGUMENT_CHARS:
            break
        chars //= 2
    short = min(_shortened(arguments, SHORT_CHARS), first, key=len)
    reason = "turn" if first == whole else "turn, the middle of it left out"
    return TurnPiece(
        turn,
        said,
        _choice(turn, said, first, neutralised, reason, first != whole, count),
        partial(_choice, turn, said, short, neutralised, "", short != whole, count),
    )


def _arguments(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return {"_raw": text}


def _shortened(arguments: dict[str, Any], chars: int) -> str:
    """*arguments* in about as many characters: long texts lose their middle, or everything."""
    text = _json(_cut_texts(arguments, chars))
    return text if len(text) <= 2 * chars else _json({"left_out": f"{len(text):,} characters"})


def _cut_texts(value: Any, chars: int) -> Any:
    if isinstance(value, str):
        return cut_middle(value, chars)
    if isinstance(value, dict):
        return {name: _cut_texts(each, chars) for name, each in value.items()}
    return [_cut_texts(each, chars) for each in value] if isinstance(value, list) else value


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _choice(
    turn: int,
    said: TurnPart,
    text: str,
    neutralised: tuple[Neutralised, ...],
    reason: str,
    cut: bool,
    count: Count,
) -> Choice:
    lines = text.split("\n")
    chunks = (Chunk(0, len(lines), ""),)
    item = _item(turn, said, text)
    ranked = Ranked(item, lines, range(1, len(lines) + 1), chunks, (0.0,), neutralised)
    return Choice(size(ranked, count), ((0, len(lines)),), reason, cut)


def _item(turn: int, said: TurnPart, text: str) -> TurnItem:
    return TurnItem(
        id=said.id,
        section="history",
        kind=said.kind,
        text=text,
        source=said.source,
        role=_role(said),
        turn=turn,
        tool=said.source if said.call else "",
        call=said.call,
        failed=said.kind in FAILED,
    )


def _role(said: TurnPart) -> Role:
    if said.kind in SPOKEN:
        return "assistant"
    return "tool" if said.call else "user"


def note_of(last: int, count: Count) -> Choice:
    """The line that turns up to *last* are left out."""
    said = TurnPart(id="turns:left-out", kind="note", text=f"[turns 0 to {last} are left out]")
    return _choice(last, said, said.text, (), "says which turns are left out", False, count)
