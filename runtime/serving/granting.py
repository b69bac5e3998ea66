"""A client that may give grants: of the hub that is up, or of the log alone where none is."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from cortex.bus import Client, Hub, LocalHub, SystemClock, system_entropy
from cortex.bus.events import VOCABULARY
from cortex.runtime.access import RecordedOwners, owner_token
from cortex.runtime.kernel import Config, Home
from cortex.runtime.log import EventLog, LogHeldError

from .connecting import connected
from .errors import HomeHeldError
from .note import found

NAME = "cli"  # the source of what commands publish


@contextmanager
def granting(home: Home) -> Iterator[Client]:
    """The owner's client, until the block is left; no component is started for it.

    Raises:
        HomeError: The home cannot be used.
        HomeHeldError: Another process runs a runtime on it that serves nobody else.
        HubSilentError: A hub is up and does not answer.
        KeyFileError: The owner's token cannot be used.
        LogError: Its log cannot be used.
    """
    home = home.open()
    owner_token(home.path / "keys")  # what is granted is of no use to a hub that cannot come up
    if found(home):
        with connected(home, NAME) as client:
            yield client
        return
    try:
        log = EventLog.open(home.log_path, durability=Config.load(home).durability)
    except LogHeldError as error:
        raise HomeHeldError(str(home.path), error.pid, error.held_for) from None
    served = Hub(log, VOCABULARY, system_entropy, RecordedOwners(log, VOCABULARY))
    with (
        closing(log),
        closing(LocalHub(served, SystemClock())) as hub,
    ):
        yield Client(NAME, hub, log, VOCABULARY)
