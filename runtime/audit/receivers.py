"""Hands signed heads to those that `[audit] heads` names: a file, a git repository, a command."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from cortex.bus import CortexError
from cortex.runtime.code.programs import run_git, run_program
from cortex.runtime.kernel import HeadReceiver, Home

from .auditing import write_whole
from .notes import AuditError, SignedHead

TIMEOUT_S: Final = 60.0
TAIL: Final = 3  # lines of what a program said
AUTHOR: Final = ("-c", "user.name=Cortex", "-c", "user.email=cortex@localhost")


class Handed(msgspec.Struct):
    """Whether somebody was handed a head."""

    to: str
    problem: str = ""  # why not


def hand_over(
    home: Home, receivers: Sequence[HeadReceiver], signed: SignedHead, path: Path
) -> list[Handed]:
    """Hand *signed*, which is in the file *path* of *home*, to all *receivers*."""
    answers: list[Handed] = []
    for receiver in receivers:
        name = receiver.file or receiver.git or receiver.command[0]
        try:
            _hand(home, receiver, signed, path)
            answers.append(Handed(name))
        except (CortexError, OSError, subprocess.SubprocessError) as error:
            answers.append(Handed(name, str(error)))
    return answers


def _hand(home: Home, receiver: HeadReceiver, signed: SignedHead, path: Path) -> None:
    if receiver.command:
        _run(home, receiver.command, path)
    elif receiver.git:
        _commit(home.path / Path(receiver.git).expanduser(), signed)
    else:
        target = home.path / Path(receiver.file).expanduser()
        into = target / _name(signed, path.stem) if target.is_dir() else target
        if not into.parent.is_dir():
            raise AuditError(f"there is no folder {into.parent}: make it, or change [audit] heads")
        write_whole(into, signed.text())


def _run(home: Home, command: tuple[str, ...], path: Path) -> None:
    done = run_program([*command, str(path)], str(home.workspace), TIMEOUT_S)
    if done.exit_code:
        raise AuditError(f"it ended with {done.exit_code}: {done.tail(TAIL)}")


def _commit(tree: Path, signed: SignedHead) -> None:
    """Commit the head; the history of its one file is that of the log's heads."""
    if not (tree / ".git").exists():
        raise AuditError("there is no work tree of git: git init, or change [audit] heads")
    name, head = _name(signed, "head"), signed.tree_head
    write_whole(tree / name, signed.text())
    _git(tree, "add", "--", name)
    if _git(tree, "status", "--porcelain", "--", name):
        _git(tree, "commit", "--quiet", "-m", f"{head.origin} {head.size}", "--", name)


def _git(tree: Path, *words: str) -> bytes:
    done = run_git(str(tree), *words, timeout_s=TIMEOUT_S, options=AUTHOR)
    if done.returncode:
        raise AuditError(f"git {words[0]}: {done.stderr.decode(errors='replace').strip()[-300:]}")
    return done.stdout


def _name(signed: SignedHead, stem: str) -> str:
    """A file name for a head of this log; its origin has no character that a path would need."""
    return f"{signed.tree_head.origin.split('/')[1][:64]}-{stem}.note"
