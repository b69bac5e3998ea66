"""Errors of serving a home's runtime.

CortexError
└── ServingError             a hub cannot be served, found, or stopped
    ├── NotUpError               no hub is running on the home
    ├── AlreadyUpError           another process serves the home, or runs a runtime on it
    ├── FolderError              the folder of a socket is not its owner's alone
    ├── HubSilentError           something holds the home's socket and does not answer
    └── UpFailedError            `up --background` started a hub that did not come up

LogHeldError (in the log)
└── HomeHeldError            another process runs a runtime on the home
"""

from cortex.bus import CortexError, with_fields
from cortex.runtime.log import LogHeldError

HELD_FOR_HUB = "hub"  # a hub's word for processes that find the home's log held
_BETWEEN = "a hub that is just starting or ending"


class ServingError(CortexError):
    """A hub cannot be served, found, or stopped."""

    exit_code = 4  # the command line's code for an unusable home


@with_fields
class NotUpError(ServingError):
    """No hub is running on the home."""

    exit_code = 3  # the command line's code for a missing thing

    home: str

    says = "no hub is up on {home}: start one with `cortex up`"


@with_fields
class AlreadyUpError(ServingError):
    """Another process serves the home, or runs a runtime on it."""

    home: str
    pid: int | None
    serving: bool
    between: bool = False  # whether it is a hub that does not listen yet, or no longer

    def __str__(self) -> str:
        holder = f"process {self.pid}" if self.pid else "another process"
        if self.serving:
            return f"{self.home} is up already, in {holder}: `cortex down` ends it"
        if self.between:
            return f"{self.home} is held by {holder}, {_BETWEEN}: look with `cortex status`"
        return (
            f"{self.home} is held by {holder}, a command with a runtime of its own: wait until it "
            "has ended, or interrupt it"
        )


@with_fields
class FolderError(ServingError):
    """The folder for a socket is accessible to other users."""

    folder: str

    says = "{folder} is for your sockets, but others can use it, too: remove it"


@with_fields
class ListenError(ServingError):
    """An address cannot be listened on."""

    host: str
    port: int
    reason: str

    says = (
        "port {port} of {host} cannot be listened on ({reason}): end what does, or give another one"
    )


@with_fields
class HubSilentError(ServingError):
    """Something holds the home's socket and does not answer."""

    home: str
    pid: int | None

    def __str__(self) -> str:
        holder = f"process {self.pid}" if self.pid else "another process"
        return (
            f"the hub of {self.home} ({holder}) is there and does not answer: `cortex down --kill` "
            "ends it, what it acknowledged is kept"
        )


@with_fields
class UpFailedError(ServingError):
    """A hub was started in the background and did not come up."""

    home: str
    said: str

    says = "the hub of {home} did not come up: {said}"


class HomeHeldError(LogHeldError):
    """Another process runs a runtime on the home; a home has one at a time."""

    def __str__(self) -> str:
        if self.pid is None:
            return f"{self.path} is held by another process: repeat this once that has ended"
        if self.held_for == HELD_FOR_HUB:
            return f"{self.path} is held by process {self.pid}, {_BETWEEN}: repeat this in a moment"
        return (
            f"{self.path} is held by process {self.pid}, which runs executions on it: Ctrl-C there "
            f"or `kill -INT {self.pid}` pauses them; repeat this once it has ended"
        )
