"""What goes wrong where a home's runtime is served.

CortexError
└── ServingError             a hub cannot be served, found, or brought to an end
    ├── NotUpError               no hub is up on the home
    ├── AlreadyUpError           another process serves the home, or runs a runtime on it
    ├── FolderError              the folder of a socket is not its owner's alone
    ├── HubSilentError           something holds the home's socket and does not answer
    └── UpFailedError            `up --background` began, and its hub did not come up

LogHeldError (in the log)
└── HomeHeldError            another process runs a runtime on the home
"""

from cortex.bus import CortexError
from cortex.runtime.log import LogHeldError

HELD_FOR_HUB = "hub"  # what a hub says of itself to whoever finds the home's log held
_BETWEEN = "a hub that is just starting or ending"


class ServingError(CortexError):
    """A hub cannot be served, found, or brought to an end."""

    exit_code = 4  # the command line's for a home that cannot be used


class NotUpError(ServingError):
    """No hub is up on the home."""

    exit_code = 3  # the command line's for what is not there

    def __init__(self, home: str) -> None:
        super().__init__(home)
        self.home = home

    def __str__(self) -> str:
        return f"no hub is up on {self.home}: start one with `cortex up`"


class AlreadyUpError(ServingError):
    """Another process serves the home, or runs a runtime on it."""

    def __init__(self, home: str, pid: int | None, serving: bool, between: bool = False) -> None:
        super().__init__(home, pid, serving, between)
        self.home, self.pid, self.serving = home, pid, serving
        self.between = between  # whether it is a hub that does not listen yet, or no longer

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


class FolderError(ServingError):
    """The folder in which a socket is to be is not its owner's alone."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self.folder = folder

    def __str__(self) -> str:
        return f"{self.folder} holds sockets, and is not yours alone: remove it"


class HubSilentError(ServingError):
    """Something holds the home's socket and does not answer."""

    def __init__(self, home: str, pid: int | None) -> None:
        super().__init__(home, pid)
        self.home, self.pid = home, pid

    def __str__(self) -> str:
        holder = f"process {self.pid}" if self.pid else "another process"
        return (
            f"the hub of {self.home} ({holder}) is there and does not answer: `cortex down --kill` "
            "ends it, what it acknowledged is kept"
        )


class UpFailedError(ServingError):
    """A hub was started in the background and did not come up."""

    def __init__(self, home: str, said: str) -> None:
        super().__init__(home, said)
        self.home, self.said = home, said

    def __str__(self) -> str:
        return f"the hub of {self.home} did not come up: {self.said}"


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
