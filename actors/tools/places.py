"""Where the tools of an execution work: its worktree once there is one, else the workspace.

Whatever changes files works in the worktree, a second checkout in the home. A model sees the same
names in both, relative to the workspace.
"""

import contextlib
import os
import re
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import msgspec

from cortex.bus import Recorded
from cortex.bus.events import ToolCall
from cortex.runtime.code.repair import (
    NO_TREE,
    CheckoutUnusableError,
    PathRefusedError,
    Sources,
    Worktree,
    branch_of,
    checked_path,
    drop,
    find_worktree,
    folder_of,
    fresh_worktree,
    locked,
    owner_of,
    restore_before,
    sources_at,
)
from cortex.runtime.kernel import Home

from .errors import ToolError

GIT_TIMEOUT_S = 60.0
History = Callable[[str], Iterator[Recorded]]
NO_HOME = "there is no home to keep a worktree in, and Cortex does not change the workspace itself"


class ToolFolder(msgspec.Struct, frozen=True):
    """A folder that tools work in."""

    folder: Path  # that names start from
    root: Path  # that no name leads out of
    hidden: Path | None  # the home, where it stands inside
    names: dict[str, str] = {}  # what folders of this machine are called instead

    def file(self, path: str) -> Path:
        """The file or folder that a model's *path* names.

        Raises:
            ToolError: It leads out of here, into git's or our own folder, or is not there.
        """
        named = path.rstrip("/") or "."
        try:
            inside = "." if named in (".", "./.") else checked_path(named.removeprefix("./"))
        except PathRefusedError as error:
            raise ToolError(f"{_shown(path)}: {error}", "wrong_arguments") from None
        try:
            real = (self.folder / inside).resolve(strict=True)
        except (OSError, RuntimeError):  # missing, or links in a circle
            raise ToolError(f"{_shown(path)}: there is no such file here") from None
        if not real.is_relative_to(self.root):
            raise ToolError(f"{_shown(path)}: it is a link that leads out", "wrong_arguments")
        if self.hides(real):
            raise ToolError(f"{_shown(path)}: Cortex keeps its own files there", "wrong_arguments")
        if self.is_of_git(real):
            problem = "it is a link into git's own folder, which tools may not read"
            raise ToolError(f"{_shown(path)}: {problem}", "wrong_arguments")
        return real

    def hides(self, path: Path) -> bool:
        """Whether *path* is Cortex's own."""
        return self.hidden is not None and path.is_relative_to(self.hidden)

    def unread(self) -> tuple[Path, ...]:
        """The folders inside that no link may lead into."""
        git = self._git()
        return (git, self.hidden) if self.hidden else (git,)

    def is_of_git(self, real: Path) -> bool:
        """Whether *real*, a path below the root without links, is git's own."""
        if real == self.root:
            return False
        try:
            checked_path(str(real.relative_to(self.root)))
        except PathRefusedError:
            return True
        return real.is_relative_to(self._git())

    def _git(self) -> Path:
        return Path(
            os.path.realpath(self.root / ".git")
        )  # which may be a link itself, even a bad one

    def plain(self, text: str) -> str:
        """*text* without the folders of this machine that lead here."""
        for folder, name in self.names.items():
            text = re.sub(rf"{re.escape(folder)}(?![\w.-])", name, text)
        return text


class Places:
    """Finds and makes the places of executions.

    Args:
        home: Whose worktrees they are.
        history: The events of a stream, which tell what going back has dropped.
    """

    def __init__(self, home: Home | None, history: History | None = None) -> None:
        self._home = home.path.resolve() if home else None
        self._history = history
        self._prefixes: dict[Path, str] = {}  # of workspaces in their checkouts

    def find(self, event: ToolCall) -> ToolFolder:
        """Where the execution works by now."""
        workspace = self._workspace(event)
        if self._home is not None:
            folder = folder_of(self._home, owner_of(event))
            if (folder / ".git").is_file():
                with self.locked(event, shared=True):  # another call may be about to make it
                    pass
                return self._in_worktree(workspace, folder)
        return self._place(workspace, workspace)

    def make(self, event: ToolCall) -> ToolFolder:
        """The worktree of the execution; made where the workspace is a checkout.

        A workspace that is no checkout is the place itself.

        Raises:
            RepairError: git cannot make it.
        """
        workspace = self._workspace(event)
        if self._home is None:
            return self._place(workspace, workspace)
        try:
            with self.locked(event):
                tree = self.worktree(event)
        except CheckoutUnusableError:
            if event.worktree:
                raise ToolError(f"the sources {NO_TREE}") from None
            return self._place(workspace, workspace)
        return self._in_worktree(workspace, tree.folder)

    def worktree(self, event: ToolCall) -> Worktree:
        """The worktree of the execution, made where it is missing; to be called while `locked`.

        Raises:
            RepairError: The workspace is no checkout, or git cannot make it.
            ToolError: There is no home.
        """
        if self._home is None:
            raise ToolError(NO_HOME)
        folder = folder_of(self._home, owner_of(event))
        tree = find_worktree(folder, GIT_TIMEOUT_S)
        if tree is None:
            tree = fresh_worktree(self.sources(event), folder, branch_of(owner_of(event)))
        return tree

    def sources(self, event: ToolCall) -> Sources:
        """The user's checkout.

        Raises:
            RepairError: There is none, or git cannot be asked.
        """
        return sources_at(self._workspace(event), min(GIT_TIMEOUT_S, event.timeout_s))

    @contextlib.contextmanager
    def locked(self, event: ToolCall, *, shared: bool = False) -> Generator[None, None, None]:
        """Keep other calls of the execution out: one turn may ask for several at once.

        With *shared* only those are kept out, and waited for, that are not.
        """
        if self._home is None:
            raise ToolError(NO_HOME)
        folder = folder_of(self._home, owner_of(event))
        self._drop(event, folder)
        with locked(folder, shared=shared):
            yield

    def _drop(self, event: ToolCall, folder: Path) -> None:
        """Drop a change that was dropped by going back, if nobody has done so yet."""
        history = self._history
        if history is not None and (folder / ".git").is_file():
            branch = branch_of(owner_of(event))

            def put_back() -> None:
                if event.worktree:  # what others did towards the goal stays
                    restore_before(folder, event.execution_id, GIT_TIMEOUT_S)
                else:
                    fresh_worktree(self.sources(event), folder, branch)

            drop(folder, event.execution_id, lambda: history(event.stream()), put_back)

    def _workspace(self, event: ToolCall) -> Path:
        workspace = Path(event.workspace or ".").absolute().resolve()
        if not workspace.is_dir():
            raise ToolError("the workspace is not a folder: start the execution with --workspace")
        return workspace

    def _in_worktree(self, workspace: Path, tree: Path) -> ToolFolder:
        if workspace not in self._prefixes:
            self._prefixes[workspace] = sources_at(workspace, GIT_TIMEOUT_S).prefix
        return self._place(tree / self._prefixes[workspace], tree, workspace)

    def _place(self, folder: Path, root: Path, workspace: Path | None = None) -> ToolFolder:
        hidden = self._home if self._home and self._home.is_relative_to(root) else None
        up = os.path.relpath(root, folder)
        called = {root: up, workspace: ".", folder: ".", self._home: "~", Path.home(): "~"}
        told = {str(path): name for path, name in called.items() if path and path.parent != path}
        longest = sorted(told, key=len, reverse=True)
        return ToolFolder(folder, root, hidden, {path: told[path] for path in longest})


def _shown(path: str) -> str:
    return repr(path[:200])
