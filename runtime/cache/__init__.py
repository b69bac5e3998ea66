"""The cache of artefacts: three tiers of what can always be made again."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .arc import Arc, ArcCounts
    from .artefacts import Artefacts, CacheEntry
    from .cache import FILE, FOLDER, TIERS, Cache, Tier
    from .database import Database
    from .errors import CacheError, CacheKeyError, CacheReadError
    from .heat import half_life_ns, heated
    from .hot import HotTier
    from .key import CacheKey, code_digest, digest_of
    from .preloading import Beside, preloading
    from .schema import bytes_of
    from .secret import secret_of_user
    from .settings import CacheConfig
    from .statistics import CacheStatistics, TierStatistics, statistics_of
    from .warm import WarmTier
else:
    lazily(__name__)

__all__ = [
    "FILE",
    "FOLDER",
    "TIERS",
    "Arc",
    "ArcCounts",
    "Artefacts",
    "Beside",
    "Cache",
    "CacheConfig",
    "CacheEntry",
    "CacheError",
    "CacheKey",
    "CacheKeyError",
    "CacheReadError",
    "CacheStatistics",
    "Database",
    "HotTier",
    "Tier",
    "TierStatistics",
    "WarmTier",
    "bytes_of",
    "code_digest",
    "digest_of",
    "half_life_ns",
    "heated",
    "preloading",
    "secret_of_user",
    "statistics_of",
]
