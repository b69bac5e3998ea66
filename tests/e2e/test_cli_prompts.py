"""The prompt log, as somebody uses it who wants to know what a model saw, and why."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortex.runtime.context import texts_of_inputs
from cortex.runtime.kernel import Home
from cortex.runtime.log import BlobStore

from .command_lines import CORTEX, environment, run_many

PATIENCE_S = 120.0
TOPIC = "# Harbour\n\nThe harbour closes at nine.\n\n" + "".join(
    f"## Part {n}\n\nOf ropes and boats, number {n}.\n{'tar ' * 90}\n\n" for n in range(20)
)
ASKS = """\
process: asks
version: 1
trigger: { type: event, match: { source: nobody } }
knowledge: [house.harbour]
steps:
  - id: read
    action: shell
    with: { run: sh read.sh }
  - id: say
    action: answer_question
    description: When does the harbour close?
    with: { question: When does the harbour close? }
    carry: [read]
    budget: { sections: { knowledge: 500 } }
"""
# The first run leaves a new text for the topic; the second takes it, once its process is linked.
READ = """\
echo Tea is at four.
test -e new.md && cp new.md .cortex/knowledge/house/harbour.md
test -e next.md && mv next.md new.md
true
"""


class Desk:
    """A folder with a home, in which one process ran twice, its topic changed between."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = environment(folder, COLUMNS="100")
        self.home = folder / ".cortex"
        self.idle = ""  # an execution that has asked no model

    def many(self, *calls: str) -> list[tuple[int, str, str]]:
        """Exit code, standard output and standard error of each of *calls*."""
        return run_many(self.folder, self.env, (call.split() for call in calls))

    def one(self, call: str) -> str:
        ((code, out, err),) = self.many(call)
        assert code == 0, out + err
        return out

    @property
    def topic(self) -> Path:
        return self.home / "knowledge" / "house" / "harbour.md"

    def blob(self, digest: str) -> Path:
        return self.home / "blobs" / digest[:2] / digest[2:]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = Desk(tmp_path_factory.mktemp("desk"))
    Home.create(desk.home)
    (desk.home / "processes" / "asks.yaml").write_text(ASKS)
    desk.topic.parent.mkdir(parents=True)
    desk.topic.write_text(TOPIC)
    (desk.folder / "read.sh").write_text(READ)
    (desk.folder / "next.md").write_text(TOPIC.replace("nine", "ten\x1b[31m"))
    ended = desk.many("init", "run asks", "run asks", "run --goal tidy --json")
    assert [code for code, _, _ in ended] == [0, 0, 0, 5], ended
    desk.idle = json.loads(ended[-1][1])["id"]
    return desk


@pytest.fixture(scope="module")
def rows(desk: Desk) -> list[dict[str, Any]]:
    """The two prompts, the newer first."""
    found: list[dict[str, Any]] = json.loads(desk.one("prompt list --json"))
    return found


def test_a_prompt_of_last_week_is_made_again_from_log_and_blobs_alone(
    desk: Desk, rows: list[dict[str, Any]]
) -> None:
    old = rows[1]["prompt"]
    sent = json.loads(desk.one(f"prompt show {old} --json"))
    assert "nine" not in desk.topic.read_text()
    topic, prompt = desk.topic, desk.blob(old)
    for path in (*desk.home.glob("projections.db*"), *desk.home.glob("snapshots.db*")):
        path.unlink()
    topic.rename(topic.with_suffix(".away"))
    prompt.rename(prompt.with_suffix(".away"))

    (code, out, err), gone = desk.many(
        f"prompt show {old} --rebuild --json", f"prompt show {old} --json"
    )

    topic.with_suffix(".away").rename(topic)
    prompt.with_suffix(".away").rename(prompt)
    assert code == 0, err
    made = json.loads(out)
    assert made["rebuilt"]
    assert (made["text"], made["manifest"]) == (sent["text"], sent["manifest"])
    assert "nine" in made["text"]
    assert gone[0] == 4
    assert "--rebuild" in gone[2]
    assert len(gone[2].splitlines()) == 1


def test_a_diff_shows_the_lines_that_changed(desk: Desk, rows: list[dict[str, Any]]) -> None:
    new, old = (row["prompt"][:12] for row in rows)

    diff = f"prompt diff {old} {new}"
    (_, whole, _), (_, brief, _), (_, document, _) = desk.many(
        diff, f"{diff} --brief", f"{diff} --json"
    )
    found = json.loads(document)

    assert "    -The harbour closes at nine.\n    +The harbour closes at ten.\n" in whole
    assert "why     its source changed" in whole
    assert "other text    house.harbour" in brief
    assert "nine" not in brief
    (item,) = found["items"]
    assert (item["id"], item["change"]) == ("house.harbour", "other text")
    assert "-The harbour closes at nine." in item["text"]


def test_on_a_terminal_a_diff_is_coloured_and_nothing_in_it_acts(
    desk: Desk, rows: list[dict[str, Any]]
) -> None:
    new, old = (row["prompt"][:12] for row in rows)

    shown = "".join(at_terminal(desk, "prompt", "diff", old, new))

    assert "\x1b[31m    -The harbour closes at nine.\x1b[0m" in shown
    assert "\x1b[32m    +The harbour closes at ten.\x1b[0m" in shown


def test_why_answers_for_items_and_lines_and_stats_name_what_is_never_used(
    desk: Desk, rows: list[dict[str, Any]]
) -> None:
    items = ("house.harbour", "house.harbour:3", "harbour.md:60", "house.harbour:5000")
    calls = [f"prompt why {item} --json" for item in items]

    *told, stats = (json.loads(out) for _, out, _ in desk.many(*calls, "prompt stats -n 1 --json"))

    assert all(len(each) == 2 for each in told)
    assert told[0][0]["item"]["state"] == "partial"
    states = [each[1]["line"]["state"] for each in told[1:]]
    assert states == ["in", "out", "not offered"]
    assert told[1][1]["line"]["text"] == "The harbour closes at nine."
    assert stats["prompts"] == 1
    assert stats["sections"][0]["cost"] == 0.0


def test_a_stale_topic_is_shown(desk: Desk, rows: list[dict[str, Any]]) -> None:
    new, old = (row["prompt"] for row in rows)

    (_, _, noted), (_, shown, _), (_, _, before) = desk.many(
        f"prompt show {new}", f"prompt show {new} --manifest", f"prompt show {old}"
    )

    warning = "house.harbour has changed since it was locked"
    assert warning in noted
    assert warning in shown
    assert "in house.harbour: ansi, 1 time, made harmless" in shown
    assert "counted       by o200k_base" in shown
    assert warning not in before


def test_what_is_not_there_is_one_line(desk: Desk, rows: list[dict[str, Any]]) -> None:
    execution, digest = rows[0]["execution"], rows[1]["prompt"]
    expected = {
        "prompt show ffffffff": (3, "is not in this home"),
        f"prompt show {execution}/no_such": (3, "no_such sent no prompt"),
        "prompt why no.such:7": (3, "was not considered for any prompt"),
        f"prompt show {desk.idle}": (3, f"{desk.idle} sent no prompt"),
        f"context health {desk.idle}": (3, "no step asked a model yet"),
        "context health nobody -f": (3, "is not in this home"),
        f"prompt show {digest[:4]}": (0, ""),
    }

    ended = desk.many(*expected)

    for (call, (code, said)), (left, _, err) in zip(expected.items(), ended, strict=True):
        assert (left, said in err) == (code, True), (call, err)
        assert err.count("\n") == (1 if code else 0), (call, err)


def test_what_cannot_be_read_is_one_line_each_and_doctor_names_it(desk: Desk) -> None:
    body = json.loads(desk.one("events query --topic context.compiled -n 1 --json"))["body"]
    (text,) = texts_of_inputs(BlobStore(desk.home / "blobs").get(body["inputs"]))
    show = f"prompt show {body['prompt']}"
    shown = {f"{show} --manifest": body["manifest"], f"{show} --rebuild": text}
    blobs = {path: path.read_bytes() for path in map(desk.blob, shown.values())}
    for path in blobs:
        path.write_bytes(b"no zstd")

    *ended, (_, doctor, _) = desk.many(*shown, "doctor --json")

    for path, kept in blobs.items():
        path.write_bytes(kept)
    for digest, (code, _, err) in zip(shown.values(), ended, strict=True):
        assert (code, err.count("\n")) == (4, 1), err
        assert digest in err
    (found,) = [check for check in json.loads(doctor) if check["name"] == "blobs"]
    assert "0 are missing and 2 damaged" in found["found"]


def test_the_health_of_what_has_not_ended_is_followed_until_ctrl_c(desk: Desk) -> None:
    waiting = "".join(at_terminal(desk, "context", "health", desk.idle, "-f", ends_at="no prompt"))
    over = "".join(at_terminal(desk, "context", "health", "-f"))

    assert "no longer followed; the execution continues\r\n" in waiting
    assert re.search(r"\[[#.]{30}\]  [\d,]+ of 24,000 tokens, \d+%; 1,500 kept", over)
    assert "the execution is completed\r\n" in over
    assert "Traceback" not in waiting + over


def at_terminal(desk: Desk, *args: str, ends_at: str = "") -> Iterator[str]:
    """What appears on a terminal; Ctrl-C is pressed once *ends_at* does."""
    mine, theirs = pty.openpty()
    env = {**desk.env, "TERM": "xterm"}
    process = subprocess.Popen(
        [str(CORTEX), *args], cwd=desk.folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    until_s, pressed, shown = time.monotonic() + PATIENCE_S, False, ""
    try:
        while time.monotonic() < until_s:
            ready, _, _ = select.select([mine], [], [], 1.0)
            if not ready:
                continue
            try:
                chunk = os.read(mine, 65_536).decode(errors="replace")
            except OSError:  # how Linux says that the other end is closed
                break
            if not chunk:
                break
            yield chunk
            shown += chunk
            if ends_at and ends_at in shown and not pressed:
                pressed = True
                process.send_signal(signal.SIGINT)
    finally:
        os.close(mine)
        process.wait(timeout=PATIENCE_S)
