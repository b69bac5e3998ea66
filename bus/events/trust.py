"""Records of trust in a home's folder; the deciding list is kept outside the home."""

from ..event import Event


class TrustGiven(Event, frozen=True, kw_only=True, tag="trust.given"):
    """The user trusted the folder as it was; the first runtime that acts on it publishes this."""

    belongs = ("trust", "")

    home: str  # its path on that machine
    digest: str  # SHA-256 over everything in it that can run
    by: str  # "cortex trust", "CORTEX_TRUST" or a program
    given_ns: int  # UTC nanoseconds


class TrustWithdrawn(Event, frozen=True, kw_only=True, tag="trust.withdrawn"):
    """The user no longer trusts the folder."""

    belongs = ("trust", "")

    home: str
