"""A log whose events of subjects are encrypted on their way in, and readable on their way out.

Whoever writes and reads through it sees the events as they were published. The log below has what
is hashed: verification, proofs and copies of a log read that one.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence

import msgspec

from cortex.bus import Batch, Deadline, Log, Row, State, Vocabulary, decode, encode, placeholder
from cortex.bus.events import VOCABULARY

from .encryption import (
    NONCE_BYTES,
    decrypted_bytes,
    decrypted_draft,
    encrypted,
    encrypted_draft,
    is_encrypted,
)
from .keys import SubjectKeys


def stored_log(log: Log) -> Log:
    """The log with what is hashed, below *log*."""
    return log.stored if isinstance(log, PersonalLog) else log


class PersonalLog:
    """*log*, as its owner reads and writes it, who has the keys."""

    def __init__(
        self,
        log: Log,
        keys: SubjectKeys,
        vocabulary: Vocabulary = VOCABULARY,
        entropy: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self.stored = log  # the bytes that are hashed
        self._keys, self._vocabulary, self._entropy = keys, vocabulary, entropy

    def state(self) -> State:
        """As the log does."""
        state = self.stored.state()
        if not self._keys.look():
            return state
        due = [self._decrypted_deadline(each) for each in state.deadlines]
        return msgspec.structs.replace(state, deadlines=due)

    def write(self, batch: Batch) -> None:
        """As the log does; what has a subject is encrypted.

        Raises:
            LogError: As of the log.
            SubjectKeyError: A key cannot be read.
        """
        if self._keys.used:
            rows = self._encrypted(batch.rows)
            due = {name: self._encrypted_deadline(each) for name, each in batch.deadlines.items()}
            batch = msgspec.structs.replace(batch, rows=rows, deadlines=due)
        self.stored.write(batch)

    def read(self, after: int, limit: int, limit_bytes: int) -> Sequence[bytes]:
        """As the log does, decrypted; events whose key is gone have format ENCRYPTED."""
        return self.decrypted(self.stored.read(after, limit, limit_bytes))

    def read_stream(self, stream: str, after: int, limit: int) -> Sequence[bytes]:
        """The same of one stream."""
        return self.decrypted(self.stored.read_stream(stream, after, limit))

    def stream_version(self, stream: str) -> int:
        """As the log does."""
        return self.stored.stream_version(stream)

    def stream_versions(self, streams: Sequence[str]) -> Mapping[str, int]:
        """As the log does."""
        return self.stored.stream_versions(streams)

    def leaf_hashes(self, first: int, last: int) -> bytes:
        """As the log does: they are of the encrypted records."""
        return self.stored.leaf_hashes(first, last)

    def close(self) -> None:
        """Close the log."""
        self.stored.close()

    def decrypted(self, page: Sequence[bytes]) -> Sequence[bytes]:
        """Stored records, decrypted as far as their keys are here."""
        if not any(map(is_encrypted, page)):
            return page
        self._keys.used = True
        get = self._keys.get
        return [decrypted_bytes(record, get) if is_encrypted(record) else record for record in page]

    def _encrypted(self, rows: list[Row]) -> list[Row]:
        # Drawn at once: each draw is a system call, which lets another thread run.
        count = sum(row.subject is not None for row in rows)
        nonces = self._entropy(NONCE_BYTES * count) if count else b""
        found: list[Row] = []
        drawn = 0
        for row in rows:
            stored = row
            if row.subject is not None:
                nonce = nonces[drawn : drawn + NONCE_BYTES]
                drawn += NONCE_BYTES
                record = decode(row.record)
                clear = self._clear(record.topic, record.body)
                subject = self._keys.get(row.subject)
                key = subject.key if subject is not None else None
                data = encode(encrypted(record, clear, key, nonce))
                stored = Row(row.position, row.stream, row.version, data, row.subject)
            found.append(stored)
        return found

    def _encrypted_deadline(self, deadline: Deadline) -> Deadline:
        nonce = self._entropy(NONCE_BYTES)
        draft = encrypted_draft(deadline.draft, self._clear, self._keys.get, nonce)
        return msgspec.structs.replace(deadline, draft=draft)

    def _decrypted_deadline(self, deadline: Deadline) -> Deadline:
        draft = decrypted_draft(deadline.draft, self._keys.get)
        return msgspec.structs.replace(deadline, draft=draft)

    def _clear(self, topic: str, body: bytes) -> bytes:
        return placeholder(self._vocabulary.classes().get(topic), topic, body)
