"""The action `write_code`: a model's edits, checked and applied in a worktree of the execution."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from cortex.bus import Recorded
from cortex.bus.events import StepExecute, StepReopened
from cortex.runtime.code.repair import (
    WRITES,
    RepairError,
    Sources,
    Worktree,
    WriteCodeAnswer,
    branch_of,
    clear_leftovers,
    drop,
    find_worktree,
    folder_of,
    fresh_worktree,
    keep_before,
    locked,
    owner_of,
    planned,
    sources_at,
    uncommitted,
    write,
)
from cortex.runtime.code.source import Location
from cortex.runtime.code.triage import Finding
from cortex.runtime.context import Offer
from cortex.runtime.functions import ActionStep, StepError, action
from cortex.runtime.kernel import Component, Delivery, Home, many, on
from cortex.runtime.log import Blobs
from cortex.runtime.secrets import MaskedTextError

from .text_files import MASKED

INLINE_LINES = 400  # of the patch in the event; the whole patch is a blob
INLINE_CHARS = 16_000
SUMMARY_CHARS = 200
GIT_TIMEOUT_S = 60.0
NO_HOME = "there is no home to keep a worktree in: start the runtime with one"

History = Callable[[str], Iterator[Recorded]]


class WriteCodeParameters(msgspec.Struct, frozen=True):
    """Change code by edits that a model gives, which are checked first."""

    checkout: str = ""  # its folder, absolute or relative to the workspace; "": the workspace
    analysis: str = ""  # for the model: the cause, as an earlier step found it
    findings: list[Finding] = []  # for the model: from `read_ci_log`
    locations: list[Location] = []  # for the model: from `find_relevant_code`


class WriteCodeResult(msgspec.Struct, frozen=True):
    """What `write_code` gives."""

    branch: str  # of the worktree; the patch is not committed yet
    base: str  # the commit that the patch starts from
    paths: list[str]  # of the changed files, relative to the top of the checkout
    summary: str  # by the model
    diff: str  # only the beginning if it is long
    diff_blob: str  # digest of the blob with the whole diff
    context: list[Offer]  # the diff


class WriteCode(Component):
    """Applies the edits of a model in a git worktree; your own files do not change."""

    rests = True

    def __init__(self, home: Home | None, blobs: Blobs, history: History | None = None) -> None:
        self._home = home
        self._blobs = blobs
        self._history = history

    def on_start(self) -> None:
        """Clean up after finished executions."""
        self._clear()

    @action(
        WRITES,
        effect="idempotent",
        asks_model=True,
        needs={"reasoning": "medium", "code": "medium"},
        answer=WriteCodeAnswer,
    )
    def execute(self, asked: WriteCodeParameters, step: ActionStep) -> WriteCodeResult:
        """Check all edits, then write them; each attempt starts from the branch again."""
        event, answer = step.event, _answer_of(step.event)
        if self._home is None:
            raise StepError(NO_HOME, kind="refused", retry=False)
        try:
            folder = folder_of(self._home.path, owner_of(event))
            place = Path(event.workspace or ".", asked.checkout).absolute()
            sources = sources_at(place, event.timeout_s)
            if not folder.exists():
                self._clear()
            with locked(folder):
                tree = _tree(event, sources, folder)
                patched = _apply(tree, sources, asked.checkout, answer)
            left_out = uncommitted(sources, self._home.path)
        except MaskedTextError as error:
            raise StepError(str(error), kind=MASKED) from error
        except RepairError as error:
            raise StepError.of(error) from error
        except OSError as error:
            problem = f"the worktree cannot be written: {error.strerror or error}"
            raise StepError(problem) from error
        if not patched:
            raise StepError("the edits change nothing: the file already has `new`")
        said = " ".join(answer.summary.split())[:SUMMARY_CHARS]
        noun = "file" if len(patched) == 1 else "files"
        step.summary = f"{len(patched)} {noun} changed on {tree.branch}: {said}"
        if left_out:
            step.summary += f" (without {many(left_out, 'uncommitted path')} of the checkout)"
        return self._result(tree, said, patched)

    @on(StepReopened)
    def reopened(self, event: StepReopened, delivery: Delivery) -> None:
        """Restore the worktree of a dropped change, unless that was done already."""
        history = self._history
        if self._home is None or history is None:
            return
        with suppress(RepairError):  # else the next user of the worktree does it, or says why not
            folder = folder_of(self._home.path, event.execution_id)
            tree = find_worktree(folder, GIT_TIMEOUT_S)
            if tree is not None:
                drop(folder, event.execution_id, lambda: history(event.stream()), tree.reset)

    def _clear(self) -> None:
        if self._home is not None and self._history is not None:
            clear_leftovers(self._home.path, self._history)

    def _result(self, tree: Worktree, said: str, paths: list[str]) -> WriteCodeResult:
        diff = tree.diff()
        shown = _beginning(diff)
        return WriteCodeResult(
            branch=tree.branch,
            base=tree.head,
            paths=paths,
            summary=said,
            diff=shown,
            diff_blob=self._blobs.put(diff.encode(errors="surrogateescape")),
            context=[Offer(kind="diff", text=shown, trust="untrusted")],
        )


def _tree(event: StepExecute, sources: Sources, folder: Path) -> Worktree:
    """The worktree for this attempt, without the changes of earlier attempts.

    Uncommitted changes of other actions towards a goal stay.
    """
    branch = branch_of(owner_of(event))
    if not event.worktree:
        return fresh_worktree(sources, folder, branch)
    tree = find_worktree(folder, sources.timeout_s) or fresh_worktree(sources, folder, branch)
    keep_before(tree, event.execution_id, event.step_id)
    return tree


def _apply(tree: Worktree, sources: Sources, checkout: str, answer: WriteCodeAnswer) -> list[str]:
    edits = answer.edits
    # Paths of tools start at the workspace, which may be above the checkout; so do the model's.
    lead = f"{os.path.normpath(checkout)}/"
    if not (tree.folder / sources.prefix / lead).is_dir():
        edits = [replace(edit, path=edit.path.removeprefix(lead)) for edit in edits]
    files = planned(tree.folder, sources.prefix, edits, tree.forbidden)
    write(tree.folder, files)
    tree.stage(sorted(files))
    return tree.staged()


def _answer_of(event: StepExecute) -> WriteCodeAnswer:
    data = event.answer.get("data")
    if data is None:
        raise StepError("the model returned no edits: this step needs one that can write code")
    try:
        answer = msgspec.convert(data, WriteCodeAnswer)
    except msgspec.ValidationError as error:
        problem = f"the model's edits do not have the form that was asked for: {error}"
        raise StepError(problem) from error
    if not answer.edits:
        raise StepError("the model returned no edits: at least one is needed")
    return answer


def _beginning(diff: str) -> str:
    """The first lines of *diff*, and the number of the others."""
    text = diff.encode(errors="surrogateescape").decode(errors="replace")
    lines = text.splitlines(keepends=True)
    shown: list[str] = []
    room = INLINE_CHARS
    for line in lines[:INLINE_LINES]:
        room -= len(line)
        if room < 0:
            break
        shown.append(line)
    more = len(lines) - len(shown)
    return "".join(shown) + (f"… {many(more, 'line')} more\n" if more else "")
