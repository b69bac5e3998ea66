"""A source that was rejected is compiled again when something may have changed, and only then."""

from pathlib import Path

import pytest

from cortex.runtime.cli import main
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home
from cortex.runtime.projections import Selection

GOOD = "process: {0}\nversion: 1\nsteps:\n  - {{ id: a, action: shell, with: {{ run: echo a }} }}\n"
BROKEN = "process: broken\nversion: 1\nsteps: nothing\n"
UNLINKED = "process: broken\nversion: 1\nsteps:\n  - { id: a, action: nosuch }\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home with one process that runs and one that does not compile."""
    home = Home.create(tmp_path / ".cortex")
    monkeypatch.setenv("CORTEX_HOME", str(home.path))
    (home.processes / "good.yaml").write_text(GOOD.format("good"))
    (home.processes / "broken.yaml").write_text(BROKEN)
    assert main(["run", "good"]) == 0
    return home


def submitted(home: Home) -> int:
    with History.open(home) as history:
        return len(list(history.select(Selection(topics=("process.submit",)))))


def test_a_source_that_is_wrong_by_itself_is_not_submitted_each_time(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    before = submitted(home)
    capsys.readouterr()

    assert main(["run", "good"]) == 0
    said = capsys.readouterr().err
    assert main(["run", "broken"]) == 1
    refused = capsys.readouterr().err
    main(["trigger", "source=nobody"])

    assert submitted(home) == before
    assert "broken.yaml was rejected" in said
    assert "broken.yaml:3:8: error P" in refused
    assert "nothing was run" in refused


def test_it_is_compiled_once_it_or_another_source_changes(home: Home) -> None:
    before = submitted(home)

    (home.processes / "other.yaml").write_text(GOOD.format("other"))
    assert main(["run", "other"]) == 0
    (home.processes / "broken.yaml").write_text(GOOD.format("broken"))
    assert main(["run", "broken"]) == 0

    assert submitted(home) == before + 2


def test_what_lacks_something_that_may_come_is_looked_at_each_time(home: Home) -> None:
    (home.processes / "broken.yaml").write_text(UNLINKED)
    assert main(["run", "good"]) == 0
    before = submitted(home)

    assert main(["run", "good"]) == 0

    assert submitted(home) == before + 1
