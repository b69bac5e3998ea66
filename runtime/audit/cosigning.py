"""The log's side of witnesses: which there are, what they saw, and heads for them to cosign."""

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from cortex.bus import CortexError
from cortex.runtime.kernel import Config, Home, NotFoundError

from .auditing import Auditing, write_whole
from .notes import TIME_BYTES, AuditError, Signature, SignedHead, VerifierKey, signatures_of
from .receivers import Handed, hand_over
from .witness import Reply, Witness
from .witness_ports import KnownWitness, WitnessPort, checked_address

LIST: Final = "witnesses.json"  # in keys/
TRIES: Final = 3  # of one head, while others move the witness on
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SIZE = re.compile(r"(0|[1-9]\d{0,18})\n?")


class Cosigned(msgspec.Struct):
    """What a witness answered to a head."""

    witness: str
    cosigned: bool
    problem: str = ""  # why it did not cosign


class Standing(msgspec.Struct):
    """A witness of a log."""

    name: str
    where: str
    keys: list[str]
    events: int  # under the newest head in the home that it cosigned; 0 without one
    counts: bool  # whether it is another's: one of the same user could be made to forget
    why_not: str


class SeenHead(msgspec.Struct):
    """A head that a witness has."""

    witness: str
    signed: SignedHead


class Cosigning:
    """The witnesses of one home."""

    def __init__(self, home: Home) -> None:
        self._home, self._auditing = home, Auditing(home)
        self._path = home.path / "keys" / LIST

    def witnesses(self) -> list[KnownWitness]:
        """Those that are asked, in the order in which they were added.

        Raises:
            AuditError: The file that names them cannot be read.
        """
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=list[KnownWitness])
        except FileNotFoundError:
            return []
        except msgspec.MsgspecError as error:
            raise AuditError(
                f"{self._path} cannot be read ({error}): add witnesses again"
            ) from None

    def add_home(self, name: str, folder: Path) -> KnownWitness:
        """Ask the home in *folder*, which becomes a witness if it is none and accepts this log.

        Raises:
            AuditError: The name is taken or none, it is this home, or this home has no key.
            HomeError: That home cannot be used.
            UntrustedHomeError: This user has not trusted it.
        """
        self._check_name(name)
        keys = self._auditing.public_keys()
        if not keys:
            raise AuditError("there is no key that signs heads: cortex audit key new NAME")
        other = Home(folder.expanduser().absolute())
        other.require()
        if other.path.resolve() == self._home.path.resolve():
            raise AuditError("a home is no witness of itself: give another one")
        witness = Witness(other.open())
        made = witness.make(name)
        witness.accept(self._auditing.origin(), keys)
        return self._add(KnownWitness(name, _texts(made), folder=str(other.path)))

    def add_url(self, name: str, url: str, keys: list[str]) -> KnownWitness:
        """Ask the witness at *url*, whose cosignatures one of *keys* checks.

        Raises:
            AuditError: The name is taken or none, a key is invalid, or the URL is none.
        """
        self._check_name(name)
        checked_address(url)
        if not keys:
            raise AuditError("give the public keys of the witness with --key: its owner has them")
        parsed = [VerifierKey.parse(key) for key in keys]
        if plain := [key.name for key in parsed if key.algorithm == "ed25519"]:
            raise AuditError(f"the key of {plain[0]} is of a log: a witness signs with its time")
        return self._add(KnownWitness(name, _texts(parsed), url=url.rstrip("/")))

    def remove(self, name: str) -> None:
        """Ask it no more; what it cosigned stays.

        Raises:
            NotFoundError: There is none of that name.
        """
        known = self.witnesses()
        left = [each for each in known if each.name != name]
        if len(left) == len(known):
            raise NotFoundError("witness", name, "is none here: `cortex audit witness list`")
        self._write(left)

    def standings(self) -> list[Standing]:
        """Each witness, how far it has cosigned, and whether it counts; asks nobody."""
        rows: list[Standing] = []
        for each in self.witnesses():
            size, why = self._newest_size(each), each.counts_not()
            rows.append(Standing(each.name, each.where, [*each.keys], size, not why, why))
        return rows

    def cosign(self, signed: SignedHead) -> tuple[SignedHead, list[Cosigned]]:
        """*signed*, which is in the home, with the signatures of all witnesses that cosign it."""
        answers: list[Cosigned] = []
        for each in self.witnesses():
            if has_cosigned(each, signed):
                answers.append(Cosigned(each.name, cosigned=True))
                continue
            try:
                signed = self._cosigned_by(each, signed)
                answers.append(Cosigned(each.name, cosigned=True))
            except (CortexError, OSError) as error:
                answers.append(Cosigned(each.name, cosigned=False, problem=str(error)))
        return signed, answers

    def _cosigned_by(self, witness: KnownWitness, signed: SignedHead) -> SignedHead:
        port, size = witness.port(), signed.tree_head.size
        known = self._newest_size(witness, signed.tree_head.origin)
        old = known if known <= size else 0  # then it says how many it saw
        for _ in range(TRIES):
            reply = port.add_checkpoint(self._auditing.grown_from(old, signed).text().encode())
            if reply.status == 200:
                return self._auditing.add_signatures(signed, _lines(witness, signed, reply))
            seen = _SIZE.fullmatch(reply.body) if reply.status == 409 else None
            if seen is None or int(seen[1]) == old:
                raise AuditError(f"it answered {reply.status}: {reply.body.strip()[:300]}")
            old = int(seen[1])
            if old > size:
                raise AuditError(
                    f"it saw {old:,} events of this log, which has {size:,}: the end of the log is "
                    "lost; if you restored it from a backup: cortex audit sign --declare-fork"
                )
        raise AuditError("it is asked by others all the time: sign again")

    def _newest_size(self, witness: KnownWitness, origin: str = "") -> int:
        """Events of the newest head, of *origin* if given, that the witness cosigned; or 0."""
        for _, each in self._auditing.newest_first():
            if origin in ("", each.tree_head.origin) and has_cosigned(witness, each):
                return each.tree_head.size
        return 0

    def seen(self, problems: list[str]) -> Iterator[SeenHead]:
        """The newest head of each origin of this log that each witness has.

        Args:
            problems: Gets a line for each witness that cannot be asked, or answers wrongly.

        Raises:
            AuditError: A head in the home cannot be read.
        """
        for witness in self.witnesses():
            try:
                port = witness.port()
                for origin in self._origins():
                    found = _asked(port, witness, origin)
                    if found is not None:
                        yield SeenHead(witness.name, found)
            except (CortexError, OSError) as error:
                problems.append(f"witness {witness.name}: {error}")

    def _origins(self) -> list[str]:
        """Every origin that heads of this log may have, the first one first."""
        origins = [self._auditing.origin()]
        origins += [signed.tree_head.origin for _, signed in self._auditing.heads()]
        origins += [each.origin for each in self._auditing.forks()]
        return [*dict.fromkeys(origins)]

    def _check_name(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise AuditError(f"{name[:40]!r} is no name: give letters, digits, dots and hyphens")
        if any(each.name == name for each in self.witnesses()):
            raise AuditError(f"there is a witness {name} already: choose another name")

    def _add(self, witness: KnownWitness) -> KnownWitness:
        self._write([*self.witnesses(), witness])
        return witness

    def _write(self, witnesses: list[KnownWitness]) -> None:
        write_whole(self._path, msgspec.json.format(msgspec.json.encode(witnesses)).decode())


def has_cosigned(witness: KnownWitness, signed: SignedHead) -> bool:
    """Whether a signature of *witness* is under *signed*.

    Raises:
        AuditError: There is one, and it does not hold.
    """
    return bool(signed.signers([VerifierKey.parse(key) for key in witness.keys]))


def _asked(port: WitnessPort, witness: KnownWitness, origin: str) -> SignedHead | None:
    """The newest head of *origin* that a witness has, after its signature was checked."""
    reply = port.checkpoint(sha256(origin.encode()).hexdigest())
    if reply.status == 404:
        return None
    if reply.status != 200:
        raise AuditError(f"it answered {reply.status}: {reply.body.strip()[:300]}")
    signed = SignedHead.parse(reply.body)
    if signed.tree_head.origin != origin or not has_cosigned(witness, signed):
        raise AuditError(f"its head of {origin} is of another log, or not signed by it")
    return signed


def _lines(witness: KnownWitness, signed: SignedHead, reply: Reply) -> list[Signature]:
    """The cosignatures in an answer that hold; those by keys that are not known are left out."""
    keys = [VerifierKey.parse(key) for key in witness.keys]
    answered = SignedHead(signed.tree_head, signatures_of(reply.body))
    known = {(key.name, key.key_id) for key in answered.signers(keys)}
    found = [
        each
        for each in answered.signatures
        if (each.name, each.key_id) in known and any(each.data[:TIME_BYTES])
    ]
    if not found:
        raise AuditError("none of its keys that are known here signed its answer")
    return found


def _texts(keys: list[VerifierKey]) -> tuple[str, ...]:
    return tuple(key.text() for key in keys)


class Signed(msgspec.Struct):
    """A head, and what became of it."""

    head: SignedHead  # with the signatures of witnesses
    witnesses: list[Cosigned]
    handed: list[Handed]

    @property
    def problems(self) -> list[str]:
        """A line for each witness that did not cosign, and each receiver that did not get it."""
        witnesses = [f"witness {w.witness}: {w.problem}" for w in self.witnesses if w.problem]
        return [
            *witnesses,
            *(f"not handed to {h.to}: {h.problem}" for h in self.handed if h.problem),
        ]


def sign(home: Home, *, declares_fork: bool = False) -> Signed:
    """Sign the log as it is, let witnesses cosign the head, and hand it over.

    The head is signed and stored whatever witnesses and receivers do.

    Raises:
        AuditError: As for `Auditing.sign`.
        ConfigError: config.toml is wrong.
        LogError: The log cannot be read.
    """
    receivers = Config.load(home).audit.heads  # first: a mistake in there is no reason to go on
    auditing, known = Auditing(home), Cosigning(home)
    # Who cannot be asked now is named below, where it does not cosign.
    seen = [each.signed.tree_head for each in known.seen([])] if declares_fork else []
    signed, answers = known.cosign(auditing.sign(declares_fork=declares_fork, seen=seen))
    path = auditing.newest_path()
    handed = [] if path is None else hand_over(home, receivers, signed, path)
    return Signed(signed, answers, handed)
