"""What can go wrong between a log and a checkout.

CortexError
└── CheckoutError               the folder cannot be used as a checkout
    ├── NotAFolderError         there is no such folder
    ├── GitMissingError         it is a git checkout, but git is not installed
    └── CheckoutUnreadableError the folder or git's index cannot be read
"""

from cortex.bus import CortexError


class CheckoutError(CortexError):
    """The folder cannot be used as a checkout."""


class NotAFolderError(CheckoutError, NotADirectoryError):
    """There is no folder at the path that was given."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path} is not a folder: give the folder that holds the checkout"


class GitMissingError(CheckoutError):
    """A git checkout was given on a machine without git."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path} is a git checkout but there is no git command: install git"


class CheckoutUnreadableError(CheckoutError):
    """The folder exists but its files cannot be listed."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = path, reason

    def __str__(self) -> str:
        return f"{self.path} cannot be listed ({self.reason}): check its owner and permissions"
