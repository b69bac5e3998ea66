"""From matched lines to ranked failures: repeats merged, noise last."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence

import msgspec

from .blocks import FailureBlock, block_of, is_panic_of_test
from .names import Names, identity
from .reader import Log
from .rules import FailureRule, Hit, RuleBook, rule
from .rules_builds import BUILD_RULES
from .rules_tests import TEST_RULES
from .runners import GoVerbose, Suites, bare, printed_above
from .signals import SHAPE_STRENGTH, STRENGTH_MAX, strength
from .steps import LogStep, failing_steps
from .templates import Loudness, TemplateCounts, template

_KIND_WEIGHT = {
    "failing_test": 1.0,
    "crash": 0.95,
    "compile_error": 0.92,
    "timeout": 0.9,
    "lint": 0.85,
    "error": 0.75,
    "failing_command": 0.6,
}
_SPEAKS_FOR_ITSELF = 0.85  # a rule this sure is believed even where the line looks harmless
_MIN_STRENGTH = 0.9
_IN_STEP, _BEFORE_STEP, _AFTER_STEP = 1.0, 0.75, 0.45
_TAIL_LINES = 2_000  # the end tells how it ended: it is looked at whatever stands before
_MAX_BLOCK_LINES = 40_000  # looked at around all failures; of the others only the name is told
_MAX_ALIKE = 32  # errors of one shape that are looked at
_MIN_CHARS = 4
_RULES = RuleBook(TEST_RULES + BUILD_RULES)
_FIRST_COMES_FIRST = frozenset({"failing_test", "compile_error", "lint", "crash"})
_PART_OF_A_TEST = frozenset({"error", "compile_error", "timeout"})
_PART_OF_A_CRASH = frozenset({"signal", "rust", "assert", "sanitizer"})
_OWNS_ITS_LINES = frozenset({"python", "exception", "sanitizer", "go", "rust"})
_JEST_HEADING = "Test suite failed to run"
_JEST_FILE = re.compile(r"\s*FAIL\s+(?P<file>\S+)")
_UNITTEST_NAME = re.compile(r"\w+ \([\w.]+\)")
_AFTERWARDS = re.compile(r"\b(?:upload|artifacts?\b|codecov|coveralls)", re.IGNORECASE)
_AFTERWARDS_FACTOR = 0.5  # what is done with the results is seldom why there are none
_TEST_AT = re.compile(r"test at \S+:\d+:\d+$")  # above the name, in Node's list of what failed
_MAX_QUOTED = 4
_WELL_NAMED = 0.9  # a rule this sure may rename a failure
_MAX_BLOCKS = 4
_MAX_PROMOTED = 10  # lines of an unknown format
_PROMOTED_WEIGHT = 0.5
_GENERIC = rule("error", "generic", "", "(?!)", "indent", _PROMOTED_WEIGHT)
_MAX_EACH = 4_000  # lines of one rule that are told apart; a report lists far fewer
_MAX_ALL = 16_000
_MAX_SILENT = 30_000  # lines of distinct shapes that no rule knew
_ALARM = 3.0  # as loud as a line can be: looked at even then


class LoggedFailure(msgspec.Struct, kw_only=True):
    """Everything the log says about one failure."""

    hit: Hit  # the line that names it best
    blocks: list[FailureBlock]
    seen: int  # on how many lines it was announced
    score: float = 0.0


class Analysis(msgspec.Struct, frozen=True):
    """What was found in a log, before it is written down as a report."""

    failures: list[LoggedFailure]  # best first
    steps: list[LogStep]
    weak: dict[int, float]  # position -> how loudly an otherwise unclaimed line speaks
    counts: TemplateCounts
    texts: Sequence[str]  # the lines as the programs printed them, without a runner's prefixes


def analyse(log: Log) -> Analysis:
    """Find, merge and rank what went wrong in *log*."""
    texts = bare(log.texts)
    hits, weak, counts = _scan(texts)
    steps = failing_steps(texts)
    starts = {
        hit.index
        for hit in hits
        if hit.rule.kind in ("failing_test", "crash")
        and hit.rule.framework not in _PART_OF_A_CRASH
        and not is_panic_of_test(hit.index, texts)
    }
    failures = _merge(hits, texts, log.numbers, starts)
    for failure in failures:
        failure.score = _score(failure, steps, texts, counts)
        if failure.hit.rule.kind != "failing_test":
            failure.seen = max(failure.seen, counts.count(texts[failure.hit.index]))
    if not any(failure.score >= _PROMOTED_WEIGHT for failure in failures):
        known = {f.hit.index for f in failures}
        failures += _promoted(weak, texts, log.numbers, steps, counts, known)
    failures.sort(key=lambda f: (-f.score, f.hit.index))
    return Analysis(failures, steps, weak, counts, texts)


def place_factor(index: int, steps: Sequence[LogStep]) -> float:
    """Return how likely a line at *index* is to be about the failing step."""
    if not steps:
        return 0.9
    at = bisect_right(steps, index, key=lambda step: step.first) - 1  # they do not overlap
    if at >= 0 and index <= steps[at].last:
        return _IN_STEP
    return _AFTER_STEP if index > steps[-1].last else _BEFORE_STEP


def _scan(texts: Sequence[str]) -> tuple[list[Hit], dict[int, float], TemplateCounts]:
    hits: list[Hit] = []
    weak: dict[int, float] = {}
    loudness, flood = Loudness(), Flood()
    tail = len(texts) - _TAIL_LINES
    settled: Counter[str] = Counter()  # shapes of which nothing new is to be learned
    suites = Suites(texts)
    for i, text in enumerate(texts):
        if len(text) < _MIN_CHARS or (i < tail and flood.knows(text)):
            continue
        loud, shape = loudness.hear(text, closely=i >= tail)
        if not loud:
            continue
        weak[i] = loud
        if loud < SHAPE_STRENGTH or settled[shape] >= _MAX_ALIKE:
            continue
        if i < tail and flood.is_over(loud):
            continue
        hit = _RULES.match(i, text)
        flood.saw(hit)
        if hit and _believed(hit, texts, loud) and not suites.is_of(hit):
            hits.append(_named_above(hit, texts))
            settled[shape] += hit.rule.kind != "failing_test"
        elif not hit:
            settled[shape] = _MAX_ALIKE
    return hits, weak, loudness.counts


def _believed(hit: Hit, texts: Sequence[str], loud: float) -> bool:
    if hit.rule.framework == "junit-plain":  # the verdict is on the next line
        return "".join(texts[hit.index + 1 : hit.index + 2]).endswith(("FAILED", "an ERROR"))
    if hit.rule.framework == "numbered":
        for text in texts[hit.index : hit.index + 12]:
            if not text.strip():
                return False  # a list that is not of failures, or one that is told below
            if strength(text) >= _MIN_STRENGTH or text.endswith(":"):
                return True
        return False
    return hit.rule.weight >= _SPEAKS_FOR_ITSELF or loud >= _MIN_STRENGTH


def _named_above(hit: Hit, texts: Sequence[str]) -> Hit:
    """The test's name where unittest -v has a docstring beside the verdict, and jest a heading."""
    if not hit.index:
        return hit
    above = texts[hit.index - 1]
    if hit.rule.framework == "unittest" and " (" not in hit.title:
        if _UNITTEST_NAME.fullmatch(above):
            return msgspec.structs.replace(hit, index=hit.index - 1, title=above)
    elif hit.title == _JEST_HEADING and (file := _JEST_FILE.match(above)):
        return msgspec.structs.replace(hit, title=file["file"])
    return hit


def _merge(
    hits: list[Hit], texts: Sequence[str], numbers: Sequence[int], starts: set[int]
) -> list[LoggedFailure]:
    tests = Names[LoggedFailure]()
    others: dict[str, LoggedFailure] = {}
    failures: list[LoggedFailure] = []
    claimed: set[int] = set()
    looked, verbose = 0, GoVerbose(texts)
    inside: set[int] = set()  # a failing test's own error is no second failure
    quoted: set[int] = set()  # nor is what a compiler says about its own
    for hit in sorted(hits, key=lambda h: (h.rule.kind != "failing_test", h.index)):
        part = (
            hit.rule.kind in _PART_OF_A_TEST
            or hit.rule.framework in _PART_OF_A_CRASH
            or hit.rule.framework == "junit-console"
            or is_panic_of_test(hit.index, texts)
        )
        if hit.index in claimed or (part and hit.index in inside):
            continue
        if hit.rule.framework == "tool" and hit.index in quoted:
            continue
        whole = looked < _MAX_BLOCK_LINES
        before = _printed_before(hit, texts, verbose)
        block = block_of(hit, texts, numbers, starts, before=before, whole=whole)
        looked += block.looked
        hit = _named_by_its_reason(hit, block, texts)
        hit = msgspec.structs.replace(hit, title=_title_of(hit, block, texts))
        claimed.update(block.title)
        if hit.rule.kind == "failing_test" or hit.rule.framework in _OWNS_ITS_LINES:
            inside.update(block.messages, block.frames, block.rest)
        if hit.rule.kind == "compile_error":
            quoted.update(block.messages, block.frames, block.rest)
        failure = LoggedFailure(hit=hit, blocks=[block], seen=1)
        if hit.rule.kind == "failing_test":
            known = tests.file(identity(hit.title), failure)
        else:
            key = template(hit.title)
            known = others.setdefault(key, failure)
            known = None if known is failure else known
        if known is None:
            failures.append(failure)
        else:
            _join(known, failure)
    return failures


def _printed_before(hit: Hit, texts: Sequence[str], verbose: GoVerbose) -> list[int]:
    if hit.rule.framework == "go":
        return verbose.told_by(hit.title, hit.index)
    if hit.rule.framework == "ctest":
        return printed_above(hit.index, texts)
    if hit.rule.framework == "javascript" and _TEST_AT.match(
        "".join(texts[hit.index - 1 : hit.index])
    ):
        return [hit.index - 1]
    if hit.rule.kind == "compile_error" and hit.rule.framework == "python":
        return _quoted_above(hit.index, texts)
    return []


def _quoted_above(index: int, texts: Sequence[str]) -> list[int]:
    """The place and the line of source that Python prints above a SyntaxError."""
    for i in range(index - 1, max(-1, index - 1 - _MAX_QUOTED), -1):
        if 'File "' in texts[i]:
            return list(range(i, index))
    return []


def _title_of(hit: Hit, block: FailureBlock, texts: Sequence[str]) -> str:
    if len(block.title) == 1:
        return hit.title
    lines = (hit.title if i == hit.index else texts[i].strip() for i in block.title)
    return " ".join(lines).rstrip(":")


def _named_by_its_reason(hit: Hit, block: FailureBlock, texts: Sequence[str]) -> Hit:
    if hit.rule.shape != "trace" or not block.messages:
        return hit
    last = max(block.messages)
    block.rest.insert(0, hit.index)
    block.messages.remove(last)
    block.title[:] = [last]
    return msgspec.structs.replace(hit, index=last, title=texts[last].strip())


def _join(known: LoggedFailure, new: LoggedFailure) -> None:
    known.seen += 1
    block = new.blocks[0]
    fuller = len(identity(new.hit.title)) > len(identity(known.hit.title))
    better = fuller and new.hit.rule.weight >= _WELL_NAMED
    if better and new.hit.rule.kind == "failing_test":
        known.hit = msgspec.structs.replace(new.hit, message=new.hit.message or known.hit.message)
        known.blocks.insert(0, block)
    elif len(known.blocks) < _MAX_BLOCKS:
        known.blocks.append(block)
    if new.hit.message and not known.hit.message:
        known.hit = msgspec.structs.replace(known.hit, message=new.hit.message)


def _promoted(
    weak: dict[int, float],
    texts: Sequence[str],
    numbers: Sequence[int],
    steps: Sequence[LogStep],
    counts: TemplateCounts,
    known: set[int],
) -> list[LoggedFailure]:
    """Return the loudest lines of a log in which no rule found a cause."""
    spoken = [i for i, loud in weak.items() if loud >= _MIN_STRENGTH and i not in known]
    worth = {i: weak[i] * counts.rarity(texts[i]) * place_factor(i, steps) for i in spoken}
    best = sorted(worth, key=lambda i: (-worth[i], -i))[:_MAX_PROMOTED]
    found: list[LoggedFailure] = []
    for i in best:
        hit = Hit(i, _GENERIC, texts[i].strip(), "")
        block = block_of(hit, texts, numbers, set(best))
        failure = LoggedFailure(hit=hit, blocks=[block], seen=1)
        failure.score = _score(failure, steps, texts, counts)
        found.append(failure)
    return found


def _score(
    failure: LoggedFailure, steps: Sequence[LogStep], texts: Sequence[str], counts: TemplateCounts
) -> float:
    hit = failure.hit
    base = _KIND_WEIGHT[hit.rule.kind] * hit.rule.weight
    text = texts[hit.index]
    loud = 0.8 + 0.2 * strength(text) / STRENGTH_MAX
    rare = 0.7 + 0.3 * counts.rarity(text)
    told = 1.0 if any(b.messages or b.frames or b.rest for b in failure.blocks) else 0.9
    if hit.rule.kind == "compile_error":  # each says all in its line
        told = 1.0
    if hit.rule.kind == "failing_test":  # however many tests fail, each of them is news
        loud, rare = 1.0, 1.0
    place = max(place_factor(block.title[0], steps) for block in failure.blocks)
    # The last of several errors stopped the step; of several tests the first is as good as any.
    if hit.rule.kind in ("error", "failing_command") and _AFTERWARDS.search(hit.title):
        base *= _AFTERWARDS_FACTOR
    late = 1.0 if hit.rule.kind in _FIRST_COMES_FIRST else 0.95 + 0.05 * hit.index / len(texts)
    if hit.rule.framework == "make":  # each level repeats what the one below it said
        late = 1.95 - late
    return round(base * loud * rare * told * place * late, 4)


class Flood:
    """Says which lines need no closer look, because enough of their like was looked at.

    A rule that has spoken `_MAX_EACH` times is asked first: what it knows is one more of the many.
    """

    def __init__(self) -> None:
        self._heard: Counter[int] = Counter()
        self._many: list[FailureRule] = []
        self._hits = self._silent = 0

    def knows(self, text: str) -> bool:
        """Return whether *text* is one more of what a rule has said often."""
        for often in self._many:  # noqa: SIM110  # a generator costs more than most answers
            if often.fits(text):
                return True
        return False

    def is_over(self, loud: float) -> bool:
        """Return whether enough was looked at for a line that is so *loud*."""
        return self._hits >= _MAX_ALL or (self._silent >= _MAX_SILENT and loud < _ALARM)

    def saw(self, hit: Hit | None) -> None:
        """Count what was looked at."""
        if hit is None:
            self._silent += 1
            return
        self._hits += 1
        self._heard[id(hit.rule)] += 1
        if self._heard[id(hit.rule)] == _MAX_EACH:
            self._many.append(hit.rule)
