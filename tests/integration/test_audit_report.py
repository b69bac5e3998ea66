"""The report on a log for the EU AI Act, and records that a home has to keep."""

import json
import sqlite3
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cortex.bus import Ephemeral
from cortex.bus.events import VOCABULARY
from cortex.runtime.admin import back_up, restore
from cortex.runtime.audit import CLAUSES, SERVES, Auditing, kept_since, report, unmapped
from cortex.runtime.cli import main
from cortex.runtime.kernel import Config, ConfigError, Home, RefusedError, Runtime
from cortex.runtime.log import EventLog

from .audit_world import Noted

DAY_S = 86_400


class OlderClock:
    """The machine's clock, some days ago."""

    def __init__(self, days: float) -> None:
        self._behind_ns = int(days * DAY_S * 1e9)

    def now_ns(self) -> int:
        return time.time_ns() - self._behind_ns

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()


def record(home: Home, count: int, days_ago: float = 0.0) -> None:
    with Runtime(home, components=[], config=Config(), clock=OlderClock(days_ago)) as runtime:
        runtime.client("me").publish(*(Noted(number=n) for n in range(count)))


def keeping(home: Home, keep: str) -> Home:
    home.config_path.write_text(f'[audit]\nkeep = "{keep}"\n')
    return home


def events_of(home: Home) -> int:
    log = EventLog.open(home.log_path, readonly=True)
    try:
        return log.state().head
    finally:
        log.close()


def test_every_kind_of_event_serves_a_clause_or_is_named_as_serving_none() -> None:
    assert unmapped(VOCABULARY) == set()
    assert SERVES.keys() == VOCABULARY.classes().keys()

    names = {clause.name for clause in CLAUSES}
    for topic, clauses in SERVES.items():
        assert set(clauses) <= names, topic
        if issubclass(VOCABULARY.classes()[topic], Ephemeral):
            assert clauses == (), f"{topic} is not in the log"


def test_a_report_counts_what_serves_each_clause_and_says_what_is_not_covered(
    tmp_path: Path,
) -> None:
    home = Home.create(tmp_path / ".cortex")
    record(home, 7)

    found = report(home)

    by_clause = {row.clause: row for row in found.clauses}
    assert by_clause["26(6)"].events == found.at == events_of(home)
    assert by_clause["12(1)"].events == found.at - 7
    assert [(kind.topic, kind.events) for kind in found.of_plugins] == [("x.audit.noted", 7)]
    assert found.verifies
    assert any("article 10" in each for each in found.not_covered)


def test_a_report_of_the_past_counts_what_there_was(tmp_path: Path) -> None:
    home = Home.create(tmp_path / ".cortex")
    record(home, 7)

    assert report(home.at(2)).at == 2
    assert report(home.at(0)).at == 0


def test_records_reach_back_six_months_or_not(tmp_path: Path) -> None:
    young, old = Home.create(tmp_path / "young"), Home.create(tmp_path / "old")
    record(young, 1, days_ago=150)
    record(old, 1, days_ago=190)
    keeping(old, "1 year")

    assert not report(young).retention.six_months
    assert report(old).retention.six_months
    assert report(young).retention.kept is None
    assert report(old).retention.kept is False


@pytest.mark.parametrize(
    ("keep", "now", "since"),
    [
        ("6 months", (2026, 8, 31), (2026, 2, 28)),
        ("6 months", (2024, 8, 31), (2024, 2, 29)),
        ("1 month", (2026, 1, 15), (2025, 12, 15)),
        ("12 months", (2026, 12, 1), (2025, 12, 1)),
        ("1 year", (2024, 2, 29), (2023, 2, 28)),
        ("30 days", (2026, 3, 1), (2026, 1, 30)),
        ("9999 years", (2026, 3, 1), (1970, 1, 1)),
        ("9999 days", (1980, 1, 1), (1970, 1, 1)),
    ],
)
def test_months_are_those_of_the_calendar(
    keep: str, now: tuple[int, int, int], since: tuple[int, int, int]
) -> None:
    now_ns = int(datetime(*now, tzinfo=UTC).timestamp() * 1e9)

    assert kept_since(keep, now_ns) == int(datetime(*since, tzinfo=UTC).timestamp() * 1e9)


def test_a_damaged_log_is_reported_with_its_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home.create(tmp_path / ".cortex")
    record(home, 7)
    with sqlite3.connect(home.log_path) as log:
        log.execute("update events set record = x'00' where position = 4")
    log.close()
    capsys.readouterr()

    assert main(["audit", "report", "--home", str(home.path), "--json"]) == 1

    found = json.loads(capsys.readouterr().out)
    assert not found["verifies"]
    assert "position 4" in found["problem"]


def test_a_report_names_the_heads_and_their_signers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home.create(tmp_path / ".cortex")
    record(home, 7)
    Auditing(home).new_key("example.com/me")
    Auditing(home).sign()

    (row,) = report(home).heads

    assert (row.events, row.signed_by) == (events_of(home), ["example.com/me"])
    assert main(["audit", "report", "--home", str(home.path)]) == 0
    assert "1 head, 1 signed" in capsys.readouterr().out


def test_a_home_in_which_nothing_was_recorded_has_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home.create(tmp_path / ".cortex")

    assert main(["audit", "report", "--home", str(home.path)]) == 0
    assert "nothing was recorded yet" in capsys.readouterr().out


def test_a_restore_that_would_drop_young_records_is_refused(tmp_path: Path) -> None:
    home = keeping(Home.create(tmp_path / ".cortex"), "6 months")
    record(home, 3)
    back_up(home, tmp_path / "backup")
    record(home, 4)
    before = events_of(home)

    with pytest.raises(RefusedError, match=r"events would go.*6 months.*--home FOLDER"):
        restore(tmp_path / "backup", home, replace=True)

    assert events_of(home) == before
    assert [path.name for path in tmp_path.iterdir() if "before" in path.name] == []
    restore(tmp_path / "backup", Home(tmp_path / "elsewhere"))


def test_a_restore_that_drops_nothing_or_only_old_records_goes_ahead(tmp_path: Path) -> None:
    whole = keeping(Home.create(tmp_path / "whole"), "6 months")
    record(whole, 3)
    back_up(whole, tmp_path / "of-whole")
    old = keeping(Home.create(tmp_path / "old"), "6 months")
    record(old, 3, days_ago=300)
    back_up(old, tmp_path / "of-old")
    record(old, 4, days_ago=200)

    assert restore(tmp_path / "of-whole", whole, replace=True).replaced
    assert restore(tmp_path / "of-old", old, replace=True).replaced


def test_a_restore_of_another_home_over_young_records_is_refused(tmp_path: Path) -> None:
    home, other = keeping(Home.create(tmp_path / "a"), "1 day"), Home.create(tmp_path / "b")
    record(home, 3)
    record(other, 300)
    back_up(other, tmp_path / "backup")

    with pytest.raises(RefusedError, match="1 day"):
        restore(tmp_path / "backup", home, replace=True)


def test_a_log_that_cannot_be_read_is_not_replaced_where_records_are_kept(tmp_path: Path) -> None:
    home = keeping(Home.create(tmp_path / ".cortex"), "6 months")
    record(home, 3)
    back_up(home, tmp_path / "backup")
    home.log_path.write_bytes(b"no database" * 500)

    with pytest.raises(RefusedError, match=r"cannot be read.*move that home away"):
        restore(tmp_path / "backup", home, replace=True)


def test_a_backup_does_not_lose_what_the_home_lost(tmp_path: Path) -> None:
    home = Home.create(tmp_path / ".cortex")
    record(home, 3)
    back_up(home, tmp_path / "early")
    record(home, 4)
    late = back_up(home, tmp_path / "late").events
    restore(tmp_path / "early", home, replace=True)
    keeping(home, "6 months")

    with pytest.raises(RefusedError, match="back up into a new folder"):
        back_up(home, tmp_path / "late")

    assert restore(tmp_path / "late", Home(tmp_path / "there")).events == late
    assert back_up(home, tmp_path / "new").events


def test_a_time_that_is_none_is_one_clear_line(tmp_path: Path) -> None:
    home = keeping(Home.create(tmp_path / ".cortex"), "half a year")

    with pytest.raises(ConfigError, match=r"config.toml:2.*audit.keep"):
        Config.shown(home)
    assert "not known" in report(home).retention.keep
