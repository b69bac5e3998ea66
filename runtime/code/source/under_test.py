"""The code that a failed test is about, where the log shows the test alone.

An assertion fails in the test, so that no frame leads into the project. What the test's name and
its lines up to the failed one speak of still does: files, then their functions, by BM25.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from cortex.runtime.retrieval import TextCounts, TextScores, content_words

from .checkout import Checkout, is_library, is_test
from .resolve import shared_folders
from .symbols import defined_in, has_title, python_scopes, scope_around

MAX_TEST_LINES = 60  # above the line that failed
MAX_WORDS = 60
MAX_SCANNED_BYTES = 32_000_000
MAX_FILES = 8  # whose functions are compared
MAX_BLOCKS = 4_000
MAX_SUSPECTS = 8
MAX_OF_FILE = 2  # before those of other files
_LEAST_WORD = 3  # characters: shorter ones are in every file, inside of others
_BYTES_A_WORD = 8


class Suspect(Struct, frozen=True):
    """A function, class or method that a test may be about."""

    path: str
    line: int
    name: str


def find_suspects(path: str, line: int, checkout: Checkout) -> list[Suspect]:
    """Return what the test around a line is likely about, best first; nothing if no word fits."""
    words = _words_of_test(checkout.read_lines(path), line, path)
    files = _likely_files(words, path, checkout)
    blocks = [
        (block, content_words(text), of_file)
        for file, of_file in files.items()
        for block, text in _blocks(file, checkout)
    ][:MAX_BLOCKS]
    scores = TextScores([each for _, each, _ in blocks], words).scores
    rated = [
        (score + of_file, block)
        for score, (block, _, of_file) in zip(scores, blocks, strict=True)
        if score > 0
    ]
    rated.sort(key=lambda each: -each[0])
    return _spread(block for _, block in rated)[:MAX_SUSPECTS]


def _spread(ordered: Iterable[Suspect]) -> list[Suspect]:
    """Put what is one too many of its file behind the best of other files."""
    seen: Counter[str] = Counter()
    first, later = list[Suspect](), list[Suspect]()
    for each in ordered:
        seen[each.path] += 1
        (first if seen[each.path] <= MAX_OF_FILE else later).append(each)
    return first + later


def _words_of_test(lines: Sequence[str], line: int, path: str) -> list[str]:
    """The words of the test's file, and of its lines from its name to the one that failed."""
    around = scope_around(lines, line, path)
    first = max(around.first if around else 1, line - MAX_TEST_LINES)
    titled = next((at for at in range(line, first - 1, -1) if has_title(lines[at - 1])), first)
    name = around.name if around else ""
    text = "\n".join([path.rpartition("/")[2], name, *lines[titled - 1 : line]])
    found = dict.fromkeys(content_words(text))
    return [word for word in found if len(word) >= _LEAST_WORD and word != "test"][:MAX_WORDS]


def _likely_files(words: Sequence[str], test: str, checkout: Checkout) -> dict[str, float]:
    """The files of the test's language that have most of the words, scored; tests left out."""
    counted = dict(_counted(words, test, checkout))
    scores = zip(TextScores(list(counted.values()), words).scores, counted, strict=True)
    ordered = sorted(scores, key=lambda each: (-each[0], each[1]))
    return {path: score for score, path in ordered[:MAX_FILES] if score > 0}


def _counted(
    words: Sequence[str], test: str, checkout: Checkout
) -> Iterator[tuple[str, TextCounts]]:
    """Each file with how often it has the words, as bytes: one inside of another counts as well."""
    terms = [(word, word.encode()) for word in words]
    left_bytes = MAX_SCANNED_BYTES
    for path in _near(test, checkout):
        text = path.encode("utf-8", "replace").lower() + b"\n" + checkout.read_bytes(path).lower()
        left_bytes -= len(text)
        if left_bytes < 0:
            return
        present = {word: count for word, term in terms if (count := text.count(term))}
        yield path, TextCounts(present, len(text) // _BYTES_A_WORD)


def _near(test: str, checkout: Checkout) -> list[str]:
    """The files in the language of a test, nearest folders first."""
    ending = test.rpartition(".")[2]
    paths = [
        path
        for path in checkout.files
        if path.rpartition(".")[2] == ending and not is_test(path) and not is_library(path)
    ]
    return sorted(paths, key=lambda path: -shared_folders(path, test))


def _blocks(path: str, checkout: Checkout) -> Iterator[tuple[Suspect, str]]:
    """Each definition of a file with its lines up to the next one, and the names it stands in."""
    lines = checkout.read_lines(path)
    above: list[tuple[int, str]] = []  # the definitions around: indent, name
    for (at, name), (end, _) in pairwise([*_definitions(path, lines), (len(lines), "")]):
        indent = len(lines[at]) - len(lines[at].lstrip())
        above = [each for each in above if each[0] < indent]
        owners = " ".join(owner for _, owner in above)
        above.append((indent, name))
        yield Suspect(path, at + 1, name), "\n".join([path, owners, *lines[at:end]])


def _definitions(path: str, lines: Sequence[str]) -> list[tuple[int, str]]:
    """The index of each line that defines something, and what."""
    scopes = python_scopes("\n".join(lines)) if path.endswith(".py") else None
    if scopes is None:
        return [(at, name) for at, text in enumerate(lines) if (name := defined_in(text))]
    return sorted((scope.head - 1, scope.name) for scope in scopes)
