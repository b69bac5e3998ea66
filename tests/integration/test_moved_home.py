"""A home that was moved or copied runs its own processes, which its log knows at another place."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.bus.events import ExecutionCompleted, ProcessRejected
from cortex.runtime.cli import main
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home
from cortex.runtime.projections import Selection
from cortex.runtime.serving import acting_document

ECHO = """process: echo
version: 1
steps:
  - { id: say, action: shell, with: { run: echo hi } }
"""


def move(source: Path, target: Path) -> None:
    source.rename(target)


def copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target)


def topics(home: Path, topic: str) -> int:
    with History.open(Home(home)) as history:
        return len(list(history.select(Selection(topics=(topic,)))))


@pytest.mark.parametrize("carry", [move, copy])
@pytest.mark.parametrize("edited", [False, True])
def test_a_home_at_another_place_runs_its_processes(
    carry: Callable[[Path, Path], None], edited: bool, tmp_path: Path
) -> None:
    before, after = tmp_path / "one" / ".cortex", tmp_path / "two" / ".cortex"
    Home.create(before)
    after.parent.mkdir()
    (before / "processes" / "echo.yaml").write_text(ECHO)
    assert main(["run", "echo", "--home", str(before)]) == 0

    carry(before, after)
    assert (
        main(["trust", str(after), "--own", "--digest", acting_document(Home(after)).digest]) == 0
    )
    if edited:
        source = ECHO.replace("version: 1", "version: 2").replace("echo hi", "echo ho")
        (after / "processes" / "echo.yaml").write_text(source)
    codes = [main(["run", "echo", "--home", str(after)]) for _ in range(2)]

    assert codes == [0, 0]
    assert topics(after, ProcessRejected.topic_name()) == 0
    assert topics(after, ExecutionCompleted.topic_name()) == 3
