"""`CORTEX_LOG` has the runtime say on standard error what it does, and for whom."""

import re
import subprocess
from pathlib import Path

import pytest

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
