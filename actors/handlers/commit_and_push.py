"""The action `commit_and_push`: what an execution wrote becomes one commit on a branch."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from cortex.bus import Recorded, Vocabulary
from cortex.bus.events import StepExecute
from cortex.runtime.code.repair import (
    CheckoutUnusableError,
    GitFailedError,
    RepairError,
    Sources,
    branch_of,
    check_branch,
    commit,
    find_worktree,
    folder_of,
    made_by,
    message_of,
    owner_of,
    push,
    recorded_repair,
    remove_worktree,
    sources_at,
)
from cortex.runtime.functions import ActionStep, StepError, action
from cortex.runtime.kernel import Component, Config, Home, key_names

from .write_code import NO_HOME

NOTHING = "hold nothing to commit: no step of this execution wrote anything since"


class CommitAndPushParameters(msgspec.Struct, frozen=True):
    """Commit what was written, on a branch of its own; and push that, where it is asked for."""

    message: str = ""  # "": what the last `write_code` said of its change, else the goal
    branch: str = ""  # a new one of that name instead of cortex/<execution>
    push: bool = False
    remote: str = "origin"
    hooks: bool = (
        False  # True: the repository's hooks run, and commits are signed as you configured
    )
    everything: bool = False  # True: also what other steps changed, such as a formatter
    checkout: str = ""  # folder; relative ones start at the workspace, "" is the workspace


class CommitAndPushResult(msgspec.Struct, frozen=True):
    """What `commit_and_push` gives."""

    commit: str
    branch: str
    pushed: bool


class CommitAndPush(Component):
    """Makes one commit a step, however often it is asked; the worktree goes, the branch stays."""

    rests = True

    def __init__(
        self,
        home: Home | None,
        vocabulary: Vocabulary,
        history: Callable[[str], Iterator[Recorded]],
        config: Config,
    ) -> None:
        self._home = home
        self._vocabulary = vocabulary
        self._history = history
        self._hidden = key_names(config)  # keys of models, which no hook and no remote needs

    @action("commit_and_push", effect="idempotent", programs=["hooks"])
    def execute(self, asked: CommitAndPushParameters, step: ActionStep) -> CommitAndPushResult:
        """Commit, or find the commit that was made; push where that is asked for."""
        event = step.event
        if self._home is None:
            raise StepError(NO_HOME, kind="refused", retry=False)
        try:
            place = Path(event.workspace or ".", asked.checkout).absolute()
            sources = sources_at(place, event.timeout_s)
            folder = folder_of(self._home.path, owner_of(event))
            branch = asked.branch or branch_of(owner_of(event))
            made = self._commit(event, asked, sources, folder, branch)
            if not (event.worktree and _holds_more(folder, event.timeout_s)):
                remove_worktree(sources, folder)
            if asked.push:
                push(sources.git, asked.remote, branch, hooks=asked.hooks, hidden=self._hidden)
        except CheckoutUnusableError as error:
            raise StepError(str(error), kind="refused", retry=False) from error
        except GitFailedError as error:
            raise StepError(str(error)) from error
        except RepairError as error:
            raise StepError(str(error), retry=False) from error
        where = f"{branch}, pushed to {asked.remote}" if asked.push else branch
        step.summary = f"{made[:12]} on {where}"
        return CommitAndPushResult(made, branch, asked.push)

    def _commit(
        self,
        event: StepExecute,
        asked: CommitAndPushParameters,
        sources: Sources,
        folder: Path,
        branch: str,
    ) -> str:
        """The commit of this step: made now, or when this step was carried out before."""
        made = made_by(sources.git, branch, event.execution_id, event.step_id)
        tree = find_worktree(folder, event.timeout_s)
        if tree is not None and asked.everything:
            tree.stage_all()
        if tree is None or not tree.staged():
            if not made:
                raise CheckoutUnusableError(NOTHING)
            return made
        check_branch(sources, tree, branch)
        text = asked.message.strip() or self._written(event.execution_id) or event.goal
        message = message_of(text, event.execution_id, event.step_id)
        return commit(tree, branch, message, hooks=asked.hooks, hidden=self._hidden)

    def _written(self, execution_id: str) -> str:
        records = self._history(f"execution/{execution_id}")
        return recorded_repair(records, self._vocabulary).written


def _holds_more(folder: Path, timeout_s: float) -> bool:
    """Whether the worktree has what was not committed: towards a goal others may need it."""
    tree = find_worktree(folder, timeout_s)
    return tree is not None and not tree.is_clean()
