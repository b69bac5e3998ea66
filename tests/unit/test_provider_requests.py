"""What goes to an endpoint is made of the prompt, the request and the configuration alone."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.actors.providers import AnthropicDialect, OpenAIDialect
from cortex.actors.providers.calling import CallFailedError, CallPiece, Piece, UsagePiece
from cortex.bus.events import ModelInvoke
from cortex.runtime.context import Parts
from cortex.runtime.models import Endpoint, ModelConfig, endpoint_of

TOOL = {"name": "read", "description": "Read", "parameters": {"type": "object", "properties": {}}}
SCHEMA = {
    "type": "object",
    "properties": {"cause": {"type": "string", "minLength": 1}},
    "required": ["cause"],
}
STRICT = {
    "type": "object",
    "properties": {"cause": {"type": "string"}},
    "required": ["cause"],
    "additionalProperties": False,
}
PLAIN = Parts("be careful", (), "mend it")


def asked(**fields: Any) -> ModelInvoke:
    return ModelInvoke(
        execution_id="e7f3", step_id="s", model="m", prompt="d", max_tokens=99, **fields
    )


def near(provider: str, **keys: Any) -> Endpoint:
    url = "http://127.0.0.1:9/v1"
    model = {"name": "m", "provider": provider, "model": "id", "base_url": url, **keys}
    return endpoint_of(msgspec.convert(model, ModelConfig))


def test_openai_is_asked_in_two_roles_and_for_its_usage() -> None:
    assert OpenAIDialect().body(PLAIN, asked(), near("openai")) == {
        "model": "id",
        "messages": [
            {"role": "system", "content": "be careful"},
            {"role": "user", "content": "mend it"},
        ],
        "max_tokens": 99,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_openai_gets_tools_the_schema_and_the_field_names_that_the_endpoint_takes() -> None:
    endpoint = near(
        "openai",
        structured="native",
        usage_in_stream=False,
        max_tokens_field="max_completion_tokens",
    )

    body = OpenAIDialect().body(Parts("s", (TOOL,), "u"), asked(answer_schema=SCHEMA), endpoint)

    assert body["tools"] == [{"type": "function", "function": TOOL}]
    assert body["response_format"]["json_schema"]["schema"] == STRICT
    assert body["max_completion_tokens"] == 99
    assert not {"max_tokens", "stream_options"} & body.keys()


def test_a_schema_stays_in_the_prompt_unless_the_endpoint_takes_it() -> None:
    request = asked(answer_schema=SCHEMA)

    assert "response_format" not in OpenAIDialect().body(PLAIN, request, near("openai"))
    assert "output_config" not in AnthropicDialect().body(PLAIN, request, near("anthropic"))


def test_anthropic_keeps_tools_and_the_stable_part_up_to_a_breakpoint() -> None:
    kept = {"cache_control": {"type": "ephemeral"}}
    other = {**TOOL, "name": "write"}

    body = AnthropicDialect().body(
        Parts("be careful", (TOOL, other), "mend it"),
        asked(answer_schema=SCHEMA),
        near("anthropic", structured="native"),
    )

    first, last = [
        {"name": name, "description": "Read", "input_schema": TOOL["parameters"]}
        for name in ("read", "write")
    ]
    assert body == {
        "model": "id",
        "max_tokens": 99,
        "messages": [{"role": "user", "content": "mend it"}],
        "stream": True,
        "system": [{"type": "text", "text": "be careful", **kept}],
        "tools": [first, {**last, **kept}],
        "output_config": {"format": {"type": "json_schema", "schema": STRICT}},
    }


@pytest.mark.parametrize("dialect", [AnthropicDialect(), OpenAIDialect()])
@pytest.mark.parametrize("parts", [Parts("only this", (), ""), Parts("", (), "only this")])
def test_a_prompt_of_one_part_is_one_message(dialect: Any, parts: Parts) -> None:
    body = dialect.body(parts, asked(), near(dialect.package))

    (message,) = body["messages"]
    assert message["content"] == "only this"
    assert "system" not in body


@settings(deadline=None, max_examples=100)
@given(st.text(), st.text(), st.sampled_from([AnthropicDialect(), OpenAIDialect()]))
def test_a_body_says_nothing_of_executions_steps_and_digests(
    system: str, user: str, dialect: Any
) -> None:
    fields = ("execution_id", "step_id", "attempt", "turn", "call", "prompt", "timeout_s")
    one = asked()
    other = ModelInvoke(
        execution_id="x", step_id="y", attempt=7, turn=8, call=9, prompt="z", timeout_s=1.0,
        model="m", max_tokens=99,
    )  # fmt: skip
    endpoint = near(dialect.package)
    parts = Parts(system, (), user)

    assert dialect.body(parts, one, endpoint) == dialect.body(parts, other, endpoint)
    assert not {"metadata", "user", *fields} & dialect.body(parts, one, endpoint).keys()


def openai(**choice: Any) -> Piece:
    said: Piece = OpenAIDialect().read(json.dumps({"choices": [choice]}).encode())
    return said


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("stop", "end"),
        ("length", "length"),
        ("tool_calls", "calls"),
        ("content_filter", "refused"),
        ("something new", "end"),
        (None, ""),
    ],
)
def test_openai_says_why_it_stops(reason: str | None, stop: str) -> None:
    assert openai(delta={}, finish_reason=reason) == Piece(stop=stop)


def test_openai_says_text_calls_and_usage() -> None:
    call = {"index": 2, "id": "c", "function": {"name": "read", "arguments": "{}"}}
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
    }

    assert openai(delta={"content": "hi"}) == Piece(text="hi")
    assert openai(delta={"tool_calls": [call]}) == Piece(calls=(CallPiece(2, "c", "read", "{}"),))
    assert OpenAIDialect().read(b"[DONE]") == Piece()
    assert OpenAIDialect().read(json.dumps({"choices": [], "usage": usage}).encode()) == Piece(
        usage=UsagePiece(input=30, cached_read=60, cached_write=10, output=9)
    )


def test_a_refusal_is_text_and_a_reason_to_stop() -> None:
    assert openai(delta={"refusal": "I will not"}) == Piece(text="I will not")
    assert openai(delta={"refusal": "."}, finish_reason="stop").stop == "refused"


def anthropic(**event: Any) -> Piece:
    said: Piece = AnthropicDialect().read(json.dumps(event).encode())
    return said


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "calls"),
        ("refusal", "refused"),
    ],
)
def test_anthropic_says_why_it_stops(reason: str, stop: str) -> None:
    piece = anthropic(
        type="message_delta",
        delta={"stop_reason": reason},
        usage={"output_tokens": 5, "input_tokens": None},
    )

    assert piece == Piece(stop=stop, usage=UsagePiece(output=5))


def test_anthropic_says_text_calls_and_usage() -> None:
    usage = {
        "input_tokens": 30,
        "cache_read_input_tokens": 60,
        "cache_creation_input_tokens": 10,
        "output_tokens": 1,
    }
    block = {"type": "tool_use", "id": "c", "name": "read", "input": {}}

    assert anthropic(type="message_start", message={"usage": usage}) == Piece(
        usage=UsagePiece(input=30, cached_read=60, cached_write=10, output=1)
    )
    assert anthropic(type="content_block_start", index=1, content_block=block) == Piece(
        calls=(CallPiece(1, "c", "read"),)
    )
    assert anthropic(
        type="content_block_delta", index=1, delta={"type": "x", "partial_json": "{"}
    ) == Piece(calls=(CallPiece(1, arguments="{"),))
    assert anthropic(type="content_block_delta", delta={"type": "text_delta", "text": "hi"}) == (
        Piece(text="hi")
    )
    assert anthropic(type="ping") == anthropic(type="something_new") == Piece()


@pytest.mark.parametrize("dialect", [AnthropicDialect(), OpenAIDialect()])
def test_what_is_no_event_of_the_kind_is_not_taken_for_one(dialect: Any) -> None:
    for frame in (b"{not json", b"7", b'{"choices": 3, "delta": 3}', b'"\\ud83d"'):
        with pytest.raises(ValueError, match=r".") as caught:
            dialect.read(frame)
        assert isinstance(caught.value, msgspec.MsgspecError)
    with pytest.raises(CallFailedError):
        dialect.read(b'{"error": {"type": "overloaded_error"}}')
