"""The most telling lines of a log that fit into a token budget."""

import re
from collections.abc import Callable, Sequence
from heapq import nlargest

import msgspec

from .findings import Analysis, analyse, place_factor
from .reader import Log
from .report import Role, roles_of
from .signals import STRENGTH_MAX
from .templates import template

GAP = "…"  # one token: lines are missing here
_MAX_TITLE_CHARS, _MAX_CHARS = 1_200, 400
_ROLE_WORTH = {"title": 1.0, "message": 0.62, "frame": 0.45, "context": 0.22}
_REPEAT_FACTOR = 0.5  # worth of the second line of a shape, the third, ...
_FADE = 0.97  # each further line of one role is worth a little less
_LEADERS = 3  # failures shown whole before the many are shown in part
_LEADER_SHARE = 0.85  # of a failure's score
_FIRST_SHARE = 1.05  # before the names of the many: one reason is worth ten names
_MESSAGES_OF_LEADERS = 4
_TOTAL_SHARE = 1.01  # one line says how many; it is not lost among their names
_MAX_TOTALS = 2
_SAYS_WHICH = 0.6  # the weight of a rule for commands that names what ran
_TOTAL = re.compile(
    r".{0,80}\b[1-9]\d* (?:tests? |examples? |specs? )?(?:failed|failing|failures?|errors?)\b"
    r"|.{0,80}\b(?:[Ff]ailures?|[Ee]rrors?|FAIL(?:ED|URES)?|failed) ?[=:] {0,8}[1-9]|See \S+\.log$"
)
_WEAK_WORTH = 0.35
_TAIL_WORTH = 0.02
_TAIL_LINES = 200
_LEAST_CHOICE = 1_000  # lines to choose from, however small the budget
_CHOICE_FACTOR = 4  # many a line is put back or does not fit
_MAX_MISSES = 1_000  # lines that do not fit before the search ends
_SLACK_TOKENS = _GAP_TOKENS = 2  # the mark and its line end
_LIKELY = 0.5  # with this much of the best one's score a failure is one, and no mere noise
_LIKELY_COMMAND = 0.25  # what ran is a fact about it, however little its line says
_BESIDE_SHARE = 0.3  # of the excerpt's tokens: what belongs to no likely failure
_BESIDE_LEAST = 0.04  # of the budget: room for it where the failure takes a line

Count = Callable[[str], int]


class Excerpt(msgspec.Struct, frozen=True):
    """Lines chosen from a log, in its order."""

    numbers: tuple[int, ...]  # 1-based, in the original
    texts: tuple[str, ...]  # over-long ones are cut and end with the mark of a gap

    def text(self) -> str:
        """Return the lines with a mark where others are missing."""
        shown: list[str] = []
        before = 0
        for number, text in zip(self.numbers, self.texts, strict=True):
            if number != before + 1:
                shown.append(GAP)
            shown.append(text)
            before = number
        return "\n".join(shown)


def excerpt(
    log: Log, budget_tokens: int, count: Count, analysis: Analysis | None = None
) -> Excerpt:
    """Choose the lines of *log* that tell most; their text fits *budget_tokens* by *count*.

    A failure's name comes before its message, that before its frames and context, and all names
    before the details of any but the first few. Where a failure is known, what belongs to none gets
    three tenths of the tokens, even if room is left. *analysis* saves a second look at the log.
    """
    most = max(_LEAST_CHOICE, budget_tokens)
    analysis = analysis or analyse(log)
    worth = _worth(log, analysis, most)
    return _fit(log, worth, _likely(analysis, most), budget_tokens, count, most)


def condense(log: Log, budget_tokens: int, count: Count) -> str:
    """Return the text of the excerpt of *log*, with ``…`` where lines are missing."""
    return excerpt(log, budget_tokens, count).text()


def _worth(log: Log, analysis: Analysis, most: int) -> dict[int, float]:
    """Return what showing each position is worth; a position that is not there is worth nothing.

    Of each sort the *most* telling are looked at: a line is a token at least.
    """
    worth: dict[int, float] = {}
    for rank, failure in enumerate(analysis.failures[:most]):
        nth = dict.fromkeys(_ROLE_WORTH, 0)
        roles = roles_of(failure)
        whole = _told_whole(roles) if rank < _LEADERS else set()
        for i, role in roles.items():
            share = _ROLE_WORTH[role] * _FADE ** nth[role]
            if i in whole:
                first = rank == 0 and failure.hit.rule.kind == "failing_test"
                share = max(share, _FIRST_SHARE if first else _LEADER_SHARE)
            nth[role] += 1
            worth[i] = max(worth.get(i, 0.0), failure.score * share)
    if analysis.failures:
        best = analysis.failures[0].score
        worth.update({i: best * _TOTAL_SHARE for i in _totals(analysis) if i not in worth})
        for i in _first_command(analysis):
            worth[i] = best * _TOTAL_SHARE
    weak = analysis.weak
    for i in nlargest(most * _CHOICE_FACTOR, weak, key=lambda i: (weak[i], i)):
        loud = weak[i]
        value = loud / STRENGTH_MAX * (0.3 + 0.7 * analysis.counts.rarity(log.texts[i]))
        value *= _WEAK_WORTH * place_factor(i, analysis.steps)
        worth[i] = max(worth.get(i, 0.0), value)
    last = analysis.steps[-1].last if analysis.steps else len(log.texts) - 1
    for back, i in enumerate(range(last, max(-1, last - _TAIL_LINES), -1)):
        worth[i] = max(worth.get(i, 0.0), _TAIL_WORTH * _FADE**back)
    return worth


def _told_whole(roles: dict[int, Role]) -> set[int]:
    """Return the reasons, and the first frame and the last: one of them is the nearest."""
    messages = [i for i, role in roles.items() if role == "message"]
    frames = [i for i, role in roles.items() if role == "frame"]
    return {*messages[:_MESSAGES_OF_LEADERS], *frames[:1], *frames[-1:]}


def _likely(analysis: Analysis, most: int) -> set[int]:
    """Return the positions of what failed, without what only sounds like it."""
    if not analysis.failures:
        return set()
    least = analysis.failures[0].score * _LIKELY
    command = analysis.failures[0].score * _LIKELY_COMMAND
    likely = (
        failure
        for failure in analysis.failures[:most]
        if failure.score >= (command if failure.hit.rule.kind == "failing_command" else least)
    )
    return {i for failure in likely for i in roles_of(failure)}.union(_totals(analysis))


def _totals(analysis: Analysis) -> list[int]:
    """Return the positions of the last lines that say how many failed, or where more is told."""
    texts = analysis.texts
    end = range(len(texts) - 1, max(-1, len(texts) - 1 - _TAIL_LINES), -1)
    return [i for i in end if _TOTAL.match(texts[i][:_MAX_CHARS])][:_MAX_TOTALS]


def _first_command(analysis: Analysis) -> list[int]:
    """Return where the log says which command failed, not only that one did."""
    for failure in analysis.failures:
        rule = failure.hit.rule
        if rule.kind == "failing_command" and rule.weight >= _SAYS_WHICH:
            return [failure.hit.index]
    return []


def _fit(
    log: Log, worth: dict[int, float], likely: set[int], budget: int, count: Count, most: int
) -> Excerpt:
    left = budget - _SLACK_TOKENS
    chosen: dict[int, str] = {}
    misses = 0
    beside: list[tuple[int, int]] = []  # what belongs to no likely failure, with its cost
    room = round(_BESIDE_SHARE * budget) if likely else budget
    for i, text in _in_order(log.texts, worth, most * _CHOICE_FACTOR):
        alone = i - 1 not in chosen and i + 1 not in chosen
        cost = count(text + "\n") + (_GAP_TOKENS if alone else 0)
        outside = bool(likely) and i not in likely
        if cost <= left and not (outside and cost > room):
            chosen[i] = text
            left -= cost
            if outside:
                beside.append((i, cost))
                room -= cost
        else:
            misses += 1
        if left < 4 or misses > _MAX_MISSES:
            break
    _drop_beside(chosen, beside, budget - _SLACK_TOKENS - left, round(_BESIDE_LEAST * budget))
    order = list(chosen)  # the least telling last
    while True:
        places = sorted(chosen)
        view = Excerpt(tuple(log.numbers[i] for i in places), tuple(chosen[i] for i in places))
        if not order or count(view.text()) <= budget:
            return view
        del chosen[order.pop()]


def _drop_beside(
    chosen: dict[int, str], beside: list[tuple[int, int]], spent: int, least: int
) -> None:
    """Take the least telling of *beside* back until the rest is its share of what is *spent*."""
    held = sum(cost for _, cost in beside)
    while beside and held > max(least, _BESIDE_SHARE * spent):
        i, cost = beside.pop()
        del chosen[i]
        held -= cost
        spent -= cost


def _in_order(texts: Sequence[str], worth: dict[int, float], most: int) -> list[tuple[int, str]]:
    """Best first and no more than *most*; exact repeats dropped, repeats of a shape put back."""
    shown: set[str] = set()
    shapes: dict[str, int] = {}
    ranked: list[tuple[float, int, str]] = []
    for i in sorted(worth, key=lambda i: (-worth[i], i)):
        text = _capped(texts[i], worth[i])
        if not text.strip() or text.strip() in shown:
            continue
        shown.add(text.strip())
        shape = template(text.strip())
        shapes[shape] = shapes.get(shape, -1) + 1
        # A failing test is news even if its name differs from another's by a number alone.
        factor = _REPEAT_FACTOR ** shapes[shape] if worth[i] < 0.6 else 1.0
        ranked.append((-worth[i] * factor, i, text))
        if len(ranked) >= most:
            break
    ranked.sort()
    return [(i, text) for _, i, text in ranked]


def _capped(text: str, worth: float) -> str:
    limit = _MAX_TITLE_CHARS if worth >= 0.6 else _MAX_CHARS
    return text if len(text) <= limit else text[: limit - 1] + GAP
