"""What a hub asks about subjects: the id of one that is named, and whose an event is."""

from typing import Final

import msgspec

from cortex.bus import (
    ERASED,
    Draft,
    EventInvalidError,
    Log,
    RecordAt,
    Recorded,
    Vocabulary,
    decode,
    placeholder,
    refuse_unfit,
)

from .keys import SubjectKeys

STREAM: Final = "execution/"  # of an execution, before its id
KNOWN: Final = 100_000  # executions whose subject is remembered
NAMES: Final = ("stream", "key", "correlation")
SHORTEST: Final = 3  # characters of a subject's name that is looked for in other names


class HubSubjects:
    """The port of a hub, over the keys of a home."""

    def __init__(self, keys: SubjectKeys, log: Log, vocabulary: Vocabulary) -> None:
        self._keys, self._log, self._vocabulary = keys, log, vocabulary
        self._serves: dict[str, str | None] = {}  # subject by execution

    @property
    def used(self) -> bool:
        """Whether any event of this log may have a subject."""
        return self._keys.used

    def named(self, draft: Draft) -> Draft:
        """*draft* with the id of its subject, whose key is made if needed.

        Raises:
            EventInvalidError: It cannot be encrypted, or names the subject where it is not.
            SubjectKeyError: The key cannot be written.
        """
        name = draft.subject
        if name == ERASED:  # from an event whose own subject was erased, which it inherits
            return msgspec.structs.replace(draft, subject=None)
        if name is None or self._keys.is_erased(name):
            return draft
        for what in NAMES:
            held = getattr(draft, what)
            if held and len(name) >= SHORTEST and name.casefold() in held.casefold():
                problem = (
                    f"its {what} holds the name of its subject, and is recorded in clear: use an "
                    "id there"
                )
                raise EventInvalidError(draft.topic, problem)
        refuse_unfit(self._vocabulary.classes().get(draft.topic))
        return msgspec.structs.replace(draft, subject=self._keys.id_of(name))

    def inherited(self, draft: Draft, record_at: RecordAt) -> Draft:
        """*draft* with the subject of the execution that it serves, or of its cause."""
        subject = draft.subject
        if subject is None:
            subject = self._of_execution(draft.correlation) or _of(draft.causation, record_at)
            if subject is None:
                return draft
            draft = msgspec.structs.replace(draft, subject=subject)
        if draft.correlation is not None:
            self._remember(draft.correlation, subject)
        if self._keys.get(subject) is None:
            return msgspec.structs.replace(draft, body=self._clear(draft))
        return draft

    def _of_execution(self, execution_id: str | None) -> str | None:
        if execution_id is None:
            return None
        if execution_id in self._serves:
            return self._serves[execution_id]
        first = self._log.read_stream(STREAM + execution_id, 0, 1)
        if not first:
            return None
        return self._remember(execution_id, decode(first[0]).subject)

    def _remember(self, execution_id: str, subject: str | None) -> str | None:
        if len(self._serves) >= KNOWN:
            self._serves.clear()
        return self._serves.setdefault(execution_id, subject)

    def _clear(self, draft: Draft) -> bytes:
        cls = self._vocabulary.classes().get(draft.topic)
        return placeholder(cls, draft.topic, draft.body)


def _of(position: int | None, record_at: RecordAt) -> str | None:
    """The subject of the event at *position*."""
    record: Recorded | None = record_at(position) if position else None
    return record.subject if record is not None else None
