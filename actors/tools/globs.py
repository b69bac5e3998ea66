"""Patterns for paths, as models write them: `*.py`, `src/**/*.{ts,tsx}`; pure."""

import re

_MARK = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]/]+\]|[{},]|.", re.DOTALL)
LONGEST = 500  # characters


def glob_of(pattern: str) -> re.Pattern[str]:
    """What matches the paths that *pattern* means; one without `/` means names in any folder.

    Raises:
        ValueError: It is too long, or its braces or brackets do not fit.
    """
    if len(pattern) > LONGEST:
        raise ValueError(f"a glob has at most {LONGEST} characters")
    pattern = pattern.removeprefix("./")
    anywhere = "" if "/" in pattern else "(?:.*/)?"
    depth = 0
    parts: list[str] = []
    for mark in _MARK.findall(pattern.lstrip("/")):
        depth += (mark == "{") - (mark == "}")
        parts.append(_part(mark, inside=depth > 0))
    try:
        return re.compile(anywhere + "".join(parts), re.DOTALL)
    except re.error:
        raise ValueError(f"{pattern!r} is not a glob: its brackets do not fit") from None


def _part(mark: str, *, inside: bool) -> str:
    simple = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")"}
    if mark in simple:
        return simple[mark]
    if mark == ",":
        return "|" if inside else ","
    if mark.startswith("[") and len(mark) > 2:
        body = mark[1:-1].replace("\\", r"\\").replace("[", r"\[")
        return f"[^{body[1:]}]" if body[0] == "!" else "[" + body.replace("^", r"\^") + "]"
    return re.escape(mark)
