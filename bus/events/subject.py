"""Subjects: people and others whose personal data the log holds encrypted."""

from ..event import Event


class SubjectErased(Event, frozen=True, kw_only=True, tag="subject.erased"):
    """The key of a subject was destroyed: what is recorded of it cannot be read any more."""

    belongs = ("subject", "subject")

    subject: str  # its id, which is random; nothing says any more whose it was
    by: str  # the user of the machine who asked for it
    why: str
    asked_ns: int  # UTC nanoseconds
    events: int  # recorded of it, which are placeholders now
    blobs: int  # encrypted for it
    unencrypted: int = 0  # places that had its name and could not be erased
