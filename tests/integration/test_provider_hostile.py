"""Endpoints that answer what no honest one would: bounds of memory and time, and one failure."""

import gzip
import importlib.util
import json
import socketserver
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cortex.actors.providers import AnthropicProvider, OpenAIProvider
from cortex.bus.events import ModelDelta, ModelFailed, ModelResponded
from cortex.runtime.context import TokenCounter
from cortex.runtime.secrets import Mask

from ..servers import PROMPT_TOKENS, Asking, config_for

Said = Callable[[], Iterable[bytes]]

VARIABLE = "CORTEX_TEST_KEY"
PRICE: dict[str, Any] = {"price_input": 3.0, "price_output": 15.0}
DONE = b"data: [DONE]\n\n"
MEGABYTE = 1 << 20


class Endpoint(socketserver.ThreadingTCPServer):
    """Says the same bytes to everybody, whatever they are, until nobody listens."""

    daemon_threads = True

    def __init__(self, said: Said, status: str, headers: str) -> None:
        self.head = f"HTTP/1.1 {status}\r\nconnection: close\r\n{headers}\r\n".encode()
        self.said, self.sent = said, 0
        super().__init__(("127.0.0.1", 0), Speaker)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Speaker(socketserver.StreamRequestHandler):
    server: Endpoint

    def handle(self) -> None:
        lines = iter(self.rfile.readline, b"\r\n")
        length = next(int(line[15:]) for line in lines if line.lower().startswith(b"content-le"))
        list(lines)
        self.rfile.read(length)
        try:
            self.request.sendall(self.server.head)
            for piece in self.server.said():
                self.request.sendall(piece)
                self.server.sent += len(piece)
        except OSError:
            return  # it hung up


@contextmanager
def endpoint(said: Said, status: str = "200 OK", headers: str = "") -> Iterator[Endpoint]:
    with Endpoint(said, status, headers) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


def asking(server: Endpoint, kind: str = "openai", **keys: Any) -> Asking:
    if importlib.util.find_spec(kind) is None:
        pytest.skip(f"the extra {kind} is not installed")
    provider = OpenAIProvider if kind == "openai" else AnthropicProvider
    return Asking(provider, config_for(kind, server.base_url, **keys))


def sse(event: Any) -> bytes:
    return b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n"


def chunk(delta: dict[str, Any], stop: str | None = None) -> bytes:
    return sse({"choices": [{"index": 0, "delta": delta, "finish_reason": stop}]})


def counted(prompt: int, completion: int, cached: int = 0) -> bytes:
    details = {"cached_tokens": cached}
    usage = {"prompt_tokens": prompt, "completion_tokens": completion}
    return sse({"choices": [], "usage": {**usage, "prompt_tokens_details": details}})


@pytest.mark.parametrize(
    "usage",
    [
        counted(5, -1_000_000), counted(-1_000, 4), counted(10, 4, -1_000_000),
        counted(10, 4, 11), counted(10**25, 10**25), counted(0, 0),
    ],
)  # fmt: skip
def test_usage_that_cannot_be_is_counted_here(usage: bytes) -> None:
    text = "hi" * 500
    with endpoint(lambda: [chunk({"content": text}), chunk({}, "stop"), usage, DONE]) as server:
        tested = asking(server, **PRICE)
        whole = tested.ask(tested.invoke())[-1]

    assert isinstance(whole, ModelResponded)
    count = TokenCounter().count
    told = (whole.input_tokens, whole.cached_read_tokens, whole.output_tokens)
    assert told == (PROMPT_TOKENS, 0, count(text))
    assert whole.cost > 0


def test_usage_of_messages_that_cannot_be_is_counted_here() -> None:
    said = [
        sse({"type": "message_start", "message": {"usage": {"input_tokens": -5_000_000}}}),
        sse({"type": "content_block_delta", "delta": {"text": "hello"}}),
        sse({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
             "usage": {"output_tokens": 7}}),
    ]  # fmt: skip
    with endpoint(lambda: said) as server:
        tested = asking(server, "anthropic", **PRICE)
        whole = tested.ask(tested.invoke())[-1]

    assert isinstance(whole, ModelResponded)
    count = TokenCounter().count
    assert (whole.input_tokens, whole.output_tokens) == (PROMPT_TOKENS, count("hello"))


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
@pytest.mark.parametrize("status", ["500 Broken", "302 Found", "400 Bad"])
def test_an_error_without_an_end_is_read_no_further_than_it_matters(kind: str, status: str) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(64):
            yield b"x" * MEGABYTE

    with endpoint(endless, status) as server:
        tested = asking(server, kind)
        failed = tested.ask(tested.invoke())[-1]

    assert isinstance(failed, ModelFailed)
    assert failed.kind == ("overloaded" if status.startswith("500") else "failed")
    assert server.sent < 64 * MEGABYTE


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip"])
def test_a_packed_answer_is_refused_unread(kind: str, encoding: str) -> None:
    packed = gzip.compress(chunk({"content": "hi"}))
    with endpoint(lambda: [packed], headers=f"content-encoding: {encoding}\r\n") as server:
        tested = asking(server, kind)
        failed = tested.ask(tested.invoke())[-1]

    assert isinstance(failed, ModelFailed)
    assert (failed.kind, failed.retry) == ("garbage", False)


def test_a_packed_error_keeps_the_kind_of_its_status() -> None:
    packed = gzip.compress(b"x" * MEGABYTE)
    with endpoint(lambda: [packed], "500 Broken", "content-encoding: gzip\r\n") as server:
        tested = asking(server)
        failed = tested.ask(tested.invoke())[-1]

    assert isinstance(failed, ModelFailed)
    assert failed.kind == "overloaded"


NESTED = b'data: {"x":' + b"[" * 5_000 + b"]" * 5_000 + b"}\n\n"
NAMED = chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f" * 500_000}}]})


@pytest.mark.parametrize("said", [NESTED, NAMED], ids=["nested", "named"])
def test_what_no_model_says_is_garbage_and_not_asked_for_again(said: bytes) -> None:
    with endpoint(lambda: [said, chunk({}, "stop"), DONE]) as server:
        tested = asking(server)
        failed = tested.ask(tested.invoke())[-1]

    assert isinstance(failed, ModelFailed)
    assert (failed.kind, failed.retry) == ("garbage", False)


def test_an_answer_that_ended_is_not_put_off_by_a_connection_that_says_on() -> None:
    over = threading.Event()

    def dripping() -> Iterator[bytes]:
        yield chunk({"content": "ok"})
        yield chunk({}, "stop")
        while not over.wait(0.05):
            yield b":\n"

    with endpoint(dripping) as server:
        tested = asking(server)
        whole = tested.ask(tested.invoke(timeout_s=600.0))[-1]
        over.set()

    assert isinstance(whole, ModelResponded)
    assert whole.answer == {"text": "ok"}


@pytest.mark.parametrize("key", ["abc123", "sk-sentinel-key-ABCDEF123456"])
def test_a_key_that_an_answer_repeats_is_recorded_nowhere(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, key)
    pieces = [chunk({"content": letter}) for letter in f"it is {key}."]
    with endpoint(lambda: [*pieces, chunk({}, "stop"), DONE]) as server:
        tested = asking(server, key_env=VARIABLE)
        *deltas, whole = tested.ask(tested.invoke())

    assert isinstance(whole, ModelResponded)
    said = f"it is {Mask((key,), shortest=4).text(key)}."
    assert key not in said
    assert whole.answer == {"text": said}
    assert "".join(d.text for d in deltas if isinstance(d, ModelDelta)) == said
