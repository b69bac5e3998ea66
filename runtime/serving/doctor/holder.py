"""Whether a process has a home, and what the hub that is up on it goes by."""

import fcntl
from pathlib import Path

from cortex.bus.events import RuntimeAnswer, RuntimeGet
from cortex.runtime.kernel import Home

from .. import connected, found

PATIENCE_S = 30.0  # a hub with much waiting work reads it all


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


def live_differences(home: Home) -> tuple[str, ...] | None:
    """Rows of the log's tables that are not as the hub has them; None where no hub is up.

    Raises:
        HubSilentError: One is up, and does not answer.
    """
    if not found(home):
        return None
    with connected(home, "state") as client:
        answer = client.ask(RuntimeGet(check=True), PATIENCE_S)
    return answer.astray if isinstance(answer, RuntimeAnswer) else ()
