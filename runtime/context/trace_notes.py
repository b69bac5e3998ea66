"""Texts of the notes that passes give to a watch."""

from collections.abc import Iterator, Mapping, Sequence

from .layout.render import Placed
from .manifest import Measured
from .material import Choice, Clean, Left, Ranked
from .prompt import PassedOver
from .tracing import Note, ScoredChunk, Watch


def tell_kept(
    watch: Watch,
    name: str,
    saw: int,
    left: Sequence[Left],
    cleans: Sequence[Clean] = (),
    passed: Sequence[PassedOver] = (),
) -> None:
    """A pass that leaves items out, or changes their texts."""
    notes = [Note(each.item.id, "left out", each.reason) for each in left]
    for entry in cleans:
        for found in entry.neutralised:
            did = "marked" if found.what == "order" else "neutralised"
            notes.append(Note(entry.item.id, did, f"{found.what}, {found.count} times"))
    notes += notes_of(passed)
    watch.tell(name, saw, saw - len(left) - sum(each.count for each in passed), notes)


def notes_of(passed: Sequence[PassedOver]) -> list[Note]:
    """Items that were only counted."""
    return [Note(each.section, f"{each.count} passed over", each.reason) for each in passed]


def tell_ranked(watch: Watch, ranked: Sequence[Ranked]) -> None:
    """The score of each item and its parts, the best first."""
    best = sorted(ranked, key=lambda each: (-each.score, each.item.id))
    watch.tell("rank", len(ranked), len(ranked), map(_scored, best))
    watch.chunks = tuple(
        ScoredChunk(each.item.id, tuple(each.numbers[c.start : c.end]), c.heading, score)
        for each in ranked
        for c, score in zip(each.chunks, each.scores, strict=True)
    )


def _scored(ranked: Ranked) -> Note:
    worth = ranked.worth
    parts = worth._asdict().items() if worth else ()
    why = ", ".join(f"{name} {value:.3f}" for name, value in parts if value)
    return Note(ranked.item.id, f"scored {ranked.score:.3f}", why)


def tell_compressed(watch: Watch, tried: int, short: Mapping[str, Clean]) -> None:
    """Items in a shorter form, and how many were tried."""
    notes = [Note(n, f"compressed, {e.form}", f"{e.saved} tokens") for n, e in short.items()]
    watch.tell("compress", tried, len(short), notes)


def tell_chosen(watch: Watch, choices: Sequence[Choice], left: Sequence[Left]) -> None:
    """The choices of the fit."""
    notes = [
        Note(c.ranked.item.id, "chosen" if c.whole else "chosen in part", c.reason) for c in choices
    ]
    notes += (Note(each.item.id, "left out", each.reason) for each in left)
    watch.tell("fit", len(notes), len(choices), notes)


def tell_placed(watch: Watch, placed: Sequence[Placed]) -> None:
    """The place of each item."""
    notes = (
        Note(choice.ranked.item.id, f"placed {number}", f"the {stretch} stretch")
        for number, (choice, stretch) in enumerate(placed, 1)
    )
    watch.tell("place", len(placed), len(placed), notes)


def tell_rendered(watch: Watch, measured: Measured) -> None:
    """The tokens of every stretch of text."""
    watch.tell("render", len(measured.blocks), len(measured.blocks), _texts(measured))


def _texts(measured: Measured) -> Iterator[Note]:
    for block, tokens in zip(measured.blocks, measured.tokens, strict=True):
        yield Note(block.item or block.section, f"written in {tokens} tokens", block.stretch)
