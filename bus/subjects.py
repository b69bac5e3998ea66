"""Whose personal data an event holds: what a hub asks, and whom a handler serves now.

A publisher names a subject as people do ("anna@example.org"). The log has only its id, a random
one: once the key of a subject is destroyed, nothing says whose it was.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from .event import Draft, Recorded

RecordAt = Callable[[int], Recorded | None]  # an event by its position, also one being staged


class Subjects(Protocol):
    """What a hub asks about subjects; its owner has their keys."""

    @property
    def used(self) -> bool:
        """Whether any event of this log may have a subject."""
        ...

    def named(self, draft: Draft) -> Draft:
        """*draft*, whose subject a client named, with the subject's id; makes its key if needed.

        Raises:
            EventInvalidError: It cannot be encrypted, or names the subject where it is not.
        """
        ...

    def inherited(self, draft: Draft, record_at: RecordAt) -> Draft:
        """*draft* with the subject of the execution that it serves, or of the event that led to it.

        If the subject was erased, its personal fields are placeholders.
        """
        ...


def whom_it_serves() -> str | None:
    """The subject, by id or name, for which this thread or task works now; None for nobody's."""
    return _serving.get()


@contextmanager
def serving(subject: str | None) -> Generator[None]:
    """Inside, blobs that this thread or task puts are encrypted for *subject*."""
    token = _serving.set(subject)
    try:
        yield
    finally:
        _serving.reset(token)


_serving: ContextVar[str | None] = ContextVar("serving", default=None)
