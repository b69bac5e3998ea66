"""Logs: a line's leading timestamp is written as its difference from the one above."""

import re

_STAMP = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d)(:\d\d)([.,]\d+)?(Z|[+-]\d\d:?\d\d)? ")
_SHORT = re.compile(r"(:\d\d)?([.,]\d*)? ?")
_MARKS = (".", ",", ":", "\\")  # a line of the source that begins so gets a backslash


def fold(text: str) -> str | None:
    """*text* with shortened stamps, or None where hardly a line has one."""
    lines, above, folded = [], None, 0
    for line in text.split("\n"):
        found = _STAMP.match(line)
        if not found:
            lines.append("\\" + line if line.startswith(_MARKS) else line)
            continue
        parts = found.groups(default="")
        rest = line[found.end() :]
        if above is None or (parts[0], parts[3]) != (above[0], above[3]) or not parts[2]:
            lines.append(line)
        elif parts[1] == above[1]:
            lines.append(f"{parts[2]} {rest}")
            folded += 1
        else:
            lines.append(f"{parts[1]}{parts[2]} {rest}")
            folded += 1
        above = parts
    return "\n".join(lines) if folded > 1 else None


def unfold(text: str) -> str:
    """What `fold` was given."""
    lines: list[str] = []
    minute = second = zone = ""
    for line in text.split("\n"):
        if line[:1] == "\\":
            lines.append(line[1:])
        elif found := _STAMP.match(line):
            minute, second, _, zone = found.groups(default="")
            lines.append(line)
        elif line[:1] in (".", ",", ":") and (short := _SHORT.match(line)):
            second = short.group(1) or second
            fraction = short.group(2) or ""
            lines.append(f"{minute}{second}{fraction}{zone} {line[short.end() :]}")
        else:
            lines.append(line)
    return "\n".join(lines)
