"""The action `commit_and_push`: commits what an execution wrote on a branch."""

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

    message: str = ""  # "": the summary of the last `write_code`, else the goal
    branch: str = ""  # name of a new branch; "": cortex/<execution>
    push: bool = False  # True: push the branch
    remote: str = "origin"  # name of the git remote
    # True: run the hooks of the repository, and sign commits as your git configuration says
    hooks: bool = False
    everything: bool = False  # True: also commit changes of other steps, such as a formatter
    checkout: str = ""  # its folder, absolute or relative to the workspace; "": the workspace


class CommitAndPushResult(msgspec.Struct, frozen=True):
    """What `commit_and_push` gives."""

    commit: str  # its hash
    branch: str  # that the commit is on
    pushed: bool


class CommitAndPush(Component):
    """Commits the change on a branch, once per step, and then removes the worktree."""

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
        self._hidden = key_names(config)  # keys of models, which hooks and remotes do not need

    @action("commit_and_push", effect="idempotent", programs=["hooks"])
    def execute(self, asked: CommitAndPushParameters, step: ActionStep) -> CommitAndPushResult:
        """Commit, or find the existing commit; push if requested."""
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
        except GitFailedError as error:
            raise StepError(str(error)) from error
        except RepairError as error:
            raise StepError.of(error) from error
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
        """The commit of this step: made now, or by an earlier run of this step."""
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
    """Whether the worktree has uncommitted changes, which other actions towards a goal may need."""
    tree = find_worktree(folder, timeout_s)
    return tree is not None and not tree.is_clean()
