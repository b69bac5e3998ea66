"""Whose personal data is recorded: the key of each subject, and what is encrypted with it."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .blobs import PersonalBlobs, stored_blobs
    from .encryption import blob_subject, decrypted, encrypted
    from .errors import BlobErasedError, SubjectErasedError, SubjectKeyError
    from .hub_subjects import HubSubjects
    from .intents import ErasureIntent, begin_erasure, end_erasure, pending_erasures
    from .keys import FOLDER, Subject, SubjectKeys, key_path
    from .log import PersonalLog, stored_log
else:
    lazily(__name__)

__all__ = [
    "FOLDER",
    "BlobErasedError",
    "ErasureIntent",
    "HubSubjects",
    "PersonalBlobs",
    "PersonalLog",
    "Subject",
    "SubjectErasedError",
    "SubjectKeyError",
    "SubjectKeys",
    "begin_erasure",
    "blob_subject",
    "decrypted",
    "encrypted",
    "end_erasure",
    "key_path",
    "pending_erasures",
    "stored_blobs",
    "stored_log",
]
