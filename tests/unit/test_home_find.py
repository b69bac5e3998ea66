"""A home is found as git finds a repository, made whole, and never misread."""

import contextlib
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.runtime.kernel import Config, Home, HomeError


@pytest.fixture(autouse=True)
def _no_home_of_our_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CORTEX_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))


def test_the_nearest_folder_above_wins(tmp_path: Path) -> None:
    outer = Home.create(tmp_path / ".cortex")
    inner = Home.create(tmp_path / "a" / ".cortex")
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)

    assert Home.find(deep) == inner
    assert Home.find(tmp_path) == outer


def test_the_environment_variable_goes_before_the_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Home.create(tmp_path / ".cortex")
    monkeypatch.setenv("CORTEX_HOME", str(tmp_path / "named"))

    assert Home.find(tmp_path) == Home(tmp_path / "named")


def test_without_a_folder_it_is_the_users_own_and_nothing_is_made(tmp_path: Path) -> None:
    found = Home.find(tmp_path)

    assert found == Home.of_user()
    assert not found.path.exists()


def test_a_home_of_another_user_is_not_walked_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Home.create(tmp_path / ".cortex")
    monkeypatch.setattr(os, "geteuid", lambda: 4_711)

    with pytest.raises(HomeError, match=r"belongs to another user .*CORTEX_HOME"):
        Home.find(tmp_path)


def test_a_new_home_is_private_and_whole(tmp_path: Path) -> None:
    home = Home.create(tmp_path / "deep" / ".cortex")

    assert stat.S_IMODE(home.path.stat().st_mode) == 0o700
    assert stat.S_IMODE((home.path / "keys").stat().st_mode) == 0o700
    assert sorted(path.name for path in home.path.iterdir()) == [
        ".gitignore",
        "archive",
        "blobs",
        "config.toml",
        "id",
        "keys",
        "knowledge",
        "plugins",
        "processes",
        "snapshots.db",
        "version",
    ]
    assert home.version_path.read_text() == "1\n"
    assert Config.load(home) == Config(durability="full")


def test_opening_completes_a_home_and_keeps_what_is_there(tmp_path: Path) -> None:
    home = Home(tmp_path / ".cortex")
    home.processes.mkdir(parents=True)
    home.config_path.write_text('durability = "full"\n')

    assert Home.create(home.path) == home

    assert home.config_path.read_text() == 'durability = "full"\n'
    assert home.blobs.is_dir()
    assert home.version_path.exists()


def test_a_home_from_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    home = Home(tmp_path / ".cortex")
    home.path.mkdir()
    home.version_path.write_text("2\n")

    with pytest.raises(HomeError, match=r"a newer Cortex made this home \(layout 2,.* upgrade"):
        home.open()

    assert [path.name for path in home.path.iterdir()] == ["version"]


@given(text=st.text(max_size=20))
def test_whatever_stands_in_the_version_file_is_taken_or_refused(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    home = Home(tmp_path_factory.mktemp("home"))
    home.version_path.write_text(text, encoding="utf-8", errors="replace")

    with contextlib.suppress(HomeError):
        home.check()
        assert int(text) <= 1


def test_a_file_in_its_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")

    with pytest.raises(HomeError, match="is a file, not a home"):
        Home.create(tmp_path / "home")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        *((name, "is not a plain file") for name in ("log.db", "log.db.lock", "projections.db")),
        *((name, "is not a plain file") for name in ("snapshots.db", "config.toml", "version")),
        ("blobs", "is not a folder"),
    ],
)
def test_what_stands_in_the_place_of_another_thing_is_named(
    tmp_path: Path, name: str, problem: str
) -> None:
    home = Home(tmp_path / ".cortex")
    home.path.mkdir()
    path = home.path / name
    path.mkdir() if problem == "is not a plain file" else path.write_text("")

    for attempt in (home.open, home.check):
        with pytest.raises(HomeError, match=rf"\.cortex/{name}: {problem}"):
            attempt()


def lost(home: Home, log: bytes | None, *traces: str) -> None:
    """A home from which the log went, but not what else it left."""
    home.open()
    (home.path / "log.db.lock").write_text("7")
    if log is not None:
        home.log_path.write_bytes(log)
    for name in traces:
        path = home.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


@pytest.mark.parametrize("log", [None, b"", b"SQLite format 3\0" + bytes(4_080)])
@pytest.mark.parametrize("trace", ["blobs/ab/cdef", "projections.db", "snapshots.db"])
def test_a_home_that_lost_its_log_is_refused_and_left_alone(
    tmp_path: Path, log: bytes | None, trace: str
) -> None:
    home = Home(tmp_path / ".cortex")
    lost(home, log, trace)

    for attempt in (home.open, home.check):
        with pytest.raises(HomeError, match=r"though events were recorded: there is .* restore"):
            attempt()

    assert home.log_path.exists() == (log is not None)
    assert log is None or home.log_path.read_bytes() == log


@pytest.mark.parametrize("log", [None, b""])
@pytest.mark.parametrize("traces", [(), ("blobs/tmp/killed",), ("processes/own.yaml",)])
def test_a_home_in_which_nothing_was_recorded_yet_is_taken(
    tmp_path: Path, log: bytes | None, traces: tuple[str, ...]
) -> None:
    home = Home(tmp_path / ".cortex")
    lost(home, log, *traces)

    assert home.open() == home


def test_a_log_that_stands_in_its_write_ahead_file_alone_is_not_lost(tmp_path: Path) -> None:
    home = Home(tmp_path / ".cortex")
    lost(home, bytes(4_096), "blobs/ab/cdef")
    (home.path / "log.db-wal").write_bytes(bytes(4_200))

    assert home.open() == home


def test_a_home_whose_log_is_kept_elsewhere_is_taken(tmp_path: Path) -> None:
    home = Home.create(tmp_path / ".cortex")
    (home.path / "projections.db").write_text("x")

    assert home.open() == home


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_derived_file_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    home = Home.create(tmp_path / ".cortex")
    home.projections_path.touch(mode=0o400)

    with pytest.raises(HomeError, match="rebuilds it from the log"):
        home.open()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)

    with pytest.raises(HomeError, match="Permission denied; name a folder that you may write"):
        Home.create(tmp_path / "locked" / ".cortex")


def test_reading_a_home_that_is_not_there_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(HomeError, match=f"make one with `cortex init --home {tmp_path}/.cortex`"):
        Home(tmp_path / ".cortex").check()


def test_the_workspace_of_a_project_is_the_folder_its_home_stands_in(tmp_path: Path) -> None:
    assert Home(tmp_path / ".cortex").workspace == tmp_path
    assert Home(tmp_path / "cortex").workspace == tmp_path / "cortex"
