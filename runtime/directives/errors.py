"""What can go wrong with stored directives. A text of a user never raises: it gets a decision.

CortexError
├── DirectivesError             a stored state cannot be used
│   ├── StateInvalidError           it is damaged, or not a state
│   └── StateVersionError           it has a version that this profile does not read
├── ChangesLostError            a blob with recorded changes holds something else
└── RequestRefusedError         a request about a scope is refused; its fact says so
"""

from cortex.bus import CortexError


class DirectivesError(CortexError, ValueError):
    """A stored state cannot be used."""


class StateInvalidError(DirectivesError):
    """The text is not a state, or one that no sequence of directives leads to."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"not a state of directives: {self.problem}; give what an export wrote"


class StateVersionError(DirectivesError):
    """The text has a version that this profile does not read."""

    def __init__(self, profile: str, found: int, expected: int) -> None:
        super().__init__(profile, found, expected)
        self.profile, self.found, self.expected = profile, found, expected

    def __str__(self) -> str:
        newer = self.found > self.expected
        return (
            f"this state has version {self.found}, and the profile {self.profile} reads version "
            f"{self.expected}: {'use a newer Cortex' if newer else 'use the profile that wrote it'}"
        )


class ChangesLostError(CortexError):
    """A blob that a fact names holds no changes."""

    def __init__(self, digest: str, problem: str) -> None:
        super().__init__(digest, problem)
        self.digest, self.problem = digest, problem

    def __str__(self) -> str:
        return (
            f"the blob {self.digest} holds no changes of directives ({self.problem}): restore it "
            "from a backup"
        )


class RequestRefusedError(CortexError):
    """A request about a scope is refused.

    Args:
        reason: What is wrong, and what to do, in one line.
        failure: Its kind, as `directive.refused` has it.
        repairs: Directives that could be meant.
    """

    def __init__(self, reason: str, failure: str = "", repairs: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason, self.failure, self.repairs = reason, failure, repairs
