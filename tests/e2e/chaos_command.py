"""`cortex` that notes up to where its log was synced: `python chaos_command.py NOTE ARGUMENT...`.

What a loss of power leaves is what was synced; only who writes the log knows how far that is.
"""

import os
import sys
from pathlib import Path

from cortex.bus import Batch
from cortex.runtime.cli import main
from cortex.runtime.kernel import Config, Home
from cortex.runtime.log import EventLog

HEADER_BYTES = 32  # of a write-ahead log; its salt, which each round through it changes, is at 16


def watch(note: Path, home: Home) -> None:
    """Leave in *note* the salt and the size of the write-ahead log after each synced write."""
    write = EventLog.write
    always = Config.load(home).durability == "full"
    wal = home.log_path.with_name(f"{home.log_path.name}-wal")
    file = os.open(note, os.O_WRONLY | os.O_CREAT, 0o600)

    def noted(log: EventLog, batch: Batch) -> None:
        write(log, batch)
        if always or batch.sync:
            with wal.open("rb") as written:
                salt = written.read(HEADER_BYTES)[16:24]
                size = written.seek(0, os.SEEK_END)
            os.pwrite(file, salt + size.to_bytes(8, "big"), 0)

    setattr(EventLog, "write", noted)  # noqa: B010  # a method is no plain attribute to mypy


if __name__ == "__main__":
    watch(Path(sys.argv[1]), Home(Path.cwd() / ".cortex"))
    sys.exit(main(sys.argv[2:]))
