"""Whether a process has a home: a hub, or a command with a runtime of its own."""

import fcntl
from pathlib import Path

from cortex.runtime.kernel import Home


def lock_of(home: Home) -> Path:
    """The file that whoever records in *home* keeps locked."""
    return home.log_path.with_name("log.db.lock")


def is_held(home: Home) -> bool:
    """Whether something that runs can record in *home* now."""
    try:
        with lock_of(home).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
