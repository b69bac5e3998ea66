"""A home's hub is found by its socket; a note that was left behind fools nobody."""

import os
import socket
import stat
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from cortex.runtime.kernel import Home
from cortex.runtime.serving import (
    FolderError,
    HubSilentError,
    Note,
    NotUpError,
    found,
    hub_of,
    note,
    socket_path,
    stop,
)

NOTE = Note(pid=1, url="ipc://somewhere", urls=(), since_ns=7, version="1.2")


@pytest.fixture
def listening(home: Home) -> Iterator[socket.socket]:
    """This process listens where the hub of *home* would."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(os.fspath(socket_path(home)))
        server.listen()
        yield server


def test_an_address_with_tls_bears_the_fingerprint_that_clients_need() -> None:
    urls = ("tls+tcp://hub:7421", "tcp://127.0.0.1:7422")

    shown = Note(1, "ipc://here", urls, 7, "1.2", 64 * "a").addresses

    assert shown == ("ipc://here", f"tls+tcp://hub:7421#{64 * 'a'}", "tcp://127.0.0.1:7422")


def test_where_nobody_listens_nobody_is_found(home: Home) -> None:
    assert found(home) is None


def test_a_note_that_a_killed_hub_left_behind_is_not_believed(home: Home) -> None:
    note.write(home, NOTE)

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(os.fspath(socket_path(home)))  # as a kill leaves it: a file, and no listener

    assert found(home) is None
    with pytest.raises(NotUpError, match="no hub is up"):
        stop(home, 1.0)


def test_the_process_is_the_one_that_listens_whatever_the_note_says(
    home: Home, listening: socket.socket
) -> None:
    note.write(home, NOTE)

    up = found(home)

    assert up is not None
    assert (up.pid, up.version, up.since_ns) == (os.getpid(), "1.2", 7)


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"pid": "x"}'])
def test_without_a_note_that_can_be_read_the_socket_is_enough(
    home: Home, listening: socket.socket, text: str | None
) -> None:
    if text is not None:
        (home.path / note.FILE).write_text(text)

    up = found(home)

    assert up is not None
    assert (up.pid, up.url) == (os.getpid(), f"ipc://{socket_path(home)}")


def test_a_hub_that_hangs_is_named_with_what_ends_it(
    home: Home, listening: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("cortex.bus.wire.client.channel"), "DIAL_S", 0.1)

    with pytest.raises(HubSilentError, match=f"process {os.getpid()}.*`cortex down --kill`"):
        hub_of(home).dial()


def test_the_note_is_its_owners_alone(home: Home) -> None:
    note.write(home, NOTE)

    assert stat.S_IMODE((home.path / note.FILE).stat().st_mode) == 0o600
    assert note.read(home) == NOTE


def test_a_note_is_taken_back_once_and_again(home: Home) -> None:
    note.write(home, NOTE)

    note.remove(home)
    note.remove(home)

    assert note.read(home) is None


def test_a_socket_whose_path_is_too_long_moves_to_a_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (short := tmp_path / "r").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short))
    one, other = (Home(tmp_path / ("x" * 100) / name) for name in ("a", "b"))

    path = socket_path(one)

    assert path.parent == short / "cortex"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path == socket_path(one) != socket_path(other)


def test_a_folder_that_others_may_use_holds_no_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "cortex").mkdir()
    (tmp_path / "cortex").chmod(0o777)

    with pytest.raises(FolderError, match="others can use it"):
        socket_path(Home(tmp_path / ("x" * 100)))
