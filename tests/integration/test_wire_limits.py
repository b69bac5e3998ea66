"""What a hub's server takes of strangers, of one client and of one frame is bounded."""

import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

import pytest

from cortex.bus import ClientDeniedError, connect

from .wire_world import GREETING, LONG_S, Noting, Raw, Wired, access, ended, raw, until, wired

__all__ = ["access", "raw", "wired"]  # fixtures


def test_a_hello_that_comes_too_late_is_cut_though_bytes_come(wired: Wired) -> None:
    wired.server.insiders.patience_ns = 100_000_000
    raw = Raw(wired.path)
    raw.greet()
    raw.sock.sendall(struct.pack(">BQI", 1, 60_000, 1 << 31))  # a frame that takes its time

    def drip() -> bool:
        try:
            raw.sock.sendall(b"\0")
        except ConnectionError:
            return True
        return False

    until(drip)
    raw.close()


@pytest.mark.parametrize("greets", [False, True])
def test_strangers_from_a_network_are_bounded_and_ipc_is_not_kept_out(
    wired: Wired, greets: bool
) -> None:
    bounded = wired.server.outsiders if greets else wired.server.unopened.strangers
    bounded.most = 1
    port = int(wired.server.listen("tcp://127.0.0.1:0", insecure=True).rpartition(":")[2])
    with (
        socket.create_connection(("127.0.0.1", port), LONG_S) as stranger,
        socket.create_connection(("127.0.0.1", port), LONG_S) as another,
    ):
        for each in (stranger, another) if greets else ():
            each.sendall(GREETING)
        assert len(another.recv(8)) == 8
        assert ended(stranger)
        with connect(wired.url, name="near"):
            pass


def test_networks_leave_connections_for_ipc(wired: Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cortex.bus.wire.server.server.CONNECTIONS", 64)
    port = int(wired.server.listen("tcp://127.0.0.1:0", insecure=True).rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), LONG_S) as far:
        assert ended(far)
        with connect(wired.url, name="near"):
            pass


def test_a_client_is_one_whatever_its_connections_call_themselves(
    wired: Wired, raw: Raw, access: Noting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cortex.bus.wire.server.server.A_CLIENT", 1)
    raw.hello("alice/0")
    with connect(wired.url, name="alice/1"):  # who may do everything is not counted
        pass
    access.forbidden.add(("publish", "x.secret.kept"))

    with pytest.raises(ClientDeniedError, match="close some"):
        connect(wired.url, name="alice/2")
    with connect(wired.url, name="bob"):
        pass


def test_a_question_goes_with_whoever_asked_it(wired: Wired, raw: Raw) -> None:
    asker, questions = Raw(wired.path), wired.server.dispatcher.questions
    raw.hello("answers")
    raw.ask(["serve", ["x.wire.twice"]])
    asker.hello("asker")
    asker.frame(["ask", "x.wire.twice", b"\x80", 3_600.0])
    until(lambda: questions._open)

    asker.close()

    until(lambda: not questions._open)
    assert raw.ask(["listen", 0.0]) == ["asked", 0, "", b"", 0.0]


def at_once(wired: Wired) -> Callable[[int], None]:
    """Let another thread end each wait before the one that began it goes on."""

    def due(_: int) -> None:
        for connection in tuple(wired.server._connections.values()):
            owed = connection._pending.owed
            if owed is not None:
                other = threading.Thread(target=connection._pending.overdue, args=(owed,))
                other.start()
                other.join()

    return due


def test_a_listener_whose_time_ends_as_it_begins_leaves_nothing(
    wired: Wired, raw: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw.hello("answers")
    raw.ask(["serve", ["x.wire.twice"]])
    monkeypatch.setattr(wired.server, "due", at_once(wired))

    assert raw.ask(["listen", 60.0]) == ["asked", 0, "", b"", 0.0]

    (connection,) = wired.server._connections.values()
    assert connection.program is not None
    assert not connection.program.answerer.listening


def test_a_question_whose_time_ends_as_it_is_asked_leaves_nothing(
    wired: Wired, raw: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, questions = Raw(wired.path), wired.server.dispatcher.questions
    answers.hello("answers")
    answers.ask(["serve", ["x.wire.twice"]])
    raw.hello("asker")
    monkeypatch.setattr(wired.server, "due", at_once(wired))

    assert raw.ask(["ask", "x.wire.twice", b"\x80", 60.0])[1] == "AskTimeoutError"

    until(lambda: repr(questions._numbers) == "count(2)")
    until(lambda: not questions._open)
    answers.close()


def test_a_question_that_met_a_listener_too_late_waits_for_the_next(wired: Wired, raw: Raw) -> None:
    questions, heard = wired.server.dispatcher.questions, list[Any]()
    raw.hello("answers")
    raw.ask(["serve", ["x.wire.twice"]])
    (connection,) = wired.server._connections.values()
    assert connection.program is not None

    def hears(asked: Any) -> bool:
        heard.append(asked)
        return True

    questions.ask("x.wire.twice", b"\x80", 60.0, lambda _: True)
    questions.listen(connection.program.answerer, lambda _: False)
    questions.listen(connection.program.answerer, hears)

    assert [asked.topic for asked in heard] == ["x.wire.twice"]


def test_a_frame_with_a_request_that_is_none_leaves_nothing_behind(wired: Wired, raw: Raw) -> None:
    raw.hello()
    draft = ["x.wire.said", 1, "bus", None, b"\x81\xa5topic\xabx.wire.said"]

    raw.frame(["publish", [draft]], ["head"], ["publish", [draft], -1])

    assert [answer[:2] for answer in raw.answers()] == [["refused", "FrameError"]]
    assert wired.hub.head == 0


def test_reading_after_the_largest_number_gives_nothing(raw: Raw) -> None:
    raw.hello()

    assert raw.ask(["read", 1 << 63]) == ["records", [], (1 << 63) - 1]
    assert raw.ask(["read_stream", "bus", 1 << 63]) == ["records", [], (1 << 63) - 1]


@pytest.mark.parametrize(
    "waiting", [["fetch", "raw/s", 0, 256, 1 << 20, -1, 15.0], ["await", 15.0]]
)
def test_a_grant_that_runs_out_ends_a_wait(
    raw: Raw, access: Noting, waiting: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("connection", "waiting"):
        monkeypatch.setattr(f"cortex.bus.wire.server.{module}.SHORT_NS", 10_000_000)
    raw.hello()
    raw.ask(["subscribe", "raw/s", "ordered", [["x.wire.said", None]]])
    raw.frame(waiting)

    access.refused.add("raw")  # and nobody says that it has changed

    assert raw.answers()[0][:2] == ["refused", "ClientDeniedError"]


def test_who_may_say_nothing_puts_no_blobs(
    raw: Raw, access: Noting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "allows_some", lambda *_: False)
    raw.hello()

    refused = raw.ask(["put_blob", "0" * 64, 3, 0, b"abc"])

    assert refused[:3] == ["refused", "NotGrantedError", ["raw", "publish", "blob"]]
