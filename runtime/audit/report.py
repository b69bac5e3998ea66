"""A report on a log for who must show what the EU AI Act demands of logs."""

import sqlite3
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from cortex.bus import CortexError
from cortex.runtime.kernel import Config, ConfigError, Home, iso
from cortex.runtime.log import ARCHIVE, LogMissingError
from cortex.runtime.projections import HomeLog

from .ai_act import CLAUSES, KEEPING, NOT_COVERED, SERVES
from .auditing import Auditing
from .cosigning import Cosigning, Standing, has_cosigned
from .notes import AuditError, VerifierKey
from .retention import SIX_MONTHS, kept_since
from .verify import DamageError, UnreadableError, check_log, parsed_head, signers
from .witness_ports import KnownWitness

DAMAGE = (DamageError, UnreadableError, sqlite3.Error, OSError, ValueError)


class CountedKind(msgspec.Struct):
    """A kind of event, and how many of it there are."""

    topic: str
    events: int


class ClauseRow(msgspec.Struct):
    """A clause, and the events that serve it."""

    clause: str  # of Regulation (EU) 2024/1689
    demand: str
    means: str
    events: int
    kinds: list[CountedKind]  # those that the log has; empty where every event serves it


class HeadRow(msgspec.Struct):
    """A head in the home."""

    file: str
    origin: str
    events: int
    signed_by: list[str]  # names of keys of this home whose signatures hold
    witnessed_by: list[str]  # names of witnesses whose cosignatures hold
    problem: str = ""  # why it does not count


class RetentionDocument(msgspec.Struct):
    """How far back records go."""

    keep: str  # `[audit] keep`; "" if it is not set, and why if it cannot be read
    since: str  # UTC, of the oldest record; "" without one
    until: str  # UTC, of the newest
    six_months: bool  # whether they reach back six months from the moment of the report
    kept: bool | None  # the same for `keep`; None without it


class ReportDocument(msgspec.Struct):
    """What a log shows of what the EU AI Act demands of logs."""

    home: str
    log_id: str  # "" if nothing was recorded yet
    at: int  # position up to which events were counted
    made: str  # UTC
    retention: RetentionDocument
    verifies: bool  # the whole log, its blobs and its newest head, whatever `at` is; without one no
    problem: str  # what is wrong with it
    clauses: list[ClauseRow]
    serve_none: list[CountedKind]  # kinds that serve no clause
    of_plugins: list[CountedKind]  # kinds that only plugins know: what they serve is theirs to say
    heads: list[HeadRow]
    witnesses: list[Standing]  # with whether each counts
    not_covered: list[str]


def report(home: Home) -> ReportDocument:
    """The report on *home*, whose events count up to `home.as_of`.

    Raises:
        HomeError: The home cannot be read.
        AuditError: A key or a signed head in it cannot be read.
    """
    own, witnesses = Auditing(home), Cosigning(home)
    counts, first_ns, last_ns = _counted(home)
    now_ns = time.time_ns() if home.as_of is None else last_ns
    keys = own.public_keys()
    try:
        log_id = own.log_id()
    except LogMissingError:
        log_id = ""
    problem = _problem(home, own, keys) if log_id else ""
    return ReportDocument(
        home=str(home.path),
        log_id=log_id,
        at=counts.total(),
        made=iso(time.time_ns()),
        retention=_retention(home, first_ns, last_ns, now_ns),
        verifies=bool(log_id) and not problem,
        problem=problem,
        clauses=_rows(counts),
        serve_none=_kinds(counts, (t for t in counts if SERVES.get(t) == ())),
        of_plugins=_kinds(counts, (t for t in counts if t not in SERVES)),
        heads=_heads(own, keys, witnesses.witnesses()),
        witnesses=witnesses.standings(),
        not_covered=list(NOT_COVERED),
    )


def _counted(home: Home) -> tuple[Counter[str], int, int]:
    """How many events of each topic there are, and the times of the first and the last one."""
    counts: Counter[str] = Counter()
    first_ns = last_ns = 0
    with HomeLog.open(home) as past:
        try:
            for record in past.read():
                counts[record.topic] += 1
                first_ns, last_ns = first_ns or record.time_ns, record.time_ns
        except CortexError:
            pass  # it is damaged from here on, as the verifier says with the position
    return counts, first_ns, last_ns


def _retention(home: Home, first_ns: int, last_ns: int, now_ns: int) -> RetentionDocument:
    def reaches(wanted: str) -> bool:
        return bool(first_ns) and first_ns <= kept_since(wanted, now_ns)

    since, until = (iso(first_ns), iso(last_ns)) if first_ns else ("", "")
    try:
        keep = Config.shown(home).audit.keep
    except ConfigError as error:
        return RetentionDocument(f"not known: {error}", since, until, reaches(SIX_MONTHS), None)
    kept = reaches(keep) if keep else None
    return RetentionDocument(keep, since, until, reaches(SIX_MONTHS), kept)


def _problem(home: Home, own: Auditing, keys: list[VerifierKey]) -> str:
    """What the verifier finds first; "" if all of the log holds."""
    newest = own.newest_path()
    try:
        heads = [parsed_head(newest.read_text(encoding="utf-8"))] if newest and keys else []
        for head in heads:
            signers(head, [key.text() for key in keys])
        archive, blobs = home.path / ARCHIVE, home.blobs if home.blobs.is_dir() else None
        check_log(home.log_path, archive, heads, blobs)
    except DAMAGE as error:
        return str(error)
    return ""


def _rows(counts: Counter[str]) -> list[ClauseRow]:
    rows: list[ClauseRow] = []
    for clause in CLAUSES:
        if clause.name in KEEPING:
            kinds, events = [], counts.total()
        else:
            kinds = _kinds(counts, (t for t in counts if clause.name in SERVES.get(t, ())))
            events = sum(kind.events for kind in kinds)
        rows.append(ClauseRow(clause.name, clause.demand, clause.means, events, kinds))
    return rows


def _kinds(counts: Counter[str], topics: Iterable[str]) -> list[CountedKind]:
    return [CountedKind(topic, counts[topic]) for topic in sorted(topics)]


def _heads(own: Auditing, keys: list[VerifierKey], witnesses: list[KnownWitness]) -> list[HeadRow]:
    rows: list[HeadRow] = []
    for path, signed in own.heads():
        head, problem = signed.tree_head, ""
        names, others = list[str](), list[str]()
        try:
            names = [key.name for key in signed.signers(keys)]
            others = [each.name for each in witnesses if has_cosigned(each, signed)]
        except AuditError as error:
            problem = str(error)
        rows.append(HeadRow(_shown(path), head.origin, head.size, names, others, problem))
    return rows


def _shown(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
