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
# They make the home in the user's own data folder; one that is named has to be there.
MAKING = [
    ("client", "add", "joe"),
    ("client", "fingerprint"),
    ("plugin", "dev", "."),
    ("plugin", "load", "webhook", "--yes"),
    ("run", "triage_ci_failure"),
    ("run", "--goal", "x"),
    ("trigger", "source=x"),
    ("up", "--background"),
    ("worker", "some.module:thing"),
]
NEEDING = READING + ACTING_ON_WHAT_IS_THERE + MAKING
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
            assert (
                f"there is no home here: make one with `cortex init --home {named}`" in out + err
            ), call
    assert not named.parent.exists()


def test_an_empty_folder_is_no_home_and_stays_empty(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()

    ended = run_many(
        tmp_path, environment(tmp_path), [(*each, "--home", str(empty)) for each in NEEDING]
    )

    for call, (code, out, err) in zip(NEEDING, ended, strict=True):
        assert code == 4, (call, out, err)
        assert f"there is no home here: make one with `cortex init --home {empty}`" in out + err, (
            call
        )
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

    ended = run_many(
        tmp_path, environment(tmp_path), [(*each, "--home", str(project)) for each in NEEDING]
    )

    remedy = f"name {project}/.cortex" if inside else f"make one in it with `cortex init {project}`"
    for call, (code, out, err) in zip(NEEDING, ended, strict=True):
        assert code == 4, (call, out, err)
        assert "is not a home, but a folder with other content: " in out + err, call
        assert remedy in out + err, call
    assert sorted(project.rglob("*")) == before


def test_what_reads_makes_no_home_for_a_user_who_has_none(tmp_path: Path) -> None:
    calls = [*READING, *ACTING_ON_WHAT_IS_THERE]

    ended = run_many(tmp_path, environment(tmp_path), calls)

    assert list(tmp_path.iterdir()) == []
    shown = {call: out for call, (code, out, _) in zip(calls, ended, strict=True) if code == 0}
    assert "triage_ci_failure" in shown["process", "list"]  # the library is there for everybody
    assert "extractive" in shown["model", "list"]


def test_init_makes_the_home_that_is_named_and_what_acts_takes_it(tmp_path: Path) -> None:
    named = str(tmp_path / "my homes" / "ours")
    calls = [
        ("init", "--home", named),
        ("--home", named, "init"),
        ("client", "add", "joe", "--home", named),
        ("init", "here", "--home", named),
    ]

    made, completed, added, both = run_many(tmp_path, environment(tmp_path), calls)

    assert made[0] == 0, made
    assert made[1].startswith(f"made {named}\n")
    assert completed[1].startswith(f"completed {named}\n")
    assert added[0] == 0, added
    assert (both[0], both[1]) == (2, "")
    assert "give FOLDER or --home" in both[2]
    assert [each.name for each in tmp_path.iterdir()] == ["my homes"]


def test_what_acts_makes_the_home_in_the_users_own_data_folder(tmp_path: Path) -> None:
    ((code, _, err),) = run_many(tmp_path, environment(tmp_path), [("client", "add", "joe")])

    assert code == 0, err
    assert (tmp_path / "data" / "cortex" / "version").is_file()


def test_a_home_of_which_only_what_is_committed_came_is_a_home(tmp_path: Path) -> None:
    named = tmp_path / "settings"
    (named / "processes").mkdir(parents=True)
    (named / "config.toml").write_text("")

    ((code, _, err),) = run_many(
        tmp_path, environment(tmp_path), [("execution", "list", "--home", str(named))]
    )

    assert code == 0, err
