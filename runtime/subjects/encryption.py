"""How bodies and blobs are encrypted for a subject, and read again: AES-256-GCM.

An encrypted record has format 2, and its body is the msgpack list ``[scheme, clear, nonce,
encrypted]``. *clear* is the body with placeholders; *encrypted* is the whole one. The clear body,
the id and the topic are authenticated with it, so that neither can be moved to another event. What
is recorded for a subject that was erased before has an empty nonce: it was never readable.

An encrypted blob is ``MAGIC, id, size, nonce, encrypted``, compressed before it is encrypted. Its
nonce depends on key and bytes alone, so that the same bytes have the same name.
"""

import hmac
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
import zstandard

from cortex.bus import ENCRYPTED, FORMAT, CortexError, Draft, Recorded, decode

from .keys import ID_BEGINS, Subject

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SCHEME = 1
NONCE_BYTES = 12
TAG_BYTES = 16
MAGIC = b"\x93CTXSUBJECT\x01"
LEVEL = 3  # of zstd
LARGEST_BYTES = 256 << 20  # of a blob
_HEADER = struct.Struct(f">{len(MAGIC)}s16sQ{NONCE_BYTES}s")
_LIST = b"\x94"  # how an encrypted body begins; a plain one is a map
_DRAFT = tuple(map(Draft.__struct_fields__.index, ("topic", "body", "subject")))
_ENCRYPTED_FORMAT = bytes((ENCRYPTED,))  # the second byte of a record, behind that of the list

Find = Callable[[str], Subject | None]  # a key by its id


class EncryptedBody(msgspec.Struct, frozen=True, array_like=True):
    """The body of an encrypted record."""

    scheme: int
    clear: bytes
    nonce: bytes
    encrypted: bytes


_ENCODE = msgspec.msgpack.Encoder().encode
_READ = msgspec.msgpack.Decoder(EncryptedBody).decode


def is_encrypted(record: bytes) -> bool:
    """Whether the body in the bytes of a record is encrypted; it is not decoded."""
    return record[1:2] == _ENCRYPTED_FORMAT


def encrypted(record: Recorded, clear: bytes, key: bytes | None, nonce: bytes) -> Recorded:
    """*record* as it is stored; without a key, only the clear body."""
    body = _encrypted_body(record.body, clear, key, nonce, record.id + record.topic.encode())
    return msgspec.structs.replace(record, format=ENCRYPTED, body=body)


def decrypted(record: Recorded, find: Find) -> Recorded:
    """A stored record as it was published, or, if that cannot be read, with its clear body.

    One whose body is no encrypted body stays as it is: no hub writes such a record.

    Raises:
        CortexError: It was not encrypted with the key of its subject, or was changed.
    """
    body = _read(record.body, record.topic)
    if body is None:
        return record
    subject = find(record.subject or "") if body.nonce else None
    if subject is None:
        return msgspec.structs.replace(record, body=body.clear)
    whole = _decrypted_body(subject, body, record.id + record.topic.encode(), record.topic)
    return msgspec.structs.replace(record, format=FORMAT, body=whole)


def decrypted_bytes(record: bytes, find: Find) -> bytes:
    """The same for the bytes of a record."""
    return _ENCODE(decrypted(decode(record), find))


def encrypted_draft(
    draft: bytes, clear: Callable[[str, bytes], bytes], find: Find, nonce: bytes
) -> bytes:
    """The bytes of a draft that waits for its time, as they are stored.

    Args:
        draft: As they are now.
        clear: Makes the clear body, of a topic and the whole one.
        find: Finds a key.
        nonce: Never used before.
    """
    fields = _personal_fields(draft)
    if fields is None:
        return draft
    topic, body, subject = (fields[at] for at in _DRAFT)
    known = find(subject)
    made = clear(topic, body)
    key = known.key if known is not None else None
    fields[_DRAFT[1]] = _encrypted_body(body, made, key, nonce, topic.encode())
    return _ENCODE(fields)


def decrypted_draft(draft: bytes, find: Find) -> bytes:
    """The bytes of a stored draft as it was published, or with its clear body."""
    fields = _personal_fields(draft)
    if fields is None:
        return draft
    topic, body, subject = (fields[at] for at in _DRAFT)
    if not body.startswith(_LIST):
        return draft
    read = _read(body, topic)
    if read is None:
        return draft
    known = find(subject) if read.nonce else None
    fields[_DRAFT[1]] = (
        read.clear if known is None else _decrypted_body(known, read, topic.encode(), topic)
    )
    return _ENCODE(fields)


def _personal_fields(draft: bytes) -> list[Any] | None:
    """The fields of a draft; None if it has no subject."""
    try:
        fields = msgspec.msgpack.decode(draft, type=list[Any])
    except msgspec.MsgspecError:
        return None  # the hub reports it
    return fields if len(fields) > _DRAFT[-1] and fields[_DRAFT[-1]] is not None else None


def encrypted_blob(data: bytes, subject: Subject) -> bytes:
    """*data* as it is stored for *subject*."""
    nonce = hmac.digest(_key_for(subject.key, b"nonce"), data, "sha256")[:NONCE_BYTES]
    header = _HEADER.pack(
        MAGIC, bytes.fromhex(subject.id.removeprefix(ID_BEGINS)), len(data), nonce
    )
    packed = zstandard.ZstdCompressor(LEVEL).compress(data)
    return header + _cipher(subject.key, b"blob").encrypt(nonce, packed, header)


def blob_subject(data: bytes) -> str | None:
    """The id of the subject for which a stored blob is encrypted; None if it is not."""
    if not data.startswith(MAGIC) or len(data) < _HEADER.size + TAG_BYTES:
        return None
    _, subject, _, _ = _HEADER.unpack_from(data)
    return f"{ID_BEGINS}{bytes(subject).hex()}"


def blob_size(data: bytes) -> int:
    """How many bytes are in an encrypted blob."""
    _, _, size, _ = _HEADER.unpack_from(data)
    return int(size)


def decrypted_blob(data: bytes, key: bytes) -> bytes | None:
    """What is in an encrypted blob; None if it was not encrypted with *key*, or was changed."""
    from cryptography.exceptions import InvalidTag

    header = data[: _HEADER.size]
    size, nonce = blob_size(data), header[-NONCE_BYTES:]
    if size > LARGEST_BYTES:
        return None
    try:
        packed = _cipher(key, b"blob").decrypt(nonce, data[_HEADER.size :], header)
        return zstandard.ZstdDecompressor().decompress(packed, max_output_size=size)
    except (InvalidTag, zstandard.ZstdError):
        return None


def _read(body: bytes, topic: str) -> EncryptedBody | None:
    try:
        found = _READ(body)
    except msgspec.MsgspecError:
        return None
    if found.scheme != SCHEME:
        raise CortexError(
            f"the body of a {topic} is encrypted by scheme {found.scheme}, this version of Cortex "
            f"reads {SCHEME}: upgrade Cortex"
        )
    return found


def _encrypted_body(
    body: bytes, clear: bytes, key: bytes | None, nonce: bytes, tied: bytes
) -> bytes:
    if key is None:
        return _ENCODE(EncryptedBody(SCHEME, clear, b"", b""))
    secret = _cipher(key, b"body").encrypt(nonce, body, tied + clear)
    return _ENCODE(EncryptedBody(SCHEME, clear, nonce, secret))


def _decrypted_body(subject: Subject, body: EncryptedBody, tied: bytes, topic: str) -> bytes:
    from cryptography.exceptions import InvalidTag

    try:
        return _cipher(subject.key, b"body").decrypt(body.nonce, body.encrypted, tied + body.clear)
    except (InvalidTag, ValueError):
        raise CortexError(
            f"the body of a {topic} was not encrypted with the key of its subject: restore keys/ "
            "from the backup of this home"
        ) from None


def _key_for(key: bytes, purpose: bytes) -> bytes:
    """A key for one purpose, of the key of a subject."""
    return hmac.digest(key, purpose, "sha256")


@lru_cache(maxsize=1024)
def _cipher(key: bytes, purpose: bytes) -> "AESGCM":
    # Here, not at the top: most homes have no subjects, and it takes long to import.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(_key_for(key, purpose))
