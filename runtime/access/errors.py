"""The errors of access: grants, keys and tokens.

CortexError
├── GrantInvalidError    a grant cannot be given as it is written
├── KeyFileError         a file in keys/ cannot be used
├── NoSuchClientError    no grant is in force under this name
└── TokenFileError       a token cannot be written where it was said
"""

from cortex.bus import CortexError, with_fields


@with_fields
class GrantInvalidError(CortexError, ValueError):
    """A grant cannot be given as it is written."""

    exit_code = 2  # the command line's for what was not written right

    what: str
    value: str
    problem: str

    says = "{what} {value!r}: {problem}"


@with_fields
class KeyFileError(CortexError):
    """A file in keys/ cannot be used."""

    exit_code = 4  # the command line's for a home that cannot be used

    path: str
    problem: str

    says = "{path}: {problem}"


@with_fields
class TokenFileError(CortexError):
    """A token cannot be written where it was said."""

    exit_code = 2  # the command line's for what is wrong with it

    path: str
    problem: str

    says = "no token can be written to {path}: {problem}"


@with_fields
class NoSuchClientError(CortexError, LookupError):
    """No grant is in force under this name."""

    exit_code = 3  # the command line's for what is not there

    client: str
    hint: str

    says = "there is no client {client!r}: {hint}"
