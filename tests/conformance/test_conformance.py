"""A client that knows the protocol from its description alone keeps every promise with a hub."""

import ast
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pynng
import pytest

from cortex.bus import (
    ClientDeniedError,
    Hub,
    HubServer,
    LocalHub,
    Open,
    Peer,
    SystemClock,
    system_entropy,
)
from cortex.bus.events import VOCABULARY
from cortex.runtime.log import EventLog

from .client import Client, Connection, RefusedError, event

TOPIC = "x.conformance.noted"


class Guarded(Open):
    """Lets in who shows the token."""

    def admit(self, token: str, name: str, peer: Peer) -> str:
        if token != "let me in":
            raise ClientDeniedError(name, "its token is unknown here")
        return name


@pytest.fixture(scope="module", params=["ipc", "tcp"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("conformance")
    folder.chmod(0o700)
    log = EventLog.open(folder / "log.db")
    hub = LocalHub(Hub(log, VOCABULARY, system_entropy), SystemClock())
    server = HubServer(hub, log, access=Guarded())
    wanted = f"ipc://{folder}/bus.sock" if request.param == "ipc" else "tcp://127.0.0.1:0"
    yield server.listen(wanted, insecure=True)
    server.close()
    hub.close()
    log.close()


@pytest.fixture
def client(url: str, request: pytest.FixtureRequest) -> Iterator[Client]:
    made = Client(url, "let me in", "c" + str(abs(hash(request.node.name)) % 10**9))
    yield made
    made.close()


def note(about: str, number: int, expected: int | None = None) -> list[object]:
    return event(TOPIC, f"note/{about}", {"number": number}, expected)


def test_the_client_imports_nothing_of_cortex() -> None:
    source = (Path(__file__).parent / "client.py").read_text()
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(source))
        for name in (
            [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }

    assert imported == {"msgpack", "pynng", "secrets", "time", "typing"}


def test_a_publish_whose_answer_was_lost_stands_once(client: Client) -> None:
    first = client.publish(note(client.name, 1))

    second = client.publish(note(client.name, 2), lose=True)

    kept = [r for r in client.read() if r.stream == f"note/{client.name}"]
    assert [(r.position, r.body["number"]) for r in kept] == [(first, 1), (second, 2)]
    assert {r.source for r in kept} == {client.name}


def test_one_order_without_gaps(url: str, client: Client) -> None:
    def publish(which: int) -> None:
        other = Client(url, "let me in", f"{client.name}-{which}")
        for number in range(20):
            other.publish(note(client.name, number))
        other.close()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(publish, range(3)))

    log = client.read()
    assert [r.position for r in log] == list(range(1, len(log) + 1))
    assert [r.time_ns for r in log] == sorted(r.time_ns for r in log)


def test_what_was_not_committed_is_handed_out_again(url: str, client: Client) -> None:
    cursor = client.subscribe(client.name, "ordered", TOPIC)
    client.publish(*(note(client.name, n) for n in range(3)))
    handed, _ = client.fetch(client.name, cursor)
    client.commit(client.name, cursor, handed[0].position)

    again = Client(url, "let me in", client.name)
    resumed = again.subscribe(client.name, "ordered", TOPIC)
    left, _ = again.fetch(client.name, resumed)
    again.close()

    assert [r.body["number"] for r in left] == [1, 2]


def test_a_commit_from_elsewhere_is_refused_whole(client: Client) -> None:
    cursor = client.subscribe(client.name, "ordered", TOPIC)
    through = client.publish(note(client.name, 1))
    client.commit(client.name, cursor, through, note(f"{client.name}/done", 1))

    with pytest.raises(RefusedError) as refused:
        client.commit(client.name, cursor, through, note(f"{client.name}/done", 2))

    assert refused.value.code == "CursorError"
    assert len([r for r in client.read() if r.stream == f"note/{client.name}/done"]) == 1


def test_work_goes_to_one_worker(client: Client) -> None:
    client.subscribe(client.name, "work", TOPIC)
    client.publish(note(client.name, 1))
    ((_, old),) = client.claim(client.name, 1, 0.0)  # a lease that lapses at once

    ((record, epoch),) = client.claim(client.name, 1, 60.0)
    client.finish(client.name, record.position, epoch)

    with pytest.raises(RefusedError) as refused:
        client.finish(client.name, record.position, old)
    assert refused.value.code == "LeaseLostError"
    assert not client.claim(client.name, 1, 60.0)


def test_a_fetch_that_waits_is_answered_when_something_comes(url: str, client: Client) -> None:
    cursor = client.subscribe(client.name, "ordered", TOPIC)
    other = Client(url, "let me in", f"{client.name}-other")
    publishing = threading.Timer(0.05, lambda: other.publish(note(client.name, 5)))
    publishing.start()

    found: list[int] = []
    while not found:
        records, cursor = client.fetch(client.name, cursor)
        found = [r.body["number"] for r in records if r.stream == f"note/{client.name}"]
    publishing.join()
    other.close()

    assert found == [5]


def test_a_question_goes_to_whoever_answers_it(url: str, client: Client) -> None:
    answerer = Client(url, "let me in", f"{client.name}-answerer")
    topic = f"x.conformance.{client.name}"
    answerer.command.ask(["serve", [topic]])
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(answerer.answer_one, topic, {"topic": topic, "total": 42})

        answer = client.query(topic, {"numbers": [40, 2]}, 60.0)

        assert asked.result()["numbers"] == [40, 2]
    answerer.close()
    assert answer["total"] == 42


def test_a_stale_writer_is_told_where_the_stream_is(client: Client) -> None:
    client.publish(note(client.name, 1, expected=0))

    with pytest.raises(RefusedError) as refused:
        client.publish(note(client.name, 1, expected=0))

    assert refused.value.code == "ConflictError"
    assert refused.value.fields == [f"note/{client.name}", 0, 1]


def test_who_saw_what_the_log_has_lost_is_told_and_goes_on(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    url, path = f"ipc://{tmp_path}/bus.sock", tmp_path / "log.db"

    def serve() -> Callable[[], None]:
        ending = ExitStack()
        log = ending.enter_context(closing(EventLog.open(path)))
        hub = LocalHub(Hub(log, VOCABULARY, system_entropy), SystemClock())
        server = HubServer(ending.enter_context(closing(hub)), log)
        ending.enter_context(closing(server)).listen(url)
        return ending.close

    end = serve()
    client = Client(url, "", "teller")
    kept = client.publish(note("lost", 1))
    end()
    shutil.copy(path, tmp_path / "backup")
    end = serve()
    client.close()
    client.command = client.again()
    seen = client.publish(note("lost", 2), note("lost", 3))
    end()
    shutil.copy(tmp_path / "backup", path)
    end = serve()

    client.command.close()
    client.command = client.again()
    client.publish(note("lost", 4))

    assert client.lost == [(seen, kept)]
    told = [r.body for r in client.read() if r.topic == "log.tail_lost"]
    assert [(b["seen"], b["common"], b["client"]) for b in told] == [(seen, kept, "teller")]
    assert [r.body["number"] for r in client.read() if r.stream == "note/lost"] == [1, 4]
    client.command.close()
    end()


def refused_hello(url: str, hello: list[object]) -> RefusedError:
    """How a hello is refused; nng loses the answer where the connection ends before it looked."""
    while True:
        with pynng.Req0(resend_time=-1, recv_timeout=60_000) as sock:
            sock.dial(url, block=True)
            connection = Connection.__new__(Connection)
            connection._socket = sock
            try:
                connection.ask(hello)
            except RefusedError as refused:
                return refused
            except pynng.NNGException:
                continue


def test_a_wrong_token_is_refused(url: str) -> None:
    refused = refused_hello(url, ["hello", [2], "wrong", "stranger", "", ""])

    assert refused.code == "ClientDeniedError"


def test_a_client_of_version_1_is_refused_for_it_knows_no_epochs(url: str) -> None:
    refused = refused_hello(url, ["hello", [1], "let me in", "old", "", ""])

    assert refused.code == "VersionError"
    assert refused.fields == ["1", "2"]


def test_a_client_of_another_version_is_told_what_to_upgrade(url: str) -> None:
    refused = refused_hello(url, ["hello", [0], "let me in", "old", "", ""])

    assert refused.code == "VersionError"
    assert refused.fields == ["0", "2"]
    assert "upgrade the one that speaks the older version" in refused.text
