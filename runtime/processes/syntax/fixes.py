"""Applies fixes as text edits, one at a time, and keeps each only if it breaks nothing."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from ..diagnostics.diagnostics import Diagnostic, TextEdit, apply_edits
from .nodes import MappingNode, SequenceNode, column_of, end_of, point, span_of

MAX_TRIES = 200  # of fixes in all, each of which may allow the next
VALUES = "1"  # the stage of keys and values; the one before is about the file as such
Finding = tuple[str, str, str]  # file, code and message: what stays the same where lines move


def apply_fixes(
    texts: Mapping[str, str], check: Callable[[dict[str, str]], list[Diagnostic]]
) -> tuple[dict[str, str], list[Diagnostic]]:
    """Return *texts* with the fixes that *check* offers, and the diagnostics of the result.

    Every fix was made for the text before, so each is applied alone and checked. It is kept if its
    finding is gone and nothing broke: new findings of later stages, or further down in the file,
    are allowed, since the old one hid them. A fix that is not kept is not offered again.
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
        if _is_better(offered, offered.fix, now[offered.file], found, after):
            now, found = fixed, after
            refused.clear()  # the obstacle of one may be gone
        else:
            refused.add(_of(offered))
    return now, [replace(each, fix=None) if _of(each) in refused else each for each in found]


def with_kept_fixes(
    texts: Mapping[str, str], check: Callable[[dict[str, str]], list[Diagnostic]]
) -> list[Diagnostic]:
    """The diagnostics of *texts*, with fixes only for findings that `apply_fixes` would repair."""
    found = check(dict(texts))
    if not any(each.fix for each in found):
        return found
    left = set(map(_of, apply_fixes(texts, check)[1]))
    return [replace(each, fix=None) if _of(each) in left else each for each in found]


def _is_better(
    offered: Diagnostic,
    edits: Sequence[TextEdit],
    text: str,
    before: Iterable[Diagnostic],
    after: Iterable[Diagnostic],
) -> bool:
    was, left = Counter(map(_of, before)), Counter(map(_of, after))
    if left[_of(offered)] >= was[_of(offered)]:
        return False
    end = _end_of(edits, text)
    return not any(
        _breaks(each, offered, end)
        for each in after
        if each.file == offered.file and left[_of(each)] > was[_of(each)]
    )


def _breaks(new: Diagnostic, offered: Diagnostic, end: tuple[int, int]) -> bool:
    """Whether *new* shows that the fix of *offered*, which ends at *end*, failed."""
    stage, mended = _stage(new), _stage(offered)
    if stage > mended:
        return False
    if stage < min(mended, VALUES) or (new.span.line, new.span.column) < end:
        return True  # the file can no longer be read, or the text before the fix is wrong now
    # The rest of its line is its subject: a further slip is fine, a misfit is not.
    return stage == mended and new.span.line == end[0] and new.fix is None


def _end_of(edits: Sequence[TextEdit], text: str) -> tuple[int, int]:
    """Line and column behind the last of *edits* once they are made in *text*."""
    last = max(edit.span for edit in edits)
    lines = text.splitlines(keepends=True)[: last.end_line]
    if len(lines) == last.end_line:
        lines[-1] = lines[-1][: last.end_column - 1]
    head = apply_edits("".join(lines), edits)
    return head.count("\n") + 1, len(head) - head.rfind("\n")


def _of(found: Diagnostic) -> Finding:
    return found.file, found.code, found.message


def _stage(found: Diagnostic) -> str:
    """The stage of the compiler that found it, in the order of the stages."""
    return found.code[1]


def add_items(
    node: MappingNode, key: str, items: Sequence[str], *, before: str = "steps"
) -> tuple[TextEdit, ...] | None:
    """Return the edits that add *items* to the list under *key* of the map *node*.

    Each item is the text after the dash; further lines of it are indented below. A missing list is
    put in front of the key *before*, or at the end. None if the source is in flow style.
    """
    present = node.get(key)
    if isinstance(present, SequenceNode) and present.items:
        last = present.items[-1]
        if present.flow:
            return (TextEdit(point(end_of(last)), "".join(f", {item}" for item in items)),)
        indent = column_of(present.start)
        text = "".join(f"\n{_item(item, indent)}" for item in items)
        return (TextEdit(point(end_of(last)), text),)
    if node.flow or not node.entries or present is not None:
        return None
    indent = column_of(next(iter(node.entries.values()))[0].start)
    block = f"{key}:\n" + "\n".join(_item(item, indent + 2) for item in items)
    following = node.entries.get(before)
    if following:
        return (TextEdit(point(following[0].start), f"{block}\n\n{' ' * indent}"),)
    return (TextEdit(point(end_of(node)), f"\n\n{' ' * indent}{block}"),)


def set_version(node: MappingNode, version: int) -> tuple[TextEdit, ...]:
    """Return the edit that gives the definition *node* another version."""
    return (TextEdit(span_of(node.at("version")), str(version)),)


def _item(item: str, indent: int) -> str:
    first, *rest = item.split("\n")
    pad = " " * indent
    return "\n".join([f"{pad}- {first}", *(f"{pad}  {line}" for line in rest)])
