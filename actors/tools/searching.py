"""The search itself, as a program of its own: a pattern may take for ever, a program is ended.

It stands alone, so that it starts at once: `python -I -S searching.py ORDER`, where ORDER is a file
of JSON. It prints what it found as JSON.
"""

import json
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from typing import Any

LARGEST_BYTES = 4 << 20  # of a file; what is longer is generated, or not text
BINARY_BYTES = 8_000  # that are looked at for a zero byte
LINE_CHARS = 2_000  # of a line that are searched
SHOWN_CHARS = 300


def main(order_path: str) -> None:
    """Search, and say what was found."""
    with open(order_path, encoding="utf-8") as file:  # noqa: PTH123  # as below
        order = json.load(file)
    json.dump(search(order), sys.stdout)


def search(order: dict[str, Any]) -> dict[str, Any]:
    """The lines that match, with their places, in the order of the files."""
    pattern = re.escape(order["pattern"]) if order["literal"] else order["pattern"]
    try:
        wanted = re.compile(pattern, re.IGNORECASE if order["ignore_case"] else 0)
    except (re.error, OverflowError, RecursionError) as error:
        return {"problem": f"the pattern is not a regular expression: {error}"}
    found: list[tuple[str, int, str]] = []
    left_out = 0
    for path in order["files"]:
        lines = lines_of(order["root"], path, order["hidden"])
        if lines is None:
            left_out += 1
            continue
        for number, line in enumerate(lines, 1):
            match = wanted.search(line, 0, LINE_CHARS)
            if match:
                if len(found) >= order["most"]:
                    return {"found": found, "left_out": left_out, "more": True}
                found.append((path, number, excerpt(line, match.start())))
    return {"found": found, "left_out": left_out, "more": False}


def lines_of(root: str, path: str, hidden: Sequence[str]) -> Iterator[str] | None:
    """The lines of a text file; None for one that is binary, too large, gone, outside or hidden."""
    try:
        real = os.path.realpath(os.path.join(root, path))  # noqa: PTH118  # no pathlib: it starts slowly
        if os.path.commonpath((real, root)) != root or _is_hidden(root, real, hidden):
            return None
        with open(os.open(real, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_BYTES:
                return None
            data = file.read()
    except (OSError, ValueError):
        return None
    if b"\0" in data[:BINARY_BYTES]:
        return None
    return (line.rstrip("\r") for line in data.decode("utf-8", "replace").split("\n"))


def _is_hidden(root: str, real: str, hidden: Sequence[str]) -> bool:
    """Whether links led to what is git's own, or in one of the folders that nobody reads."""
    # Some file systems leave letters out of a name that are none, or take large ones for small.
    parts = real[len(root) :].encode("ascii", "ignore").lower().split(b"/")
    return any(part.rstrip(b". ") in (b".git", b"git~1") for part in parts) or any(
        os.path.commonpath((real, folder)) == folder for folder in hidden
    )


def excerpt(line: str, start: int) -> str:
    """The part of a line that holds the match."""
    text = line.strip()
    if len(text) <= SHOWN_CHARS:
        return text
    begin = max(0, min(start, len(line)) - SHOWN_CHARS // 3)
    return f"…{line[begin : begin + SHOWN_CHARS]}…"


if __name__ == "__main__":
    main(sys.argv[1])
