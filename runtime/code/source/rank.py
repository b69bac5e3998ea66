"""Orders the lines of a checkout that a failure points at, best first."""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from .checkout import Checkout, is_test
from .frames import Frame, parse_frames
from .resolve import ResolvedFrame, last_name, resolve
from .symbols import Definition, Name, called_names, enclosing_symbol, find_definitions, find_names
from .under_test import find_suspects

# Points by what the log shows of a place; the steps between them keep the classes apart.
_POINTS = {"trace": 100.0, "error": 92.0, "mention": 45.0, "note": 35.0, "warning": 30.0}
_PER_DEPTH = 6.0  # off for every project frame nearer to where the error was raised
_MAX_DEPTH = 6
_PER_CAUSE = 20.0  # off for an exception that only wraps another
_IN_TEST = 4.0  # off: between two failures the code under test is the better start
_IN_LIBRARY = 50.0
_SAYS_FAILURE = 5.0
_PER_REPEAT, _MAX_REPEATS = 0.5, 8
_TEST_NAME, _CALLED, _SYMBOL, _SUSPECT = 26.0, 22.0, 20.0, 19.0
_PER_SUSPECT = 0.5  # off for each more likely one
_PER_NAMESAKE = 2.0  # off for each further definition of the same name
_MAX_NAMESAKES = 4
_FAILURE = re.compile(r"error|fail|exception|panic|fatal|assert", re.IGNORECASE)
SNIPPET_LINES = 3  # on each side
MAX_SHOWN_CHARS = 240  # of one line


class Location(Struct, frozen=True, kw_only=True):
    """A line of the checkout that a failure points at."""

    path: str  # relative to the checkout, with slashes
    line: int  # counted from 1
    symbol: str = ""  # the function, method or class around it
    why: str  # one sentence: the reason
    score: float  # comparable only within one result
    snippet: str = ""  # the lines around it with their numbers; ">" marks the line
    log_line: int = 0  # the line of the text that names it, counted from 1


def find_relevant_code(
    text_or_lines: str | Iterable[str], checkout: Checkout, *, limit: int = 10
) -> list[Location]:
    """Return the lines of *checkout* that a failure's text points at, best first.

    Where a test failed by itself, and no frame leads from it into the project, the functions that
    it is likely about come behind it. Nothing is returned for a text that names no file, test or
    symbol of the checkout.
    """
    lines = text_or_lines.splitlines() if isinstance(text_or_lines, str) else list(text_or_lines)
    places = _without_warnings(resolve(parse_frames(lines), checkout))
    found = _from_places(places, lines, checkout)
    found += [*_from_names(found, lines, checkout), *_from_test(found, places, checkout)]
    merged = sorted(_merge(found), key=lambda each: (-each.score, each.log_line))
    return [_shown(location, checkout) for location in merged[:limit]]


def _without_warnings(places: list[ResolvedFrame]) -> list[ResolvedFrame]:
    """What only warns is no place to look at where something of this project failed."""
    failed = any(p.frame.kind in ("trace", "error") and not p.library for p in places)
    return [p for p in places if p.frame.kind != "warning"] if failed else places


def _from_places(
    places: Sequence[ResolvedFrame], lines: Sequence[str], checkout: Checkout
) -> list[Location]:
    depths = _project_depths(places)
    causes = _project_causes(places)
    found: dict[tuple[object, ...], Location] = {}
    for place, depth, cause in zip(places, depths, causes, strict=True):
        frame = place.frame
        location = Location(
            path=place.path,
            line=place.line,
            symbol=last_name(frame.symbol),
            why=_why(frame, depth),
            score=_score(place, depth, cause, lines)
            - _IN_TEST * _in_test(place.path, place.line, checkout),
            log_line=frame.at + 1,
        )
        # A recursion passes one line a thousand times in one trace: that is one mention.
        key = (place.path, place.line, frame.trace if _is_traced(place) else ("at", frame.at))
        if key not in found or location.score > found[key].score:
            found[key] = location
    return list(found.values())


def _project_depths(places: Sequence[ResolvedFrame]) -> list[int]:
    """Return how many project frames of its trace lie deeper than each place."""
    by_trace: dict[int, list[int]] = {}
    for place in places:
        if _is_traced(place) and not place.library:
            by_trace.setdefault(place.frame.trace, []).append(place.frame.depth)
    return [
        sum(1 for depth in by_trace.get(place.frame.trace, ()) if depth < place.frame.depth)
        if _is_traced(place)
        else 0
        for place in places
    ]


def _project_causes(places: Sequence[ResolvedFrame]) -> list[int]:
    """Return how many exceptions of its chain, raised in the project, lie under each place."""
    by_chain: dict[int, set[int]] = {}
    for place in places:
        if _is_traced(place) and not place.library:
            by_chain.setdefault(place.frame.chain, set()).add(place.frame.cause)
    return [
        sum(1 for cause in by_chain.get(place.frame.chain, ()) if cause < place.frame.cause)
        if _is_traced(place)
        else 0
        for place in places
    ]


def _is_traced(place: ResolvedFrame) -> bool:
    return place.frame.trace >= 0


def _score(place: ResolvedFrame, depth: int, cause: int, lines: Sequence[str]) -> float:
    score = _POINTS[place.frame.kind] - place.doubt
    score -= _PER_DEPTH * min(depth, _MAX_DEPTH) + _PER_CAUSE * cause
    score -= _IN_LIBRARY * place.library
    if place.frame.kind == "mention" and _FAILURE.search(lines[place.frame.at]):
        score += _SAYS_FAILURE
    return score


def _in_test(path: str, line: int, checkout: Checkout) -> bool:
    """Whether a line is a test's: by its path, or below the mark that Rust puts inside a file."""
    if is_test(path) or not path.endswith(".rs"):
        return is_test(path)
    return any(text.strip() == "#[cfg(test)]" for text in checkout.read_lines(path)[: line - 1])


def _why(frame: Frame, depth: int) -> str:
    said = f": {frame.message}" if frame.message else ""
    if frame.trace < 0:
        return f"{frame.kind} in the log{said}"
    if frame.kind == "warning":
        return f"frame of a trace that was only logged as a warning{said}"
    return (
        f"where it was raised in this project{said}"
        if not depth
        else (f"{depth} project frame{'s' if depth > 1 else ''} above where it was raised{said}")
    )


def _from_names(
    found: Sequence[Location], lines: Sequence[str], checkout: Checkout
) -> list[Location]:
    """Return where the tests and symbols that the log names are defined."""
    names = find_names(lines)
    names += _under_test(found, checkout)
    definitions = [
        each
        for each in find_definitions(names, checkout)
        if not (each.name.is_test and _is_shown_inside(each, found, checkout))
    ]
    namesakes: dict[str, int] = {}
    for each in definitions:
        namesakes[each.name.name] = namesakes.get(each.name.name, 0) + 1
    return [
        _named(each, namesakes[each.name.name])
        for each in definitions
        if namesakes[each.name.name] <= _MAX_NAMESAKES
    ]


def _is_shown_inside(test: Definition, found: Sequence[Location], checkout: Checkout) -> bool:
    """Whether a line inside of a test was found, which says more than the test's head."""
    lines = checkout.read_lines(test.path)
    return any(each.path == test.path and _symbol(each, lines) == test.name.name for each in found)


def _under_test(found: Sequence[Location], checkout: Checkout) -> list[Name]:
    """Return what the best place calls, if that place is a test's assertion."""
    best = _failed_in_test(found, checkout)
    if best is None:
        return []
    return called_names(checkout.read_lines(best.path)[best.line - 1], best.log_line - 1)


def _failed_in_test(found: Sequence[Location], checkout: Checkout) -> Location | None:
    """Return the best place, if it is a test's: no frame leads from there into the project."""
    best = max(found, key=lambda each: each.score, default=None)
    return best if best and _in_test(best.path, best.line, checkout) else None


def _from_test(
    found: Sequence[Location], places: Sequence[ResolvedFrame], checkout: Checkout
) -> list[Location]:
    """Return what the test is likely about, if the log shows a test alone."""
    best = _failed_in_test(found, checkout)
    if best is None:
        return []
    suspects = find_suspects(*_in_failed_test(best, places, checkout), checkout)
    return [
        Location(
            path=each.path,
            line=each.line,
            symbol=each.name,
            why=f"the failed test is likely about {each.name}, by the words of both",
            score=_SUSPECT - _PER_SUSPECT * number,
            log_line=best.log_line,
        )
        for number, each in enumerate(suspects)
    ]


def _in_failed_test(
    best: Location, places: Sequence[ResolvedFrame], checkout: Checkout
) -> tuple[str, int]:
    """Return the outermost line of a test in the trace of the best place, which may be a helper."""
    traces = {p.frame.trace for p in places if p.frame.at + 1 == best.log_line and _is_traced(p)}
    tests = [
        place
        for place in places
        if place.frame.trace in traces and _in_test(place.path, place.line, checkout)
    ]
    outermost = max(tests, key=lambda place: place.frame.depth, default=None)
    return (outermost.path, outermost.line) if outermost else (best.path, best.line)


def _named(definition: Definition, namesakes: int) -> Location:
    name = definition.name
    points = _TEST_NAME if name.is_test else _SYMBOL
    kind = "failing test" if name.is_test else "symbol"
    return Location(
        path=definition.path,
        line=definition.line,
        symbol="" if name.is_title else name.name,
        why=f"defines the {kind} {name.name} that the log names",
        score=points
        - _PER_NAMESAKE * (namesakes - 1)
        - (0 if name.is_test else _IN_TEST * is_test(definition.path)),
        log_line=name.at + 1,
    )


def _merge(found: Iterable[Location]) -> list[Location]:
    """Keep one location a line: the best, a little better for each repeat."""
    groups: dict[tuple[str, int], list[Location]] = {}
    for location in found:
        groups.setdefault((location.path, location.line), []).append(location)
    merged = []
    for group in groups.values():
        best = max(group, key=lambda each: each.score)
        extra = _PER_REPEAT * min(len(group) - 1, _MAX_REPEATS)
        merged.append(replace(best, score=best.score + extra))
    return merged


def _symbol(location: Location, lines: Sequence[str]) -> str:
    """The symbol around a line; at the top of a Python file there is none, whatever was logged."""
    around = enclosing_symbol(lines, location.line, location.path)
    return around or ("" if location.path.endswith(".py") else location.symbol)


def _shown(location: Location, checkout: Checkout) -> Location:
    lines = checkout.read_lines(location.path)
    first = max(1, location.line - SNIPPET_LINES)
    width = len(str(location.line + SNIPPET_LINES))
    last = min(len(lines), location.line + SNIPPET_LINES)
    rows = []
    for number in range(first, last + 1):
        mark = ">" if number == location.line else " "
        rows.append(f"{mark} {number:{width}} | {lines[number - 1][:MAX_SHOWN_CHARS]}")
    snippet = "\n".join(rows)
    symbol = _symbol(location, lines)
    return replace(location, symbol=symbol, snippet=snippet, score=round(location.score, 1))
