"""Chooses the file of a checkout that a logged place means, by all that the log says of it."""

import re
from collections.abc import Sequence

from msgspec import Struct

from .checkout import Checkout, Match
from .frames import Frame
from .symbols import enclosing_symbol

# How sure one kind of agreement makes us that a candidate is the file that was meant.
_SAME_LINE = 8.0
_SAME_SYMBOL = 4.0
_NAMES_SYMBOL = 2.0
_MOVED_LINE = 3.0
_OUT_OF_RANGE = -10.0
_NEAR_NEIGHBOUR = 0.1  # a folder shared with the place named just before
_JVM_LANGUAGES = frozenset({"java"})


class ResolvedFrame(Struct, frozen=True):
    """A frame and the line of the checkout that it means."""

    frame: Frame
    path: str
    line: int
    library: bool = False  # in a dependency that the checkout carries
    doubt: float = 0.0  # points off: the path fits in part, or several files fit


def resolve(frames: Sequence[Frame], checkout: Checkout) -> list[ResolvedFrame]:
    """Return the places of *frames* that lie in *checkout*, in the order of the log."""
    places: list[ResolvedFrame] = []
    for frame in frames:
        matches = [m for m in _candidates(frame, checkout) if checkout.read_lines(m.path)]
        if not matches:
            continue
        near = places[-1].path if places else ""
        rated = [(_agreement(frame, match, checkout, near), match) for match in matches]
        sure, best = max(rated, key=lambda pair: (pair[0], -len(pair[1].path), pair[1].path))
        doubt = _doubt(sure, best, sum(1 for score, _ in rated if score >= sure - 0.05))
        if doubt is not None:
            places.append(
                ResolvedFrame(frame, best.path, _line(frame, best, checkout), best.library, doubt)
            )
    return places


def _candidates(frame: Frame, checkout: Checkout) -> list[Match]:
    package = frame.package if frame.language in _JVM_LANGUAGES else ""
    found = checkout.find(frame.path, package)
    if not found and frame.kind == "error" and frame.path.endswith(".java"):
        found = checkout.find(frame.path.removesuffix(".java") + ".kt")
    if frame.language == "go" and frame.package and "/" not in frame.path:
        theirs = [m for m in found if f"/{frame.package}".endswith("/" + m.path.rpartition("/")[0])]
        longest = max((len(m.path) for m in theirs), default=0)
        return [m for m in theirs if len(m.path) == longest] or found
    return found


def _agreement(frame: Frame, match: Match, checkout: Checkout, near: str) -> float:
    lines = checkout.read_lines(match.path)
    if frame.line > len(lines) + 1:  # an unexpected end of a file is told one line below it
        return _OUT_OF_RANGE
    score = _NEAR_NEIGHBOUR * shared_folders(match.path, near)
    if frame.source:
        if [line.strip() for line in lines[frame.line - 1 : frame.line]] == [frame.source]:
            score += _SAME_LINE
        elif any(line.strip() == frame.source for line in lines):
            score += _MOVED_LINE
    name = last_name(frame.symbol)
    if name and enclosing_symbol(lines, frame.line, match.path) == name:
        score += _SAME_SYMBOL
    elif name and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", "\n".join(lines)):
        score += _NAMES_SYMBOL
    return score


def _doubt(sure: float, match: Match, equals: int) -> float | None:
    """Return the points to take off, or nothing where the file is too unlikely to be meant."""
    if sure <= _OUT_OF_RANGE:
        return 60.0 if match.whole and equals == 1 else None
    doubt = 3.0 * min(equals - 1, 4)
    if not match.whole:
        if sure < _NAMES_SYMBOL and (match.parts < 2 or equals > 1):
            return None
        doubt += 10.0 if sure >= _NAMES_SYMBOL else 25.0
    return doubt


def _line(frame: Frame, match: Match, checkout: Checkout) -> int:
    """Return the frame's line, or where the quoted code stands now if that is one other line."""
    lines = checkout.read_lines(match.path)
    here = lines[frame.line - 1].strip() if frame.line <= len(lines) else ""
    if frame.source and here != frame.source:
        now = [number for number, line in enumerate(lines, 1) if line.strip() == frame.source]
        if len(now) == 1:
            return now[0]
    return min(frame.line, len(lines))


def shared_folders(path: str, other: str) -> int:
    """Return how many folders two paths have in common, counted from the root."""
    shared = 0
    for mine, theirs in zip(path.split("/")[:-1], other.split("/")[:-1], strict=False):
        if mine != theirs:
            break
        shared += 1
    return shared


def last_name(symbol: str) -> str:
    """Return the bare function name of a logged symbol: `(*Cart).Total` is `Total`."""
    text = re.sub(r"\(.*?\)(?=$|\s)|<.*?>|::h[0-9a-f]{16}$| \[as .*\]|\{.*?\}", "", symbol)
    names = re.findall(r"[A-Za-z_~][\w~]*[?!]?", text)
    names = [
        name
        for name in names
        if not re.fullmatch(r"lambda|func\d*|block|in|closure|async|new", name)
    ]
    return names[-1] if names else ""
