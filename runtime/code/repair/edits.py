"""A model's edits, and what they make of a text; pure."""

import difflib
from typing import Annotated

import msgspec
from msgspec import Meta

LINES_SEARCHED = 5_000  # for the line that was probably meant
COMPARED_CHARS = 200  # of each; what is longer would take long to compare
SHOWN_CHARS = 120  # of that line
NEAR = 0.5  # how like it has to be, of 1


class Edit(msgspec.Struct, frozen=True):
    """One replacement in one file."""

    path: Annotated[str, Meta(description="the file, relative, with /")]
    old: Annotated[
        str,
        Meta(
            description="the text to replace, exactly as it stands in the file, indentation "
            "included and line numbers left out; it has to occur exactly once, so take whole "
            "lines and enough of them. Empty to create a new file"
        ),
    ]
    new: Annotated[str, Meta(description="what stands there afterwards")]


class WriteCodeAnswer(msgspec.Struct, frozen=True):
    """The change that the model wants to make."""

    summary: Annotated[str, Meta(description="one line: what is changed and why")]
    edits: Annotated[list[Edit], Meta(description="at least one; applied in this order")]


class EditError(ValueError):
    """The edit does not fit the text; the message says why, in one line."""


def apply_edit(text: str | None, old: str, new: str) -> str:
    r"""What *text* is after the edit; None stands for a file that is not there.

    The line ends of a text that has `\r\n` throughout stay what they are.

    Raises:
        EditError: *old* does not occur exactly once.
    """
    if not old:
        if text:
            raise EditError("the file exists: give the text to replace as `old`")
        return new
    if text is None:
        raise EditError("there is no such file; to create it leave `old` empty")
    if _is_dos(text):
        unix = apply_edit(_unix(text), _unix(old), _unix(new))
        return unix.replace("\n", "\r\n")
    first = text.find(old)
    if first < 0:
        raise EditError(f"`old` is not in it; {nearest_line(text, old)}")
    second = text.find(old, first + 1)
    if second >= 0:
        at = [text.count("\n", 0, place) + 1 for place in (first, second)]
        raise EditError(
            f"`old` occurs more than once, as in lines {at[0]} and {at[1]}: take more lines with it"
        )
    return text[:first] + new + text[first + len(old) :]


def nearest_line(text: str, old: str) -> str:
    """The line of *text* at which *old* was most probably meant to be, and is not."""
    lines = text.split("\n", LINES_SEARCHED)[:LINES_SEARCHED]
    wanted = old.strip("\n").split("\n")
    starts = [n for n, line in enumerate(lines) if line == wanted[0] and line.strip()]
    if starts:
        at = max(n + _agreeing(lines[n:], wanted) for n in starts)
        if at < len(lines):
            return f"it differs from line {at + 1} on: {_shown(lines[at])}"
    sample = wanted[0].strip()[:COMPARED_CHARS]
    stripped = [line.strip()[:COMPARED_CHARS] for line in lines]
    like = difflib.get_close_matches(sample, dict.fromkeys(stripped), n=1, cutoff=NEAR)
    if not sample or not like:
        return "no line of it is like the first of `old`"
    at = stripped.index(like[0])
    return f"the nearest line is {at + 1}: {_shown(lines[at])}"


def _agreeing(lines: list[str], wanted: list[str]) -> int:
    """How many lines from the first on are equal."""
    pairs = zip(lines, wanted, strict=False)
    return next((n for n, (line, want) in enumerate(pairs) if line != want), len(wanted))


def _shown(line: str) -> str:
    return repr(line if len(line) <= SHOWN_CHARS else f"{line[:SHOWN_CHARS]}…")


def _is_dos(text: str) -> bool:
    return "\r\n" in text and text.count("\r\n") == text.count("\n")


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")
