"""Providers against servers on loopback, through the official SDKs."""

import asyncio
import contextlib
import importlib.util
import logging
import socket
import socketserver
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from cortex.actors.providers import AnthropicProvider, OpenAIProvider
from cortex.bus import Event
from cortex.bus.events import ModelDelta, ModelFailed, ModelResponded
from cortex.runtime.context import TokenCounter

from ..ports import free_port
from ..servers import (
    PROMPT,
    PROMPT_TOKENS,
    Answer,
    Asking,
    ScriptedAnthropic,
    ScriptedOpenAI,
    ScriptedServer,
    Tool,
    config_for,
)

KEY = "sk-test-0123456789abcdef"
VARIABLE = "CORTEX_TEST_KEY"
HEADERS = {
    "host", "accept", "accept-encoding", "connection", "content-type", "content-length",
    "user-agent",
}  # fmt: skip
NOISE = {
    "OPENAI_ORG_ID": "org-leak", "OPENAI_PROJECT_ID": "proj-leak", "OPENAI_API_KEY": "sk-leak",
    "OPENAI_CUSTOM_HEADERS": "x-leak: 1", "OPENAI_BASE_URL": "http://127.0.0.1:9/leak",
    "ANTHROPIC_API_KEY": "sk-leak", "ANTHROPIC_AUTH_TOKEN": "sk-leak",
    "ANTHROPIC_CUSTOM_HEADERS": "x-leak: 1", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9/leak",
}  # fmt: skip


class Kind(NamedTuple):
    name: str
    server: type[ScriptedServer]
    provider: type[AnthropicProvider] | type[OpenAIProvider]

    def asking(self, server: ScriptedServer, **keys: Any) -> Asking:
        return self.at(server.base_url, **keys)

    def at(self, base_url: str, **keys: Any) -> Asking:
        keys = {"key_env": VARIABLE, **keys}
        return Asking(self.provider, config_for(self.name, base_url, **keys))


KINDS = [
    Kind("anthropic", ScriptedAnthropic, AnthropicProvider),
    Kind("openai", ScriptedOpenAI, OpenAIProvider),
]


@pytest.fixture(params=KINDS, ids=[kind.name for kind in KINDS])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kind:
    found: Kind = request.param
    if importlib.util.find_spec(found.name) is None:
        pytest.skip(f"the extra {found.name} is not installed")
    monkeypatch.setenv(VARIABLE, KEY)
    return found


def answered(said: Sequence[Event]) -> ModelResponded:
    assert isinstance(said[-1], ModelResponded), said[-1]
    assert all(isinstance(event, ModelDelta) for event in said[:-1])
    return said[-1]


def refused(said: Sequence[Event]) -> ModelFailed:
    assert isinstance(said[-1], ModelFailed), said[-1]
    assert "\n" not in said[-1].error
    assert KEY not in said[-1].error
    return said[-1]


def test_an_answer_comes_in_pieces_and_then_as_a_whole(kind: Kind) -> None:
    answer = Answer(
        text=("The ", "build ", "is ", "broken."),
        input_tokens=100,
        cached_tokens=40,
        written_tokens=20,
    )
    with kind.server(answer) as server:
        asking = kind.asking(server, price_input=1.0, price_output=10.0)
        said = asking.ask(asking.invoke(attempt=2, turn=3, call=4))

    whole = answered(said)
    deltas = [event for event in said if isinstance(event, ModelDelta)]
    assert whole.answer == {"text": "The build is broken."}
    assert "".join(piece.text for piece in deltas) == "The build is broken."
    assert [piece.number for piece in deltas] == list(range(len(deltas)))
    echoed = {(e.attempt, e.turn, e.call, e.execution_id, e.step_id) for e in deltas}
    assert echoed == {(2, 3, 4, "e7f3", "mend-9")}
    assert (whole.attempt, whole.turn, whole.call) == (2, 3, 4)
    assert whole.stop == "end"
    fresh = 100 if kind.name == "anthropic" else 40
    assert (whole.input_tokens, whole.cached_read_tokens) == (fresh, 40)
    assert (whole.cached_write_tokens, whole.output_tokens) == (20, 4)
    assert whole.cost == pytest.approx((fresh + 40 + 20 + 4 * 10.0) / 1e6)


def test_tools_that_the_model_calls_are_told_with_their_arguments(kind: Kind) -> None:
    tools = (
        Tool("c1", "read_file", {"path": "a/b.py", "lines": [1, 2]}),
        Tool("c2", "list_files", {}),
        Tool("c3", "write_file", '{"path": '),
    )
    with kind.server(Answer(text=("Let me see.",), tools=tools)) as server:
        asking = kind.asking(server)
        whole = answered(asking.ask(asking.invoke()))

    assert whole.stop == "calls"
    first, second, third = whole.answer["calls"]
    assert first == {"id": "c1", "tool": "read_file", "arguments": tools[0].arguments}
    assert second["arguments"] == {}
    assert third["arguments"] == {"_raw": '{"path": '}
    assert third["problem"]


def test_a_typed_answer_is_parsed(kind: Kind) -> None:
    schema = {"type": "object", "properties": {"cause": {"type": "string"}}, "required": ["cause"]}
    answers = (Answer(text=('{"cause": ', '"a typo"}')), Answer(text=("I do not know",)))
    with kind.server(*answers) as server:
        asking = kind.asking(server, structured="native")
        event = asking.invoke(answer_schema=schema)
        typed, loose = [e for e in asking.ask(event, event) if isinstance(e, ModelResponded)]

    assert typed.answer["data"] == {"cause": "a typo"}
    assert loose.answer == {"text": "I do not know"}
    sent = server.asked[0].body
    assert "response_format" in sent or "output_config" in sent


FAILURES = [
    (Answer(status=400, error="invalid_request_error"), "failed"),
    (Answer(status=401, message=f"no such key {KEY}"), "unauthorised"),
    (Answer(status=403), "unauthorised"),
    (Answer(status=404), "missing"),
    (Answer(status=429, retry_after="7"), "rate_limited"),
    (Answer(status=500), "overloaded"),
    (Answer(status=503), "overloaded"),
    (Answer(status=529, error="overloaded_error"), "overloaded"),
    (Answer(text=("a", "b"), die_after=1), "cut_off"),
    (Answer(text=("a", "b"), end_after=1), "cut_off"),
    (Answer(text=("a", "b"), end_after=2), "cut_off"),
    (Answer(text=("a", "b"), error_after=1, error="overloaded_error"), "overloaded"),
    (Answer(text=("a", "b"), error_after=1, error="rate_limit_error"), "rate_limited"),
    (Answer(text=("a", "b"), error_after=1, error="invalid_request_error"), "failed"),
    (Answer(text=("a", "b"), garbage_after=1), "garbage"),
    (Answer(raw=b"<html>welcome to the hotel's network</html>"), "garbage"),
    (Answer(raw=b'{"choices": []}', raw_type="application/json"), "garbage"),
    (Answer(raw=b""), "garbage"),
]


def test_whatever_goes_wrong_is_one_line_of_a_known_kind_and_one_request(kind: Kind) -> None:
    with kind.server(*[answer for answer, _ in FAILURES]) as server:
        asking = kind.asking(server)
        event = asking.invoke()

        async def each() -> list[ModelFailed]:
            return [refused(await asking.said(event)) for _ in FAILURES]

        said = asking.run(each)

    assert [failed.kind for failed in said] == [kind for _, kind in FAILURES]
    assert said[4].retry_after_s == 7.0
    assert len(server.asked) == len(FAILURES)
    retried = {"rate_limited", "overloaded", "cut_off", "garbage"}
    assert [failed.retry for failed in said] == [kind in retried for _, kind in FAILURES]


def test_nobody_there_is_told_without_the_address(kind: Kind) -> None:
    port = free_port()
    asking = kind.at(f"http://127.0.0.1:{port}")

    failed = refused(asking.ask(asking.invoke()))

    assert failed.kind == "unreachable"
    assert str(port) not in failed.error


def test_a_key_that_is_not_set_is_named_by_its_variable(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE)
    with kind.server() as server:
        asking = kind.asking(server)
        failed = refused(asking.ask(asking.invoke()))

    assert failed.kind == "unauthorised"
    assert VARIABLE in failed.error
    assert not server.asked


def test_a_missing_package_is_named_with_its_extra(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == kind.name else find(name)
    )
    with kind.server() as server:
        asking = kind.asking(server)
        failed = refused(asking.ask(asking.invoke()))

    assert failed.kind == "missing"
    assert f"pip install 'cortex-runtime[{kind.name}]'" in failed.error


def test_a_model_or_a_prompt_that_is_gone_is_missing(kind: Kind) -> None:
    with kind.server() as server:
        asking = kind.asking(server)
        lost = msgspec.structs.replace(asking.invoke(), prompt="0" * 64)
        said = asking.ask(asking.invoke(model="other"), lost)

    assert [event.kind for event in said if isinstance(event, ModelFailed)] == ["missing"] * 2
    assert not server.asked


def test_only_the_endpoint_is_contacted_and_it_learns_the_prompt_alone(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    with kind.server() as elsewhere, kind.server(default=Answer()) as server:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
            monkeypatch.setenv(name, elsewhere.base_url)
        for name, value in NOISE.items():
            monkeypatch.setenv(name, value)
        asking = kind.asking(server)
        answered(asking.ask(asking.invoke()))

    (asked,) = server.asked
    assert not elsewhere.asked
    texts = sorted(_texts(asked.body))
    assert texts == sorted(
        ["m", "system", "user", *_halves()]
        if kind.name == "openai"
        else ["m", "user", "text", "ephemeral", *_halves()]
    )
    expected = (
        HEADERS | {"authorization"} | ({"anthropic-version"} if kind.name == "anthropic" else set())
    )
    assert asked.headers.keys() <= expected
    assert asked.headers["user-agent"] == "cortex"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    sent = (asked.raw.decode() + str(asked.headers) + asked.path).lower()
    for secret in (socket.gethostname(), Path.home().name, str(Path.cwd()), "e7f3", "mend-9"):
        assert secret.lower() not in sent.replace(PROMPT.lower(), "")
    assert "leak" not in sent


def _halves() -> list[str]:
    at = PROMPT.index("=== step ===")
    return [PROMPT[:at], PROMPT[at:]]


def _texts(body: Any) -> list[str]:
    if isinstance(body, str):
        return [body]
    values = body.values() if isinstance(body, dict) else body if isinstance(body, list) else ()
    return [text for value in values for text in _texts(value)]


def test_no_key_is_sent_where_none_is_configured(kind: Kind) -> None:
    with kind.server() as server:
        asking = kind.asking(server, key_env="")
        answered(asking.ask(asking.invoke()))

    assert not {"authorization", "x-api-key"} & server.asked[0].headers.keys()


def test_no_log_line_holds_a_prompt_a_key_or_an_address(
    kind: Kind, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in (kind.name, "httpx2", "httpcore2"):
        logger = logging.getLogger(name)
        monkeypatch.setattr(logger, "level", logger.level)
        logger.setLevel(logging.DEBUG)  # as OPENAI_LOG and ANTHROPIC_LOG do
    with kind.server() as server:
        asking = kind.asking(server)
        answered(asking.ask(asking.invoke()))

    assert "You are careful" not in caplog.text
    assert KEY not in caplog.text
    assert server.base_url not in caplog.text


def test_no_prompt_follows_a_redirect(kind: Kind) -> None:
    with kind.server() as elsewhere:
        moved = Answer(status=307, location=elsewhere.base_url + kind.server.handler.route)
        with kind.server(moved) as server:
            asking = kind.asking(server)
            failed = refused(asking.ask(asking.invoke()))

    assert failed.kind == "failed"
    assert "redirect" in failed.error
    assert not elsewhere.asked


def test_tokens_are_counted_where_the_endpoint_does_not_tell(kind: Kind) -> None:
    with kind.server(Answer(text=("Hello ", "there"), usage=False)) as server:
        asking = kind.asking(server)
        whole = answered(asking.ask(asking.invoke()))

    count = TokenCounter().count
    assert (whole.input_tokens, whole.output_tokens) == (PROMPT_TOKENS, count("Hello there"))


def test_the_end_of_the_time_ends_the_call(kind: Kind) -> None:
    hold = threading.Event()
    with kind.server(Answer(text=("a", "b"), hold=hold)) as server:
        asking = kind.asking(server)
        failed = refused(asking.ask(asking.invoke(timeout_s=0.5)))
        hold.set()

    assert failed.kind == "timeout"
    assert "0.5 s" in failed.error


def test_silence_in_the_middle_of_an_answer_is_a_broken_one(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cortex.actors.providers.calls.caller.STALL_S", 0.05)
    hold = threading.Event()
    with kind.server(Answer(text=("a", "b"), hold=hold)) as server:
        asking = kind.asking(server)
        failed = refused(asking.ask(asking.invoke()))
        hold.set()

    assert failed.kind == "cut_off"


def test_an_answer_that_breaks_off_is_paid_for_as_far_as_its_endpoint_told(kind: Kind) -> None:
    with kind.server(Answer(text=("a", "b"), die_after=1, input_tokens=1_000)) as server:
        asking = kind.asking(server, price_input=1.0, price_output=10.0)
        failed = refused(asking.ask(asking.invoke()))

    tokens = (failed.input_tokens, failed.output_tokens)
    if kind.name == "anthropic":  # it tells what it read at the beginning
        assert tokens == (1_000, 1)
        assert failed.cost == pytest.approx(0.00101)
    else:  # it tells at the end, which did not come
        assert (*tokens, failed.cost) == (0, 0, 0.0)


def test_more_calls_than_may_be_made_wait_for_their_turn(kind: Kind) -> None:
    hold = threading.Event()
    with kind.server(default=Answer(text=("a", "b"), hold=hold)) as server:
        asking = kind.asking(server, max_parallel=2)

        async def three() -> int:
            calls = [asyncio.create_task(asking.said(asking.invoke())) for _ in range(3)]
            while len(server.asked) < 2:
                await asyncio.sleep(0.01)
            under_way = len(server.asked)
            hold.set()
            for said in await asyncio.gather(*calls):
                answered(said)
            return under_way

        assert asking.run(three) == 2
    assert len(server.asked) == 3


def test_a_call_that_never_had_its_turn_may_be_made_again(kind: Kind) -> None:
    hold = threading.Event()
    with kind.server(default=Answer(text=("a", "b"), hold=hold)) as server:
        asking = kind.asking(server, max_parallel=1)

        async def two() -> Sequence[Event]:
            first = asyncio.create_task(asking.said(asking.invoke()))
            while not server.asked:
                await asyncio.sleep(0.01)
            late = await asking.said(asking.invoke(timeout_s=0.01))
            hold.set()
            answered(await first)
            return late

        failed = refused(asking.run(two))

    assert failed.kind == "overloaded"
    assert "max_parallel = 1" in failed.error


def test_a_cancelled_call_hangs_up_at_once(kind: Kind) -> None:
    answer = Answer(text=("x",) * 2_000, pause_s=0.005)
    with kind.server(answer) as server:
        asking = kind.asking(server)

        async def cancel() -> None:
            call = asyncio.create_task(asking.said(asking.invoke()))
            while not server.asked:
                await asyncio.sleep(0.01)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            until = time.monotonic() + 60
            while not server.script.hung_up and time.monotonic() < until:
                await asyncio.sleep(0.01)

        asking.run(cancel)

    assert server.script.hung_up
    assert server.script.hung_up[0] < 2_000


def test_a_server_on_a_unix_socket_is_asked_through_it(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / "m.sock"
    with kind.server() as server, relay(path, int(server.base_url.split(":")[2].split("/")[0])):
        asking = kind.at(f"unix://{path}")
        answered(asking.ask(asking.invoke()))

    assert len(server.asked) == 1


class relay:  # noqa: N801  # used as a word
    """Hands what comes through a unix socket on to a port."""

    def __init__(self, path: Path, port: int) -> None:
        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with socket.create_connection(("127.0.0.1", port)) as onward:
                    back = threading.Thread(target=_pump, args=(onward, self.request), daemon=True)
                    back.start()
                    _pump(self.request, onward)

        self._server = socketserver.ThreadingUnixStreamServer(str(path), Handler)
        self._server.daemon_threads = True

    def __enter__(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):  # one side is gone
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
