"""The archive of a home: filled by its hub's policy, backed up and restored with the log."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cortex.bus import Event, LogError
from cortex.runtime.admin import back_up, restore, seal_log, segment_rows
from cortex.runtime.audit import Auditing, report
from cortex.runtime.kernel import Config, Home, Runtime
from cortex.runtime.log import SEGMENT, EventLog, SegmentError, leaf_hash
from cortex.runtime.projections import HomeLog, Selection
from cortex.runtime.subjects import stored_log

from ..waiting import until
from .archive_world import fill, seal

ARCHIVE = "cortex.actors.accessors:LogArchiveAccessor"


class Noted(Event, frozen=True, kw_only=True, tag="x.archive.noted"):
    number: int


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / "home" / ".cortex")


@pytest.fixture
def sealed(home: Home) -> Iterator[EventLog]:
    with closing(EventLog.open(home.log_path)) as log:
        fill(log, 1_200)
        seal(log, 512)
        seal(log, 1_024)
        yield log


def test_a_hub_seals_by_its_policy_at_the_start_and_whenever_the_log_has_grown(home: Home) -> None:
    with closing(EventLog.open(home.log_path)) as log:
        fill(log, SEGMENT + 1)
    by_size = Config.parse("[archive]\nage_days = 0\nlog_mb = 1\n")

    with Runtime(home, components=[ARCHIVE], config=by_size) as runtime:
        owned = stored_log(runtime.log)
        assert isinstance(owned, EventLog)
        until(lambda: owned.archive.through == SEGMENT)
        client = runtime.client("me", events=(Noted,))
        for start in range(0, SEGMENT, 1_024):
            client.publish(*(Noted(number=n) for n in range(start, start + 1_024)))
        until(lambda: owned.archive.through == 2 * SEGMENT)

    assert [(row.by, row.state) for row in segment_rows(home)] == [("policy", "there")] * 2
    with closing(EventLog.open(home.log_path, readonly=True)) as log:
        assert log.verify() > 2 * SEGMENT


def test_without_a_policy_a_hub_seals_nothing(home: Home) -> None:
    with closing(EventLog.open(home.log_path)) as log:
        fill(log, SEGMENT + 1)

    with Runtime(home, components=[ARCHIVE], config=Config.parse("[archive]\nage_days = 0\n")):
        pass

    assert segment_rows(home) == []


def test_who_asks_without_a_hub_seals_what_is_old_enough(home: Home) -> None:
    with closing(EventLog.open(home.log_path)) as log:
        fill(log, 1_200)

    assert seal_log(home, through=600, dry_run=True).events == 512
    assert segment_rows(home) == []
    done = seal_log(home, through=600)
    assert (done.segments, done.events, done.through) == (1, 512, 512)
    assert seal_log(home, before_ns=1_000 + 800).through == 768
    assert seal_log(home, before_ns=1_000 + 800).events == 0
    assert seal_log(home).through == 1_024
    assert [(row.first, row.last) for row in segment_rows(home)] == [
        (1, 512), (513, 768), (769, 1_024)
    ]  # fmt: skip


def test_the_segments_of_the_past_are_those_that_were_sealed_then(
    home: Home, sealed: EventLog
) -> None:
    del sealed
    assert [row.last for row in segment_rows(home.at(1_201))] == [512]
    assert segment_rows(home.at(1_200)) == []


def test_queries_proofs_and_the_report_do_not_see_a_difference(
    home: Home, sealed: EventLog
) -> None:
    sealed.close()
    with HomeLog.open(home) as log:
        found = [r.position for r in log.select(Selection(stream="run/4"))]
        newest = [r.position for r in log.newest(Selection(topics=("x.tests.*",)))]
    auditing = Auditing(home)
    auditing.new_key("tests")
    auditing.sign()

    assert found == [p for p in range(1, 1_201) if p % 2 == 0 and p % 5 == 4]
    assert newest == [*range(1_200, 0, -1)]
    proof, record = auditing.prove(300), auditing.record(300)
    assert proof.check(leaf_hash(record), auditing.public_keys())
    made = report(home)
    assert (made.verifies, made.problem) == (True, "")


def test_a_backup_has_the_archive_and_a_restored_home_reads_it(
    home: Home, sealed: EventLog, tmp_path: Path
) -> None:
    events = [*sealed.read(0, 2_000, 1 << 40)]
    back_up(home, tmp_path / "backup")
    there = tmp_path / "there" / ".cortex"
    restore(tmp_path / "backup", Home(there))

    with closing(EventLog.open(there / "log.db", readonly=True)) as log:
        assert log.archive.through == 1_024
        assert log.verify() == 1_202
        assert [*log.read(0, 2_000, 1 << 40)] == events


def test_a_backup_copies_only_files_of_the_archive_that_it_lacks(
    home: Home, sealed: EventLog, tmp_path: Path
) -> None:
    backup = tmp_path / "backup"
    back_up(home, backup)
    (first, second) = sorted((backup / "archive").iterdir())
    kept = first.stat().st_ino
    second.write_bytes(b"torn")
    fill(sealed, 600)
    seal(sealed, 1_536)

    assert back_up(home, backup).events == sealed.head

    assert first.stat().st_ino == kept
    assert len([*(backup / "archive").iterdir()]) == 3
    with closing(EventLog.open(backup / "log.db", readonly=True)) as log:
        assert log.verify() == sealed.head


def test_a_backup_of_a_home_that_lacks_a_segment_leaves_the_earlier_one_as_it_was(
    home: Home, sealed: EventLog, tmp_path: Path
) -> None:
    backup = tmp_path / "backup"
    back_up(home, backup)
    fill(sealed, 300)
    assert seal(sealed, sealed.head) is not None
    lost = max((home.path / "archive").iterdir())
    lost.unlink()
    before = {path: path.read_bytes() for path in sorted(backup.rglob("*")) if path.is_file()}

    with pytest.raises(SegmentError, match=f"{lost.name} .* it is missing"):
        back_up(home, backup)

    after = {path: path.read_bytes() for path in before}
    assert after == before
    restore(backup, Home(tmp_path / "there"))


def test_a_backup_that_lacks_a_segment_is_not_restored(
    home: Home, sealed: EventLog, tmp_path: Path
) -> None:
    sealed.close()
    backup = tmp_path / "backup"
    back_up(home, backup)
    min((backup / "archive").iterdir()).unlink()

    with pytest.raises(LogError, match="position 1: it is missing"):
        restore(backup, Home(tmp_path / "there"))

    assert not (tmp_path / "there").exists()


def test_what_is_archived_is_kept(home: Home, sealed: EventLog, tmp_path: Path) -> None:
    """A backup from before may not take the place of a home that has to keep its records."""
    (home.path / "config.toml").write_text('[audit]\nkeep = "100 years"\n')
    backup = tmp_path / "backup"
    back_up(home, backup)
    fill(sealed, 100)
    seal(sealed, 1_280)
    sealed.close()

    with pytest.raises(Exception, match="events would go"):
        restore(backup, home, replace=True)
    back_up(home, backup)
    restore(backup, home, replace=True)

    with closing(EventLog.open(home.log_path, readonly=True)) as log:
        assert log.archive.through == 1_280
        assert log.verify() == 1_303


def test_a_log_without_its_archive_is_one_error(home: Home, sealed: EventLog) -> None:
    sealed.close()
    shutil.rmtree(home.path / "archive")

    assert {row.state for row in segment_rows(home)} == {"missing"}
    with HomeLog.open(home) as log, pytest.raises(SegmentError, match="it is missing"):
        log.at(1)
