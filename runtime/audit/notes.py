"""Tree heads in signed notes, as C2SP has them (signed-note, tlog-checkpoint, tlog-cosignature).

A tree head, which C2SP calls a checkpoint, says how many events a log has and what
their root is. It is signed by Ed25519 (type 0x01), or by ML-DSA-44 (type 0x06: a signature with its
time), which no quantum computer forges. Witnesses sign with their time, too: by Ed25519 of type
0x04, and by ML-DSA-44.
"""

import base64
import binascii
import re
import struct
import time
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ed25519

from cortex.bus import CortexError

OfLogs = Literal["ed25519", "ml-dsa-44"]
Algorithm = Literal["ed25519", "ed25519-cosignature", "ml-dsa-44"]
TYPES: Final[dict[int, Algorithm]] = {
    0x01: "ed25519",
    0x04: "ed25519-cosignature",
    0x06: "ml-dsa-44",
}
BYTES: Final[dict[Algorithm, int]] = {name: kind for kind, name in TYPES.items()}
LAST_S: Final = (1 << 63) - 1  # the latest time of a signature
SIGNATURES: Final = 64  # maximum per note; our notes have fewer
LABEL: Final = b"subtree/v1\n\0"
ID_BYTES, HASH_BYTES, TIME_BYTES = 4, 32, 8
ED25519_BYTES: Final = 64
NAME_BYTES: Final = 255  # of a key; one byte says how many
_NAME = re.compile(r"[^\s+]+")
_SIZE = re.compile(r"0|[1-9]\d{0,18}")


class AuditError(CortexError):
    """A key, a signed head or a proof is invalid; the message says what to do."""


class Signature(NamedTuple):
    """One line under a note."""

    name: str
    key_id: bytes
    data: bytes

    @property
    def algorithm(self) -> OfLogs:
        """The kind of its key, by its length: of Ed25519 it has 64 bytes, with its time 72."""
        return "ed25519" if len(self.data) <= ED25519_BYTES + TIME_BYTES else "ml-dsa-44"


class TreeHead(msgspec.Struct, frozen=True):
    """How many events a log has, and their root (of RFC 9162's tree, 32 bytes)."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()  # further lines, which say what they say to others

    def text(self) -> str:
        """The text that is signed, with its last line break."""
        root = base64.b64encode(self.root).decode()
        return "\n".join([self.origin, str(self.size), root, *self.extensions, ""])


class VerifierKey(msgspec.Struct, frozen=True):
    """A public key and its name; `text` is what others are given."""

    name: str
    algorithm: Algorithm
    public: bytes

    @property
    def key_id(self) -> bytes:
        """What names it in a signature, with `name`."""
        kind = bytes([BYTES[self.algorithm]])
        return sha256(self.name.encode() + b"\n" + kind + self.public).digest()[:ID_BYTES]

    def text(self) -> str:
        """The vkey: name, id and key."""
        data = base64.b64encode(bytes([BYTES[self.algorithm]]) + self.public).decode()
        return f"{self.name}+{self.key_id.hex()}+{data}"

    @classmethod
    def parse(cls, text: str) -> "VerifierKey":
        """The key in the form of `text`.

        Raises:
            AuditError: It is not a valid key.
        """
        name, key_id, data = _parts_of_key(text.strip(), 2)
        algorithm = TYPES.get(data[0]) if data else None
        if algorithm is None:
            raise AuditError(
                "the key is of a type that is not known: give an Ed25519 or ML-DSA key"
            )
        key = cls(name, algorithm, data[1:])
        if key.key_id.hex() != key_id:
            raise AuditError(f"the key of {name} has another id than it says: it was changed")
        return key

    def holds(self, head: TreeHead, data: bytes) -> bool:
        """Whether *data* is this key's signature of *head*."""
        try:
            if self.algorithm == "ed25519":
                public = ed25519.Ed25519PublicKey.from_public_bytes(self.public)
                public.verify(data, head.text().encode())
                return True
            at_s, timed = int.from_bytes(data[:TIME_BYTES], "big"), data[TIME_BYTES:]
            if at_s > LAST_S:
                return False
            if self.algorithm == "ed25519-cosignature":
                public = ed25519.Ed25519PublicKey.from_public_bytes(self.public)
                public.verify(timed, _cosigned_text(at_s, head))
                return bool(at_s)
            said = _timed_message(self.name, at_s, head)
            _ml_dsa().MLDSA44PublicKey.from_public_bytes(self.public).verify(timed, said)
        except (InvalidSignature, ValueError, OverflowError):
            return False
        return True


class SigningKey(msgspec.Struct, frozen=True):
    """A private key and its name; `text` is for its file alone."""

    name: str
    algorithm: Algorithm
    seed: bytes  # 32 bytes

    @classmethod
    def new(cls, name: str, algorithm: Algorithm) -> "SigningKey":
        """A new one.

        Raises:
            AuditError: *name* is no name of a key.
        """
        if not _NAME.fullmatch(name) or not name.isprintable():
            raise AuditError(
                f"{name!r} is no name of a key: leave out blanks, + and control characters"
            )
        if len(name.encode()) > NAME_BYTES:
            raise AuditError(f"the name of a key has at most {NAME_BYTES} bytes")
        if algorithm != "ml-dsa-44":
            seed = ed25519.Ed25519PrivateKey.generate().private_bytes_raw()
        else:
            seed = _ml_dsa().MLDSA44PrivateKey.generate().private_bytes_raw()
        return cls(name, algorithm, seed)

    def __repr__(self) -> str:
        """Without the seed, so that no log line and no traceback holds it."""
        return f"SigningKey({self.name!r}, {self.algorithm!r})"

    def verifier(self) -> VerifierKey:
        """The public key of it."""
        return VerifierKey(
            self.name, self.algorithm, self._private().public_key().public_bytes_raw()
        )

    def text(self) -> str:
        """What its file holds."""
        data = base64.b64encode(bytes([BYTES[self.algorithm]]) + self.seed).decode()
        return f"PRIVATE+KEY+{self.name}+{self.verifier().key_id.hex()}+{data}"

    @classmethod
    def parse(cls, text: str) -> "SigningKey":
        """The key in the form of `text`.

        Raises:
            AuditError: It is not a valid key.
        """
        # Nothing of the text is shown: it may be a key that is damaged, or another secret.
        parts = text.strip().removeprefix("PRIVATE+").split("+", 3)
        private, name, key_id, data = [*parts, "", "", "", ""][:4]
        known = _decoded(data)
        algorithm = TYPES.get(known[0]) if known else None
        if private != "KEY" or algorithm is None or len(known) != HASH_BYTES + 1:
            raise AuditError("the file holds no signing key: make one with cortex audit key new")
        key = cls(name, algorithm, known[1:])
        if key.verifier().key_id.hex() != key_id:
            raise AuditError(f"the key of {name!r} has another id than it says: it was changed")
        return key

    def sign(self, head: TreeHead, at_s: int | None = None) -> str:
        """The line under *head*; *at_s*, Unix seconds, is signed, too, but for plain Ed25519."""
        if self.algorithm == "ed25519":
            data = self._private().sign(head.text().encode())
        else:
            at_s = int(time.time()) if at_s is None else at_s
            cosigned = self.algorithm == "ed25519-cosignature"
            said = _cosigned_text(at_s, head) if cosigned else _timed_message(self.name, at_s, head)
            data = at_s.to_bytes(TIME_BYTES, "big") + self._private().sign(said)
        return signature_line(Signature(self.name, self.verifier().key_id, data))

    def _private(self) -> Any:
        if self.algorithm != "ml-dsa-44":
            return ed25519.Ed25519PrivateKey.from_private_bytes(self.seed)
        return _ml_dsa().MLDSA44PrivateKey.from_seed_bytes(self.seed)


class SignedHead(msgspec.Struct, frozen=True):
    """A tree head, and its signatures."""

    tree_head: TreeHead
    signatures: tuple[Signature, ...]

    def text(self) -> str:
        """The note: its text, an empty line, its signatures."""
        return self.tree_head.text() + "\n" + "".join(map(signature_line, self.signatures))

    @classmethod
    def parse(cls, text: str) -> "SignedHead":
        """The note in the form of `text`; nothing in it is trusted before `signers`.

        Raises:
            AuditError: It is no signed head.
        """
        said, apart, lines = text.rpartition("\n\n")
        head = (said + "\n").split("\n")[:-1]
        if not apart or len(head) < 3 or not all(head) or not lines.endswith("\n"):
            raise AuditError("it is no signed head: it has no text, or no signatures under it")
        origin, size, root, *extensions = head
        if not _SIZE.fullmatch(size):
            raise AuditError(f"its second line is {size[:40]!r}, not the size of a log")
        signatures = signatures_of(lines)
        tree_head = TreeHead(origin, int(size), hash_of(root), tuple(extensions))
        return cls(tree_head, signatures)

    def only(self, algorithm: OfLogs) -> "SignedHead":
        """The same with nothing but the signatures of one kind.

        Raises:
            AuditError: There are none.
        """
        kept = tuple(each for each in self.signatures if each.algorithm == algorithm)
        if not kept:
            raise AuditError(
                f"no key of {algorithm} signed the head: `cortex audit key new` makes one"
            )
        return SignedHead(self.tree_head, kept)

    def signers(self, keys: list[VerifierKey]) -> list[VerifierKey]:
        """Those of *keys* that signed it.

        Raises:
            AuditError: One of them is said to have signed it, and did not.
        """
        found = []
        for key in keys:
            for each in self.signatures:
                if (each.name, each.key_id) != (key.name, key.key_id):
                    continue
                if not key.holds(self.tree_head, each.data):
                    raise AuditError(f"the signature of {key.name} does not hold: it was changed")
                found.append(key)
        return found


def signatures_of(text: str) -> tuple[Signature, ...]:
    """The lines of signatures in *text*, as a witness answers.

    Raises:
        AuditError: A line is no signature, or there are too many.
    """
    lines = text.removesuffix("\n").split("\n")
    if len(lines) > SIGNATURES:
        raise AuditError(f"it has over {SIGNATURES} signatures")
    return tuple(map(_signature, lines))


def signature_line(signature: Signature) -> str:
    """The line of *signature* under a note, with its line break."""
    data = base64.b64encode(signature.key_id + signature.data).decode()
    return f"\u2014 {signature.name} {data}\n"


def _signature(line: str) -> Signature:
    dash, name, data = [*line.split(" "), "", ""][:3]
    known = _decoded(data) if dash == "\u2014" and _NAME.fullmatch(name) else b""
    if len(known) <= ID_BYTES:
        raise AuditError(f"{line[:40]!r} is no line of a signature")
    return Signature(name, known[:ID_BYTES], known[ID_BYTES:])


def hash_of(text: str) -> bytes:
    """The SHA-256 hash that *text* is in base64.

    Raises:
        AuditError: It is not valid.
    """
    data = _decoded(text)
    if len(data) != HASH_BYTES:
        raise AuditError(f"{text[:60]!r} is no hash of {HASH_BYTES} bytes in base64")
    return data


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _parts_of_key(text: str, pluses: int) -> tuple[Any, ...]:
    parts = text.split("+", pluses)
    if len(parts) != pluses + 1:
        raise AuditError(f"{text[:20]!r} is no key: it has the form NAME+ID+KEY")
    return (*parts[:-1], _decoded(parts[-1]))


def _cosigned_text(at_s: int, head: TreeHead) -> bytes:
    return f"cosignature/v1\ntime {at_s}\n{head.text()}".encode()


def _timed_message(name: str, at_s: int, head: TreeHead) -> bytes:
    origin = head.origin.encode()
    return b"".join(
        (
            LABEL,
            bytes([len(name.encode())]) + name.encode(),
            struct.pack(">Q", at_s),
            bytes([len(origin)]) + origin,
            struct.pack(">QQ", 0, head.size),
            head.root,
        )
    )


def _ml_dsa() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import mldsa
    except ImportError:
        raise AuditError(
            "ML-DSA needs a newer cryptography: pip install --upgrade cryptography"
        ) from None
    return mldsa
