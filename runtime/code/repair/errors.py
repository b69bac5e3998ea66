"""What can go wrong when a checkout is repaired.

CortexError
└── RepairError              the repair cannot go on; the message is one line without our own paths
    ├── CheckoutUnusableError    it is none, or none that a branch can start from
    ├── PatchRefusedError        an edit does not fit the files: ask for another
    ├── GitFailedError           git said no
    ├── HookRefusedError         the web hook's address or secret cannot be used
    └── HookFailedError          the web hook did not take it
        └── HookUnansweredError  it may have taken it: nobody knows
"""

from cortex.bus import CortexError


class RepairError(CortexError):
    """The repair cannot go on."""


class CheckoutUnusableError(RepairError):
    """The sources are no git checkout, or none that a branch can start from."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"the sources {self.problem}"


class PatchRefusedError(RepairError):
    """An edit cannot be carried out; nothing was written."""

    def __init__(self, number: int, path: str, problem: str) -> None:
        super().__init__(number, path, problem)
        self.number, self.path, self.problem = number, path, problem  # number: from 1

    def __str__(self) -> str:
        return f"edit {self.number} of {self.path!r} does not apply: {self.problem}"


class GitFailedError(RepairError):
    """git ended with an error."""

    def __init__(self, command: str, problem: str) -> None:
        super().__init__(command, problem)
        self.command, self.problem = command, problem

    def __str__(self) -> str:
        return f"git {self.command}: {self.problem}"


class HookRefusedError(RepairError):
    """The address or the secret is none that can be used; trying again cannot help."""


class HookFailedError(RepairError):
    """The receiver did not take it; the message names the host alone, the rest may be secret."""


class HookUnansweredError(HookFailedError):
    """It was posted and not answered: nobody knows whether the receiver took it."""
