"""What can go wrong where a folder is trusted, or is not.

CortexError
└── TrustError               a home may not act
    ├── UntrustedHomeError       this user has not trusted it as it is now
    ├── TrustStoreError          where trust is kept cannot be used
    └── TrustVariableError       CORTEX_TRUST holds something else than digests
"""

from cortex.bus import CortexError

SHOWN = 3  # reasons in one line


class TrustError(CortexError):
    """A home may not act."""

    exit_code = 6  # the command line's for a home that is not trusted


class UntrustedHomeError(TrustError):
    """This user has not trusted the home as it is now; it can be read all the same."""

    def __init__(self, home: str, reasons: tuple[str, ...]) -> None:
        super().__init__(home, reasons)
        self.home, self.reasons = home, reasons

    def __str__(self) -> str:
        more = len(self.reasons) - SHOWN
        why = "; ".join(self.reasons[:SHOWN]) + (f"; and {more} more" if more > 0 else "")
        return (
            f"{self.home} is not trusted, so nothing of it runs: {why}; look at it with "
            "`cortex trust --show`, then `cortex trust`, and without a terminal put the digest "
            "that you looked at into CORTEX_TRUST"
        )


class TrustStoreError(TrustError):
    """Where this user's trust is kept cannot be used."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


class TrustVariableError(TrustError):
    """CORTEX_TRUST holds something else than digests."""

    exit_code = 2  # the command line's for what was not written right

    def __init__(self, value: str) -> None:
        super().__init__(value)
        self.value = value

    def __str__(self) -> str:
        return (
            f"CORTEX_TRUST holds {self.value[:40]!r}, which is not a digest: put the 64 hex digits "
            "there that `cortex trust --show` prints, several with commas between them"
        )
