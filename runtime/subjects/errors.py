"""Errors about subjects and their keys.

CortexError
├── SubjectKeyError     the file of a key cannot be read or written
├── SubjectErasedError  data is to be stored for a subject whose key is gone
└── BlobMissingError
    └── BlobErasedError the blob is there, and the key that it was encrypted with is not
"""

from cortex.bus import CortexError, with_fields
from cortex.runtime.log import BlobMissingError


@with_fields
class SubjectKeyError(CortexError):
    """The file of a subject's key cannot be used."""

    path: str
    problem: str

    says = "{path} cannot be used: {problem}; restore keys/ from its backup, or repair the file"


@with_fields
class SubjectErasedError(CortexError):
    """Data is to be stored for a subject whose key is not in this home."""

    subject: str  # its id

    says = (
        "the key of subject {subject} is not here: it was erased, or keys/ was not restored with "
        "the home; nothing was stored for it"
    )


class BlobErasedError(BlobMissingError):
    """A blob is encrypted for a subject whose key is not in this home."""

    says = (
        "blob {digest} holds data of a subject whose key is not here: the subject was erased, "
        "or keys/ was not restored with the home"
    )
