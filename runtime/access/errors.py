"""What can go wrong where access is given and kept.

CortexError
├── GrantInvalidError    a grant cannot be given as it is written
├── KeyFileError         a file in keys/ cannot be used
├── NoSuchClientError    no grant is in force under this name
└── TokenFileError       a token cannot be written where it was said
"""

from cortex.bus import CortexError


class GrantInvalidError(CortexError, ValueError):
    """A grant cannot be given as it is written."""

    exit_code = 2  # the command line's for what was not written right

    def __init__(self, what: str, value: str, problem: str) -> None:
        super().__init__(what, value, problem)
        self.what, self.value, self.problem = what, value, problem

    def __str__(self) -> str:
        return f"{self.what} {self.value!r}: {self.problem}"


class KeyFileError(CortexError):
    """A file in keys/ cannot be used."""

    exit_code = 4  # the command line's for a home that cannot be used

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


class TokenFileError(CortexError):
    """A token cannot be written where it was said."""

    exit_code = 2  # the command line's for what is wrong with it

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return f"no token can be written to {self.path}: {self.problem}"


class NoSuchClientError(CortexError, LookupError):
    """No grant is in force under this name."""

    exit_code = 3  # the command line's for what is not there

    def __init__(self, client: str, hint: str) -> None:
        super().__init__(client, hint)
        self.client, self.hint = client, hint

    def __str__(self) -> str:
        return f"there is no client {self.client!r}: {self.hint}"
