"""An export is the log, and an import makes the same one again or none."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from base64 import b64decode, b64encode
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.bus import CortexError, decode, encode
from cortex.bus.events import TriggerUnmatched
from cortex.runtime.access.trust import UntrustedHomeError
from cortex.runtime.exports import (
    FORMATS,
    ExportDamagedError,
    ExportNewerError,
    export_log,
    export_to,
    import_log,
)
from cortex.runtime.kernel import Home, RefusedError, Runtime
from cortex.runtime.log import BlobStore

from .command_lines import CORTEX, environment, run_many
from .export_world import LARGE, filled, records, root
from .old_homes import VERSIONS, OldHome

KILLS = int(os.environ.get("CORTEX_CRASH_KILLS", "20")) // 4
Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return filled(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def exported(source: Home) -> bytes:
    return text_of(source)


def text_of(home: Home) -> bytes:
    out = BytesIO()
    export_log(home, out)
    return out.getvalue()


def imported(text: bytes, folder: Path) -> Home:
    home = Home(folder / ".cortex")
    folder.mkdir(exist_ok=True)
    import_log(BytesIO(text), home)
    return home


def test_an_import_is_the_same_log_byte_for_byte_with_its_blobs(
    source: Home, exported: bytes, tmp_path: Path
) -> None:
    home = imported(exported, tmp_path / "there")

    assert records(home) == records(source)
    assert root(home) == root(source)
    mine, theirs = (BlobStore(each.blobs) for each in (home, source))
    digests = {digest for digest, _ in theirs.idle(0.0)}
    assert len(digests) > 10
    assert {digest for digest, _ in mine.idle(0.0)} == digests
    assert sorted(map(mine.get, digests)) == sorted(map(theirs.get, digests))
    assert LARGE in map(mine.get, digests)
    assert text_of(home) == exported
    assert [path.name for path in (tmp_path / "there").iterdir()] == [".cortex"]


def test_each_event_is_a_line_for_people_and_programs(source: Home, exported: bytes) -> None:
    lines: Lines = [json.loads(line) for line in exported.splitlines()]

    assert lines[0]["kind"] == "log"
    events = [line for line in lines if line["kind"] == "event"]
    assert [b64decode(each["record"]) for each in events] == records(source)
    assert {"position", "time", "topic", "id", "stream", "source", "body"} <= events[0].keys()
    found = next(each for each in events if each["topic"] == "knowledge.requested")
    assert found["body"]["query"] == 'what "is" \u00e9\n\u2028'
    assert b64decode(lines[-1]["root"]) == root(source)
    assert lines[-1]["events"] == len(events) == lines[-1]["size"]


def test_lines_that_another_program_wrote_again_are_the_same_log(
    source: Home, exported: bytes, tmp_path: Path
) -> None:
    lines: Lines = [json.loads(line) for line in exported.splitlines()]
    again = "".join(
        json.dumps(dict(sorted(line.items())) | {"seen": True}) + "\n" for line in lines
    )

    assert records(imported(again.encode(), tmp_path / "there")) == records(source)


def test_a_home_that_was_made_keeps_its_files_and_is_not_trusted_with_the_log(
    exported: bytes, source: Home, tmp_path: Path
) -> None:
    home = Home.create(tmp_path / ".cortex")
    home.processes.joinpath("mine.yaml").write_text("# mine\n")
    home.require_trust()

    import_log(BytesIO(exported), home)

    assert records(home) == records(source)
    assert home.processes.joinpath("mine.yaml").read_text() == "# mine\n"
    with pytest.raises(UntrustedHomeError):
        home.open()


def test_a_home_that_a_link_leads_to_gets_the_log(
    exported: bytes, source: Home, tmp_path: Path
) -> None:
    for name, real in (("made", Home.create(tmp_path / "one").path), ("empty", tmp_path / "two")):
        real.mkdir(exist_ok=True)
        (tmp_path / name).mkdir()
        (tmp_path / name / ".cortex").symlink_to(real)

        home = imported(exported, tmp_path / name)

        assert home.path.is_symlink()
        assert records(home) == records(source)


def test_a_home_that_has_events_is_left_alone(
    exported: bytes, source: Home, tmp_path: Path
) -> None:
    home = filled(tmp_path, 3)
    before = records(home)

    with pytest.raises(RefusedError, match=r"events, and an export goes into a home without any"):
        import_log(BytesIO(exported), home)
    empty = Home.create(tmp_path / "empty" / ".cortex")
    with Runtime(empty, components=[]) as runtime:
        runtime.client("test").publish(TriggerUnmatched(trigger_id="t", reason="none"))
        with pytest.raises(CortexError):
            import_log(BytesIO(exported), empty)

    assert records(home) == before


def changed(line: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return line | fields


def recorded(line: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The line with another record, and what is readable of it as it was."""
    record = msgspec.structs.replace(decode(b64decode(line["record"])), **fields)
    return line | {"record": b64encode(encode(record)).decode()}


def spoiled(lines: Lines, kind: str, nth: int, make: Callable[[dict[str, Any]], Any]) -> int:
    """Change the nth line of a kind in place; its number from 1 comes back."""
    at = [n for n, line in enumerate(lines) if line["kind"] == kind][nth]
    lines[at] = make(lines[at])
    return at + 1


def longer(record: str) -> str:
    """The record with a fifteenth field, which a lenient reader would pass over."""
    data = b64decode(record)
    assert data[0] == 0x9E
    return b64encode(b"\x9f" + data[1:] + b"\xc0").decode()


def nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = [value]
    return value


DAMAGE: dict[str, tuple[str, int, Callable[[dict[str, Any]], Any], str]] = {
    "a topic for people was edited": (
        "event", 4, lambda line: changed(line, topic="step.completed"), "not what its record says",
    ),
    "a body for people was edited": (
        "event", 5, lambda line: changed(line, body={"query": "no"}), "not what its record says",
    ),
    "a record was edited": (
        "event", 6, lambda line: recorded(line, source="mallory"), "not what its record says",
    ),
    "a record is none": (
        "event", 6, lambda line: changed(line, record="AAAA"), "cannot be decoded",
    ),
    "a record has a field too many": (
        "event", 6, lambda line: changed(line, record=longer(line["record"])), "not in the form",
    ),
    "a body is nested without end": (
        "event", 6, lambda line: changed(line, body=nested(500)), "",
    ),
    "a record is no base64": ("event", 6, lambda line: changed(line, record="%"), "base64"),
    "a stream goes on elsewhere": (
        "event", 9, lambda line: recorded(line, version=77), "to 77",
    ),
    "a time goes back": ("event", 9, lambda line: recorded(line, time_ns=1), "its time is before"),
    "a cause comes later": (
        "event", 9, lambda line: recorded(line, causation=40), "is said to have caused it",
    ),
    "an event is of no kind": ("event", 3, lambda line: changed(line, kind="x"), "Invalid value"),
    "a blob was edited": (
        "blob", 4, lambda line: changed(line, data="AAAA", size=3), "other bytes than its digest",
    ),
    "a piece is missing": ("blob", 1, lambda line: changed(line, at=5), "another piece"),
    "a blob is endless": ("blob", 0, lambda line: changed(line, size=1 << 40), "more than there"),
    "the end counts more": ("end", 0, lambda line: changed(line, events=1), "it tells of"),
    "the root is another": (
        "end", 0, lambda line: changed(line, root=b64encode(bytes(32)).decode()), "another root",
    ),
    "the head is none": ("log", 0, lambda _: {"events": []}, "begins with its head"),
    "another export follows": ("event", 2, lambda line: changed(line, kind="log"), "missing"),
    "a line is no JSON": ("event", 7, lambda _: "x", "Expected `object`"),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_line_is_named_and_nothing_is_kept(
    what: str, exported: bytes, tmp_path: Path
) -> None:
    kind, nth, make, problem = DAMAGE[what]
    lines: Lines = [json.loads(line) for line in exported.splitlines()]
    number = spoiled(lines, kind, nth, make)

    with pytest.raises(ExportDamagedError, match=f"^line {number} .*{problem}"):
        imported("".join(json.dumps(each) + "\n" for each in lines).encode(), tmp_path / "there")

    assert [*(tmp_path / "there").iterdir()] == []


def test_a_gap_and_a_cut_are_named(exported: bytes, tmp_path: Path) -> None:
    lines = exported.splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if b'"position":5,' in line)
    piece = next(n for n, line in enumerate(lines) if len(line) > 1 << 20)
    cases = {
        "it is event 6, and 5 was expected": [*lines[:at], *lines[at + 1 :]],
        "it is event 5, and 6 was expected": [*lines[: at + 1], *lines[at:]],
        "it was cut off": lines[:-1],
        f"line {at} .*it was cut off": [*lines[: at - 1], lines[at - 1][:-9]],
        "ended before it": [*lines, lines[-1]],
        "is not complete": [*lines[: piece + 1], lines[-1]],
        "begins with its head": lines[1:],
        "has more than": [lines[0], b" " * (17 << 20)],
    }

    for problem, text in cases.items():
        with pytest.raises(ExportDamagedError, match=problem):
            imported(b"".join(text), tmp_path / "there")
        assert [*(tmp_path / "there").iterdir()] == []


def test_an_export_of_a_newer_version_says_to_upgrade(exported: bytes, tmp_path: Path) -> None:
    def newer(kind: str, make: Callable[[dict[str, Any]], Any]) -> bytes:
        lines: Lines = [json.loads(line) for line in exported.splitlines()]
        spoiled(lines, kind, 0 if kind == "log" else 4, make)
        return "".join(json.dumps(each) + "\n" for each in lines).encode()

    for text in (
        newer("log", lambda line: changed(line, format=2, more={})),
        newer("event", lambda line: recorded(line, schema=99)),
        newer("event", lambda line: recorded(line, format=3)),
    ):
        with pytest.raises(ExportNewerError, match="upgrade Cortex"):
            imported(text, tmp_path / "there")


def test_a_part_of_the_log_is_exported_and_makes_no_home(source: Home, tmp_path: Path) -> None:
    whole, out = records(source), BytesIO()

    made = export_log(source, out, first=3, last=7)

    lines: Lines = [json.loads(line) for line in out.getvalue().splitlines()]
    found = [b64decode(line["record"]) for line in lines if line["kind"] == "event"]
    assert found == whole[2:7]
    assert (made.first, made.last, made.events) == (3, 7, 5)
    with pytest.raises(ExportDamagedError, match=r"line 1 .* begins at event 3"):
        imported(out.getvalue(), tmp_path / "there")
    beginning = BytesIO()
    export_log(source.at(9), beginning)
    assert records(imported(beginning.getvalue(), tmp_path / "there")) == whole[:9]
    for first, last in ((0, None), (5, 4), (1, len(whole) + 1), (len(whole) + 1, None)):
        with pytest.raises(RefusedError, match="the log has events 1 to"):
            export_log(source, BytesIO(), first=first, last=last)


def test_a_blob_that_is_lost_is_counted_and_the_rest_travels(tmp_path: Path) -> None:
    home = filled(tmp_path / "from", 20)
    store = BlobStore(home.blobs)
    lost = next(digest for digest, _ in store.idle(0.0) if store.get(digest).startswith(b"found"))
    (home.blobs / lost[:2] / lost[2:]).unlink()
    out = BytesIO()

    made = export_log(home, out)

    assert made.missing == 1
    assert records(imported(out.getvalue(), tmp_path / "there")) == records(home)


@pytest.mark.parametrize("name", ["rested", "killed"])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_home_of_an_earlier_version_is_exported_in_every_format(
    version: str, name: str, tmp_path: Path
) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    home = OldHome(version, name, folder).home

    for form in FORMATS:
        out = BytesIO()
        made = export_log(home, out, form=form)
        assert (made.events, made.missing) == (len(records(home)), 0)
        assert out.getvalue().endswith(b"\n")
    assert records(imported(text_of(home), tmp_path / "there")) == records(home)


def test_no_key_leaves_the_home(tmp_path: Path) -> None:
    env = environment(tmp_path)
    lines = (["init"], ["client", "add", "ann", "--token-file", "ann.token"],
             ["audit", "key", "new", "example.com/team"])  # fmt: skip
    ended = run_many(tmp_path, env, lines)
    assert [code for code, _, _ in ended] == [0, 0, 0], ended
    home = Home(tmp_path / ".cortex")
    with Runtime(home, components=[]) as runtime:
        runtime.client("test").publish(TriggerUnmatched(trigger_id="t", reason="none"))

    text = text_of(home)

    kept = [p for p in (home.path / "keys").rglob("*") if p.is_file()]
    assert kept
    for path in (*kept, tmp_path / "ann.token"):
        for word in path.read_bytes().split():
            if len(word) > 20 and not word.isalpha():
                assert word not in text, path


def test_a_kill_at_any_point_leaves_the_whole_file_or_none(tmp_path: Path) -> None:
    home, target = filled(tmp_path, 600), tmp_path / "out.jsonl"
    whole, dice = text_of(home), random.Random(7)
    for _ in range(KILLS):
        running = started(tmp_path, "export", str(target), "--home", str(home.path))
        time.sleep(dice.uniform(0.1, 0.8))
        running.send_signal(signal.SIGKILL)
        running.wait()

        assert not target.exists() or target.read_bytes() == whole
        target.unlink(missing_ok=True)
    export_to(home, target)
    assert target.read_bytes() == whole


def test_a_kill_at_any_point_leaves_a_home_without_events_or_with_all(tmp_path: Path) -> None:
    home, file = filled(tmp_path, 600), tmp_path / "out.jsonl"
    export_to(home, file)
    whole, dice = records(home), random.Random(8)
    for number in range(KILLS):
        there = Home(tmp_path / f"there{number}" / ".cortex")
        there.path.parent.mkdir()
        if number % 2:
            Home.create(there.path)
        running = started(tmp_path, "import", str(file), "--home", str(there.path))
        time.sleep(dice.uniform(0.1, 1.2))
        running.send_signal(signal.SIGKILL)
        running.wait()

        if there.log_path.exists() and there.log_path.stat().st_size:
            assert records(there) == whole
        else:
            with file.open("rb") as source:
                import_log(source, there)
        assert records(there) == whole


CUT_SHORT = """
import os, signal, sys
from pathlib import Path
from cortex.runtime.exports import import_log
from cortex.runtime.kernel import Home

replace = Path.replace

def killed(path, target):
    if path.name == "log.db":
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(path, target)

Path.replace = killed
with open(sys.argv[1], "rb") as source:
    import_log(source, Home(Path(sys.argv[2])))
"""


def test_an_import_that_was_killed_between_blobs_and_log_is_made_again(tmp_path: Path) -> None:
    home, file = filled(tmp_path, 20), tmp_path / "out.jsonl"
    export_to(home, file)
    there = Home.create(tmp_path / "there" / ".cortex")
    ended = subprocess.run(
        [sys.executable, "-c", CUT_SHORT, str(file), str(there.path)], check=False
    )
    beside = there.path.with_name(".cortex.importing")
    outside = tmp_path / "there" / "kept"
    outside.write_text("mine")
    with (beside / "moving").open("a") as moving:
        moving.write("\n../../kept\nab/../../../kept")

    assert ended.returncode == -signal.SIGKILL
    assert [*there.blobs.glob("??/*")]
    code, _, err = run_many(
        tmp_path, environment(tmp_path), [["status", "--home", str(there.path)]]
    )[0]
    assert (code, err.count("import again")) == (4, 1)
    with file.open("rb") as source:
        import_log(source, there)
    assert records(there) == records(home)
    assert not beside.exists()
    assert outside.read_text() == "mine"


def started(folder: Path, *args: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [str(CORTEX), *args], cwd=folder, env=environment(folder),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def test_the_command_line_says_each_thing_in_one_line(source: Home, tmp_path: Path) -> None:
    env, home = environment(tmp_path), str(source.path)
    empty = Home.create(tmp_path / "empty" / ".cortex")
    (tmp_path / "bad.jsonl").write_text("hello\n")

    def one(*args: str) -> tuple[int, str, str]:
        ((code, out, err),) = run_many(tmp_path, env, [args])
        assert "Traceback" not in err
        return code, out, err

    code, out, _ = one("export", "out.jsonl", "--home", home, "--json")
    assert (code, json.loads(out)["events"]) == (0, len(records(source)))
    assert one("export", "-", "--home", home)[1].encode() == (tmp_path / "out.jsonl").read_bytes()
    for args, ended, said in (
        (("export", "o", "--home", home, "--from", "9", "--to", "4"), 1, "none from 9 to 4"),
        (("export", "o", "--home", home, "--to", "99999"), 1, "name others with"),
        (("export", "o", "--home", home, "--at", "yesterday"), 2, "yesterday"),
        (("export", "o", "--home", home, "--format", "x"), 2, "'x' is not"),
        (("export", "http://127.0.0.1:9/", "--home", home), 2, "give --format otlp"),
        (("export", "o", "--home", str(empty.path)), 1, "nothing was recorded yet"),
        (("export", f"{home}/o", "--home", home), 1, "is inside the home"),
        (("export", "none/o", "--home", home), 1, "cortex: none/o: No such file"),
        (("export", ".", "--home", home), 2, "is a directory"),
        (("import", "none", "--home", str(tmp_path / "n" / ".cortex")), 1, "No such file"),
        (("import", "bad.jsonl", "--home", str(tmp_path / "n" / ".cortex")), 1, "line 1 of the"),
        (("import", "out.jsonl", "--home", home), 1, "without any"),
    ):
        code, out, err = one(*args)
        assert (code, out) == (ended, ""), (args, err)
        assert said in err
        assert len(err.strip().splitlines()) == 1, err
    code, out, _ = one("export", "-", "--home", home, "--json")
    assert (code, json.loads(out)["error"]["kind"]) == (2, "UsageError")
    code, _, err = one("import", "out.jsonl", "--home", str(empty.path))
    assert code == 0, err
    assert records(empty) == records(source)
    assert not (tmp_path / "o").exists()


def test_an_execution_that_waited_goes_on_after_the_home_is_trusted(tmp_path: Path) -> None:
    env = environment(tmp_path)
    steps = "".join(
        f"  - id: {name}\n    action: shell\n    with: {{run: echo {name}}}\n" for name in "ab"
    )
    (tmp_path / "greet.yaml").write_text(f"process: greet\nversion: 1\nsteps:\n{steps}")

    def ended(*args: str) -> tuple[int, str, str]:
        return run_many(tmp_path, env, [args])[0]

    ended("init")
    (tmp_path / ".cortex/processes/greet.yaml").write_bytes((tmp_path / "greet.yaml").read_bytes())
    code, _, err = ended("run", "greet", "--quiet", "-y", "--break", "b")
    assert code == 5, err
    assert ended("export", "out.jsonl")[0] == 0
    there = ("--home", str(tmp_path / "there" / ".cortex"))
    (tmp_path / "there").mkdir()
    assert ended("import", "out.jsonl", *there)[0] == 0
    (waits,) = json.loads(ended("execution", "list", "--json", *there)[1])

    assert ended("execution", "resume", waits["id"], *there)[0] == 6
    digest = ended("trust", there[1], "--show")[1].split()[-1]
    assert ended("trust", there[1], "--digest", digest)[0] == 0
    code, out, err = ended("execution", "resume", waits["id"], *there)

    assert code == 0, out + err
    (waits,) = json.loads(ended("execution", "list", "--json", *there)[1])
    assert waits["status"] == "completed"
