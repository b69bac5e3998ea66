"""What can go wrong with the cache; a tier that fails is passed over, and raises nothing.

CortexError (in the bus)
└── CacheError
    ├── CacheKeyError   a key is not made of digests: correct the caller
    └── CacheReadError  cache.db cannot be read for its statistics: delete it, it is made again
"""

from cortex.bus import CortexError, with_fields


class CacheError(CortexError):
    """The cache was used wrongly, or cannot be looked at."""


@with_fields
class CacheKeyError(CacheError, ValueError):
    """A key is not made of digests."""

    problem: str

    says = "{problem}: a key holds digests alone, so that it is never stale and names nobody"


@with_fields
class CacheReadError(CacheError):
    """The file of the second tier cannot be read."""

    path: str
    problem: str

    says = "{path} cannot be read: {problem}; you may delete it at any time, Cortex makes it again"
