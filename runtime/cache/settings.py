"""The settings of the cache, as config.toml has them."""

from typing import Annotated, Final

from msgspec import Meta, Struct

MB: Final = 1_000_000
DAY_NS: Final = 86_400_000_000_000


class CacheConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How much the cache of artefacts may take."""

    memory_mb: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000_000,
            description="megabytes of memory for artefacts, in each process that uses them; 0 "
            "keeps none there",
        ),
    ] = 256
    disk_mb: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000_000,
            description="megabytes of artefacts in cache.db; 0 makes no such file",
        ),
    ] = 2_000
    window_days: Annotated[
        int,
        Meta(
            ge=1,
            le=36_500,
            description="artefacts that were not used for so many days leave cache.db first, and "
            "are not loaded at the start",
        ),
    ] = 30

    @property
    def memory_bytes(self) -> int:
        """The bound of the first tier."""
        return self.memory_mb * MB

    @property
    def disk_bytes(self) -> int:
        """The bound of the second tier."""
        return self.disk_mb * MB

    @property
    def window_ns(self) -> int:
        """How long an artefact counts as used."""
        return self.window_days * DAY_NS
