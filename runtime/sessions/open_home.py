"""Opens a home for a session: its running hub, or a runtime inside the command."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

import msgspec

from cortex.bus import Client, Log, LogError, steady_s
from cortex.runtime.kernel import Config, Home, Runtime, mask_for, open_blobs
from cortex.runtime.log import Blobs, EventLog, LogHeldError
from cortex.runtime.serving import HomeHeldError, connected, found
from cortex.runtime.subjects import PersonalLog, SubjectKeys

NAME = "cli"  # the source of what commands publish
LOOK_S = 0.1  # between two looks at a home that is held
ALONE_S = 5.0  # without a hub only plugins can connect, which start with the command


class OpenHome(msgspec.Struct, frozen=True):
    """A hub that can be spoken to, and its log and blobs to read."""

    client: Client
    log: Log
    blobs: Blobs
    leave: Callable[[], None]  # drop what is at work, where it is at work in this process
    embedded: bool  # what is at work ends with the command
    wait_s: float | None  # for what a process lacks; None for as long as the hub is configured
    seen: int  # position up to which the log went before anything was started or asked here


@contextmanager
def opened_home(home: Home, patience_s: float = 0.0) -> Iterator[OpenHome]:
    """The hub of *home*; if none is up, a runtime until the block is left.

    Args:
        home: Is made where it is missing.
        patience_s: How long to wait for a process that runs a private runtime on it.

    Raises:
        HomeError: The home cannot be used.
        HomeHeldError: Another process runs a private runtime on it, and did not end in time.
        HubSilentError: A hub is up and does not answer.
        LogError: Its log cannot be used.
    """
    home = home.open()
    until_s = steady_s() + patience_s
    with ExitStack() as stack:
        while True:
            try:
                opened = stack.enter_context(_on_hub(home) if found(home) else _on_own(home))
                break
            except HomeHeldError:
                if steady_s() >= until_s:
                    raise
                time.sleep(LOOK_S)  # the lock of a file tells nobody that it is free
        yield opened


@contextmanager
def _on_hub(home: Home) -> Iterator[OpenHome]:
    config = Config.load(home)
    blobs = open_blobs(home, config, mask_for(config, home))
    with (
        connected(home, NAME) as client,
        # Beside the hub, not through it: what was acknowledged can be read here at once.
        closing(EventLog.open(home.log_path, readonly=True)) as log,
    ):
        read = PersonalLog(log, SubjectKeys.of_home(home.path))
        yield OpenHome(
            client, read, blobs, lambda: None, embedded=False, wait_s=None, seen=client.head
        )


@contextmanager
def _on_own(home: Home) -> Iterator[OpenHome]:
    failure: BaseException | None = None
    try:
        runtime = Runtime(home)
        seen = runtime.hub.head  # before interrupted executions continue
        with runtime:

            def leave() -> None:
                runtime.stop(patience_s=0.0)

            try:
                client = runtime.client(NAME)
                yield OpenHome(
                    client,
                    runtime.log,
                    runtime.blobs,
                    leave,
                    embedded=True,
                    wait_s=ALONE_S,
                    seen=seen,
                )
            except BaseException as error:
                failure = error
                raise
    except LogHeldError as error:
        raise HomeHeldError(str(home.path), error.pid, error.held_for) from None
    except LogError:
        # The command's own error is more useful than this one.
        if failure is not None:
            raise failure from None
        raise
