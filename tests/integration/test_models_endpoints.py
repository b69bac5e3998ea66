"""`cortex model check` against real servers: what it says, and what it never does."""

import json
import socket
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cortex.runtime.kernel import Home
from cortex.runtime.models import ModelConfig, Price
from cortex.runtime.serving.doctor import ModelCheck, ModelRow, check_model

from ..ports import free_port

KEY = "sk-secret-of-the-test"


class Server(ThreadingHTTPServer):
    """Answers every GET alike, and keeps what it was asked."""

    def __init__(self, status: int = 200, body: bytes = b"", location: str = "") -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.body, self.location = status, body, location
        self.asked: list[tuple[str, dict[str, str]]] = []

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, dict(self.headers)))
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.body)))
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    started: list[Server] = []
    yield started
    for server in started:
        server.shutdown()
        server.server_close()


def serve(servers: list[Server], server: Server) -> Server:
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    servers.append(server)
    return server


def listing(*models: str) -> bytes:
    return json.dumps(
        {"object": "list", "data": [{"id": m, "owned_by": "me"} for m in models]}
    ).encode()


def row(component: str = "SomeProvider") -> ModelRow:
    return ModelRow(
        "llama",
        "openai",
        "llama3",
        component,
        False,
        True,
        None,
        None,
        None,
        8_192,
        Price(),
        "",
        None,
    )


def checked(port: int, key: str = "", path: str = "/v1", **more: str) -> ModelCheck:
    model = ModelConfig(
        name="llama",
        provider=more.pop("provider", "openai"),
        model="llama3",
        base_url=f"http://127.0.0.1:{port}{path}",
        key_env="LLAMA_KEY" if key else "",
        window=9_000,
        reasoning="low",
        code="low",
        speed="low",
    )
    return check_model(row(**more), model, Home(Path("/nowhere")), {"LLAMA_KEY": key})


def test_an_endpoint_that_has_the_model_is_well(servers: list[Server]) -> None:
    server = serve(servers, Server(body=listing("other", "llama3")))

    found = checked(server.port)

    assert (found.state, found.found) == ("ok", f"127.0.0.1:{server.port} has llama3")
    assert found.took_s is not None
    ((path, headers),) = server.asked
    assert path == "/v1/models"
    assert {name.lower() for name in headers} <= {"host", "accept", "accept-encoding", "user-agent"}


def test_a_tag_that_the_server_adds_is_the_same_model(servers: list[Server]) -> None:
    assert checked(serve(servers, Server(body=listing("llama3:latest"))).port).state == "ok"


def test_the_key_goes_to_the_endpoint_alone(
    servers: list[Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = serve(servers, Server(body=listing("llama3")))
    server = serve(servers, Server(302, location=f"http://127.0.0.1:{other.port}/v1/models"))
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{other.port}")
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{other.port}")

    found = checked(server.port, KEY)

    assert (found.state, other.asked) == ("fail", [])
    assert "answers 302" in found.found
    assert server.asked[0][1]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in str(found)


ANSWERS = {
    "another model": (Server, (200, listing("a", "b")), "fail", "does not have llama3"),
    "no model": (Server, (200, listing()), "warn", "lists no model at all"),
    "no list": (Server, (404, b""), "warn", "has no list of models (404)"),
    "a refusal": (Server, (401, b""), "fail", "refuses a call without a key (401)"),
    "a failure": (Server, (500, b"oops"), "fail", "answers 500 to the question"),
    "a page": (Server, (200, b"<html>hello"), "fail", "does not answer as an OpenAI-compatible"),
    "other JSON": (Server, (200, b'{"data": 3}'), "fail", "does not answer as an OpenAI-compat"),
    "bytes": (Server, (200, b"\xff\xfe\x00"), "fail", "does not answer as an OpenAI-compatible"),
}


@pytest.mark.parametrize("case", ANSWERS, ids=str)
def test_each_answer_is_one_line_with_what_to_do(case: str, servers: list[Server]) -> None:
    kind, given, state, said = ANSWERS[case]

    found = checked(serve(servers, kind(*given)).port)

    assert found.state == state
    assert said in found.found
    assert "\n" not in found.found + found.todo


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(
    ("reference", "place", "todo"),
    [
        ("LLAMA_KEY", "the environment variable LLAMA_KEY", "export LLAMA_KEY=..."),
        ("keyring:team/llama", "the entry team/llama of the keyring", "keyring set team llama"),
    ],
)
def test_a_key_that_the_server_refuses_is_not_said_to_be_missing(
    status: int,
    reference: str,
    place: str,
    todo: str,
    servers: list[Server],
    keyring_in_memory: Any,
) -> None:
    keyring_in_memory.set_password("team", "llama", KEY)
    server = serve(servers, Server(status))
    model = ModelConfig(
        name="llama",
        provider="openai",
        base_url=f"http://127.0.0.1:{server.port}/v1",
        key_env=reference,
    )

    found = check_model(row(), model, Home(Path("/nowhere")), {"LLAMA_KEY": KEY})

    where = f"127.0.0.1:{server.port}"
    assert (found.state, found.found) == ("fail", f"{where} refuses the key of {place} ({status})")
    assert "key_env" not in found.todo
    assert found.todo.endswith(todo)
    assert KEY not in str(found)


def test_an_entry_that_the_keyring_does_not_have_is_set_by_its_own_command(
    keyring_in_memory: Any,
) -> None:
    model = ModelConfig(
        name="llama",
        provider="openai",
        base_url="http://127.0.0.1:9/v1",
        key_env="keyring:team/llama",
    )

    found = check_model(row(), model, Home(Path("/nowhere")), {})

    assert keyring_in_memory.get_password("team", "llama") is None
    assert found.found == "the entry team/llama of the keyring is not set"
    assert found.todo == "keyring set team llama"


def test_a_base_url_without_a_path_is_asked_at_its_root(servers: list[Server]) -> None:
    server = serve(servers, Server(body=listing("llama3")))

    assert checked(server.port, path="").state == "ok"
    assert server.asked[0][0] == "/models"


def test_another_provider_is_only_connected_to(servers: list[Server]) -> None:
    server = serve(servers, Server(body=b""))

    found = checked(server.port, provider="anthropic")

    assert (found.state, server.asked) == ("ok", [])


def test_a_model_that_nobody_asks_cannot_be_asked(servers: list[Server]) -> None:
    found = checked(serve(servers, Server(body=listing("llama3"))).port, component="")

    assert (found.state, found.found) == ("fail", "no component answers for the provider 'openai'")


def test_nothing_listens(servers: list[Server]) -> None:
    port = free_port()

    found = checked(port)

    assert (found.state, found.found) == ("fail", f"nothing listens at 127.0.0.1:{port}")


class Rude(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.recv(1_024)
        self.request.sendall(b"220 mail.example ESMTP\r\n")


def test_what_speaks_no_http_is_told(servers: list[Server]) -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), Rude) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        found = checked(server.server_address[1])
        thread.join()

    assert found.state == "fail"
    assert "speaks no HTTP" in found.found


def test_https_where_there_is_none_is_told(servers: list[Server]) -> None:
    server = serve(servers, Server())
    model = ModelConfig(
        name="llama",
        provider="openai",
        base_url=f"https://127.0.0.1:{server.port}/v1",
    )

    found = check_model(row(), model, Home(Path("/nowhere")), {})

    assert (found.state, found.found) == ("fail", f"127.0.0.1:{server.port} speaks no TLS")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("", "the environment variable LLAMA_KEY is not set"),
        (f"{KEY}\nX-More: 1", "the value of LLAMA_KEY is not a key: it has blanks, line breaks"),
        (f"{KEY}é", "the value of LLAMA_KEY is not a key"),
    ],
)
def test_a_key_that_cannot_be_is_told_without_it_and_before_anything_is_sent(
    value: str, said: str, servers: list[Server]
) -> None:
    server = serve(servers, Server(body=listing("llama3")))
    model = ModelConfig(
        name="llama",
        provider="openai",
        base_url=f"http://127.0.0.1:{server.port}/v1",
        key_env="LLAMA_KEY",
    )

    found = check_model(row(), model, Home(Path("/nowhere")), {"LLAMA_KEY": value})

    assert said in found.found
    assert KEY not in str(found)
    assert server.asked == []


def test_a_unix_socket_is_asked(tmp_path: Path, servers: list[Server]) -> None:
    path = tmp_path / "llama.sock"

    class Unix(Server):
        address_family = socket.AF_UNIX

        def __init__(self) -> None:
            socketserver.TCPServer.__init__(self, str(path), Handler)  # type: ignore[arg-type]
            self.status, self.body, self.location, self.asked = 200, listing("llama3"), "", []

        def server_bind(self) -> None:
            socketserver.TCPServer.server_bind(self)

    server = serve(servers, Unix())
    model = ModelConfig(name="llama3", provider="openai", base_url=f"unix://{path}", local=True)

    found = check_model(row(), model, Home(tmp_path), {})

    assert (found.state, found.found) == ("warn", f"unix://{path} has llama3")
    assert found.todo == (
        "set reasoning, code, speed: until then it meets no need of them; "
        "set window: 8,192 tokens are assumed"
    )
    assert server.asked[0][0] == "/v1/models"


def test_a_replay_needs_its_log(tmp_path: Path) -> None:
    model = ModelConfig(name="again", provider="replay", log="old")

    missing = check_model(row(), model, Home(tmp_path), {})
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "log.db").touch()
    there = check_model(row(), model, Home(tmp_path), {})

    assert (missing.state, missing.found) == ("fail", f"{tmp_path}/old is not there")
    assert (there.state, there.found) == ("ok", f"replays {tmp_path}/old/log.db")
