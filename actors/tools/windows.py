"""Some lines of a long text, numbered, and what is left out."""

from cortex.runtime.kernel import many

MOST_LINES = 2_000
MOST_CHARS = 100_000
LINE_CHARS = 2_000  # of one line; the rest is generated, or data


def window(text: str, first: int, last: int | None, *, again: str) -> str:
    """Lines *first* to *last* of *text*, both included, counted from 1, each after its number.

    Args:
        text: All of it.
        first: The first line wanted.
        last: The last one; None for as many as fit.
        again: The call that gives the rest.
    """
    lines = lines_of(text)
    end = min(len(lines), last or len(lines), first + MOST_LINES - 1)
    shown: list[str] = []
    room = MOST_CHARS
    for number in range(first, end + 1):
        line = _cut(lines[number - 1])
        room -= len(line) + 8
        if room < 0:
            break
        shown.append(f"{number}\t{line}\n")
    if not shown:
        return f"there are {many(len(lines), 'line')}\n" if lines else "it is empty\n"
    through = first + len(shown) - 1
    wanted = min(len(lines), last or len(lines))
    head = "" if (first, through) == (1, len(lines)) else _head(first, through, len(lines))
    rest = f"… more follows: {again} with first_line {through + 1}\n" if through < wanted else ""
    return f"{head}{''.join(shown)}{rest}"


def lines_of(text: str) -> list[str]:
    r"""The lines of *text* as git counts them: only `\n` ends one, and `\r\n`."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines if lines[-1] else lines[:-1]


def _head(first: int, through: int, lines: int) -> str:
    return f"lines {first}-{through} of {lines:,}\n"


def _cut(line: str) -> str:
    left = len(line) - LINE_CHARS
    return line if left <= 0 else f"{line[:LINE_CHARS]}… {left:,} characters more"
