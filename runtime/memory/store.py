"""The store of memory: a projection of its own, brought to the end of the log by who reads it.

Several processes may read and advance it, one at a time: commands, and the accessor of a runtime.
"""

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from cortex.bus import Log, Recorded, Vocabulary, steady_s
from cortex.bus.events import VOCABULARY
from cortex.runtime.projections import (
    ProjectionError,
    ProjectionsHeldError,
    Runner,
    snapshot,
)

from .errors import MemoryStoreError
from .past import PastNodes
from .projection import NAME, MemoryProjection
from .view import MemoryView

FILE: Final = "memory.db"  # in a home; may be deleted
HELD_S: Final = 5.0  # how long another process may advance it
LOOK_S: Final = 0.005  # between two looks


class MemoryStore:
    """Memory in the folder of a home, made from its log. One thread at a time may use it."""

    def __init__(
        self,
        folder: Path,
        log: Log,
        history: Callable[[str], Iterable[Recorded]],
        vocabulary: Vocabulary = VOCABULARY,
    ) -> None:
        self.path = folder / FILE
        self._log, self._past = log, PastNodes(history, vocabulary)

    def advance(self) -> None:
        """Fold what the log has and the store does not.

        If another process keeps the store for long, it stays as it is: each view has its position.

        Raises:
            MemoryStoreError: The store cannot be written, or a record cannot be read.
        """
        until_s = steady_s() + HELD_S
        while True:
            try:
                runner = Runner.open(self.path, (MemoryProjection(),))
            except ProjectionsHeldError:
                if steady_s() > until_s:
                    return
                time.sleep(LOOK_S)
                continue
            except (ProjectionError, OSError) as error:
                raise MemoryStoreError(str(self.path), str(error)) from error
            break
        try:
            runner.advance(self._log)
        except (ProjectionError, OSError) as error:
            raise MemoryStoreError(str(self.path), str(error)) from error
        finally:
            runner.close()

    @contextmanager
    def view(self, at: int | None = None) -> Iterator[MemoryView]:
        """Memory as it is, or as it was at position *at*.

        Raises:
            MemoryStoreError: The store cannot be read.
        """
        try:
            with snapshot(self.path, NAME) as found:
                position = found.position if at is None else min(at, found.position)
                yield MemoryView(found.connection, position, self._past)
        except (ProjectionError, sqlite3.Error) as error:
            raise MemoryStoreError(str(self.path), str(error)) from error
