"""A patch: a model's edits, checked with their paths against the files first, then written."""

import difflib
import stat
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated

import msgspec
from msgspec import Meta

from cortex.runtime.secrets import refuse_masked

from .errors import PatchRefusedError

LINES_SEARCHED = 5_000  # for the line that was probably meant
COMPARED_CHARS = 200  # of each; what is longer would take long to compare
SHOWN_CHARS = 120  # of that line
NEAR = 0.5  # how like it has to be, of 1
LARGEST_BYTES = 4 << 20  # of a file that is edited
Forbidden = Callable[[Sequence[str]], Mapping[str, str]]  # by path: why git does not take it
LONGEST = 1_000  # characters
# Letters that some file systems leave out of a name, so that `.g\u200cit` would be `.git` there.
_UNSEEN = dict.fromkeys(
    [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
_OF_GIT = frozenset((".git", "git~1"))


class Edit(msgspec.Struct, frozen=True):
    """One replacement in one file."""

    path: Annotated[str, Meta(description="the file, relative, with /")]
    old: Annotated[
        str,
        Meta(
            description="the text to replace, exactly as it stands in the file, indentation "
            "included and line numbers left out; it has to occur exactly once, so take whole "
            "lines and enough of them. Empty to create a new file"
        ),
    ]
    new: Annotated[str, Meta(description="what stands there afterwards")]


class WriteCodeAnswer(msgspec.Struct, frozen=True):
    """The change that the model wants to make."""

    summary: Annotated[str, Meta(description="one line: what is changed and why")]
    edits: Annotated[list[Edit], Meta(description="at least one; applied in this order")]


class EditError(ValueError):
    """The edit does not fit the text; the message says why, in one line."""


def apply_edit(text: str | None, old: str, new: str) -> str:
    r"""*text* after the edit; None for a missing file.

    The line ends of a text that has `\r\n` throughout stay what they are.

    Raises:
        EditError: *old* does not occur exactly once.
    """
    if not old:
        if text:
            raise EditError("the file exists: give the text to replace as `old`")
        return new
    if text is None:
        raise EditError("there is no such file; to create it leave `old` empty")
    if _is_dos(text):
        unix = apply_edit(_unix(text), _unix(old), _unix(new))
        return unix.replace("\n", "\r\n")
    first = text.find(old)
    if first < 0:
        raise EditError(f"`old` is not in it; {nearest_line(text, old)}")
    second = text.find(old, first + 1)
    if second >= 0:
        at = [text.count("\n", 0, place) + 1 for place in (first, second)]
        raise EditError(
            f"`old` occurs more than once, as in lines {at[0]} and {at[1]}: take more lines with it"
        )
    return text[:first] + new + text[first + len(old) :]


def nearest_line(text: str, old: str) -> str:
    """The line of *text* at which *old* was most probably meant to be, and is not."""
    lines = text.split("\n", LINES_SEARCHED)[:LINES_SEARCHED]
    wanted = old.strip("\n").split("\n")
    starts = [n for n, line in enumerate(lines) if line == wanted[0] and line.strip()]
    if starts:
        at = max(n + _agreeing(lines[n:], wanted) for n in starts)
        if at < len(lines):
            return f"it differs from line {at + 1} on: {_shown(lines[at])}"
    sample = wanted[0].strip()[:COMPARED_CHARS]
    stripped = [line.strip()[:COMPARED_CHARS] for line in lines]
    like = difflib.get_close_matches(sample, dict.fromkeys(stripped), n=1, cutoff=NEAR)
    if not sample or not like:
        return "no line of it is like the first of `old`"
    at = stripped.index(like[0])
    return f"the nearest line is {at + 1}: {_shown(lines[at])}"


def _agreeing(lines: list[str], wanted: list[str]) -> int:
    """How many lines from the first on are equal."""
    pairs = zip(lines, wanted, strict=False)
    return next((n for n, (line, want) in enumerate(pairs) if line != want), len(wanted))


def _shown(line: str) -> str:
    return repr(line if len(line) <= SHOWN_CHARS else f"{line[:SHOWN_CHARS]}…")


def _is_dos(text: str) -> bool:
    return "\r\n" in text and text.count("\r\n") == text.count("\n")


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


def planned(
    root: Path, prefix: str, edits: Sequence[Edit], forbidden: Forbidden
) -> dict[str, bytes]:
    """What *edits* make of the files below *root*, by path; nothing is written.

    Args:
        root: The worktree.
        prefix: Folder in it that the edits' paths start from, "" or with a / at its end.
        edits: In the order in which they are applied.
        forbidden: Is asked once, with all paths and the folders above them.

    Raises:
        PatchRefusedError: An edit may not be made, or does not fit its file.
        MaskedTextError: An edit touches what was masked when its writer saw the file.
    """
    paths = [_path_of(number, edit, prefix) for number, edit in enumerate(edits, 1)]
    refused = forbidden(sorted({part for path in paths for part in parents_of(path)}))
    texts: dict[str, str | None] = {}
    for number, (path, edit) in enumerate(zip(paths, edits, strict=True), 1):
        try:
            for part in parents_of(path):
                if part in refused:
                    raise EditError(refused[part])
            refuse_masked(f"edit {number} ({edit.path})", f"{edit.old}\n{edit.new}")
            if path not in texts:
                texts[path] = _read(root, path, texts)
            texts[path] = apply_edit(texts[path], edit.old, edit.new)
            _encoded(texts[path] or "")
        except EditError as error:
            raise PatchRefusedError(number, edit.path, str(error)) from None
    return {path: _encoded(text or "") for path, text in texts.items()}


def write(root: Path, files: Mapping[str, bytes]) -> None:
    """Write what was planned; *root* is a worktree without other users."""
    for path, data in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def _path_of(number: int, edit: Edit, prefix: str) -> str:
    try:
        return prefix + checked_path(edit.path)
    except PathRefusedError as error:
        raise PatchRefusedError(number, edit.path[:200], str(error)) from None


def _read(root: Path, path: str, planned_paths: Iterable[str]) -> str | None:
    """The text of a file, None if there is none; a link is never followed."""
    *folders, last = parents_of(path)
    for folder in folders:
        if folder in planned_paths:
            raise EditError(f"{folder} is a file")
        mode = _mode(root / folder)
        if mode and not stat.S_ISDIR(mode):
            raise EditError(f"{folder} is {_called(mode)}, no folder")
    if any(other.startswith(f"{last}/") for other in planned_paths):
        raise EditError("that is a folder: name a file")
    mode = _mode(root / last)
    if mode and not stat.S_ISREG(mode):
        raise EditError(f"that is {_called(mode)}: name a file")
    return _text(root / last) if mode else None


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except (OSError, ValueError) as error:
        raise EditError(f"it cannot be looked at: {error}") from None


def _called(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    return "a folder" if stat.S_ISDIR(mode) else "a file" if stat.S_ISREG(mode) else "a device"


def _text(path: Path) -> str:
    data = path.read_bytes()
    if len(data) > LARGEST_BYTES:
        raise EditError(f"the file is larger than {LARGEST_BYTES >> 20} MiB")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise EditError("the file is not UTF-8 text")
    return text


def _encoded(text: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise EditError("`new` is not text: it contains half a character") from None
    if b"\0" in data:
        raise EditError("`new` is not text: it contains a zero byte")
    if len(data) > LARGEST_BYTES:
        raise EditError(f"the file would be larger than {LARGEST_BYTES >> 20} MiB")
    return data


class PathRefusedError(ValueError):
    """An edit may not touch this file; the message says why, in one line."""


def checked_path(path: str) -> str:
    """*path* in its plain form.

    Raises:
        PathRefusedError: It is absolute, leads out or into git's own folder, or is no name.
    """
    if not path.strip() or len(path) > LONGEST:
        raise PathRefusedError(f"a path has 1 to {LONGEST:,} characters")
    if "\\" in path or any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in path):
        raise PathRefusedError("a path is written with / and without control characters")
    named = PurePosixPath(path)
    if named.is_absolute() or path[1:2] == ":":
        raise PathRefusedError("the path is absolute: give it relative to the sources")
    if ".." in named.parts:
        raise PathRefusedError("the path leads out of the sources: leave out `..`")
    if not named.parts or path.endswith("/"):
        raise PathRefusedError("that is a folder: name a file")
    for part in named.parts:
        if part.translate(_UNSEEN).casefold().rstrip(". ") in _OF_GIT:
            raise PathRefusedError(
                "the path leads into git's own folder, which Cortex does not edit"
            )
    return str(named)


def parents_of(path: str) -> list[str]:
    """Every folder above *path*, the outermost first, and *path* itself."""
    parts = PurePosixPath(path).parts
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]
