"""The errors of repairing a checkout.

CortexError
└── RepairError              the repair cannot continue; the message is one line without our paths
    ├── CheckoutUnusableError    it is no checkout, or no branch can start from it
    ├── PatchRefusedError        an edit does not fit the files: ask for another
    ├── GitFailedError           a git command failed
    ├── HookRefusedError         the web hook's address or secret cannot be used
    └── HookFailedError          the web hook rejected it
        └── HookUnansweredError  it did not answer: the outcome is unknown
"""

from cortex.bus import CortexError, with_fields


class RepairError(CortexError):
    """The repair cannot continue; *kind* and *retry* are those of the step's failure."""

    kind = "refused"
    retry = False


@with_fields
class CheckoutUnusableError(RepairError):
    """The sources are no git checkout, or none that a branch can start from."""

    problem: str

    says = "the sources {problem}"


@with_fields
class PatchRefusedError(RepairError):
    """An edit cannot be carried out; nothing was written."""

    kind = "failed"
    retry = True

    number: int  # from 1
    path: str
    problem: str

    says = "edit {number} of {path!r} does not apply: {problem}"


@with_fields
class GitFailedError(RepairError):
    """git ended with an error."""

    command: str
    problem: str

    says = "git {command}: {problem}"


class HookRefusedError(RepairError):
    """The address or the secret cannot be used; a retry cannot help."""


class HookFailedError(RepairError):
    """The receiver did not take it; the message names the host alone, the rest may be secret."""

    kind = "failed"
    retry = True


class HookUnansweredError(HookFailedError):
    """It was posted and not answered: whether the receiver accepted it is unknown."""
