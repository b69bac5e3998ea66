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


def test_a_gate_after_steps_that_change_something_is_not_asked_and_denies_none_of_them(
    checkout: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout.path.parent / "ci.log").write_text("FAILED tests/x.py::t - assert 1 == 2\n")

    main(["process", "dry-run", "fix_ci_failure", "-i", "log=ci.log", "--json"])

    steps = json.loads(capsys.readouterr().out)["steps"]
    assert [step["step"] for step in steps][-2:] == ["verify", "commit"]
    (gate,) = steps[-1]["gates"]
    assert (gate["gate"], gate["outcome"]) == ("tests_pass", "not asked")
    assert gate["reason"] == "it depends on what implement_fix, verify will have done"


def test_a_gate_after_steps_that_only_read_is_asked(
    checkout: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout.processes / "reads.yaml").write_text(
        "process: reads\nversion: 1\nsteps:\n"
        "  - {id: look, action: read_text, with: {path: a.txt}}\n"
        "  - {id: say, action: shell, with: {run: echo}, gates: [{file_exists: {path: a.txt}}]}\n"
        "  - {id: next, action: shell, with: {run: echo}, gates: [{file_exists: {path: a.txt}}]}\n"
    )

    assert main(["process", "dry-run", "reads", "--json"]) != 0

    steps = json.loads(capsys.readouterr().out)["steps"]
    assert [gate["outcome"] for step in steps for gate in step["gates"]] == ["failed", "not asked"]


GOAL = """process: mend
version: 1
steps:
  - id: fix
    goal: the tests pass
    may: [run_tests, {action: commit_and_push, gates: [approved]}, {process: hello}]
    tools: [read_file, run_command]
    check: [tests_pass]
"""


def test_a_goal_is_shown_with_all_that_may_be_done_and_that_its_model_is_offered(
    checkout: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout.processes / "mend.yaml").write_text(GOAL)
    checkout.config_path.write_text(
        '[[models.use]]\nname = "smith"\nprovider = "openai"\nmodel = "m"\nkey_env = "NO_KEY"\n'
        'base_url = "http://127.0.0.1:9"\nwindow = 100000\nlocal = true\n'
    )

    main(["process", "dry-run", "mend", "--json"])
    (step,) = json.loads(capsys.readouterr().out)["steps"]
    main(["process", "dry-run", "mend"])
    shown = capsys.readouterr().out

    assert step["runs"] == "goal, by a model"
    assert step["may"] == ["run_tests", "commit_and_push, after approved", "process hello"]
    assert step["check"] == ["tests_pass"]
    offered = {"run_tests", "commit_and_push", "hello", "goal_reached", "give_up", "read_file"}
    assert offered <= set(step["tools"])
    assert "the tests pass" in step["prompt"]
    for told in (*step["may"], "tests_pass", "run_command"):
        assert told in shown


def test_a_goal_that_no_model_works_towards_shows_what_a_person_may_do(
    checkout: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    by_hand = GOAL.replace("check:", "by_hand: true\n    check:")
    (checkout.processes / "mend.yaml").write_text(by_hand)

    main(["process", "dry-run", "mend", "--json"])

    (step,) = json.loads(capsys.readouterr().out)["steps"]
    assert (step["runs"], step["prompt"], step["refused"]) == ("goal, by hand", "", "")
    assert "process hello" in step["may"]


def test_an_input_that_does_not_fit_is_refused_and_one_that_is_left_out_is_named(
    checkout: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout.processes / "count.yaml").write_text(
        "process: count\nversion: 1\ninputs: { many: integer, what: string }\nsteps:\n"
        "  - { id: say, action: read_text, with: { path: '${inputs.what}' } }\n"
    )

    wrong = [
        main(["process", "dry-run", "count", "-i", given]) for given in ("nope=1", "many=several")
    ]
    refused = capsys.readouterr().err
    code = main(["process", "dry-run", "count", "-i", "many=3"])
    shown = capsys.readouterr().out

    assert (wrong, code) == ([2, 2], 0)
    assert "nope" in refused
    assert "many" in refused
    assert "not given: inputs.what" in shown
    assert "from earlier steps" not in shown
