"""`CORTEX_LOG` has the runtime say on standard error what it does, and for whom."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.runtime.kernel import Home
from cortex.runtime.projections import HomeLog

from .command_lines import CORTEX, environment

PROCESS = (
    "process: look\nversion: 1\nsteps:\n  - id: one\n    action: read_text\n    with: {path: a}\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a").write_text("hello")
    (tmp_path / "look.yaml").write_text(PROCESS)
    return tmp_path


def said(folder: Path, level: str) -> list[dict[str, str]]:
    """The fields of each log line of a run."""
    done = subprocess.run(
        [str(CORTEX), "run", "look.yaml", "--quiet"],
        cwd=folder, env=environment(folder, CORTEX_LOG=level, NO_COLOR="1"),
        capture_output=True, text=True, timeout=120, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    lines = [line for line in done.stderr.splitlines() if re.match(r"\d{4}-\d\d-\d\d ", line)]
    assert not [line for line in done.stdout.splitlines() if "event_handled" in line]
    return [
        {"event": line.split("]", 1)[1].split()[0], **dict(re.findall(r"(\w+)=(\S+)", line))}
        for line in lines
    ]


def test_debug_tells_of_each_event_with_component_execution_and_step(folder: Path) -> None:
    handled = [line for line in said(folder, "debug") if line["event"] == "event_handled"]

    (read,) = [line for line in handled if line["topic"] == "step.execute"]
    assert read["component"] == "TextFiles"
    assert (read["step"], read["given"]) == ("one", "1")
    of_it = [line for line in handled if line.get("execution") == read["execution"]]
    assert {"execution.request", "step.execute", "step.completed"} <= {
        each["topic"] for each in of_it
    }
    assert all(line["component"] for line in handled)


def test_trace_tells_what_came_in_and_what_came_of_it_too(folder: Path) -> None:
    lines = said(folder, "trace")

    given = [line for line in lines if line["event"] == "event_given"]
    assert {"event_taken", "event_handled"} <= {line["event"] for line in lines}
    (read,) = [line for line in given if line["component"] == "TextFiles"]
    assert (read["topic"], read["step"]) == ("step.completed", "one")


def test_without_it_nothing_is_told_and_a_level_that_is_none_is_named(folder: Path) -> None:
    assert said(folder, "") == []

    done = subprocess.run(
        [str(CORTEX), "run", "look.yaml", "--quiet"],
        cwd=folder, env=environment(folder, CORTEX_LOG="verbose"),
        capture_output=True, text=True, timeout=120, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip

    assert "cortex: CORTEX_LOG='verbose' is not a level: trace, debug, info" in done.stderr


EVERYTHING = """process: everything
version: 1
inputs: { list: { type: list, default: [one, two] } }
gates: [{ file_exists: { path: a } }]
steps:
  - { id: read, action: read_text, with: { path: a } }
  - id: fails
    action: shell
    on_failure: continue
    gates: [{ file_exists: { path: a } }]
    with: { env: [GH_TOKEN], run: [sh, -c, "echo denied for $GH_TOKEN >&2; exit 3"] }
  - id: say
    action: answer_question
    description: Say what is asked.
    with: { question: What is there? }
  - { id: each, for_each: "${inputs.list}", as: n, action: shell, with: { run: [echo, "${n}"] } }
  - { id: gone, action: read_text, with: { path: gone }, gates: [{ file_exists: { path: gone } }] }
"""
SECRET = "hush-4711-hush-0815"
WITHIN = ("execution", "step", "gate", "context", "model", "tool", "knowledge", "effect")


def told(folder: Path, *args: str, **env: str) -> tuple[int, list[dict[str, Any]], str]:
    """The exit code of a run, its log lines, and all that it wrote."""
    done = subprocess.run(
        [str(CORTEX), *args],
        cwd=folder, env=environment(folder, GH_TOKEN=SECRET, CORTEX_LOG_FORMAT="json", **env),
        capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return done.returncode, lines, done.stdout + done.stderr


def test_every_line_of_a_run_at_trace_says_for_whom_it_is_and_none_has_a_secret(
    folder: Path,
) -> None:
    (folder / "everything.yaml").write_text(EVERYTHING)
    told(folder, "init")

    code, lines, whole = told(folder, "--log-level", "trace", "run", "everything.yaml")

    assert code == 1  # the last gate fails
    with HomeLog.open(Home(folder / ".cortex")) as log:
        records = {record.id.hex(): record for record in log.read()}
    assert len(lines) > 100
    for line in lines:
        assert {"event", "level", "logger", "timestamp"} <= line.keys(), line
        assert line["level"] in ("trace", "debug", "info", "warning", "error")
        assert line["component"], line
        handled = records[line["event_id"]]
        assert line.get("execution", "") == (handled.correlation or ""), line
        step = msgspec.msgpack.decode(handled.body).get("step_id", "")
        if line["event"] != "event_given" and step:
            assert line["step"] == step, line
        if handled.topic.partition(".")[0] in WITHIN:
            assert line["execution"], line
    assert SECRET not in whole
    assert SECRET not in "".join(map(str, records.values()))
    assert {line["component"] for line in lines} >= {
        "CompilationEngine", "ExecutionRecordAccessor", "FileExists", "ProcessExecutionEngine",
        "ProcessManager", "Shell", "TextFiles",
    }  # fmt: skip
    given = {(line["topic"], line["level"]) for line in lines if line["event"] == "event_given"}
    assert {
        ("step.execute", "info"), ("step.completed", "info"), ("step.failed", "error"),
        ("gate.evaluated", "info"), ("gate.evaluated", "error"), ("execution.halted", "error"),
        ("context.compiled", "debug"), ("gate.evaluate", "debug"), ("step.wake", "trace"),
    } - given <= {("step.wake", "trace")}  # fmt: skip


@pytest.mark.parametrize(
    ("level", "levels"),
    [
        ("error", {"error"}),
        ("warning", {"error"}),
        ("info", {"info", "error"}),
        ("debug", {"debug", "info", "error"}),
        ("trace", {"trace", "debug", "info", "error"}),
    ],
)
def test_a_level_has_the_lines_of_it_and_above_by_option_variable_and_configuration(
    folder: Path, level: str, levels: set[str]
) -> None:
    (folder / "everything.yaml").write_text(EVERYTHING)
    told(folder, "init")
    run = ("run", "everything.yaml", "-q")
    ways = [told(folder, "--log-level", level, *run), told(folder, *run, CORTEX_LOG=level)]
    (folder / ".cortex" / "config.toml").write_text(f'[logs]\nlevel = "{level}"\n')
    told(folder, "trust", "-y")

    ways.append(told(folder, *run))

    for _, lines, _ in ways:
        assert {line["level"] for line in lines} == levels
        (failed,) = [
            line for line in lines
            if line.get("topic") == "gate.evaluated" and line["level"] == "error"
        ]  # fmt: skip
        assert (failed["gate"], failed["step"], failed["outcome"]) == (
            "file_exists", "gone", "failed",
        )  # fmt: skip


def test_what_reads_the_lines_may_go_away_and_the_run_ends(folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)

    done = subprocess.run(
        [str(CORTEX), "--log-level", "trace", "run", "look.yaml", "--quiet"],
        cwd=folder, env=environment(folder), stdout=subprocess.PIPE, stderr=writer, timeout=60,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(writer)

    assert b"completed" in done.stdout


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"CORTEX_LOG": "loud"}, "CORTEX_LOG='loud' is not a level: trace, debug"),
        ({"CORTEX_LOG_FORMAT": "xml"}, "CORTEX_LOG_FORMAT='xml' is not a format: text, json"),
    ],
)
def test_a_variable_that_is_wrong_is_said_once(
    folder: Path, env: dict[str, str], said: str
) -> None:
    done = subprocess.run(
        [str(CORTEX), "run", "look.yaml", "--quiet"],
        cwd=folder, env=environment(folder, **env), capture_output=True, text=True, timeout=120,
        check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip

    assert done.stderr.count(said) >= 1
