"""What can go wrong when a program is run.

CortexError
└── ProgramError                a program could not be run to its end
    ├── ProgramRefusedError        it is none that may be run
    ├── ProgramTimeoutError        it took too long, and was ended
    ├── ProgramUnwantedError       nobody waits for it any more, and it was ended
    └── EffectInterruptedError     it was started once, and nobody saw its end
"""

from cortex.bus import CortexError


class ProgramError(CortexError):
    """A program could not be run to its end."""

    def __init__(self, program: str, problem: str) -> None:
        super().__init__(program, problem)
        self.program, self.problem = program, problem

    def __str__(self) -> str:
        return f"{self.program} {self.problem}"


class ProgramRefusedError(ProgramError):
    """What was asked for is no program that may be run; trying again cannot help."""


class ProgramTimeoutError(ProgramError, TimeoutError):
    """A program took longer than it may, and was ended with all it had started."""

    def __init__(self, program: str, timeout_s: float) -> None:
        super().__init__(program, f"was ended after {timeout_s:g} s")
        self.args = (program, timeout_s)  # what this constructor takes, so that it pickles


class ProgramUnwantedError(ProgramError):
    """Whoever asked for a program does not wait for it any more; it was ended."""

    def __init__(self, program: str) -> None:
        super().__init__(program, "was ended: nothing waits for it any more")
        self.args = (program,)


class EffectInterruptedError(ProgramError):
    """The program was started once and its end is not known."""
