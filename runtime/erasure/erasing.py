"""`erase`: begin, destroy the key, remove derived copies, record it, end; any kill is finished.

Each part may be repeated. The intent is durable first, the key goes before the copies, so that
nothing can derive them again, and the event is recorded before the intent is forgotten. That comes
last, when the caller has said what was erased: whoever was not told finds it again.
"""

import getpass
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager

import msgspec

from cortex.bus import Client, Hub, LocalHub, Log, SystemClock, system_entropy
from cortex.bus.events import VOCABULARY, SubjectErased
from cortex.runtime.access import RecordedOwners
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, Home, NotFoundError, RefusedError, iso
from cortex.runtime.log import BlobStore, EventLog, LogHeldError, LogMissingError, SegmentError
from cortex.runtime.serving import HomeHeldError, found
from cortex.runtime.subjects import (
    ErasureIntent,
    PersonalBlobs,
    PersonalLog,
    SubjectKeys,
    begin_erasure,
    end_erasure,
    pending_erasures,
)

from .copies import copies_in, remove
from .survey import Place, Survey, survey

SOURCE = "cli"
HELD_FOR = "erasure"
NO_KEY = (
    "has no key here: nothing is recorded of it, or all of it is erased "
    "(`cortex audit subjects` lists who has a key, `cortex events query --topic subject.erased` "
    "what was erased)"
)
SHORTEST = 3  # characters of a name that the reason must not hold


class SubjectRow(msgspec.Struct, frozen=True):
    """A subject that has a key."""

    name: str
    subject: str  # its id
    since: str  # UTC


class Erased(msgspec.Struct, frozen=True, kw_only=True):
    """What was erased, or would be."""

    subjects: list[str]  # ids
    events: int
    blobs: int
    executions: list[str]
    removed: list[str]  # files and folders that were derived from the log
    unencrypted: int  # places that had the name before there was a key, and stay
    places: list[Place]  # the first of them
    unread: list[str]  # segments of the archive that cannot be read, so nobody looked into them
    dry_run: bool = False
    finished: bool = False  # an earlier erasure had begun, and was finished


def subjects_of(home: Home) -> list[SubjectRow]:
    """The subjects of *home* that have a key, by name."""
    home.check()
    keys = SubjectKeys.of_home(home.path).all()
    return [SubjectRow(each.name, each.id, iso(each.made_ns)) for each in keys]


def looked_up(home: Home, name: str, texts: Sequence[str] = ()) -> Erased:
    """What `erase` would do; it changes nothing, and may run beside a hub.

    Raises:
        NotFoundError: No key is of that subject.
        LogError: The log cannot be read.
    """
    home.check()
    ids = _known_ids(home, name)
    with _opened(home) as log:
        seen = survey(home, log, ids, _sought(home, name, texts))
    return _said(home, ids, seen, dry_run=True)


def _untold(said: Erased) -> None:
    """Show nothing."""


def erase(
    home: Home,
    name: str,
    why: str,
    texts: Sequence[str] = (),
    tell: Callable[[Erased], None] = _untold,
) -> Erased:
    """Make what is recorded of a subject unreadable for ever.

    Args:
        home: Of whom no hub may be up.
        name: The subject, by the name that publishers give it, or by its id.
        why: For the record; it must not give the subject away.
        texts: What else to look for among what is not encrypted.
        tell: Called with the result when all is done, right before it is noted as done. After a
            kill, or an error here, the next call finishes the erasure, and tells again.

    Raises:
        NotFoundError: No key is of that subject, and no erasure has begun.
        RefusedError: A hub is up, an execution of the subject is not over, or *why* names it.
        LogError: The log cannot be used.
    """
    home = home.open()
    if found(home):
        raise RefusedError(
            "a hub is up on this home, and has the data in its memory: `cortex down`, then erase"
        )
    _refuse_why(name, why)
    with _held(home) as log:
        begun = pending_erasures(home.path)
        removed = {path for intent in begun for path in _finish(home, log, intent)}
        if begun and not _ids_of(home, name):
            said = _finished(begun, removed)
            tell(said)
            _end(home, begun)
            return said
        _end(home, begun)
        ids = _known_ids(home, name)
        seen = survey(home, log, ids, _sought(home, name, texts))
        _refuse_unfinished(home, log, seen.executions)
        intents = [_intent(subject, why, seen) for subject in ids]
        for intent in intents:
            begin_erasure(home.path, intent)
        removed = {path for intent in intents for path in _finish(home, log, intent)}
        said = _said(home, ids, seen, dry_run=False)
        said = msgspec.structs.replace(said, removed=sorted(removed))
        tell(said)
        _end(home, intents)
    return said


def _end(home: Home, intents: Collection[ErasureIntent]) -> None:
    for intent in intents:
        end_erasure(home.path, intent)


def _finish(home: Home, log: Log, intent: ErasureIntent) -> list[str]:
    """Do what is left of an erasure that has begun, but its end; the paths that were removed."""
    keys = SubjectKeys.of_home(home.path)
    keys.destroy(intent.subject)
    copies = copies_in(home.path, (intent.subject,), intent.executions)
    remove(copies)
    _record(log, keys, intent)
    return [str(path.relative_to(home.path)) for path in copies]


def _record(log: Log, keys: SubjectKeys, intent: ErasureIntent) -> None:
    """Publish `subject.erased`, unless that was done before a kill."""
    event = SubjectErased(
        subject=intent.subject,
        by=intent.by,
        why=intent.why,
        asked_ns=intent.asked_ns,
        events=intent.events,
        blobs=intent.blobs,
        unencrypted=intent.unencrypted,
    )
    if log.stream_version(event.stream()):
        return
    personal = PersonalLog(log, keys)
    hub = Hub(personal, VOCABULARY, system_entropy, RecordedOwners(personal, VOCABULARY))
    with closing(LocalHub(hub, SystemClock())) as local:
        Client(SOURCE, local, personal, VOCABULARY).publish(event)


def _intent(subject: str, why: str, seen: Survey) -> ErasureIntent:
    return ErasureIntent(
        subject,
        _user(),
        why,
        time.time_ns(),
        seen.events,
        seen.blobs,
        seen.unencrypted,
        tuple(seen.executions),
    )


def _user() -> str:
    """The user of the machine; the number of one that has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.geteuid()}"


def _known_ids(home: Home, name: str) -> list[str]:
    ids = _ids_of(home, name)
    if not ids:
        raise NotFoundError("subject", name, NO_KEY)
    return ids


def _ids_of(home: Home, name: str) -> list[str]:
    keys = SubjectKeys.of_home(home.path).all()
    return [each.id for each in keys if name in (each.name, each.id)]


def _sought(home: Home, name: str, texts: Sequence[str]) -> list[str]:
    """The name of the subject, even if its id was given, and *texts*."""
    names = [each.name for each in SubjectKeys.of_home(home.path).all() if each.id == name]
    return [*(names or [name]), *texts]


def _said(home: Home, ids: list[str], seen: Survey, *, dry_run: bool) -> Erased:
    copies = copies_in(home.path, ids, seen.executions) if dry_run else []
    return Erased(
        subjects=ids,
        events=seen.events,
        blobs=seen.blobs,
        executions=seen.executions,
        removed=[str(path.relative_to(home.path)) for path in copies],
        unencrypted=seen.unencrypted,
        places=seen.places,
        unread=seen.unread,
        dry_run=dry_run,
    )


def _finished(left: Collection[ErasureIntent], removed: Collection[str]) -> Erased:
    return Erased(
        subjects=[intent.subject for intent in left],
        events=sum(intent.events for intent in left),
        blobs=sum(intent.blobs for intent in left),
        executions=[each for intent in left for each in intent.executions],
        removed=sorted(removed),
        unencrypted=sum(intent.unencrypted for intent in left),
        places=[],
        unread=[],
        finished=True,
    )


def _refuse_why(name: str, why: str) -> None:
    if not why.strip():
        raise RefusedError("say why: it is recorded with the erasure")
    if len(name) >= SHORTEST and name.casefold() in why.casefold():
        raise RefusedError("the reason names the subject, and is recorded in clear: leave it out")


def _refuse_unfinished(home: Home, log: Log, executions: Sequence[str]) -> None:
    keys = SubjectKeys.of_home(home.path)
    blobs = PersonalBlobs(BlobStore(home.blobs), keys)
    history = History(home, PersonalLog(log, keys), blobs)
    going = [each for each in executions if _is_going(history, each)]
    if going:
        named = ", ".join(going[:3]) + (f" and {len(going) - 3} more" if len(going) > 3 else "")
        raise RefusedError(
            f"executions of this subject are not over: cancel them first "
            f"(`cortex execution cancel ID`): {named}"
        )


def _is_going(history: History, execution_id: str) -> bool:
    try:
        return not history.execution(execution_id).over
    except SegmentError:  # part of it is lost: it cannot go on
        return False


@contextmanager
def _held(home: Home) -> Iterator[EventLog]:
    """The log of *home*, as its owner; nobody else records anything meanwhile."""
    try:
        log = EventLog.open(
            home.log_path, durability=Config.load(home).durability, held_for=HELD_FOR
        )
    except LogHeldError as error:
        raise HomeHeldError(str(home.path), error.pid, error.held_for) from None
    with closing(log):
        yield log


@contextmanager
def _opened(home: Home) -> Iterator[EventLog]:
    try:
        log = EventLog.open(home.log_path, readonly=True)
    except LogMissingError:
        raise RefusedError("nothing was recorded yet: there is nothing to erase") from None
    with closing(log):
        yield log
