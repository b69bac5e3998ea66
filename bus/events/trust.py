"""Trust in the folder of a home, as a record: what decides is kept outside the home."""

from ..event import Event


class TrustGiven(Event, frozen=True, kw_only=True, tag="trust.given"):
    """The user trusted the folder as it was; said by the first runtime that acts on that."""

    belongs = ("trust", "")

    home: str  # its path on that machine
    digest: str  # SHA-256 over all that can act in it
    by: str  # "cortex trust", "CORTEX_TRUST" or a program
    given_ns: int  # UTC nanoseconds


class TrustWithdrawn(Event, frozen=True, kw_only=True, tag="trust.withdrawn"):
    """The user trusts the folder no more."""

    belongs = ("trust", "")

    home: str
