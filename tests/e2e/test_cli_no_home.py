"""A folder that is no home is said to be none, and nothing that reads makes one."""

from pathlib import Path

import pytest

from .command_lines import environment, run_many

READING = [
    ("client", "list"),
    ("client", "show", "joe"),
    ("context", "health", "x"),
    ("doctor",),
    ("down",),
    ("events", "query"),
    ("events", "tail"),
    ("execution", "find", "word"),
    ("execution", "list"),
    ("execution", "show", "x"),
    ("knowledge", "find", "word"),
    ("knowledge", "list"),
    ("log", "state"),
    ("model", "check"),
    ("model", "list"),
    ("plugin", "info", "webhook"),
    ("plugin", "list"),
    ("plugin", "logs", "webhook"),
    ("process", "dry-run", "triage_ci_failure"),
    ("process", "find", "word"),
    ("process", "history", "x"),
    ("process", "inspect", "x"),
    ("process", "list"),
    ("process", "validate"),
    ("prompt", "list"),
    ("status",),
    ("trace", "x"),
]
# They act, but on what is there: a new home has nothing that they could act on.
ACTING_ON_WHAT_IS_THERE = [
    ("client", "revoke", "joe"),
    ("execution", "cancel", "x"),
    ("execution", "rate", "x", "good"),
    ("execution", "resume", "x"),
    ("plugin", "unload", "webhook"),
]
NEEDING = READING + ACTING_ON_WHAT_IS_THERE
WITHOUT = {("doctor",)}  # it says what is wrong, also where everything is


def test_a_home_that_is_named_and_is_not_there_is_refused_and_not_made(tmp_path: Path) -> None:
    named = tmp_path / "nowhere" / ".cortex"

    option = run_many(
        tmp_path, environment(tmp_path), [(*each, "--home", str(named)) for each in NEEDING]
    )
    variable = run_many(tmp_path, environment(tmp_path) | {"CORTEX_HOME": str(named)}, NEEDING)

    for ended in (option, variable):
        for call, (code, out, err) in zip(NEEDING, ended, strict=True):
            assert code == 4, (call, out, err)
            assert f"{named}" in out + err, call
            assert "there is no home here: make one with `cortex init " in out + err, call
    assert not named.parent.exists()


def test_an_empty_folder_is_no_home_and_stays_empty(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()

    ended = run_many(
        tmp_path, environment(tmp_path), [(*each, "--home", str(empty)) for each in NEEDING]
    )

    for call, (code, out, err) in zip(NEEDING, ended, strict=True):
        assert code == 4, (call, out, err)
        assert "there is no home here: make one with `cortex init " in out + err, call
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize("inside", [False, True])
def test_a_folder_of_something_else_is_no_home_for_any_command(
    inside: bool, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "notes.txt").write_text("not ours\n")
    if inside:
        (code, _, _), *_ = run_many(tmp_path, environment(tmp_path), [("init", str(project))])
        assert code == 0
    before = sorted(project.rglob("*"))
    making = [("run", "triage_ci_failure"), ("client", "add", "joe"), ("up", "--background")]
    calls = [*NEEDING, *making]

    ended = run_many(
        tmp_path, environment(tmp_path), [(*each, "--home", str(project)) for each in calls]
    )

    remedy = f"name {project}/.cortex" if inside else f"make one in it with `cortex init {project}`"
    for call, (code, out, err) in zip(calls, ended, strict=True):
        assert code == 4, (call, out, err)
        assert "is a folder of something else, no home: " in out + err, call
        assert remedy in out + err, call
    assert sorted(project.rglob("*")) == before


def test_what_reads_makes_no_home_for_a_user_who_has_none(tmp_path: Path) -> None:
    calls = [*READING, *ACTING_ON_WHAT_IS_THERE]

    ended = run_many(tmp_path, environment(tmp_path), calls)

    assert list(tmp_path.iterdir()) == []
    shown = {call: out for call, (code, out, _) in zip(calls, ended, strict=True) if code == 0}
    assert "triage_ci_failure" in shown["process", "list"]  # the library is there for everybody
    assert "extractive" in shown["model", "list"]


def test_what_acts_makes_the_home_that_it_is_given(tmp_path: Path) -> None:
    named = tmp_path / "new" / ".cortex"

    ((code, _, err),) = run_many(
        tmp_path, environment(tmp_path), [("client", "add", "joe", "--home", str(named))]
    )

    assert code == 0, err
    assert (named / "version").is_file()


def test_a_home_of_which_only_what_is_committed_came_is_a_home(tmp_path: Path) -> None:
    named = tmp_path / "settings"
    (named / "processes").mkdir(parents=True)
    (named / "config.toml").write_text("")

    ((code, _, err),) = run_many(
        tmp_path, environment(tmp_path), [("execution", "list", "--home", str(named))]
    )

    assert code == 0, err
