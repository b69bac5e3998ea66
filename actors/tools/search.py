"""Finding lines in the files of a place: listed here, searched by a program in bounded time."""

import re
import tempfile
from pathlib import Path

import msgspec

from cortex.runtime.code.programs import ProgramError, ProgramTimeoutError, run_program
from cortex.runtime.code.source import Checkout, CheckoutError
from cortex.runtime.isolation import interpreter

from . import searching
from .errors import ToolError
from .places import ToolFolder

LONGEST_S = 20.0
LONGEST_PATTERN = 2_000  # characters
MOST = 200  # lines found
_MARK = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]/]+\]|[{},]|.", re.DOTALL)
LONGEST = 500  # characters


class SearchOutput(msgspec.Struct, frozen=True):
    """What the program says."""

    found: list[tuple[str, int, str]] = []  # path, line, text
    left_out: int = 0  # files that are binary, or too large
    more: bool = False
    problem: str = ""


class Wanted(msgspec.Struct, frozen=True):
    """What is looked for."""

    pattern: str
    glob: str = ""
    path: str = ""
    literal: bool = False
    ignore_case: bool = False


def search(place: ToolFolder, wanted: Wanted, timeout_s: float) -> SearchOutput:
    """The lines that match, by path; files that git ignores are left out.

    Raises:
        ToolError: The pattern is none, or takes too long.
    """
    if not wanted.pattern or len(wanted.pattern) > LONGEST_PATTERN:
        problem = f"a pattern has 1 to {LONGEST_PATTERN:,} characters"
        raise ToolError(problem, "wrong_arguments")
    order = {
        **msgspec.to_builtins(wanted),
        "root": str(place.folder.resolve()),
        "files": files_of(place, wanted.path, wanted.glob),
        "most": MOST,
        "hidden": [str(path) for path in place.unread()],
    }
    found = _searched(msgspec.json.encode(order), min(timeout_s, LONGEST_S))
    if found.problem:
        raise ToolError(found.problem, "wrong_arguments")
    return found


def _searched(order: bytes, timeout_s: float) -> SearchOutput:
    with tempfile.NamedTemporaryFile(prefix="cortex-", suffix=".json") as file:
        file.write(order)
        file.flush()
        argv = interpreter("-S", searching.__file__, file.name)
        try:
            outcome = run_program(argv, "/", timeout_s)
        except ProgramTimeoutError:
            problem = f"the search took longer than {timeout_s:g} s: take a simpler pattern"
            raise ToolError(f"{problem}, or name a path", "timeout") from None
        except ProgramError as error:
            raise ToolError(f"the search {error.problem}") from None
    if outcome.exit_code:
        raise ToolError(f"the search ended with {outcome.exit_code}: {outcome.tail(1)}")
    return msgspec.json.decode(outcome.stdout, type=SearchOutput)


def files_of(place: ToolFolder, path: str, glob: str) -> list[str]:
    """The files below *path* that *glob* means, relative to the place's folder, sorted.

    Raises:
        ToolError: There is no such path, the glob is none, or git cannot list the files.
    """
    try:
        means = glob_of(glob) if glob else None
    except ValueError as error:
        raise ToolError(str(error), "wrong_arguments") from None
    below = place.file(path or ".")
    if not below.is_relative_to(place.folder):
        raise ToolError(f"{path[:200]!r}: it is a link that leads out", "wrong_arguments")
    try:
        files = Checkout(place.folder).files
    except CheckoutError as error:
        raise ToolError(place.plain(str(error))) from None
    start = below.relative_to(place.folder).as_posix() if below != place.folder else ""
    chosen = [f for f in files if not start or f == start or f.startswith(f"{start}/")]
    if not chosen and below.is_file():
        chosen = [start]  # git ignores it, and it was asked for by name
    return [
        file
        for file in chosen
        if (means is None or means.fullmatch(file)) and not place.hides(Path(place.folder, file))
    ]


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
