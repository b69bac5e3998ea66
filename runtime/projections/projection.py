"""What a projection is: a name, a version, tables, and a fold from records to changes of them."""

import sqlite3
from collections.abc import Sequence
from typing import Protocol

from cortex.bus import Recorded


class Changes(Protocol):
    """What a span of records does to a projection's tables; made anew for every span."""

    def apply(self, records: Sequence[Recorded]) -> None:
        """Fold *records*, which follow those of the last call, into memory. No I/O, no clock."""
        ...

    def flush(self, connection: sqlite3.Connection) -> None:
        """Write what was folded; the caller's transaction also moves the checkpoint."""
        ...


class Projection(Protocol):
    """A read model. Equal records give equal rows, in however many spans they come."""

    @property
    def name(self) -> str:
        """Its name in the checkpoints; also what its tables start with."""
        ...

    @property
    def version(self) -> int:
        """Raised when tables or fold change: the projection is then rebuilt from position 0."""
        ...

    @property
    def tables(self) -> Sequence[str]:
        """One ``create`` statement each for its tables and indexes."""
        ...

    def begin(self) -> Changes:
        """Empty changes for the next span."""
        ...
