"""Packs passages into a budget of tokens, and prints them with a line for each file and heading.

Tokens bound the number of passages: eight turns of a talk are a few lines, eight sections of a
manual are pages.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol, TypeVar

TOKENS: Final = 2_000  # of passages, by default
MOST_PASSAGES: Final = 100  # however short they are
CHARS_A_TOKEN: Final = 5  # where nothing counts them; few texts have more
MISSES: Final = 20  # passages in a row that do not fit: shorter ones are not looked for any longer


class Packable(Protocol):
    """A passage of any class."""

    @property
    def path(self) -> str:
        """Its file."""
        ...

    @property
    def heading(self) -> str:
        """The titles above it, joined by " > "."""
        ...

    @property
    def first_line(self) -> int:
        """Number of its first line in the file."""
        ...

    @property
    def text(self) -> str:
        """The passage itself."""
        ...


Kind = TypeVar("Kind", bound=Packable)
Count = Callable[[str], int]


def estimated(text: str) -> int:
    """Estimated tokens of *text*, for callers without a counter; seldom too many."""
    return len(text) // CHARS_A_TOKEN + 1


def packed(
    passages: Iterable[Kind], tokens: int | None = TOKENS, count: Count = estimated
) -> list[Kind]:
    """Those of *passages*, given best first, that *tokens* have room for, with their headings.

    One that does not fit is passed over for shorter ones behind it. None has no bound.
    """
    if tokens is None:
        return list(passages)
    taken: list[Kind] = []
    known: set[tuple[str, str]] = set()
    left, missed = tokens, 0
    for passage in passages:
        line, place = heading_line(passage), (passage.path, passage.heading)
        needed = count(f"{passage.text}\n") + (count(line) if line and place not in known else 0)
        if needed <= left:
            left, missed = left - needed, 0
            known.add(place)
            taken.append(passage)
        elif (missed := missed + 1) == MISSES:
            break
    return taken


def by_file(passages: Sequence[Kind]) -> Iterator[list[Kind]]:
    """*passages*, given best first, in their order in each file; the file of the best one first."""
    files: dict[str, list[Kind]] = {}
    for passage in passages:
        files.setdefault(passage.path, []).append(passage)
    for found in files.values():
        yield sorted(found, key=lambda passage: passage.first_line)


def heading_line(passage: Packable) -> str:
    """The line with the titles above *passage*; empty if its text has them."""
    innermost = passage.heading.rsplit(" > ", 1)[-1]
    if not innermost or innermost in passage.text.split("\n", 1)[0]:
        return ""
    return f"[{passage.heading}]\n"


def written(passages: Sequence[Packable]) -> str:
    """*passages* of one file, in their order, each heading once above those under it."""
    parts: list[str] = []
    last = ""
    for passage in passages:
        line = heading_line(passage)
        parts.append(line if line != last else "")
        parts.append(passage.text.strip("\n") + "\n")
        last = line
    return "".join(parts)
