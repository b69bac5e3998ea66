"""What a whole run of requests came to, in tokens and in tokens paid."""

from collections.abc import Iterable

import msgspec

from cortex.runtime.models import Price, Usage


class Bill(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of a run by class, and what they cost in tokens of fresh input."""

    requests: int
    input: int
    cached_read: int
    cached_write: int
    paid: float  # tokens of fresh input that cost the same
    most: int  # tokens of the largest request

    @property
    def sent(self) -> int:
        """Tokens of all requests."""
        return self.input + self.cached_read + self.cached_write


def bill_of(usages: Iterable[Usage], price: Price) -> Bill:
    """Add up *usages* under *price*."""
    all_of = list(usages)
    fresh = sum(usage.input for usage in all_of)
    read = sum(usage.cached_read for usage in all_of)
    written = sum(usage.cached_write for usage in all_of)
    unit = price.input or 1.0
    return Bill(
        requests=len(all_of),
        input=fresh,
        cached_read=read,
        cached_write=written,
        paid=fresh + (read * price.cached_read + written * price.cached_write) / unit,
        most=max((u.input + u.cached_read + u.cached_write for u in all_of), default=0),
    )
