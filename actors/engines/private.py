"""Hides the names of this machine's folders from models."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from cortex.runtime.context import Request
from cortex.runtime.kernel import Home
from cortex.runtime.secrets import Mask

Kind = TypeVar("Kind", bound=Struct)

WORKTREES = "worktrees"  # in a home, with a folder for each execution
LEAST_ID_CHARS = 12  # a shorter id may be an ordinary word
LEAST_PATH_CHARS = 4  # a shorter path names no user


class Private:
    """Writes `.` for the worktree of an execution, `HOME` for the home, `~` for the user's folder.

    Tools print such paths, and a path names the user. Paths within the worktree stay usable.
    Secrets are masked on the way.
    """

    def __init__(
        self,
        home: Home | None,
        execution_id: str,
        user_folder: Path | None,
        mask: Mask,
        tree: str = "",
    ) -> None:
        """Hide them for *execution_id*, which works in the worktree of *tree*."""
        self._mask = mask
        found: dict[str, str] = {}
        for root in (home.path, home.path.resolve()) if home else ():
            found[str(root / WORKTREES / (tree or execution_id))] = "."
            found[str(root)] = "HOME"
        if user_folder is not None:
            found[str(user_folder)] = "~"
        self._instead = {path: name for path, name in found.items() if len(path) > LEAST_PATH_CHARS}
        for each in (execution_id, tree):
            if len(each) >= LEAST_ID_CHARS:
                self._instead[each] = "EXECUTION"
        # The longest first: the worktree is in the home, and that in the user's folder.
        named = sorted(self._instead, key=lambda path: -len(path))
        alternatives = "|".join(re.escape(path) for path in named)
        self._pattern = re.compile(rf"(?:{alternatives})(?![\w-])") if named else None

    def hide(self, text: str) -> str:
        """*text* without these names, and without secrets."""
        # Here, not only on storing the prompt: its digest is over what is sent.
        text = self._mask.text(text)
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._instead[match[0]], text)

    def hide_in(self, request: Request) -> Request:
        """*request* without these names in any text of the prompt."""
        step = request.step
        return replace(
            request,
            persona=self.hide(request.persona),
            instructions=self.hide(request.instructions),
            step=replace(
                self._hidden(step, "description", "goal"), parameters=self._values(step.parameters)
            ),
            items=tuple(self._hidden(item, "id", "text") for item in request.items),
            turns=tuple(
                replace(turn, said=tuple(self._hidden(said, "text") for said in turn.said))
                for turn in request.turns
            ),
            edits=tuple(self._hidden(each, "item", "old", "new") for each in request.edits),
        )

    def _hidden(self, struct: Kind, *names: str) -> Kind:
        return replace(struct, **{name: self.hide(getattr(struct, name)) for name in names})

    def _values(self, values: Mapping[str, str]) -> dict[str, str]:
        return {name: self.hide(value) for name, value in values.items()}


def users_folder() -> Path | None:
    """The home folder of the user of this process, if there is one."""
    try:
        return Path.home()
    except RuntimeError:
        return None
