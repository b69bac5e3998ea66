"""A dry run happens in a scratch home, and speaks of the user's own all the same."""

import json
import subprocess
from pathlib import Path

import pytest

from cortex.runtime.cli import main
from cortex.runtime.kernel import Home

HELLO = """process: hello
version: 1
gates: [branch_clean]
steps:
  - { id: say, action: shell, with: { run: echo hello } }
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A clean git checkout, but for the home in it that git was not told of."""
    monkeypatch.delenv("CORTEX_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "checkout"
    folder.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    monkeypatch.chdir(folder)
    home = Home.create(folder / ".cortex")
    (home.processes / "hello.yaml").write_text(HELLO)
    return home


def test_it_leaves_the_home_out_of_what_is_uncommitted_as_a_run_does(
    checkout: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    dry = main(["process", "dry-run", "hello", "--json"])
    (gate,) = json.loads(capsys.readouterr().out)["gates"]
    real = main(["run", "hello", "--json"])

    assert (gate["gate"], gate["outcome"], gate["reason"]) == ("branch_clean", "passed", "")
    assert (dry, real) == (0, 0)


def test_it_names_a_source_by_its_place_in_the_users_home(
    checkout: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    source = checkout.processes / "hello.yaml"
    source.write_text(HELLO.replace("branch_clean", "branch_cleen"))

    assert main(["process", "dry-run", "hello"]) != 0

    said = capsys.readouterr()
    assert str(source) in said.out + said.err
    assert "/tmp/cortex-" not in said.out + said.err
