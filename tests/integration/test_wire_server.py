"""A hub's server keeps its bounds, says why it ends a connection, and serves the others."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import msgspec
import pytest

from cortex.bus import (
    Batch,
    ClientDeniedError,
    DiskFullError,
    Draft,
    Due,
    Event,
    Hub,
    HubServer,
    LocalHub,
    LogError,
    NotGrantedError,
    Publish,
    SubscriptionError,
    SystemClock,
    UnansweredError,
    Unsubscribe,
    UrlError,
    connect,
    serving,
    system_entropy,
)
from cortex.runtime.log import LogDiskError, LogFullError, MemoryBlobs, MemoryLog
from cortex.runtime.subjects import PersonalBlobs, SubjectKeys

from .wire_world import (
    LONG_S,
    SAID,
    WORDS,
    Doubled,
    Kept,
    Noting,
    Raw,
    Said,
    Twice,
    Wired,
    access,
    raw,
    until,
    wired,
)

FRAME_BYTES, HELLO_BYTES = 4 << 20, 1 << 16
__all__ = ["access", "raw", "wired"]  # fixtures


def test_who_does_not_speak_the_protocol_is_cut_off(raw: Raw) -> None:
    raw.sock.sendall(b"GET / HTTP/1.1\r\n\r\n")

    assert raw.exactly(8).startswith(b"\0SP\0")
    assert raw.ended()


@pytest.mark.parametrize("length", [FRAME_BYTES + 5, 1 << 40])
def test_a_frame_over_the_bound_ends_the_connection_before_it_is_read(
    raw: Raw, length: int
) -> None:
    raw.hello()

    raw.sock.sendall(struct.pack(">BQI", 1, length, 1 << 31))

    assert raw.ended()


def test_a_hello_over_its_own_bound_is_refused(raw: Raw, access: Noting) -> None:
    raw.greet()

    raw.send(msgspec.msgpack.encode([0, False, [["", [["hello", [2], "x" * HELLO_BYTES]]]]]))

    assert raw.answers()[0][:2] == ["refused", "FrameTooLargeError"]
    assert raw.ended()
    assert ("denied", "", "send", "FrameTooLargeError") in access.told


def waits(wired: Wired, name: str) -> bool:
    """Whether the hub owes *name* an answer."""
    connections = list(wired.server._connections.values())
    return any(c.waits and c.program and c.program.client == name for c in connections)


def test_a_request_before_the_answer_ends_the_connection(
    wired: Wired, raw: Raw, access: Noting
) -> None:
    raw.hello()
    raw.ask(["subscribe", "raw/s", "ordered", [["x.wire.said", None]]])

    raw.frame(["fetch", "raw/s", 0, 256, 1 << 20, -1, 15.0])
    until(lambda: waits(wired, "raw"))  # of two that come at once, nng may pass on either first
    raw.frame(["head"])

    assert raw.ended()
    until(lambda: any(told[0] == "left" for told in access.told))


TWICE = msgspec.msgpack.encode(Twice(number=1))


@pytest.mark.parametrize("waiting", [["listen", 15.0], ["ask", "x.wire.twice", TWICE, LONG_S]])
def test_lock_step_holds_while_somebody_else_owes_the_answer(
    wired: Wired, raw: Raw, waiting: list[object]
) -> None:
    with connect(wired.url, name="idle", vocabulary=WORDS) as idle:
        served = threading.Event()

        def answer(_: Event, __: float) -> Event:
            served.wait(LONG_S)
            return Doubled(number=0)

        idle.hub.answer(Twice, answer)
        raw.hello()

        raw.frame(waiting)
        until(lambda: waits(wired, "raw"))
        raw.frame(["head"])

        assert raw.ended()
        served.set()


def test_nothing_is_asked_before_hello(raw: Raw) -> None:
    raw.greet()

    assert raw.ask(["head"])[:2] == ["refused", "FrameError"]
    assert raw.ended()


def test_an_old_client_is_told_what_to_upgrade(raw: Raw, access: Noting) -> None:
    raw.greet()

    refused = raw.ask(["hello", [0], "", "old"])

    assert refused[:3] == ["refused", "VersionError", ["0", "2"]]
    assert "upgrade" in refused[3]
    assert raw.ended()
    assert ("denied", "", "send", "VersionError") in access.told


def test_who_is_not_let_in_is_told_why(wired: Wired, access: Noting) -> None:
    access.refused.add("mallory")

    with pytest.raises(ClientDeniedError, match="it was revoked"):
        connect(wired.url, name="mallory")


def test_revoking_cuts_a_connected_client_in_the_middle_of_a_wait(
    wired: Wired, raw: Raw, access: Noting
) -> None:
    raw.hello("mallory")
    raw.frame(["listen", 15.0])

    access.refused.add("mallory")
    access.changed("mallory")

    assert raw.ended()


class Revoking(Noting):
    """Revokes a client while its subscribing is under way."""

    def __init__(self) -> None:
        super().__init__()
        self.armed = False

    def allows(self, client: str, verb: str, topic: str) -> bool:
        if self.armed and verb == "subscribe":
            self.armed = False
            self.refused.add(client)
            self.changed(client)  # cuts the connection, so that no answer goes out
        return super().allows(client, verb, topic)


@pytest.fixture
def revoking() -> Revoking:
    return Revoking()


@pytest.fixture
def strict(tmp_path: Path, revoking: Revoking) -> Iterator[Wired]:
    made = Wired(tmp_path, revoking)
    yield made
    made.close()


def test_who_follows_is_told_of_a_refusal_and_not_of_an_unknown_outcome(
    strict: Wired, revoking: Revoking
) -> None:
    with connect(strict.url, name="me", vocabulary=WORDS) as client:
        revoking.armed = True

        with pytest.raises(ClientDeniedError, match="revoked"):
            client.follow(SAID)


def test_a_feed_whose_subscription_was_withdrawn_is_told_of_the_refusal(
    strict: Wired, revoking: Revoking
) -> None:
    with connect(strict.url, name="me", vocabulary=WORDS) as client:
        feed = client.follow(SAID)
        strict.hub.ask_one("me", Unsubscribe(feed._name))
        revoking.changed("me")  # what it may do is asked anew
        revoking.armed = True

        with pytest.raises(ClientDeniedError, match="revoked"):
            feed.next(LONG_S)  # subscribes again, by a frame that is not answered


def test_what_a_client_may_not_do_is_refused_and_its_neighbours_are_done(
    wired: Wired, raw: Raw, access: Noting
) -> None:
    access.forbidden.add(("publish", "x.secret.kept"))
    raw.hello()
    draft = ["x.wire.said", 1, "bus", None, b"\x81\xa5topic\xabx.wire.said"]
    hidden = ["x.secret.kept", 1, "bus", None, b"\x80"]

    raw.frame(["publish", [hidden]], ["publish", [draft]])
    refused, done = raw.answers()

    assert refused[:3] == ["refused", "NotGrantedError", ["raw", "publish", "x.secret.kept"]]
    assert done == ["appended", 1, 1]


def test_a_client_is_sent_only_what_it_may_see_and_its_cursor_moves_on(
    wired: Wired, access: Noting
) -> None:
    access.forbidden |= {("subscribe", "x.secret.kept"), ("read", "x.secret.kept")}
    with connect(wired.url, name="eve", vocabulary=WORDS) as eve:
        seen = eve.subscribe("eve/all", ("*", None))
        eve.publish(Kept(), Said(number=1), Kept())

        records = seen.next(LONG_S)

        assert [r.topic for r in records] == ["x.wire.said"]
        seen.commit()
        assert seen.cursor == 3
        assert [r.topic for r in eve.read()] == ["x.wire.said"]
        with pytest.raises(NotGrantedError, match=r"may not subscribe x\.secret\.kept"):
            eve.subscribe("eve/secret", ("x.secret.kept", None))


def test_nobody_speaks_or_subscribes_under_anothers_name(wired: Wired) -> None:
    with connect(wired.url, name="eve", vocabulary=WORDS) as eve:
        with pytest.raises(NotGrantedError, match="may not hold adam"):
            eve.subscribe("adam", SAID)
        with pytest.raises(NotGrantedError, match="may not hold adam"):
            eve.hub.ask_one("adam", _publish())


def test_deadlines_of_others_cannot_be_forgotten(wired: Wired) -> None:
    draft = _publish().events[0]
    with (
        connect(wired.url, name="adam", vocabulary=WORDS) as adam,
        connect(wired.url, name="eve", vocabulary=WORDS) as eve,
    ):
        adam.hub.ask_one("adam", Publish((), 0, (Due("wake", 1 << 62, draft),)))

        with pytest.raises(NotGrantedError, match="may not hold adam"):
            eve.hub.ask_one("eve", Publish((), 0, (), ("wake",)))


def _publish() -> Publish:
    return Publish((Draft.of(Said(number=1)),))


def test_who_stops_reading_costs_the_others_nothing(wired: Wired, raw: Raw) -> None:
    with connect(wired.url, name="busy", vocabulary=WORDS) as busy:
        raw.hello("stopped")
        raw.ask(["subscribe", "stopped/s", "ordered", [["*", None]], "beginning"])
        big = [Said(text="x" * 100_000) for _ in range(8)]
        busy.publish(*big)
        raw.frame(["fetch", "stopped/s", 0, 256, 1 << 20])  # and its answer is never read

        feed = busy.follow(SAID)
        for number in range(50):
            busy.publish(Said(number=number))

        got = 0
        while got < 50:
            got += len(feed.next(LONG_S))


def test_who_asks_on_and_takes_no_answer_is_cut(wired: Wired, raw: Raw) -> None:
    with connect(wired.url, name="busy", vocabulary=WORDS) as busy:
        raw.hello("stopped")
        raw.ask(["subscribe", "stopped/s", "ordered", [["*", None]], "beginning"])
        busy.publish(*(Said(text="x" * 100_000) for _ in range(8)))

        with suppress(ConnectionError):  # the cut may come before the last of them
            for _ in range(8):
                raw.frame(["fetch", "stopped/s", 0, 256, 1 << 20])

        until(lambda: [c.name for c in wired.server.clients()] == ["busy"])
        assert busy.publish(Said()) == 9


def test_what_a_client_left_behind_goes_with_its_last_connection(wired: Wired) -> None:
    gone = connect(wired.url, name="gone", vocabulary=WORDS)
    gone.hub.answer(Twice, lambda q, _: Doubled(number=2 * getattr(q, "number", 0)))
    feed = gone.follow(SAID)
    with connect(wired.url, name="stays", vocabulary=WORDS) as stays:
        assert stays.ask(Twice(number=21), LONG_S) == Doubled(number=42)

        gone.close()

        until(lambda: [c.name for c in wired.server.clients()] == ["stays"], "it has left")
        until(lambda: not wired.hub.pairs_of(feed._name), "its feed has ended")
        with pytest.raises(UnansweredError):
            stays.ask(Twice(number=1), LONG_S)


def test_components_of_the_hubs_process_ask_and_are_asked(wired: Wired) -> None:
    with connect(wired.url, name="far", vocabulary=WORDS) as far:
        wired.hub.answer(Twice, lambda q, _: Doubled(number=2 * getattr(q, "number", 0)))
        assert far.ask(Twice(number=4), LONG_S) == Doubled(number=8)
        with pytest.raises(SubscriptionError, match="is answered by a component already"):
            far.hub.answer(Twice, lambda _, __: Doubled(number=0))
        wired.hub.unanswer(Twice)

        far.hub.answer(Twice, lambda _, __: Doubled(number=-1))

        assert wired.hub.ask(Twice(number=4), LONG_S) == Doubled(number=-1)


def test_a_handler_that_fails_is_the_askers_to_know(wired: Wired) -> None:
    def fail(query: object, _: float) -> Doubled:
        raise ZeroDivisionError("by zero")

    with connect(wired.url, name="a", vocabulary=WORDS) as a:
        a.hub.answer(Twice, fail)
        with (
            connect(wired.url, name="b", vocabulary=WORDS) as b,
            pytest.raises(Exception, match="ZeroDivisionError: by zero"),
        ):
            b.ask(Twice(number=1), LONG_S)


def test_blobs_go_in_pieces(wired: Wired) -> None:
    with connect(wired.url, name="a", vocabulary=WORDS) as a:
        data = bytes(range(256)) * 6_000

        digest = a.blobs.put(data)

        assert a.blobs.get(digest) == data
        assert a.blobs.size(digest) == len(data)
        with pytest.raises(KeyError, match="the hub has no blob"):
            a.blobs.get("0" * 64)


def test_a_blob_of_a_subject_is_encrypted_by_the_hub_and_read_as_it_was(tmp_path: Path) -> None:
    store, keys = MemoryBlobs(), SubjectKeys(None)
    hub = LocalHub(Hub(MemoryLog(), WORDS, system_entropy), SystemClock())
    tmp_path.chmod(0o700)
    server = HubServer(hub, MemoryLog(), PersonalBlobs(store, keys))
    data = b"secret words " * 80_000  # in two pieces
    with (
        closing(hub),
        closing(server),
        connect(server.listen(f"ipc://{tmp_path}/b.sock"), name="a", vocabulary=WORDS) as a,
    ):
        with serving("anna"):
            digest = a.blobs.put(data)
            again = a.blobs.put(data)
        plain = a.blobs.put(data)
        read = a.blobs.get(digest), a.blobs.size(digest), a.blobs.get(plain)

    assert digest == again != plain
    assert read == (data, len(data), data)
    assert b"secret" not in store.get(digest)


def test_a_blobs_digest_is_no_path(raw: Raw) -> None:
    raw.hello()

    assert raw.ask(["get_blob", "../../etc/passwd", 0, 100])[:2] == ["refused", "FrameError"]


def test_a_socket_that_a_killed_hub_left_behind_is_replaced(wired: Wired, tmp_path: Path) -> None:
    path = tmp_path / "left.sock"
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))

    assert wired.server.listen(f"ipc://{path}") == f"ipc://{path}"


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://localhost:1", "is not an address of a hub"),
        ("tcp://10.0.0.1:1", r"would send tokens in the clear"),
        ("tcp://127.0.0.1:0", r"is not encrypted"),
        ("tls+tcp://127.0.0.1:0", "needs a certificate"),
        ("tcp://127.0.0.1", "needs a host and a port"),
        ("ipc://relative.sock", "give the whole path"),
        ("ipc:///" + "x" * 120, "may not exceed 100 bytes"),
        ("ipc:///no/such/folder/bus.sock", "cannot be listened on"),
    ],
)
def test_an_address_that_cannot_be_had_is_one_clear_error(
    wired: Wired, url: str, problem: str
) -> None:
    with pytest.raises(UrlError, match=problem):
        wired.server.listen(url)


def test_an_address_that_is_taken_is_one_clear_error(wired: Wired, tmp_path: Path) -> None:
    with pytest.raises(UrlError, match="another hub listens there"):
        wired.server.listen(wired.url)
    taken = wired.server.listen("tcp://127.0.0.1:0", insecure=True)
    with pytest.raises(UrlError, match="address already in use"):
        wired.server.listen(taken, insecure=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(UrlError, match="exists and is not a socket"):
        wired.server.listen(f"ipc://{tmp_path}/file")


def test_a_folder_that_others_may_enter_is_refused(wired: Wired, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)

    with pytest.raises(UrlError, match="chmod 700"):
        wired.server.listen(f"ipc://{tmp_path}/open/bus.sock")


def test_two_hubs_of_one_process_have_two_names(wired: Wired) -> None:
    wired.server.listen("inproc://taken")
    other = HubServer(wired.hub, wired.log)
    try:
        with pytest.raises(UrlError, match="another hub of this process"):
            other.listen("inproc://taken")
    finally:
        other.close()


@pytest.mark.parametrize("full", [True, False])
def test_a_full_disk_is_told_apart_by_its_type_on_the_other_side(
    full: bool, wired: Wired, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = LogFullError("log.db") if full else LogDiskError("log.db", "the disk fails")

    def write(batch: Batch) -> None:
        raise error

    with connect(wired.url, vocabulary=WORDS) as client:
        monkeypatch.setattr(wired.log, "write", write)

        with pytest.raises(LogError) as told:
            client.publish(Said(text="kept?"))

    assert isinstance(told.value, DiskFullError) is full


def test_an_address_that_waits_takes_nobody_before_it_is_told_to(wired: Wired) -> None:
    url = wired.server.listen("tcp://127.0.0.1:0", insecure=True, waits=True)
    inside: list[int] = []

    def come() -> None:
        with connect(url, name="early", vocabulary=WORDS) as client:
            inside.append(client.head)

    early = threading.Thread(target=come)
    with pytest.raises(UrlError, match="in use"):
        wired.server.listen(url, insecure=True)  # the port is ours already
    early.start()
    with connect(wired.url, name="other", vocabulary=WORDS):
        pass  # the acceptor has looked at all that it listens to
    before = list(inside)
    wired.server.take()
    early.join(LONG_S)

    assert before == []
    assert len(inside) == 1
