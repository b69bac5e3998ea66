"""The errors of folder trust.

CortexError
└── TrustError               a home may not act
    ├── UntrustedHomeError       this user has not trusted it as it is now
    ├── TrustStoreError          the trust store cannot be used
    └── TrustVariableError       CORTEX_TRUST is not a list of digests
"""

from cortex.bus import CortexError, with_fields

SHOWN = 3  # reasons in one line


class TrustError(CortexError):
    """A home may not act."""

    exit_code = 6  # the command line's for a home that is not trusted


@with_fields
class UntrustedHomeError(TrustError):
    """This user has not trusted the home as it is now; it can be read all the same."""

    home: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        more = len(self.reasons) - SHOWN
        why = "; ".join(self.reasons[:SHOWN]) + (f"; and {more} more" if more > 0 else "")
        return (
            f"{self.home} is not trusted, so nothing of it runs: {why}; look at it with "
            "`cortex trust --show`, then run `cortex trust`; without a terminal, put the digest "
            "that --show prints into CORTEX_TRUST"
        )


@with_fields
class TrustStoreError(TrustError):
    """This user's trust store cannot be used."""

    path: str
    problem: str

    says = "{path}: {problem}"


@with_fields
class TrustVariableError(TrustError):
    """CORTEX_TRUST holds something else than digests."""

    exit_code = 2  # the command line's for what was not written right

    value: str

    def __str__(self) -> str:
        return (
            f"CORTEX_TRUST holds {self.value[:40]!r}, which is not a digest: put the 64 hex digits "
            "there that `cortex trust --show` prints, several with commas between them"
        )
