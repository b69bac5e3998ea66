"""Fixes one at a time: each is kept only where it mends more than it breaks."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from .diagnostics import Diagnostic, TextEdit, apply_edits

MAX_TRIES = 200  # of fixes in all, each of which may allow the next

Finding = tuple[str, str, str]  # file, code and message: what stays the same where lines move


def apply_fixes(
    texts: Mapping[str, str], check: Callable[[dict[str, str]], list[Diagnostic]]
) -> tuple[dict[str, str], list[Diagnostic]]:
    """Return *texts* with the fixes applied that *check* offers, and what it says of the result.

    Every fix was made for the text as it stood, so each is applied by itself and checked. It is
    kept if what it is for is gone and nothing broke on the way there: findings of later stages may
    come to light, since what stands in front of them hid them. One that is not kept is offered no
    more.
    """
    now = dict(texts)
    found = check(now)
    refused: set[Finding] = set()
    for _ in range(MAX_TRIES):
        offered = next((each for each in found if each.fix and _of(each) not in refused), None)
        if offered is None or offered.fix is None:
            break
        fixed = {**now, offered.file: apply_edits(now[offered.file], offered.fix)}
        after = check(fixed)
        if _is_better(offered, offered.fix, found, after):
            now, found = fixed, after
            refused.clear()  # what was in the way of one may be gone
        else:
            refused.add(_of(offered))
    return now, [replace(each, fix=None) if _of(each) in refused else each for each in found]


def _is_better(
    offered: Diagnostic,
    edits: Iterable[TextEdit],
    before: Iterable[Diagnostic],
    after: Iterable[Diagnostic],
) -> bool:
    was, left = Counter(map(_of, before)), Counter(map(_of, after))
    if left[_of(offered)] >= was[_of(offered)]:
        return False
    end = max(edit.span.end_line + edit.text.count("\n") for edit in edits)
    new = [each for each in after if left[_of(each)] > was[_of(each)]]
    return not any(
        _stage(each) < _stage(offered)
        or (_stage(each) == _stage(offered) and each.span.line <= end)
        for each in new
        if each.file == offered.file
    )


def _of(found: Diagnostic) -> Finding:
    return found.file, found.code, found.message


def _stage(found: Diagnostic) -> str:
    """The stage of the compiler that found it, in the order of the stages."""
    return found.code[1]
