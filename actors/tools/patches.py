"""A unified diff, checked and applied to a worktree."""

import os
import re
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cortex.runtime.code.repair import GitFailedError, PathRefusedError, Worktree, checked_path
from cortex.runtime.secrets import refuse_masked

from .errors import ToolError

LARGEST_CHARS = 2_000_000
_FENCE = re.compile(r"\A\s*```[a-z]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_HEADER = re.compile(r"^(?:diff --git |--- )", re.MULTILINE)
# A hunk; or a change without one: a rename, or an empty file that is added or removed.
_CHANGE = re.compile(r"^(?:@@|rename to |new file mode |deleted file mode )", re.MULTILINE)
# git does not check the source of a copy, which could be any file of the machine.
_COPY = re.compile(r"^copy (?:from|to) ", re.MULTILINE)
# Everything that git reads as a mode: it ignores leading spaces and signs.
_MODE = re.compile(
    r"^(?:(?:new file|new|deleted file|old) mode|index .*?\.\.[^ \n]*) ([^\n]*\d[^\n]*)",
    re.MULTILINE,
)
_BINARY = re.compile(r"^(?:GIT binary patch|Binary files )", re.MULTILINE)
_FILES = frozenset(("100644", "100755"))
# Counts in the heads of hunks are the part that models get wrong most.
_LENIENT = ("--recount", "--whitespace=nowarn")


def apply_patch(tree: Worktree, prefix: str, patch: str) -> list[str]:
    """Apply *patch*, whole or not at all; returns the changed paths, relative to *prefix*.

    Args:
        tree: The worktree.
        prefix: Folder of the worktree that paths start from, "" or ending with a /.
        patch: The patch from a model.

    Raises:
        ToolError: It is not a patch, does not apply, or changes forbidden files.
        MaskedTextError: It changes lines that were masked when the model saw the file.
    """
    text = _plain(patch)
    refuse_masked("the patch", text)
    with tempfile.NamedTemporaryFile(prefix="cortex-", suffix=".diff") as file:
        file.write(text.encode(errors="replace"))
        file.flush()
        words = _words(prefix, text, file.name)
        # In reverse, to get the names before renames.
        paths = sorted({*_paths(tree, words), *_paths(tree, ("--reverse", *words))})
        _refuse(tree, paths)
        checked = tree.git.asked("apply", "--check", *words)
        if checked.returncode:
            raise ToolError(f"the patch does not apply: {_said(tree, checked.stderr, file.name)}")
        tree.git.run("apply", *words)
    _stage(tree, paths)
    return [os.path.relpath(path, prefix or ".") for path in paths]


def is_applied(tree: Worktree, prefix: str, patch: str) -> bool:
    """Whether *patch* is already applied to the worktree."""
    text = _plain(patch)
    with tempfile.NamedTemporaryFile(prefix="cortex-", suffix=".diff") as file:
        file.write(text.encode(errors="replace"))
        file.flush()
        words = _words(prefix, text, file.name)
        return not tree.git.asked("apply", "--check", "--reverse", *words).returncode


def _plain(patch: str) -> str:
    if len(patch) > LARGEST_CHARS:
        raise ToolError(f"a patch has at most {LARGEST_CHARS:,} characters", "wrong_arguments")
    fenced = _FENCE.match(patch)
    text = fenced[1] if fenced else patch
    if "\0" in text or not _HEADER.search(text) or not _CHANGE.search(text):
        problem = "that is not a unified diff: it needs `--- a/PATH`, `+++ b/PATH` and `@@` lines"
        raise ToolError(problem, "wrong_arguments")
    if _BINARY.search(text):
        raise ToolError("a patch changes text files only", "wrong_arguments")
    if _COPY.search(text):
        raise ToolError("a patch copies no files: write the new one as a new file", "denied")
    if {mode.strip() for mode in _MODE.findall(text)} - _FILES:
        raise ToolError("a patch makes plain files only, no links and no submodules", "denied")
    return text if text.endswith("\n") else f"{text}\n"


def _words(prefix: str, text: str, name: str) -> tuple[str, ...]:
    # Without `a/` and `b/` in front, as `git diff --no-prefix` and many a model write it.
    bare = not re.search(r"^(?:--- a/|\+\+\+ b/|diff --git a/)", text, re.MULTILINE)
    strip = "-p0" if bare else "-p1"
    folder = (f"--directory={prefix.rstrip('/')}",) if prefix else ()
    return (*_LENIENT, strip, *folder, "--", name)


def _paths(tree: Worktree, words: Sequence[str]) -> list[str]:
    named = tree.git.asked("apply", "--numstat", "-z", *words)
    if named.returncode:
        raise ToolError(f"the patch cannot be read: {_said(tree, named.stderr, words[-1])}")
    entries = os.fsdecode(named.stdout).split("\0")
    return [path for entry in entries if (path := entry.rpartition("\t")[2])]


def _refuse(tree: Worktree, paths: Sequence[str]) -> None:
    for path in paths:
        try:
            checked_path(path)
        except PathRefusedError as error:
            raise ToolError(f"{path[:200]!r}: {error}", "denied") from None
    for path, why in tree.forbidden(_with_parents(paths)).items():
        raise ToolError(f"{path!r} is not patched: {why}", "denied")
    for path in paths:
        *folders, _ = _with_parents([path])
        if any((tree.folder / folder).is_symlink() for folder in folders):
            raise ToolError(f"{path!r} is not patched: it lies beyond a symbolic link", "denied")
        if not _is_plain(tree.folder / path):
            raise ToolError(f"{path!r} is not patched: a patch changes plain files only", "denied")


def _is_plain(path: Path) -> bool:
    """Whether there is a plain file, or nothing yet; whatever else git says about it later."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return True


def _with_parents(paths: Sequence[str]) -> list[str]:
    found: set[str] = set()
    for path in paths:
        parts = path.split("/")
        found.update("/".join(parts[:n]) for n in range(1, len(parts) + 1))
    return sorted(found)


def _stage(tree: Worktree, paths: Sequence[str]) -> None:
    """Say that what changed belongs to the next commit; a file that is gone is no error."""
    known = os.fsdecode(tree.git.asked("ls-files", "-z").stdout).split("\0")
    there = [p for p in paths if p in known or os.path.lexists(tree.folder / p)]
    if there:
        try:
            tree.stage(there)
        except GitFailedError as error:
            raise ToolError(f"the patch was applied and cannot be staged: {error}") from None


def _said(tree: Worktree, stderr: bytes, name: str) -> str:
    """What git says, all lines of it, without names of this machine."""
    text = stderr.decode(errors="replace").replace(name, "the patch")
    text = text.replace(f"{tree.folder}/", "").replace("error: ", "")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join(dict.fromkeys(lines))[:600] or "git does not say why"
