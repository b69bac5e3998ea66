"""Homes of earlier versions: they open, finish what they began, and show it as it was."""

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import Commit, Draft, Fetch, NotGrantedError, Page, Publish, Subscribe, connect
from cortex.runtime.log import EventLog

from ..waiting import until
from .old_homes import BEGAN, MISSING, VERSIONS, OldHome

TALLY = "Tally"  # the subscription of a plugin that is not installed here
WAITING = {
    "asks": "paused",
    "parent": "paused",
    "shows": "paused",
    "halts": "halted",
    "greets": "running",
    "tries": "running",
    "goal": "running",
    "countdown": "completed",
    "triage_ci_failure": "completed",
}


@pytest.fixture(params=VERSIONS)
def rested(request: pytest.FixtureRequest, tmp_path: Path) -> OldHome:
    """A home whose hub ended in good order."""
    return OldHome(request.param, "rested", tmp_path)


@pytest.fixture(params=VERSIONS)
def killed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OldHome]:
    """A home whose hub was killed while a shell step and a worker's step were under way."""
    BEGAN.unlink(missing_ok=True)
    yield OldHome(request.param, "killed", tmp_path)
    BEGAN.unlink(missing_ok=True)


@pytest.fixture
def missing() -> Iterator[Path]:
    """The file that two executions wait for, there until the test ends."""
    MISSING.write_text("there\n")
    yield MISSING
    MISSING.unlink(missing_ok=True)


def up(home: OldHome) -> None:
    done = home.run("up", "--background")
    assert done.returncode == 0, done.stderr


@pytest.fixture
def workers() -> Iterator[list["subprocess.Popen[str]"]]:
    """Processes that end with the test."""
    begun: list[subprocess.Popen[str]] = []
    yield begun
    for process in begun:
        process.kill()
        process.communicate()


def test_everything_stands_where_it_stood_and_the_log_is_whole(rested: OldHome) -> None:
    with closing(EventLog.open(rested.home.log_path, readonly=True)) as log:
        whole = log.verify()

    listed = {row["id"]: row["status"] for row in rested.json("execution", "list", "--children")}
    shown = {fact: rested.status(fact) for fact in WAITING}
    deciders = {rested.shown(fact)["decider"] for fact in WAITING}

    assert whole > 100
    assert shown == WAITING
    assert deciders == {0}  # none of these versions recorded it
    assert {fact: listed[rested.facts[fact]] for fact in WAITING} == WAITING


def test_what_waits_for_a_person_is_answered_and_completes(rested: OldHome, missing: Path) -> None:
    asked = rested.resume("asks", "--approve")
    parent = rested.resume("parent", "--approve")
    shown = rested.resume("shows")
    halted = rested.resume("halts")

    assert (asked["status"], asked["outputs"]) == ("completed", {"text": "done\n"})
    assert parent["status"] == "completed"
    assert shown["status"] == "completed"
    assert "under the mat" in shown["outputs"]["answer"]
    assert halted["status"] == "completed"


def test_what_waits_for_a_worker_or_a_deadline_goes_on_by_itself(
    rested: OldHome, missing: Path, workers: list["subprocess.Popen[str]"]
) -> None:
    up(rested)
    try:
        workers.append(rested.worker("steps:Greet"))
        until(lambda: rested.status("greets") == rested.status("tries") == "completed")
    finally:
        rested.run("down", "--kill")

    assert rested.shown("greets")["outputs"] == {"text": "hello Ada"}


def test_prompts_are_compiled_again_to_the_same_bytes(rested: OldHome) -> None:
    prompts = rested.json("prompt", "list")

    rebuilt = [rested.run("prompt", "show", p["prompt"], "--rebuild") for p in prompts]

    assert prompts
    assert [done.returncode for done in rebuilt] == [0] * len(prompts), rebuilt[0].stderr


def test_a_plugins_cursor_stays_though_the_plugin_is_not_installed(rested: OldHome) -> None:
    before = cursors(rested)
    rested.run("execution", "resume", rested.facts["asks"], "--approve")  # a runtime came and went

    assert cursors(rested)[TALLY] == before[TALLY]


def cursors(home: OldHome) -> dict[str, int]:
    with closing(EventLog.open(home.home.log_path, readonly=True)) as log:
        return {s.name: s.cursor for s in log.state().standings}


def test_a_client_finds_its_grants_its_cursor_and_its_receipt(rested: OldHome) -> None:
    up(rested)
    try:
        url = f"ipc://{rested.home.path / 'bus.sock'}"
        with connect(url, token=rested.facts["alice_token"], name="alice") as alice:
            hub: Any = alice._hub
            (subscribed,) = hub.submit(
                "alice", [Subscribe("alice/notes", "ordered", (("x.alice.*", None),), "now")]
            )
            (page,) = hub.submit("alice", [Fetch("alice/notes", subscribed.cursor)])
            said = Draft("x.alice.said", 1, "x/alice", None, b"\x81\xa4text\xa5first")
            (repeat,) = hub.submit("alice", [Publish((said,), number=1)])
            (moved,) = hub.submit("alice", [Commit("alice/notes", subscribed.cursor, page.through)])
            with pytest.raises(NotGrantedError):
                alice.publish_drafts([Draft("step.completed", 1, "execution/1", None, b"\x80")])
    finally:
        rested.run("down", "--kill")

    assert str(subscribed.cursor) == rested.facts["alice_cursor"]
    assert isinstance(page, Page)
    assert [r.topic for r in page.records][:1] == ["x.alice.said"]
    assert repeat.first == page.records[0].position  # answered, not appended again
    assert not hasattr(moved, "code")


def test_a_shell_step_that_a_kill_cut_off_is_not_run_again_by_itself(killed: OldHome) -> None:
    approved = killed.resume("asks", "--approve")
    up(killed)
    try:
        until(lambda: killed.status("sleeps") != "running")
        stopped = killed.status("sleeps")
    finally:
        killed.run("down", "--kill")

    assert approved["status"] == "completed"
    assert stopped == "halted"
    assert not BEGAN.exists()
