"""A patch: its paths and all its edits are checked against the files first, then written."""

import stat
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from cortex.runtime.secrets import refuse_masked

from .edits import Edit, EditError, apply_edit
from .errors import PatchRefusedError

LARGEST_BYTES = 4 << 20  # of a file that is edited
Forbidden = Callable[[Sequence[str]], Mapping[str, str]]  # by path: why git does not take it
LONGEST = 1_000  # characters
# Letters that some file systems leave out of a name, so that `.g\u200cit` would be `.git` there.
_UNSEEN = dict.fromkeys(
    [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
_OF_GIT = frozenset((".git", "git~1"))


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
    """Write what was planned; *root* is a worktree that nobody else works in."""
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
    """The text of a file, None where there is none; a link is never followed."""
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
    """No file that an edit may touch; the message says why, in one line."""


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
