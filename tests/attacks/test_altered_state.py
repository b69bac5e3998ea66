"""Cursors, work, deadlines and receipts that another program changed: shown, and put right."""

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import (
    Claim,
    Claimed,
    Draft,
    Due,
    Event,
    Finish,
    Hub,
    LocalHub,
    Publish,
    Subscribe,
    SystemClock,
    Vocabulary,
    decode,
    system_entropy,
)
from cortex.bus.events import (
    VOCABULARY,
    ExecutionCancelled,
    ExecutionRequest,
    LogStateMended,
    StepCompleted,
    StepExecute,
)
from cortex.runtime.kernel import Home
from cortex.runtime.log import EventLog, LogAlteredError, examine, mend
from cortex.runtime.serving import state_document

CORTEX = Path(sys.executable).parent / "cortex"
LEASE_NS = 60_000_000_000


class Asked(Event, frozen=True, kw_only=True, tag="x.altered.asked"):
    belongs = ("thing", "about")

    about: str = "a"


WORDS: Vocabulary = VOCABULARY.extended((Asked,))
SUBSCRIPTIONS = (
    Subscribe("Cursor", "ordered", (("*", None),)),
    Subscribe("Worker", "work", ((Asked.topic_name(), None),)),
    Subscribe("Steps", "work", ((StepExecute.topic_name(), None),)),
)
STEP = StepExecute(execution_id="e1", step_id="s1", action="act", attempt=1)


@contextmanager
def hub_on(home: Home) -> Iterator[LocalHub]:
    log = EventLog.open(home.log_path)
    hub = LocalHub(Hub(log, WORDS, system_entropy), SystemClock())
    try:
        yield hub
    finally:
        hub.close()
        log.close()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home whose log holds a little of everything, and is closed."""
    home = Home.create(tmp_path / ".cortex")
    with hub_on(home) as hub:
        hub.submit("me", SUBSCRIPTIONS)
        for number in range(1, 40):
            draft = Draft.of(Asked(about="ab"[number % 2]))
            hub.ask_one("me", Publish((draft,), number=number))
        due = (Due("later", 1 << 62, Draft.of(Asked())),)
        hub.ask_one("me", Publish((Draft.of(STEP),), due=due))
    return home


def sql(home: Home, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(home.log_path, isolation_level=None)) as db:
        assert db.execute(statement, values).rowcount


def rows(home: Home, table: str) -> list[Any]:
    with closing(sqlite3.connect(home.log_path)) as db:
        return db.execute(f"select * from {table} order by 1, 2").fetchall()


def tables(home: Home) -> dict[str, list[Any]]:
    return {t: rows(home, t) for t in ("subscriptions", "work", "deadlines", "receipts")}


def cortex(home: Home, *command: str) -> "subprocess.CompletedProcess[str]":
    done = [str(CORTEX), *command, "--home", str(home.path)]
    return subprocess.run(done, text=True, check=False, capture_output=True)


def mended_events(home: Home) -> list[LogStateMended]:
    with closing(EventLog.open(home.log_path, readonly=True)) as log:
        records = [decode(data) for data in log.read(0, 10_000, 1 << 30)]
        assert log.verify() == len(records)
    found = [WORDS.read(r) for r in records if r.topic == LogStateMended.topic_name()]
    return [each for each in found if isinstance(each, LogStateMended)]


def restore(home: Home) -> None:
    mend(home.log_path, "restored", "test")
    with hub_on(home):
        pass  # it records what was done


def accept(home: Home) -> None:
    mend(home.log_path, "accepted", "test")
    with hub_on(home):
        pass


EDITS = {
    "a cursor": ("update subscriptions set cursor = 3 where name = 'Cursor'", "cursor 0 -> 3"),
    "work taken away": ("delete from work where position = 4", "work Worker at 4: removed"),
    "work of nobody": ("insert into work values ('No', 4, 0, 0, 0, 0)", "work No at 4: added"),
    "an attempt": ("update work set attempts = 9 where position = 4", "attempts 0 -> 9"),
    "a deadline": ("update deadlines set due_ns = 1", "deadlines later: changed due_ns"),
    "a deadline's event": ("update deadlines set draft = x'c1'", "deadlines later: changed draft"),
    "a receipt": ("update receipts set number = 7", "receipts me: changed number 39 -> 7"),
    "a receipt taken away": ("delete from receipts", "receipts me: removed"),
    "a filter": ("update subscriptions set filter = 'no' where name = 'Worker'", "filter"),
    "a subscription": ("delete from subscriptions where name = 'Worker'", "Worker: removed"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_what_was_changed_is_shown_and_can_be_put_back(home: Home, edit: tuple[str, str]) -> None:
    before = tables(home)
    sql(home, edit[0])

    with pytest.raises(LogAlteredError, match="`cortex log state` shows"):
        EventLog.open(home.log_path)
    document = state_document(examine(home.log_path), None)
    assert not document.fits
    assert edit[1] in "\n".join(document.lines)
    assert tables(home) != before, "to look changes nothing"

    restore(home)

    assert tables(home) == before
    assert examine(home.log_path).fits
    (told,) = mended_events(home)
    assert (told.how, told.by) == ("restored", "test")
    assert told.found
    assert told.done


def test_the_commands_lead_from_the_refusal_to_the_remedy(home: Home) -> None:
    before = tables(home)
    sql(home, "delete from work where position = 4")

    refused = cortex(home, "run", "--goal", "x")
    assert refused.returncode == 4
    assert "`cortex log state` shows" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    shown = cortex(home, "log", "state")
    assert shown.returncode == 4
    assert "work Worker at 4: removed" in shown.stdout
    assert "--restore" in shown.stdout

    done = cortex(home, "log", "state", "--restore")

    assert done.returncode == 0, done.stderr
    assert "restored: work 1 added" in done.stdout
    assert tables(home) == before
    assert cortex(home, "log", "state").returncode == 0
    (told,) = mended_events(home)
    assert (told.how, told.by, told.found) == ("restored", "cortex log state", "work 1 removed")


def test_what_was_changed_can_be_kept(home: Home) -> None:
    sql(home, "delete from deadlines")
    sql(home, "update subscriptions set cursor = 3 where name = 'Cursor'")

    done = cortex(home, "log", "state", "--accept", "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["how"] == "accepted"
    assert rows(home, "deadlines") == []
    assert [row[3] for row in rows(home, "subscriptions") if row[0] == "Cursor"] == [3]
    (told,) = mended_events(home)
    assert told.found == "subscriptions 1 changed, deadlines 1 removed"
    with hub_on(home) as hub:
        assert hub.head
    assert len(mended_events(home)) == 1, "it is told of once"


def test_what_nobody_answered_waits_again_whatever_is_accepted(home: Home) -> None:
    sql(home, "delete from work where subscription = 'Steps'")

    accept(home)

    assert [row[:2] for row in rows(home, "work") if row[0] == "Steps"] == [("Steps", 40)]


@pytest.mark.parametrize("end", ["answered", "cancelled"])
def test_what_was_answered_does_not_wait_again(home: Home, end: str) -> None:
    done = StepCompleted(execution_id="e1", step_id="s1")
    with hub_on(home) as hub:
        if end == "answered":
            claimed = hub.ask_one("Steps", Claim("Steps", 1, LEASE_NS))
            assert isinstance(claimed, Claimed)
            draft = Draft.of(done, causation=40)
            hub.ask_one("Steps", Finish("Steps", 40, claimed.leases[0].epoch, (draft,)))
        else:
            ended = ExecutionCancelled(execution_id="e1", reason="no more")
            hub.ask_one("me", Publish((Draft.of(ended),)))
    sql(home, "delete from work where position in (4, 40)")

    accept(home)

    assert [row for row in rows(home, "work") if row[0] == "Steps"] == []


@pytest.mark.parametrize(("who", "waits"), [("mallory", True), ("Steps", False), ("ada", False)])
def test_what_somebody_else_answered_waits_again(home: Home, who: str, waits: bool) -> None:
    asked = StepExecute(
        execution_id="e2", step_id="s1", action="act", component="Steps", host="ada"
    )
    done = Draft.of(StepCompleted(execution_id="e2", step_id="s1"), causation=41)
    with hub_on(home) as hub:
        hub.ask_one("me", Publish((Draft.of(asked),)))
        hub.ask_one(who, Publish((done,)))
    sql(home, "delete from work where subscription = 'Steps'")

    accept(home)

    left = [row[1] for row in rows(home, "work") if row[0] == "Steps"]
    assert left == ([40, 41] if waits else [40])


def test_a_cursor_is_not_set_before_what_its_component_answered_to(home: Home) -> None:
    asked = ExecutionRequest(execution_id="e2", process="p", goal="run p")
    with hub_on(home) as hub:
        hub.ask_one("Cursor", Publish((Draft.of(asked, causation=17),)))
    sql(home, "update subscriptions set cursor = 99999 where name = 'Cursor'")

    accept(home)

    assert [row[3] for row in rows(home, "subscriptions") if row[0] == "Cursor"] == [17]


@pytest.mark.parametrize(
    "edit",
    [
        "insert into work values ('No', 4, 0, 0, 0, 0)",
        "update subscriptions set cursor = 99999 where name = 'Cursor'",
        "update subscriptions set filter = 'no' where name = 'Worker'",
        "update subscriptions set kind = 'no' where name = 'Worker'",
        "update deadlines set draft = x'c1'",
    ],
)
def test_what_contradicts_the_events_is_refused_after_an_unclean_end_too(
    home: Home, edit: str
) -> None:
    sql(home, "update epochs set ended = null, state = null")
    sql(home, edit)

    with pytest.raises(LogAlteredError, match="cortex log state"):
        EventLog.open(home.log_path)
    with pytest.raises(LogAlteredError, match="only `--accept` is left"):
        mend(home.log_path, "restored", "test")

    accept(home)

    assert len(mended_events(home)) == 1


def test_a_copy_that_is_damaged_as_well_leaves_only_to_accept(home: Home) -> None:
    sql(home, "update deadlines set due_ns = 1")
    sql(home, "update epochs set state = substr(state, 1, 40) where state is not null")

    shown = cortex(home, "log", "state")
    assert shown.returncode == 4
    assert "no copy of what they were" in shown.stdout
    assert "--restore" not in shown.stdout
    refused = cortex(home, "log", "state", "--restore")
    assert refused.returncode == 1
    assert "--accept" in refused.stderr
    accept(home)
    assert examine(home.log_path).fits


KILLED = """
import os, signal, sys
from pathlib import Path
from cortex.bus.events import VOCABULARY
from cortex.runtime.log import EventLog, mend, mending, statements

left = int(sys.argv[2])
def counting(real):
    def call(*args):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args)
    return call

for name in ("put_many", "_end_epoch", "_write", "open_writer"):
    setattr(mending, name, counting(getattr(mending, name)))
mend(Path(sys.argv[1]), "restored", "test")
if left:
    sys.exit(0)
os.kill(os.getpid(), signal.SIGKILL)  # after the transaction, before a hub could tell of it
"""


@pytest.mark.parametrize("after", range(9))
def test_a_kill_in_the_middle_leaves_it_as_it_was_or_mended(home: Home, after: int) -> None:
    before = tables(home)
    sql(home, "delete from work where position < 9")
    changed = tables(home)

    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(home.log_path), str(after)], check=False
    )

    assert done.returncode in (0, -signal.SIGKILL)
    assert tables(home) in (before, changed)
    if tables(home) == changed:
        restore(home)
    with hub_on(home):
        pass
    assert tables(home) == before
    assert [told.how for told in mended_events(home)] == ["restored"]


@pytest.fixture
def up(home: Home) -> Iterator[Home]:
    started = cortex(home, "up", "--background")
    assert started.returncode == 0, started.stderr
    try:
        yield home
    finally:
        cortex(home, "down")


def test_what_is_changed_under_a_hub_is_shown_and_put_back_by_it(up: Home) -> None:
    assert cortex(up, "log", "state").returncode == 0
    assert "on disk are as it has them" in cortex(up, "doctor", "--quick").stdout
    sql(up, "update deadlines set due_ns = 1 where name = 'later'")
    sql(up, "delete from work where subscription = 'Steps'")
    sql(up, "insert into receipts values ('other', 9, x'00')")

    shown = cortex(up, "log", "state")
    assert shown.returncode == 4
    for row in ("deadlines later", "work Steps at 40", "receipts other"):
        assert f"{row}: not as the hub has it" in shown.stdout
    assert "cortex down" in shown.stdout
    doctor = cortex(up, "doctor", "--quick")
    assert doctor.returncode == 4
    assert "another program changed what it wrote" in doctor.stdout
    held = cortex(up, "log", "state", "--accept")
    assert held.returncode == 4
    assert cortex(up, "down").returncode == 0

    assert cortex(up, "log", "state").returncode == 0
    assert [row[0] for row in rows(up, "deadlines") if row[1] == 1] == []
    assert [row[:2] for row in rows(up, "work") if row[0] == "Steps"] == [("Steps", 40)]
    assert [row for row in rows(up, "receipts") if row[0] == "other"] == []
    (told,) = mended_events(up)
    assert (told.how, told.by) == ("kept", "hub")


def test_nothing_to_mend_is_said_and_records_nothing(home: Home) -> None:
    done = cortex(home, "log", "state", "--accept")

    assert done.returncode == 0
    assert "everything fits" in done.stdout
    assert mended_events(home) == []
    assert examine(home.log_path).fits
    assert cortex(Home.create(home.path.parent / "new"), "log", "state").returncode == 0


def test_a_home_that_is_not_trusted_is_shown_and_not_mended(home: Home) -> None:
    sql(home, "delete from receipts")
    subprocess.run(
        [str(CORTEX), "trust", "--withdraw", str(home.path)], check=True, capture_output=True
    )

    assert cortex(home, "log", "state").returncode == 4
    assert cortex(home, "log", "state", "--accept").returncode == 6
    assert rows(home, "receipts") == []
