"""`cortex run --subject`, `audit subjects` and `audit erase`, from the command line."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .up_world import Desk, up

ANNA = "anna@example.org"
ASKS = """process: asks
version: 1
inputs:
  who: { type: string }
steps:
  - { id: say, action: shell, with: { run: [echo, 'hello ${inputs.who}'] } }
outputs:
  said: { type: string, value: '${steps.say.stdout}' }
"""


OUTER = """process: outer
version: 1
trigger: { type: event, match: { source: crm } }
inputs:
  who: { type: string }
steps:
  - { id: inner, process: asks, with: { who: '${inputs.who}' } }
  - id: each
    for_each: ["a ${inputs.who}", "b ${inputs.who}"]
    as: one
    action: shell
    with: { run: [echo, '${one}'] }
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    (made.home.processes / "asks.yaml").write_text(ASKS)
    (made.home.processes / "outer.yaml").write_text(OUTER)
    return made


def ran(desk: Desk) -> str:
    done = desk.run("run", "asks", "-i", "who=seed-17", "--subject", ANNA, "--json")
    assert done.returncode == 0, done.stderr
    execution_id: str = json.loads(done.stdout)["id"]
    return execution_id


def test_a_subject_is_listed_looked_up_and_erased(desk: Desk) -> None:
    execution_id = ran(desk)
    (code, listed, _), (_, seen, _), (_, shown, _), (_, before, _) = desk.many(
        ("audit", "subjects"),
        ("audit", "erase", ANNA, "--dry-run"),
        ("execution", "show", execution_id),
        ("audit", "verify"),
    )
    erased = desk.run("audit", "erase", ANNA, "--why", "request 12")
    again = desk.run("audit", "erase", ANNA, "--why", "request 12")
    after = desk.run("execution", "show", execution_id)
    forked = desk.run("fork", execution_id, "--from", "say")
    process = str(desk.home.processes / "asks.yaml")
    anew = desk.run("replay", execution_id, "--process", process)
    verified = json.loads(desk.run("audit", "verify", "--json").stdout)
    told = desk.run("events", "query", "--topic", "subject.*", "--json")
    exported = desk.run("export", "-")

    assert code == 0
    assert [each["name"] for each in listed] == [ANNA]
    assert shown["outputs"] == {"said": "hello seed-17\n"}
    assert (seen["dry_run"], seen["executions"]) == (True, [execution_id])
    assert erased.returncode == 0, erased.stderr
    assert "in 1 execution" in erased.stdout
    assert "nothing unencrypted in this home has the name or a text to find" in erased.stdout
    assert again.returncode == 3
    assert "has no key here" in again.stderr
    assert "completed" in after.stdout
    for each in (forked, anew):
        assert each.returncode != 0
        assert "is of a subject that was erased" in each.stderr
        assert len(each.stderr.splitlines()) == 1
    assert "seed-17" not in after.stdout + exported.stdout
    assert "(erased)" in exported.stdout
    assert verified["events"] > before["events"]
    assert "request 12" in told.stdout
    assert ANNA not in told.stdout + exported.stdout


def test_what_a_trigger_starts_and_its_children_are_of_the_subject(desk: Desk) -> None:
    done = desk.run("trigger", "source=crm", "note=seed-18", "-i", "who=seed-17", "--subject", ANNA)
    lines = desk.run("events", "query", "--json").stdout.splitlines()
    events = [json.loads(line) for line in lines]
    of_executions = [each for each in events if each["stream"].startswith("execution/")]
    begun = {each["stream"].removeprefix("execution/") for each in of_executions}
    erased = desk.run("audit", "erase", ANNA, "--why", "request 12", "--json")

    assert done.returncode == 0, done.stderr
    assert len(begun) >= 4  # the process, its child, and two items
    assert set(json.loads(erased.stdout)["executions"]) == begun
    assert len({each["subject"] for each in of_executions}) == 1
    assert all(each["subject"] and not each["erased"] for each in of_executions)
    left = [
        path
        for path in desk.home.path.rglob("*")
        if path.is_file() and any(seed in path.read_bytes() for seed in (b"seed-1", ANNA.encode()))
    ]
    assert left == []
    again = desk.run("events", "query", "--json").stdout.splitlines()
    gone = [each["position"] for each in map(json.loads, again) if each["erased"]]
    assert gone == [each["position"] for each in events if each["subject"]]


def test_a_hub_that_is_up_is_named(desk: Desk) -> None:
    ran(desk)
    try:
        up(desk)
        refused = desk.run("audit", "erase", ANNA, "--why", "request 12")
        seen = desk.run("audit", "erase", ANNA, "--dry-run")
        over_the_hub = ran(desk)
    finally:
        desk.end()
    listed = json.loads(desk.run("audit", "subjects", "--json").stdout)
    done = desk.run("audit", "erase", ANNA, "--why", "request 12", "--json")

    assert refused.returncode != 0
    assert refused.stderr.startswith("cortex: a hub is up on this home")
    assert len(refused.stderr.splitlines()) == 1
    assert seen.returncode == 0
    assert len(listed) == 1
    assert over_the_hub in json.loads(done.stdout)["executions"]


def test_a_copy_without_keys_shows_that_something_was_there(desk: Desk, tmp_path: Path) -> None:
    execution_id = ran(desk)
    copy = tmp_path / "copy"
    shutil.copytree(desk.home.path, copy)
    for name in ("keys", "effects"):
        shutil.rmtree(copy / name, ignore_errors=True)
    for derived in ("projections.db", "snapshots.db"):
        (copy / derived).unlink()
    with_key = desk.run("export", "-").stdout
    without = desk.run("export", "-", "--home", str(copy)).stdout
    shown = desk.run("execution", "show", execution_id, "--home", str(copy))
    imported = desk.run("export", str(tmp_path / "file"))
    home = tmp_path / "imported"
    back = desk.run("import", str(tmp_path / "file"), "--home", str(home))
    roots = [
        json.loads(desk.run("audit", "verify", "--json", "--home", str(path)).stdout)["root"]
        for path in (desk.home.path, home, copy)
    ]

    assert "hello seed-17" in with_key
    assert "seed-17" not in without
    assert ANNA not in without
    assert "step.completed" in without
    assert "completed" in shown.stdout
    assert imported.returncode == back.returncode == 0, back.stderr
    assert roots[0] == roots[1] == roots[2]


def test_wrong_words_are_one_clear_error(desk: Desk) -> None:
    ran(desk)
    no_reason = desk.run("audit", "erase", ANNA)
    named = desk.run("audit", "erase", ANNA, "--why", f"{ANNA} asked")
    nobody = desk.run("audit", "erase", "nobody", "--dry-run")

    assert (no_reason.returncode, nobody.returncode) == (2, 3)
    assert "say --why" in no_reason.stderr
    assert "the reason names the subject" in named.stderr
    assert all("Traceback" not in each.stderr for each in (no_reason, named, nobody))
    assert json.loads(desk.run("audit", "subjects", "--json").stdout)


KILLED = """
import os, signal, sys
from cortex.runtime.cli import main
from cortex.runtime.erasure import erasing

real, when = erasing.end_erasure, sys.argv.pop(1)
def end(*args):
    if when == "after":
        real(*args)
    os.kill(os.getpid(), signal.SIGKILL)

erasing.end_erasure = end
main()
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_who_was_not_told_of_an_erasure_that_was_killed_is_told_by_the_next(
    desk: Desk, when: str
) -> None:
    ran(desk)
    asked = ("audit", "erase", ANNA, "--why", "request 12", "--home", str(desk.home.path))

    killed = subprocess.run(
        [sys.executable, "-c", KILLED, when, *asked],
        check=False,
        capture_output=True,
        text=True,
        env=desk.env,
    )
    again = desk.run(*asked)

    assert killed.returncode == -signal.SIGKILL
    assert "in 1 execution" in killed.stdout
    if when == "before":
        assert again.returncode == 0, again.stderr
        assert "an erasure that had begun is finished" in again.stdout
    else:
        assert again.returncode == 3
        assert "all of it is erased" in again.stderr
        assert len(again.stderr.splitlines()) == 1
    assert json.loads(desk.run("audit", "subjects", "--json").stdout or "[]") == []
