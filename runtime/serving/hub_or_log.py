"""What is done by the running hub of a home, or on its log if none is up: to grant, to seal."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import cast

from cortex.bus import Client, Hub, LocalHub, SystemClock, system_entropy
from cortex.bus.events import VOCABULARY, LogAnswer, LogSeal
from cortex.runtime.access import RecordedOwners, owner_token
from cortex.runtime.kernel import Config, Home
from cortex.runtime.log import EventLog, LogHeldError, Sealer

from .connecting import connected
from .errors import HomeHeldError
from .note import found

NAME = "cli"  # the source of events from commands
BY = "cortex log seal"  # the program, in the record of a sealing
SEGMENT_S = 300.0  # how long one segment may take while the hub has other work

Seal = Callable[[int], LogAnswer]


@contextmanager
def granting(home: Home) -> Iterator[Client]:
    """The owner's client, until the block is left; starts no component.

    Raises:
        HomeError: The home cannot be used.
        HomeHeldError: Another process runs a runtime on it without serving it.
        HubSilentError: A hub is running, but does not answer.
        KeyFileError: The owner's token cannot be used.
        LogError: Its log cannot be used.
    """
    home = home.open()
    owner_token(home.path / "keys")  # grants are useless if the hub cannot start
    if found(home):
        with connected(home, NAME) as client:
            yield client
        return
    with at_log(home) as (client, _):
        yield client


@contextmanager
def at_log(home: Home) -> Iterator[tuple[Client, EventLog]]:
    """A client on the log of *home* while no hub is running, and that log.

    Raises:
        HomeHeldError: Another process has the log.
        LogError: The log cannot be used.
    """
    try:
        log = EventLog.open(home.log_path, durability=Config.load(home).durability)
    except LogHeldError as error:
        raise HomeHeldError(str(home.path), error.pid, error.held_for) from None
    served = Hub(log, VOCABULARY, system_entropy, RecordedOwners(log, VOCABULARY))
    with (
        closing(log),
        closing(LocalHub(served, SystemClock())) as hub,
    ):
        yield Client(NAME, hub, log, VOCABULARY), log


@contextmanager
def sealing(home: Home) -> Iterator[Seal]:
    """A function that seals the next segment, at most up to a position.

    Raises:
        HomeError: The home cannot be used.
        HomeHeldError: Another process runs a runtime on it without serving it.
        HubSilentError: A hub is running, but does not answer.
        LogError: Its log cannot be used.
    """
    home = home.open()
    if found(home):
        with connected(home, NAME) as client:
            yield lambda through: cast(
                "LogAnswer", client.ask(LogSeal(through=through, by=BY), timeout_s=SEGMENT_S)
            )
        return
    with at_log(home) as (client, log):
        sealer = Sealer(log, client.publish)
        yield lambda through: sealer.answer(through, BY)
