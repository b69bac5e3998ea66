"""Decides whether a home may act; called before anything of a home runs."""

import os
import re
import secrets
import time
from contextlib import suppress
from pathlib import Path

from cortex.runtime.log import private

from .acting import IDENTITY, Acting, acting_in, digest_of, is_state, objects_of
from .assessment import HomeState, TrustAssessment, assess, is_own_state, learn_all
from .errors import TrustStoreError, TrustVariableError, UntrustedHomeError
from .git_index import objects_in_git
from .store import TrustRecord, locked, read, write

VARIABLE = "CORTEX_TRUST"
MADE_HERE = "made here"
_DIGEST = re.compile(r"[0-9a-f]{64}")


def assess_at(home: Path) -> TrustAssessment:
    """Whether *home* is trusted in its present state. The user's own edits are recorded.

    Raises:
        TrustStoreError: The home cannot be read, or the trust store cannot be used.
    """
    found = _found(home)
    assessment = assess(found, read(found.path))
    if assessment.learned:
        # A full disk or a folder that may not be written costs a question later, no more.
        with suppress(TrustStoreError), locked():
            record = read(found.path)
            if assess(found, record).learned and record is not None:
                write(record, sync=False)
    return assessment


def reasons_against(home: Path, *, users_own: bool = False) -> tuple[str, ...]:
    """Why the home at *home* may not act, as `require_trust` has it; empty where it may.

    Raises:
        TrustVariableError: As for `require_trust`.
        TrustStoreError: As for `require_trust`.
    """
    digests = _trusted_by_variable()
    assessment = assess_at(home)
    if assessment.trusted or (users_own and _is_adopted(home)):
        return ()
    return () if digests and digest_at(home) in digests else assessment.reasons


def require_trust(home: Path, *, users_own: bool = False) -> None:
    """Return if the home at *home* may act: it is trusted, or CORTEX_TRUST has its digest.

    Args:
        home: The folder. It may act if it does not exist or holds nothing that can act: later
            files are this user's.
        users_own: It is in the user's data folder, where only the user writes: it counts as made
            here, unless git tracks files of it.

    Raises:
        UntrustedHomeError: It may not.
        TrustVariableError: CORTEX_TRUST is not a list of digests.
        TrustStoreError: As for `assess_at`.
    """
    digests = _trusted_by_variable()
    assessment = assess_at(home)
    if not assessment.trusted:
        with suppress(TrustStoreError), locked():  # another process may just be noting it
            assessment = assess(_found(home), read(home.resolve()))
    if assessment.trusted:
        if assessment.fresh and home.is_dir():
            note_made(home)
    elif users_own and _is_adopted(home):
        note_made(home)
    elif digests and (now := digest_at(home)) not in digests:
        other = f"its digest is {now}, which {VARIABLE} does not hold"
        raise UntrustedHomeError(os.fspath(home), (*assessment.reasons, other))
    elif digests:
        give_trust(home, by=VARIABLE, digest=now)
    else:
        raise UntrustedHomeError(os.fspath(home), assessment.reasons)


def digest_at(home: Path) -> str:
    """The digest of all that can act in the home at *home*, as CORTEX_TRUST has it.

    Without its log and keys where those are this user's own, of a home that was trusted here.

    Raises:
        TrustStoreError: The home cannot be looked at.
    """
    found = _found(home)
    return _digest(found, read(found.path))


def give_trust(home: Path, *, by: str, digest: str = "", own: bool = False) -> str:
    """Trust the home at *home* in its present state; return the digest of what can act in it.

    Args:
        home: The folder.
        by: How it came to be trusted, for people to read.
        digest: Of the reviewed state; trust is refused if the home has changed since.
        own: The home is the user's own: edits stay trusted if git cannot tell whose they are.

    Raises:
        UntrustedHomeError: Its digest differs: it was changed after the review.
        TrustStoreError: It cannot be read, or the trust cannot be stored.
    """
    found = _found(home)
    now = _digest(found, read(found.path))
    if digest and now != digest:
        raise UntrustedHomeError(os.fspath(home), (f"its digest is {now}, not {digest}",))
    _keep(found, made_here=own, by=by, digest=now)
    return now


def withdraw_trust(home: Path) -> bool:
    """Trust the home at *home* no more; whether it was trusted comes back.

    Raises:
        TrustStoreError: As for `assess_at`.
    """
    found = _found(home)
    with locked():
        record = read(found.path)
        was = assess(found, record).trusted
        withdrawn = TrustRecord(
            home=os.fspath(found.path),
            identity=found.identity,
            inode=found.inode,
            made_here=False,
            given_ns=time.time_ns(),
            withdrawn=True,
        )
        write(withdrawn)
    return was


def note_made(home: Path) -> None:
    """Note that this user made the home at *home*, in which nothing else can act yet.

    Raises:
        TrustStoreError: Trust cannot be kept.
    """
    found = _found(home)
    _keep(found, made_here=True, by=MADE_HERE, digest="")


def take_unrecorded(home: Path) -> TrustRecord | None:
    """The trust in *home* that its log does not hold yet; after this call it counts as recorded."""
    path = home.resolve()
    record = read(path)
    if record is None or record.recorded or record.withdrawn:
        return None
    with locked():
        record = read(path)
        if record is None or record.recorded or record.withdrawn:
            return None
        record.recorded = True
        write(record)
    return record


def _keep(found: HomeState, *, made_here: bool, by: str, digest: str) -> None:
    identity = secrets.token_hex(16)
    with locked():
        record = TrustRecord(
            home=os.fspath(found.path),
            identity=identity,
            inode=found.inode,
            made_here=made_here,
            given_ns=time.time_ns(),
            digest=digest,
            by=by,
            recorded=by == MADE_HERE,
        )
        of_state = {p: objects_of(found.path / p) for p in found.objects or () if is_state(p)}
        learn_all(found, record, of_state)
        # First the home: with a record of another identity it is asked about, and never trusted.
        _write_identity(found.path / IDENTITY, identity)
        write(record, sync=by != MADE_HERE)


def _digest(found: HomeState, record: TrustRecord | None) -> str:
    state = () if is_own_state(found, record) else found.acting.state
    return digest_of(found.path, Acting(found.acting.files, state))


def _found(home: Path) -> HomeState:
    path = home.resolve()
    try:
        inode = path.stat().st_ino
    except OSError:
        inode = 0  # it is not there, and nothing acts in it
    return HomeState(path, _identity(path), inode, acting_in(path), objects_in_git(path))


def _identity(home: Path) -> str:
    path = home / IDENTITY
    try:
        if not path.is_file():  # reading a pipe would wait for ever
            return ""
        with path.open(encoding="ascii", errors="replace") as file:
            return file.read(64).strip()
    except OSError:
        return ""


def _write_identity(path: Path, identity: str) -> None:
    try:
        path.unlink(missing_ok=True)
        with open(path, "x", opener=private) as file:
            file.write(f"{identity}\n")
    except OSError as error:
        why = error.strerror or str(error)
        raise TrustStoreError(str(path), f"cannot be written: {why}; check its mode") from error


def _is_adopted(home: Path) -> bool:
    """Whether a home in the user's data folder is taken for the user's own."""
    path = home.resolve()
    return (
        read(path) is None
        and path.stat().st_uid == os.geteuid()
        and not path.stat().st_mode & 0o022
        and objects_in_git(path) == {}
        and not any(seen.foreign for seen in acting_in(path).files.values())
    )


def _trusted_by_variable() -> set[str]:
    said = os.environ.get(VARIABLE, "")
    digests = [each.strip().lower() for each in said.split(",") if each.strip()]
    for digest in digests:
        if not _DIGEST.fullmatch(digest):
            raise TrustVariableError(digest)
    return set(digests)
