"""Whether a process holds a home, and the state of its running hub."""

import fcntl
from pathlib import Path

from cortex.bus.events import RuntimeAnswer, RuntimeGet
from cortex.runtime.kernel import Home

from .. import connected, found

PATIENCE_S = 30.0  # a hub with much waiting work needs time to read it


def lock_of(home: Home) -> Path:
    """The file that the process that records in *home* keeps locked."""
    return home.log_path.with_name("log.db.lock")


def is_held(home: Home) -> bool:
    """Whether a running process holds *home* for recording."""
    try:
        with lock_of(home).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def live_differences(home: Home) -> tuple[str, ...] | None:
    """Rows of the log's tables that differ from the hub's state; None if no hub is running.

    Raises:
        HubSilentError: The hub is running, but does not answer.
    """
    if not found(home):
        return None
    with connected(home, "state") as client:
        answer = client.ask(RuntimeGet(check=True), PATIENCE_S)
    return answer.astray if isinstance(answer, RuntimeAnswer) else ()
