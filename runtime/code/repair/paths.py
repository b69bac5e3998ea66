"""Paths that a model names: relative, inside, and nothing that git keeps for itself; pure."""

import unicodedata
from pathlib import PurePosixPath

LONGEST = 1_000  # characters
# Letters that some file systems leave out of a name, so that `.g\u200cit` would be `.git` there.
_UNSEEN = dict.fromkeys(
    [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
_OF_GIT = frozenset((".git", "git~1"))


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
