"""A simulator of prompt caches: which tokens of a request an endpoint reads, writes, or computes.

It follows the published rules: a prefix is found again only if it is equal to
the byte; entries end at breakpoints (or, if none are needed, anywhere); a prefix below
the minimum is not stored; from a breakpoint, earlier entries are sought some blocks back; an entry
lives for a time that each reading renews.
"""

import hashlib
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

import msgspec

from cortex.runtime.models import Caching, Price, Usage


class CacheBlock(NamedTuple):
    """A part of a request that an endpoint compares as a unit."""

    text: str
    tokens: int
    breakpoint: bool = False  # a cache entry may end after it


class ProviderCache:
    """The cache of an endpoint, and its effect on requests."""

    def __init__(self, rules: Caching, lifetime_s: float | None = None) -> None:
        self._rules = rules
        usual = rules.lifetimes_s[0] if rules.lifetimes_s else 0
        self._lifetime_s = usual if lifetime_s is None else lifetime_s
        self._until: dict[bytes, float] = {}  # by the digest of a prefix

    def ask(self, blocks: Sequence[CacheBlock], at_s: float) -> Usage:
        """How the tokens of a request at *at_s* are counted; time never goes back."""
        total = sum(block.tokens for block in blocks)
        if not self._rules.keeps:
            return Usage(input=total)
        self._until = {digest: end for digest, end in self._until.items() if end >= at_s}
        if self._rules.breakpoints:
            return self._marked(blocks, at_s, total)
        return self._unmarked(blocks, at_s, total)

    def _marked(self, blocks: Sequence[CacheBlock], at_s: float, total: int) -> Usage:
        digests = _digests(block.text for block in blocks)
        ends = list(accumulate(block.tokens for block in blocks))
        # An endpoint refuses more; the first marks are those that stay valid longest.
        marks = [at for at, block in enumerate(blocks) if block.breakpoint]
        marks = marks[: self._rules.breakpoints]
        read = 0
        back = self._rules.look_back or len(blocks)
        for mark in marks:
            for at in range(mark, max(mark - back, -1), -1):
                if digests[at] in self._until:
                    self._until[digests[at]] = at_s + self._lifetime_s
                    read = max(read, ends[at])
                    break
        written = read
        for mark in marks:
            if ends[mark] >= self._rules.minimum_tokens:
                self._until[digests[mark]] = at_s + self._lifetime_s
                written = max(written, ends[mark])
        return Usage(input=total - written, cached_read=read, cached_write=written - read)

    def _unmarked(self, blocks: Sequence[CacheBlock], at_s: float, total: int) -> Usage:
        digests = _digests(block.text for block in blocks)
        ends = list(accumulate(block.tokens for block in blocks))
        read = max(
            (end for digest, end in zip(digests, ends, strict=True) if digest in self._until),
            default=0,
        )
        read -= read % self._rules.granularity_tokens
        if read < self._rules.minimum_tokens:
            read = 0
        if total >= self._rules.minimum_tokens:
            self._until.update((digest, at_s + self._lifetime_s) for digest in digests)
            return Usage(cached_read=read, cached_write=total - read)
        return Usage(input=total)


def _digests(texts: Iterable[str]) -> list[bytes]:
    running = hashlib.sha256()
    digests: list[bytes] = []
    for text in texts:
        running.update(text.encode(errors="replace"))
        digests.append(running.digest())
    return digests


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
