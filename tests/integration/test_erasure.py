"""Erasing a subject: afterwards nothing that was recorded of it can be read, and all verifies."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard

from cortex.bus import ERASED, Event
from cortex.bus.events import (
    ExecutionRated,
    ExecutionRequest,
    SubjectErased,
    TriggerReceived,
)
from cortex.runtime import audit, erasure
from cortex.runtime.admin import back_up, restore
from cortex.runtime.audit import Auditing, Witness, sign
from cortex.runtime.executions import run, run_request
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, Home, NotFoundError, RefusedError, Runtime
from cortex.runtime.log import BlobStore, EventLog
from cortex.runtime.replay import replay_home
from cortex.runtime.serving.doctor import checks_of
from cortex.runtime.subjects import SubjectKeys, blob_subject, pending_erasures

from ..servers import Answer, ScriptedOpenAI
from ..staff_world import World
from .archive_world import seal
from .test_provider_executions import STAFF, endpoint

VERIFIER = Path(audit.__file__).parent / "verify.py"
ANNA = "anna@example.org"
SEEDS = [f"seed-{number:03}-{number * 7919:x}" for number in range(100)]
IN_INPUTS, IN_FILE, IN_ANSWER, IN_OUTPUT, IN_EVENTS = (
    SEEDS[at : at + 20] for at in range(0, 100, 20)
)

PROCESS = """
process: help_somebody
version: 1
description: Help somebody
inputs:
  question: { type: string }
  file: { type: path }
steps:
  - { id: read, action: read_text, description: Read, with: { path: "${inputs.file}" } }
  - { id: say, action: shell, description: Say, with: { run: [cat, "${inputs.file}.out"] } }
  - id: answer
    description: Answer the question
    action: answer_question
    carry: [read]
    with: { question: "${inputs.question}" }
outputs:
  text: { type: string, value: "${steps.answer.text}" }
"""


class PersonMet(Event, frozen=True, kw_only=True, tag="x.crm.met"):
    """An event of a user's own vocabulary."""

    belongs = ("meeting", "meeting_id")
    subject_field = "person"

    meeting_id: str
    person: str
    told: tuple[str, ...]


def lived(home: Home, folder: Path) -> str:
    """Record all seeds in *home*; the execution comes back."""
    (folder / "file").write_text("\n".join(IN_FILE))
    # So much output that it is kept as a blob.
    (folder / "file.out").write_text("\n".join(IN_OUTPUT) + "\n" + "x" * 300_000)
    with (
        ScriptedOpenAI(Answer(text=(" ".join(IN_ANSWER),))) as server,
        Runtime(endpoint(home, server), components=STAFF) as runtime,
    ):
        World(runtime).compiled(PROCESS)
        inputs = {"question": " ".join(IN_INPUTS), "file": str(folder / "file")}
        done = run(
            runtime.client("tests"), "help_somebody", inputs=inputs, workspace=folder, subject=ANNA
        )
        assert done.status == "completed", done
        client = runtime.client("crm", (PersonMet,))
        client.publish(PersonMet(meeting_id="m1", person=ANNA, told=tuple(IN_EVENTS[:10])))
        rated = ExecutionRated(
            execution_id=done.execution_id,
            verdict="good",
            note=" ".join(IN_EVENTS[10:]),
            by="owner",
        )
        client.publish(rated)
    return done.execution_id


def found_in(folder: Path, texts: list[str]) -> dict[str, list[str]]:
    """The files in *folder* with any of *texts*, also in what is compressed."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            with contextlib.suppress(zstandard.ZstdError):
                data += zstandard.ZstdDecompressor().decompress(data, max_output_size=1 << 30)
            here = [text for text in texts if text.encode() in data]
            if here:
                found[str(path.relative_to(folder))] = here
    return found


def verified(home: Home, *more: str) -> dict[str, Any]:
    """What the verifier says, which is a program of its own."""
    program = [sys.executable, "-I", str(VERIFIER), str(home.log_path), "--blobs", str(home.blobs)]
    done = subprocess.run([*program, "--json", *more], check=False, capture_output=True)
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == 0, found
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


def test_no_seeded_string_is_left_in_any_file_and_every_proof_still_holds(
    home: Home, folder: Path, tmp_path: Path
) -> None:
    execution_id = lived(home, folder)
    key = Auditing(home).new_key("example.com/log", "ed25519")
    head = sign(home).head
    witness = Witness(Home.create(tmp_path / "witness"))
    witness.make("example.com/witness")
    (tmp_path / "witness" / "head").write_text(head.text())
    with History.open(home) as history:
        before = history.execution(execution_id)
        stored = [
            blob_subject(BlobStore(home.blobs).get(d)) for d, _ in BlobStore(home.blobs).idle(0)
        ]
    (home.path / "up.log").write_text(SEEDS[0])
    (home.path / "logs").mkdir()
    (home.path / "logs" / "plugin.log").write_text(SEEDS[1])

    held = found_in(home.path, [*SEEDS, ANNA])
    said = erasure.erase(home, ANNA, "a letter of 3 March")

    # In clear are only a key's file and what is derived from the log.
    tops = {name.partition("/")[0] for name in held}
    assert {"effects", "up.log", "logs", "keys"} <= tops
    assert tops <= {"keys"} | {name.partition("/")[0] for name in said.removed}
    assert before.outputs == {"text": " ".join(IN_ANSWER)}
    assert sum(each is not None for each in stored) == said.blobs > 3
    assert found_in(home.path, [*SEEDS, ANNA]) == {}
    assert found_in(tmp_path / "witness", [*SEEDS, ANNA]) == {}
    assert said.unencrypted == 0
    assert said.executions == [execution_id]
    (tmp_path / "head").write_text(head.text())
    (tmp_path / "key").write_text(key.text())
    holds = verified(home, "--head", str(tmp_path / "head"), "--key", str(tmp_path / "key"))
    assert holds["events"] == head.tree_head.size + 1
    assert holds["blobs"] == len(stored)


def test_what_was_erased_is_read_as_a_placeholder_and_replay_says_so(
    home: Home, folder: Path
) -> None:
    execution_id = lived(home, folder)
    with History.open(home) as history:
        whole = replay_home(history, Config.load(home))
    erasure.erase(home, ANNA, "a letter of 3 March")
    with Runtime(home, components=STAFF):
        pass  # projections and snapshots are made again
    with History.open(home) as history:
        state = history.execution(execution_id)
        (told,) = [e for e in map(history.event, history.read()) if isinstance(e, SubjectErased)]
        again = replay_home(history, Config.load(home))

    assert whole.divergence is None
    assert whole.erased == 0
    assert state.status == "completed"
    assert state.started is not None
    assert (state.started.inputs, state.started.goal) == ({}, ERASED)
    assert again.divergence is None
    assert again.erased == told.events > 15
    assert told.why == "a letter of 3 March"
    assert told.subject.startswith("s_")
    assert found_in(home.path, [*SEEDS, ANNA]) == {}


def test_a_backup_has_all_blobs_and_no_key_and_reads_as_before_with_it(
    home: Home, folder: Path, tmp_path: Path
) -> None:
    execution_id = lived(home, folder)
    made = back_up(home, tmp_path / "backup")
    seeds_in_backup = found_in(tmp_path / "backup", [*SEEDS, ANNA])
    there = Home(tmp_path / "restored")
    restore(tmp_path / "backup", there)
    with History.open(there) as history:
        without = history.execution(execution_id)
    shutil.copytree(home.path / "keys" / "subjects", there.path / "keys" / "subjects")
    with History.open(there) as history:
        whole = history.execution(execution_id)
        again = replay_home(history, Config.load(home))

    assert made.missing == 0
    assert {name.split("/")[1] for name in seeds_in_backup} == {"effects"}
    assert (without.status, without.outputs) == ("completed", {})
    assert whole.outputs == {"text": " ".join(IN_ANSWER)}
    assert again.divergence is None
    assert found_in(there.path / "blobs", SEEDS) == {}


def test_another_subject_stays_readable(home: Home, folder: Path) -> None:
    with Runtime(home, components=()) as runtime:
        client = runtime.client("crm", (PersonMet,))
        client.publish(PersonMet(meeting_id="m1", person=ANNA, told=("a",)))
        client.publish(PersonMet(meeting_id="m2", person="bert", told=("b",)))
    erasure.erase(home, ANNA, "why")
    with Runtime(home, components=()) as runtime:
        client = runtime.client("crm", (PersonMet,))
        seen = [
            event
            for record in client.read()
            if isinstance(event := _known(client, record), PersonMet)
        ]

    assert [(each.person, each.told) for each in seen] == [(ERASED, ()), ("bert", ("b",))]
    assert [row.name for row in erasure.subjects_of(home)] == ["bert"]


def _known(client: Any, record: Any) -> Event | None:
    return client.vocabulary.read(record) if record.topic in client.vocabulary else None


def test_what_was_recorded_unencrypted_before_is_listed_and_stays(home: Home) -> None:
    with Runtime(home, components=()) as runtime:
        client = runtime.client("crm")
        at = client.publish(TriggerReceived(trigger_id="t", fields={"from": ANNA.upper()}))
        digest = runtime.blobs.put(f"a letter to {ANNA}".encode())
        client.publish(ExecutionRequest(execution_id="e", goal="x", subject=ANNA))
        client.publish(TriggerReceived(trigger_id="u", fields={"from": "n", "x": "Meier"}))
    (home.knowledge / "note.md").write_text(f"{ANNA} called")

    seen = erasure.looked_up(home, ANNA, ["meier"])

    assert {(each.what, each.where) for each in seen.places} == {
        ("event", f"position {at}"),
        ("event", f"position {at + 2}"),
        ("blob", digest),
        ("file", "knowledge/note.md"),
    }
    assert seen.dry_run
    assert SubjectKeys.of_home(home.path).find(ANNA)


def test_a_name_is_found_unencrypted_in_capitals_of_any_alphabet(home: Home) -> None:
    with Runtime(home, components=()) as runtime:
        client = runtime.client("crm")
        at = client.publish(TriggerReceived(trigger_id="t", fields={"from": "ÖRJAN GROSS"}))
        client.publish(ExecutionRequest(execution_id="e", goal="x", subject="Örjan Groß"))
    (home.knowledge / "note.md").write_text("örjan groß called", encoding="utf-8")

    seen = erasure.looked_up(home, "Örjan Groß")

    assert {each.where for each in seen.places} == {f"position {at}", "knowledge/note.md"}


def test_a_short_name_within_a_digest_is_not_the_name(home: Home) -> None:
    digest = "0ada" * 16
    note = home.knowledge / "note.md"
    note.write_text(f"built from sha256:{digest}, checked\n")
    with Runtime(home, components=()) as runtime:
        client = runtime.client("crm")
        client.publish(ExecutionRequest(execution_id="e", goal="x", subject="ada"))

    digests = erasure.looked_up(home, "ada")
    whole = erasure.looked_up(home, "ada", [digest])
    note.write_text(f"built from sha256:{digest} for Ada\n")
    named = erasure.looked_up(home, "ada")

    assert digests.unencrypted == 0
    assert [each.where for each in named.places] == ["knowledge/note.md"]
    assert [each.where for each in whole.places] == ["knowledge/note.md"]


def test_a_key_in_a_home_that_a_restore_moved_aside_is_listed(home: Home, tmp_path: Path) -> None:
    with Runtime(home, components=()) as runtime:
        runtime.client("crm").publish(ExecutionRequest(execution_id="e", goal="x", subject=ANNA))
    back_up(home, tmp_path / "backup")
    aside = restore(tmp_path / "backup", home, replace=True).replaced

    seen = erasure.looked_up(home, ANNA)

    (place,) = seen.places
    (key,) = Path(aside).glob("keys/subjects/*.key")
    assert (place.what, place.where) == ("file", str(key))


@pytest.mark.parametrize("damaged", [False, True])
def test_an_erasure_passes_over_a_segment_that_cannot_be_read_and_says_so(
    home: Home, folder: Path, tmp_path: Path, damaged: bool
) -> None:
    execution_id = lived(home, folder)
    with Runtime(home, components=()) as runtime:
        others = (TriggerReceived(trigger_id=f"t{n}", fields={}) for n in range(512))
        runtime.client("crm").publish(*others)
    with contextlib.closing(EventLog.open(home.log_path)) as log:
        seal(log, 256)
        seal(log, 512)
        first, _ = log.archive.segments
    with Runtime(home, components=()) as runtime:
        runtime.client("crm", (PersonMet,)).publish(
            PersonMet(meeting_id="m2", person=ANNA, told=("late",))
        )
    path = home.path / "archive" / first.name
    kept = path.rename(tmp_path / "kept")
    if damaged:
        path.write_bytes(b"nothing of a segment")

    seen = erasure.looked_up(home, ANNA)
    done = erasure.erase(home, ANNA, "request 12")
    unread = found_in(home.path, [*SEEDS, ANNA])
    kept.rename(path)

    assert (seen.events, done.events) == (1, 1)
    assert [each.partition(":")[0] for each in done.unread] == [f"archive/{first.name}"]
    assert seen.unread == done.unread
    assert unread == found_in(home.path, [*SEEDS, ANNA]) == {}
    with History.open(home) as history:
        assert all(each.erased for each in history.stream(f"execution/{execution_id}"))
    assert verified(home)["holds"]


def test_a_fork_that_is_not_of_the_same_subject_is_refused_and_holds_nothing(
    home: Home, folder: Path
) -> None:
    execution_id = lived(home, folder)
    request = ExecutionRequest(
        execution_id="fork",
        process="help_somebody",
        workspace=str(folder),
        trigger="t",
        fork_of=execution_id,
        from_step="answer",
    )
    with Runtime(home, components=STAFF) as runtime:
        forked = run_request(runtime.client("tests"), request, 30.0)
    erasure.erase(home, ANNA, "why")

    assert forked.status == "failed"
    assert "is about a subject: a fork of it is about the same one" in forked.reason
    assert found_in(home.path, [*SEEDS, ANNA]) == {}


def test_an_execution_that_is_not_over_keeps_its_subject(home: Home) -> None:
    with Runtime(home, components=()) as runtime:
        runtime.client("crm").publish(ExecutionRequest(execution_id="e", goal="x", subject=ANNA))

    with pytest.raises(RefusedError, match=r"are not over: cancel them first.*: e$"):
        erasure.erase(home, ANNA, "why")
    assert SubjectKeys.of_home(home.path).find(ANNA)


def test_bad_requests_are_one_clear_error_and_change_nothing(home: Home) -> None:
    with Runtime(home, components=()) as runtime:
        runtime.client("crm", (PersonMet,)).publish(
            PersonMet(meeting_id="m1", person=ANNA, told=("a",))
        )
    before = home.log_path.read_bytes()

    with pytest.raises(NotFoundError, match="subject 'nobody' has no key here"):
        erasure.erase(home, "nobody", "why")
    with pytest.raises(RefusedError, match="the reason names the subject"):
        erasure.erase(home, ANNA, f"{ANNA} asked")
    with pytest.raises(RefusedError, match="say why"):
        erasure.erase(home, ANNA, " ")
    with Runtime(home, components=()), pytest.raises(Exception, match="process"):
        erasure.erase(home, ANNA, "why")
    assert SubjectKeys.of_home(home.path).find(ANNA)
    assert before


KILLED = """
import os, signal, sys
from pathlib import Path
from cortex.runtime import audit, erasure
from cortex.runtime.erasure import erasing
from cortex.runtime.kernel import Home
from cortex.runtime.serving.doctor import checks_of
from cortex.runtime.subjects import SubjectKeys

where = sys.argv[2]
if where != "never":
    room, name = where.split(":")
    owner = {"erasing": erasing, "keys": SubjectKeys}[room]
    real = getattr(owner, name)
    def killing(*args, **more):
        if sys.argv[3] == "after":
            real(*args, **more)
        os.kill(os.getpid(), signal.SIGKILL)
    setattr(owner, name, killing)
erasure.erase(Home(Path(sys.argv[1])), "anna@example.org", "a letter")
"""


NOT_BEGUN, ALL_DONE = ("erasing:begin_erasure", "before"), ("erasing:end_erasure", "after")


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    "where",
    [
        "erasing:begin_erasure",
        "keys:destroy",
        "erasing:remove",
        "erasing:_record",
        "erasing:end_erasure",
    ],
)
def test_a_killed_erasure_is_finished_by_the_next(home: Home, where: str, when: str) -> None:
    with Runtime(home, components=()) as runtime:
        runtime.client("crm", (PersonMet,)).publish(
            PersonMet(meeting_id="m1", person=ANNA, told=("seed-1",))
        )
    (home.path / "logs").mkdir()
    (home.path / "logs" / "plugin.log").write_text("seed-1")

    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(home.path), where, when], check=False, env=os.environ
    )
    assert killed.returncode == -signal.SIGKILL
    begun = (where, when) not in (NOT_BEGUN, ALL_DONE)
    assert ("erasure" in [check.name for check in checks_of(home, deep=False)]) == begun
    if (where, when) == ALL_DONE:
        with pytest.raises(NotFoundError):  # all was done
            erasure.erase(home, ANNA, "a letter")
    else:
        erasure.erase(home, ANNA, "a letter")

    assert found_in(home.path, ["seed-1", ANNA]) == {}
    assert pending_erasures(home.path) == []
    with History.open(home) as history:
        told = [e for e in map(history.event, history.read()) if isinstance(e, SubjectErased)]
    assert [(each.why, each.events) for each in told] == [("a letter", 1)]
    assert verified(home)["holds"]
