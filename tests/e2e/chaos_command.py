"""`cortex` that notes up to where its log was synced: `python chaos_command.py NOTE ARGUMENT...`.

What a loss of power leaves is what was synced; only who asks the disk for that knows how far it is.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from cortex.runtime.cli import main

from_sqlite: Any = import_module("cortex.runtime.log.sqlite")
HEADER_BYTES = 32  # of a write-ahead log; its salt, which each round through it changes, is at 16


def watch(note: Path) -> None:
    """Leave in *note* the salt and the size of the write-ahead log after each commit to disk."""
    before = from_sqlite._synced
    file = os.open(note, os.O_WRONLY | os.O_CREAT, 0o600)

    @contextmanager
    def synced(writer: Any, *, wanted: bool) -> Iterator[None]:
        with before(writer, wanted=wanted):
            yield
        (level,) = writer.execute("pragma synchronous").fetchone()
        if not wanted and level < from_sqlite.FULL:
            return
        (_, _, path), *_ = writer.execute("pragma database_list")
        with Path(f"{path}-wal").open("rb") as wal:
            salt = wal.read(HEADER_BYTES)[16:24]
            size = wal.seek(0, os.SEEK_END)
        os.pwrite(file, salt + size.to_bytes(8, "big"), 0)

    from_sqlite._synced = synced


if __name__ == "__main__":
    watch(Path(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
