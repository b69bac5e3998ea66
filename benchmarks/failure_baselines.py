"""Ways from a failing test's log to the code that has to change, and what chance finds."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from math import comb
from typing import Final

from real_failures import Case, is_test

from cortex.runtime.code.source import Checkout, find_relevant_code
from cortex.runtime.retrieval import TextScores, content_words

PLACES: Final = 5  # that a way names, at most
NEAR_LINES: Final = 5  # to a changed line outside of functions
_AT = re.compile(r"(?P<path>[\w@.~+/\\-]+\.\w+)(?::(?:line )?|\(|\", line )(?P<line>\d+)")

Place = tuple[str, int]  # path and line; line 0 where a way names files only
Way = Callable[[str, Checkout], list[Place]]


def ours(log: str, checkout: Checkout) -> list[Place]:
    """Ask the library."""
    return [(each.path, each.line) for each in find_relevant_code(log, checkout, limit=PLACES)]


def ours_outside_tests(log: str, checkout: Checkout) -> list[Place]:
    """Ask the library, and pass over what it finds in tests: who asks knows the test."""
    found = find_relevant_code(log, checkout, limit=10 * PLACES)
    return [(each.path, each.line) for each in found if not is_test(each.path)][:PLACES]


def first_mentioned(log: str, checkout: Checkout) -> list[Place]:
    """Take the first path:line whose path fits exactly one file, and the next ones."""
    return _distinct(_mentioned(log, checkout))


def last_frames(log: str, checkout: Checkout) -> list[Place]:
    """Take the last path:line that is in the project and not in a test, and those before it."""
    found = [place for place in _mentioned(log, checkout) if not is_test(place[0])]
    return _distinct(reversed(found))


def _mentioned(log: str, checkout: Checkout) -> Iterator[Place]:
    for match in _AT.finditer(log):
        files = [path for path in checkout.files if match["path"].endswith(path)]
        files = files or [path for path in checkout.files if path.endswith("/" + match["path"])]
        if len(files) == 1:
            yield files[0], int(match["line"])


def _distinct(places: Iterable[Place]) -> list[Place]:
    return list(dict.fromkeys(places))[:PLACES]


def bm25_files(log: str, checkout: Checkout) -> list[Place]:
    """Rank the modules outside of tests by BM25, the log being the question."""
    texts = {(path, 0): "\n".join(checkout.read_lines(path)) for path in _modules(checkout)}
    return _ranked(log, texts)


def bm25_functions(log: str, checkout: Checkout) -> list[Place]:
    """Rank the functions outside of tests by BM25."""
    texts: dict[Place, str] = {}
    for path in _modules(checkout):
        lines = checkout.read_lines(path)
        try:
            tree = ast.parse("\n".join(lines))
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = lines[node.lineno - 1 : node.end_lineno]
                texts[path, node.lineno] = "\n".join([path, *body])
    return _ranked(log, texts)


def _modules(checkout: Checkout) -> list[str]:
    return [path for path in checkout.files if path.endswith(".py") and not is_test(path)]


def _ranked(log: str, texts: dict[Place, str]) -> list[Place]:
    words = [content_words(text) for text in texts.values()]
    scores = TextScores(words, content_words(log)).scores
    rated = sorted(zip(scores, texts, strict=True), key=lambda each: (-each[0], each[1]))
    return [place for score, place in rated[:PLACES] if score > 0]


WAYS: Final[dict[str, Way]] = {
    "ours": ours,
    "ours, outside tests": ours_outside_tests,
    "first path:line": first_mentioned,
    "last frame outside tests": last_frames,
    "BM25 over files": bm25_files,
    "BM25 over functions": bm25_functions,
}


def in_changed_file(case: Case, place: Place) -> bool:
    """Whether a place is in a file that the fix changed."""
    return any(place[0] == each.path for each in case.changed)


def in_changed_code(case: Case, place: Place) -> bool:
    """Whether it is in a function that the fix changed, or near another line that it changed."""
    path, line = place
    return any(
        first <= line <= last
        for each in case.changed
        if each.path == path
        for first, last in (
            *((first, last) for _, first, last in each.functions),
            *((first - NEAR_LINES, last + NEAR_LINES) for first, last in each.lines),
        )
    )


def chance_of_file(case: Case, tries: int) -> float:
    """The probability that one of some modules, drawn without looking, is one that changed."""
    tries = min(tries, case.files)
    return 1 - comb(case.files - len(case.changed), tries) / comb(case.files, tries)


def chance_of_code(case: Case, tries: int) -> float:
    """The probability that one of some lines of the modules is in what changed."""
    right = sum(
        in_changed_code(case, (each.path, line))
        for each in case.changed
        for line in range(1, _last_line(each.functions, each.lines) + 1)
    )
    return float(1 - (1 - right / case.lines) ** tries)


def _last_line(
    functions: tuple[tuple[str, int, int], ...], lines: tuple[tuple[int, int], ...]
) -> int:
    return max([*(last for *_, last in functions), *(last + NEAR_LINES for _, last in lines)])
