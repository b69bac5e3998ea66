"""A program works with a home as the command line does, without a terminal."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from cortex.bus.events import ExecutionResume
from cortex.runtime.kernel import Home
from cortex.runtime.sessions import (
    ArgumentError,
    Ending,
    RunOptions,
    Session,
    WaitingError,
    dry_run,
    newest_executions,
    start,
    steering,
)

COUNT = """
process: count
version: 1
description: Count
inputs: { times: { type: integer } }
steps:
  - { id: count, action: shell, description: Count, with: { run: [echo, one] } }
"""
ASKS = COUNT.replace("process: count", "process: ask").replace(
    "Count, with", "Count, gates: [approved], with"
)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home.create(tmp_path / ".cortex")
    (home.processes / "count.yaml").write_text(COUNT)
    (home.processes / "ask.yaml").write_text(ASKS)
    configured = structlog.get_config()
    yield home
    structlog.configure(**configured)


def test_a_program_runs_a_process_and_is_told_how_it_ended(home: Home, tmp_path: Path) -> None:
    with Session.open(home) as session:
        ending = start(session, "count", {"times": "3"}, RunOptions(workspace=tmp_path))

        (row,) = newest_executions(session.history, 9)
        document = session.document(row.id)

    assert ending is Ending.COMPLETED
    assert (document.status, document.inputs) == ("completed", {"times": 3})


def test_where_nobody_is_asked_a_question_waits_for_an_answer(home: Home, tmp_path: Path) -> None:
    with Session.open(home) as session:
        first = start(session, "ask", {"times": "3"}, RunOptions(workspace=tmp_path))
        (row,) = newest_executions(session.history, 9)
        with pytest.raises(WaitingError):
            steering.resume(session, ExecutionResume(execution_id=row.id))
        answer = ExecutionResume(execution_id=row.id, answer="approved")

        last = steering.resume(session, answer)

    assert (first, last) == (Ending.WAITING, Ending.COMPLETED)


def test_an_input_that_does_not_fit_is_refused_before_anything_is_recorded(
    home: Home, tmp_path: Path
) -> None:
    with Session.open(home) as session:
        with pytest.raises(ArgumentError, match="times is 'three', expected an integer"):
            start(session, "count", {"times": "three"}, RunOptions(workspace=tmp_path))

        assert newest_executions(session.history, 9) == []


def test_a_dry_run_says_what_each_step_would_be_given(home: Home) -> None:
    document = dry_run(home, "count", {"times": "3"})

    assert [(step.step, step.parameters) for step in document.steps] == [
        ("count", {"run": ["echo", "one"]})
    ]
