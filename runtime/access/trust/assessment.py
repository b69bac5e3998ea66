"""Whether a home is trusted in its present state: a pure comparison with the recorded state."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from .acting import LINK, SILENT, Acting, Seen, is_inert, is_state
from .git_index import folded
from .store import TrustedFile, TrustRecord, remember

GONE = Seen("", ())
_AT_WORK = "git is at work there, or its index cannot be read: once it is done, try again"


class HomeState(Struct, frozen=True):
    """A home as it is now."""

    path: Path  # without links
    identity: str
    inode: int
    acting: Acting
    objects: Mapping[str, frozenset[str]] | None  # of git; None if unknown


class TrustAssessment(Struct, frozen=True):
    """Whether a home may act, and why not."""

    trusted: bool
    reasons: tuple[str, ...] = ()  # why not, what was changed first
    learned: bool = False  # edits of the user's own were added to the record
    fresh: bool = False  # nothing in it can act, and no record is of it


def assess(found: HomeState, record: TrustRecord | None) -> TrustAssessment:
    """Whether *found* is trusted; edits that are the user's own are added to *record*.

    The rules, for each file that can act:

    * trusted content stays trusted, even if another user restores it;
    * another content is the user's own edit while git has for the file what it had when it was
      trusted, or a content that was trusted and then committed. What else git has of late, it
      brought: a pull, a checkout, a merge, a commit;
    * outside git, it is the user's own edit in a home that this user made, and brought in another;
    * what somebody else may write, a link leads to, or a repository within the home keeps, is never
      an own edit; nor is anything while git is at work, which writes its index last.
    """
    same = record is not None and _is_of(found, record)
    if found.acting.nothing and not (record is not None and record.withdrawn and same):
        return TrustAssessment(trusted=True, fresh=not same)
    if record is None:
        return TrustAssessment(
            False, ("it was not made here by you, or is older than folder trust",)
        )
    if record.withdrawn:
        return TrustAssessment(False, ("your trust in it was withdrawn",))
    if not same:
        return TrustAssessment(
            False, ("it is a copy, or was put in the place of the one you trusted",)
        )
    return _of_files(found, record)


def learn_all(
    found: HomeState,
    record: TrustRecord,
    state_objects: Mapping[str, tuple[str, ...]] | None = None,
) -> None:
    """Add all present files to *record*, as trusted.

    Of git's files, only the present ones: others were not reviewed, and a checkout can add them.
    *state_objects* are the git object ids of the present state files, by path.
    """
    for path in _paths(found, record):
        known = record.files.setdefault(path, TrustedFile())
        seen = _seen(found, path)
        there = (state_objects or {}).get(path, ()) if is_state(path) else seen.objects
        if not is_state(path):
            _note(known, seen)
        kept = (found.objects or {}).get(folded(path), frozenset())
        remember(known.objects, *sorted(kept.intersection(there)))


def is_own_state(found: HomeState, record: TrustRecord | None) -> bool:
    """Whether what the runtime recorded in *found* is this user's own, and no git can change it.

    Then it is no part of what somebody looks at to trust the files: it is of this machine alone.
    """
    if record is None or record.withdrawn or not _is_of(found, record) or found.objects is None:
        return False
    return not any(is_state(path) for path in found.objects)


def _is_of(found: HomeState, record: TrustRecord) -> bool:
    return (found.identity, found.inode) == (record.identity, record.inode)


def _of_files(found: HomeState, record: TrustRecord) -> TrustAssessment:
    in_git = found.objects is not None and any(not is_inert(path) for path in found.objects)
    reasons, learned = [], False
    for path in _paths(found, record):
        seen = _seen(found, path)
        objects = (found.objects or {}).get(folded(path), frozenset())
        known = record.files.get(path)
        if is_state(path):
            brought = not objects <= set(known.objects if known else ())
        elif known is not None and seen.content in known.contents:
            own = objects & set(seen.objects)  # git has just this: the user's edit, committed
            if own - set(known.objects):
                remember(known.objects, *sorted(own))
                learned = True
            continue
        elif _never_acted(known) and seen is GONE:
            continue  # git may have it, and it is not there
        elif _never_acted(known) and path in found.acting.silent:
            brought = False  # regardless of its origin: it cannot run anything
            own = objects & set(seen.objects)
            remember(record.files.setdefault(path, TrustedFile()).objects, *sorted(own))
        else:
            kept = set(known.objects) if known else set()
            written = set(known.written) if known else set()
            same = objects <= kept | written and (bool(objects) or not kept)
            editable = not seen.foreign and found.objects is not None
            brought = not (same and editable and (record.made_here or in_git))
        if brought:
            reasons.append(_reason(path, seen, objects, known))
        elif not is_state(path):
            _note(record.files.setdefault(path, TrustedFile()), seen)
            learned = True
    if reasons and found.objects is None:
        reasons.append(_AT_WORK)
    return TrustAssessment(not reasons, tuple(reasons), learned)


def _seen(found: HomeState, path: str) -> Seen:
    return found.acting.files.get(path) or found.acting.silent.get(path, GONE)


def _never_acted(known: TrustedFile | None) -> bool:
    return known is None or all(each.startswith(SILENT) for each in known.contents)


def _note(known: TrustedFile, seen: Seen) -> None:
    remember(known.contents, seen.content)
    remember(known.written, *seen.objects)


def _paths(found: HomeState, record: TrustRecord) -> list[str]:
    paths = {*found.acting.files, *found.acting.silent, *record.files}
    there = set(map(folded, paths))
    paths |= {path for path in found.objects or () if path not in there}
    return sorted(path for path in paths if not is_inert(path))


def _reason(path: str, seen: Seen, objects: frozenset[str], known: TrustedFile | None) -> str:
    if is_state(path):
        return f"git keeps {path}, and has another one than you trusted: `git rm --cached` it"
    what = "is gone" if seen is GONE else "is new" if known is None else "was changed"
    if objects - set(known.objects if known else ()):
        return f"{path} {what}: version control brought it, or it was committed unseen"
    if path.endswith(LINK):
        return f"{path} {what}, and leads out of the home"
    if seen.foreign:
        return f"{path} {what}, and others than you may write it"
    return f"{path} {what}"
