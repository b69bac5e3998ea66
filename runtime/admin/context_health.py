"""The health of an execution's context after each prompt."""

import time
from collections.abc import Iterator
from typing import Final

from cortex.runtime.context.prompt_log import Health, health_of, prompts_of_one
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home

ENDED: Final = ("completed", "failed", "cancelled", "halted")  # unless it is resumed
LOOK_S: Final = 0.25  # how often the log is looked at


class FollowedContext:
    """The context of an execution that is followed until it has ended."""

    def __init__(self, home: Home, asked: str) -> None:
        self._home = home
        self._asked = asked
        self._known = ""
        self.status = ""

    def prompts(self) -> Iterator[Health | None]:
        """The health after each new prompt; None if there is no prompt yet."""
        last = -1
        while self.status not in ENDED:
            # Opened anew each time: its owner is another process, and the log may come later.
            with History.open(self._home) as history:
                self._look(history)
                prompts = prompts_of_one(history, self._known)
                newest = prompts[0].position if prompts else 0
                if newest != last:
                    last = newest
                    yield health_of(history, prompts) if prompts else None
                self._known = prompts[0].event.execution_id if prompts else self._known
            if self.status not in ENDED:
                time.sleep(LOOK_S)

    def _look(self, history: History) -> None:
        """Read its status before its prompts: after its end no prompt can follow."""
        if self._asked and not self._known:
            self._known = history.execution_id(self._asked)
        if self._known:
            self.status = history.execution(self._known).status
