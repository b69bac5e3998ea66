"""What witnesses saw of a log, for the verifier: heads that the log has to continue."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from cortex.bus.events import LogForkDeclared
from cortex.runtime.kernel import Home

from .auditing import Auditing
from .cosigning import Cosigning, SeenHead
from .notes import TreeHead


class HeadsCheck(msgspec.Struct, frozen=True):
    """What to check a log against."""

    files: tuple[str, ...]  # heads that witnesses have, and the newest one in the home
    keys: tuple[str, ...]  # the public keys of all witnesses
    declared: tuple[str, ...]  # losses that the log declares: a line for each
    problems: tuple[str, ...]  # witnesses that cannot be asked, or answer wrongly
    unanswered: str  # why nothing can be checked; "" if something can


@contextmanager
def heads_to_check(home: Home) -> Iterator[HeadsCheck]:
    """The heads that witnesses of *home* have, in files until the block is left.

    A head under an origin that the log left by a declared fork is no head of this log any more: it
    is named in `declared`, with how much of it the log still has.

    Raises:
        AuditError: The witnesses, or a head in the home, cannot be read.
    """
    known, problems, auditing = Cosigning(home), list[str](), Auditing(home)
    witnesses = known.witnesses()
    forks = {fork.before: fork for fork in auditing.forks()}
    with tempfile.TemporaryDirectory() as folder:
        files, declared = dict[TreeHead, str](), list[str]()
        for number, seen in enumerate(known.seen(problems)):
            fork = forks.get(seen.signed.tree_head.origin)
            if fork is not None:
                declared.append(_declared(seen, fork))
                continue
            path = Path(folder) / f"{number}.note"
            path.write_text(seen.signed.text(), encoding="utf-8")
            files[seen.signed.tree_head] = str(path)
        keys = tuple(key for each in witnesses for key in each.keys)
        unanswered = _unanswered(len(witnesses), len(files) + len(declared), len(problems))
        own, stored = auditing.newest(), auditing.newest_path()
        if own is not None and stored is not None:
            files.setdefault(own.tree_head, str(stored))
        yield HeadsCheck(tuple(files.values()), keys, tuple(declared), tuple(problems), unanswered)


def _declared(seen: SeenHead, fork: LogForkDeclared) -> str:
    head = seen.signed.tree_head
    return (
        f"declared fork: witness {seen.witness} saw {head.size:,} events of {head.origin}; this "
        f"log has the first {fork.common:,} of them and continues as {fork.origin}"
    )


def _unanswered(witnesses: int, heads: int, problems: int) -> str:
    if not witnesses:
        return "there is no witness: cortex audit witness add NAME"
    if not heads:
        return "no witness told a head of this log" + ("" if problems else ": cortex audit sign")
    return ""
