"""A patch: all edits checked against the files first, then written."""

import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from cortex.runtime.secrets import refuse_masked

from .edits import Edit, EditError, apply_edit
from .errors import PatchRefusedError
from .paths import PathRefusedError, checked_path, parents_of

LARGEST_BYTES = 4 << 20  # of a file that is edited

Forbidden = Callable[[Sequence[str]], Mapping[str, str]]  # by path: why git does not take it


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
