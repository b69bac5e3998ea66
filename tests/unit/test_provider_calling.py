"""The parts of a call that need no endpoint: frames, the fold of an answer, schemas, failures."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.actors.providers.calls import (
    CallFailedError,
    CallPiece,
    Frames,
    ModelAnswer,
    Piece,
    UsagePiece,
    failure_of,
    failure_of_frame,
    kept,
    native_schema,
    parsed,
    responded,
)
from cortex.bus import Draft
from cortex.bus.events import VOCABULARY, ModelInvoke
from cortex.runtime.models import ModelDescription, Usage
from cortex.runtime.secrets import Mask

MANY = settings(deadline=None, max_examples=200)


@MANY
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"))),
    st.lists(st.integers(1, 40), min_size=1),
    st.sampled_from([b"\n", b"\r\n"]),
)
def test_frames_are_the_same_however_the_body_is_cut(
    texts: list[str], sizes: list[int], end: bytes
) -> None:
    sent = b"".join(b"event: x" + end + b"data: " + t.encode() + end + end for t in texts)
    frames, found, at = Frames(), list[bytes](), 0

    while at < len(sent):
        size = sizes[at % len(sizes)]
        found += frames.feed(sent[at : at + size])
        at += size

    assert [frame.decode() for frame in found] == texts
    assert frames.count == len(texts)


def test_a_line_separator_inside_of_json_ends_no_line() -> None:
    assert Frames().feed('data: "a\u2028b\x85c"\n\n'.encode()) == ['"a\u2028b\x85c"'.encode()]


def test_a_body_without_lines_is_given_up_before_it_fills_the_memory() -> None:
    frames = Frames()

    with pytest.raises(CallFailedError, match="without an end") as caught:
        frames.feed(b"x" * 1_500_000)

    assert caught.value.kind == "garbage"


ARGUMENTS = st.dictionaries(st.text(max_size=5), st.integers(-(2**60), 2**60), max_size=4)


@MANY
@given(
    st.lists(st.text(max_size=9)),
    st.lists(st.tuples(st.sampled_from(["read", "write"]), ARGUMENTS), max_size=3),
    st.integers(1, 7),
    st.randoms(use_true_random=False),
)
def test_an_answer_is_the_same_however_it_is_cut_and_shuffled_together(
    texts: list[str], tools: list[tuple[str, dict[str, int]]], size: int, chance: Any
) -> None:
    lanes: list[list[Piece]] = [[Piece(text=text) for text in texts]]
    for index, (tool, arguments) in enumerate(tools):
        written = json.dumps(arguments)
        lane = [Piece(calls=(CallPiece(index, f"c{index}", tool),))]
        for start in range(0, len(written), size):
            part = CallPiece(index, arguments=written[start : start + size])
            lane.append(Piece(calls=(part,)))
        lanes.append(lane)
    heads, taken, answer = [lane.pop(0) for lane in lanes[1:]], "", ModelAnswer()
    for head in heads:
        answer.add(head)
    while any(lanes):
        answer.add(chance.choice([lane for lane in lanes if lane]).pop(0))
        if chance.random() < 0.5:
            taken += answer.take()
    answer.add(Piece(stop="end", usage=UsagePiece(input=1, output=2)))

    assert answer.text == "".join(texts) == taken + answer.take()
    assert [(call["tool"], call["arguments"]) for call in answer.calls()] == tools
    assert answer.usage == Usage(input=1, output=2)


@pytest.mark.parametrize("written", ['{"a": ', "[1]", '"x"', '{"a": 1e999}', f'{{"a": {10**30}}}'])
def test_arguments_that_cannot_be_read_are_kept_and_said(written: str) -> None:
    answer = ModelAnswer()

    answer.add(Piece(calls=(CallPiece(0, "c", "read", written),)))

    (call,) = answer.calls()
    assert call["arguments"] == {"_raw": written}
    assert call["problem"] == "the arguments are not a JSON object"


def test_no_arguments_at_all_are_an_empty_object() -> None:
    answer = ModelAnswer()

    answer.add(Piece(calls=(CallPiece(0, "c", "list"),)))

    assert answer.calls() == [{"id": "c", "tool": "list", "arguments": {}}]


def test_another_id_is_another_call_whatever_its_number() -> None:
    answer = ModelAnswer()

    for call_id in ("a", "b"):
        answer.add(Piece(calls=(CallPiece(0, call_id, "read", "{}"),)))

    assert [call["id"] for call in answer.calls()] == ["a", "b"]


def test_later_usage_replaces_only_what_it_tells() -> None:
    answer = ModelAnswer()

    answer.add(Piece(usage=UsagePiece(input=10, cached_read=5, cached_write=2, output=1)))
    answer.add(Piece(usage=UsagePiece(output=7)))

    assert answer.usage == Usage(input=10, cached_read=5, cached_write=2, output=7)


def test_an_answer_larger_than_an_event_is_given_up() -> None:
    answer = ModelAnswer()

    with pytest.raises(CallFailedError, match="more than 240,000 bytes"):
        answer.add(Piece(text="語" * 80_001))


@pytest.mark.parametrize(
    "told",
    [
        UsagePiece(input=10, output=-1_000_000),
        UsagePiece(input=-5_000_000, output=1),
        UsagePiece(input=1_000_010, cached_read=-1_000_000, output=1),
        UsagePiece(input=10**25, output=1),
        UsagePiece(input=10, output=0),
        UsagePiece(input=0, output=3),
    ],
)
def test_tokens_that_cannot_be_are_not_believed(told: UsagePiece) -> None:
    answer = ModelAnswer()

    answer.add(Piece(text="hi" * 500, stop="end", usage=told))

    assert answer.usage is None


def test_a_prompt_that_was_kept_as_a_whole_and_an_empty_answer_can_be() -> None:
    answer = ModelAnswer()

    answer.add(Piece(stop="end", usage=UsagePiece(input=0, cached_read=9, output=0)))

    assert answer.usage == Usage(cached_read=9)


@pytest.mark.parametrize(
    "parts",
    [
        [CallPiece(0, "c", "f" * 500_000)],
        [CallPiece(0, "c" * 500_000, "f")],
        [CallPiece(number, f"c{number}") for number in range(10_000)],
    ],
    ids=["name", "id", "many"],
)
def test_calls_that_no_model_makes_are_given_up_and_not_asked_for_again(
    parts: list[CallPiece],
) -> None:
    answer = ModelAnswer()

    with pytest.raises(CallFailedError, match="tools at once") as caught:
        answer.add(Piece(calls=tuple(parts)))

    assert caught.value.kind == "garbage"
    assert caught.value.hostile


def test_data_lines_without_content_are_given_up_before_they_fill_the_memory() -> None:
    frames = Frames()

    frames.feed(b"data:\n" * 1_000_000)

    with pytest.raises(CallFailedError, match="without an end"):
        frames.feed(b"data:\n" * 100_000)


@MANY
@given(st.text("abk-", max_size=40), st.lists(st.integers(1, 5), min_size=1))
def test_a_key_that_comes_in_pieces_is_left_out_of_all_of_them(text: str, sizes: list[int]) -> None:
    answer, taken, at = ModelAnswer("abab-"), "", 0

    while at < len(text):
        size = sizes[at % len(sizes)]
        answer.add(Piece(text=text[at : at + size]))
        taken += answer.take()
        at += size
    taken += answer.take(last=True)

    assert taken == text.replace("abab-", "*****")


ASKED = ModelInvoke(
    execution_id="e", step_id="s", model="m", provider="openai", prompt="d",
    answer_schema={"type": "object"},
)  # fmt: skip
MODEL = ModelDescription(name="m", window=1_000, local=True)


def test_a_key_is_left_out_of_text_data_and_calls() -> None:
    calls = [{"id": "abc123", "tool": "read", "arguments": {"abc123": ["x abc123", 123]}}]
    text = '{"a": "abc123"}'

    typed = responded(ASKED, MODEL, text, Usage(), key="abc123")
    calling = responded(ASKED, MODEL, "", Usage(), calls=calls, key="abc123")

    hidden = "\u27e6\u27e7"  # as long as the key
    assert typed.answer == {"text": f'{{"a": "{hidden}"}}', "data": {"a": hidden}}
    assert calling.answer["calls"] == [
        {"id": hidden, "tool": "read", "arguments": {hidden: [f"x {hidden}", 123]}}
    ]


@pytest.mark.parametrize("letter", ["語", "😀"])
def test_a_long_typed_answer_keeps_its_data_and_the_beginning_of_its_text(letter: str) -> None:
    data = {"a": letter * (180_000 // len(letter.encode()))}

    event = responded(ASKED, MODEL, json.dumps(data, ensure_ascii=False), Usage())

    VOCABULARY.check(Draft.of(event))
    assert event.answer["data"] == data
    assert event.answer["text"] == '{"a": "' + letter * 993 + "..."


def test_data_that_no_event_holds_are_garbage() -> None:
    text = json.dumps([0.5] * 40_000)

    with pytest.raises(CallFailedError, match="bytes of an event") as caught:
        responded(ASKED, MODEL, text, Usage())

    assert caught.value.kind == "garbage"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Here it is:\n```json\n{"a": 1}\n```\nDone.', {"a": 1}),
        ('Sure! {"a": {"b": "}"}} That is all.', {"a": {"b": "}"}}),
        ("[1, 2]", [1, 2]),
        ("nothing of the kind", None),
        ('{"a": ', None),
        (f'{{"a": {2**70}}}', None),
        ("{" * 20_000, None),
        ("[" * 100 + "]" * 100, msgspec.json.decode("[" * 100 + "]" * 100)),
        ("[" * 101 + "]" * 101, None),
    ],
)
def test_json_is_found_in_what_a_model_writes(text: str, value: Any) -> None:
    assert parsed(text) == value


class Edit(msgspec.Struct):
    path: str
    line: int = 1


class Edits(msgspec.Struct):
    summary: str
    edits: list[Edit]
    kind: str | None = None


def test_a_schema_for_an_endpoint_is_closed_and_its_root_is_an_object() -> None:
    schema = msgspec.json.schema(Edits)

    strict = native_schema(schema)

    assert strict is not None
    assert strict["type"] == "object"
    assert strict["required"] == ["summary", "edits", "kind"]
    assert strict["additionalProperties"] is False
    assert strict["$defs"]["Edit"]["required"] == ["path", "line"]
    assert "default" not in json.dumps(strict)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": {"type": "object"}}},
    ],
)
def test_a_schema_that_endpoints_cannot_hold_to_is_left_to_the_prompt(schema: Any) -> None:
    assert native_schema(schema) is None


class StatusError(Exception):
    """As SDKs raise it."""

    def __init__(self, status: int, body: Any = None, **headers: str) -> None:
        self.status_code, self.body = status, body
        self.response = type("Response", (), {"headers": {}})()
        self.response.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (307, "failed"), (400, "failed"), (401, "unauthorised"), (403, "unauthorised"),
        (404, "missing"), (408, "overloaded"), (409, "overloaded"), (413, "failed"),
        (422, "failed"), (429, "rate_limited"), (500, "overloaded"), (502, "overloaded"),
        (503, "overloaded"), (504, "overloaded"), (529, "overloaded"),
    ],
)  # fmt: skip
def test_a_status_says_whether_asking_again_may_help(status: int, kind: str) -> None:
    assert failure_of(StatusError(status), begun=False).kind == kind


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({}, None),
        ({"retry_after": "7"}, 7.0),
        ({"retry_after": "0.5"}, 0.5),
        ({"retry_after_ms": "250", "retry_after": "7"}, 0.25),
        ({"retry_after": "nan"}, None),
        ({"retry_after": "-1"}, None),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
        (
            {
                "retry_after": "Wed, 21 Oct 2026 07:28:30 GMT",
                "date": "Wed, 21 Oct 2026 07:28:00 GMT",
            },
            30.0,
        ),
    ],
)
def test_the_wait_that_an_endpoint_asks_for_is_read(
    headers: dict[str, str], wait_s: float | None
) -> None:
    assert failure_of(StatusError(429, **headers), begun=False).retry_after_s == wait_s


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error"}, "overloaded"),
        ({"type": "rate_limit_error"}, "rate_limited"),
        ({"type": "api_error"}, "overloaded"),
        ({"type": "invalid_request_error", "code": "rate_limit_exceeded"}, "rate_limited"),
        ({"type": "invalid_request_error"}, "failed"),
        ("broken", "failed"),
        ({"type": ["x"]}, "failed"),
    ],
)
def test_an_error_inside_a_stream_has_the_kind_of_its_type(error: Any, kind: str) -> None:
    assert failure_of_frame(error).kind == kind


def test_an_account_without_credit_is_no_rate_limit() -> None:
    body = {"error": {"type": "insufficient_quota", "message": "You exceeded your quota"}}

    assert failure_of(StatusError(429, body), begun=False).kind == "failed"


def test_what_an_endpoint_says_stands_in_the_error() -> None:
    body = {"error": {"message": "maximum context\nlength is 8192 tokens"}}

    error = failure_of(StatusError(400, body), begun=False, prompt="say hello")

    assert str(error).endswith("(400): maximum context length is 8192 tokens")


def test_ids_of_an_account_are_left_out_of_what_an_endpoint_says() -> None:
    body = {"error": {"message": "Rate limit reached in organization org-AbC123dEf456 on tokens"}}

    error = failure_of(StatusError(429, body), begun=False)

    assert str(error).endswith("Rate limit reached in organization ... on tokens")


@pytest.mark.parametrize("key", ["abc123", "sk-sentinel-key-ABCDEF123456"])
def test_a_key_that_an_error_repeats_is_left_out_of_it(key: str) -> None:
    body = {"error": {"message": f"bad key {key}"}}

    error = failure_of(StatusError(400, body), begun=False, key=key)

    assert str(error).endswith(f"(400): bad key {Mask((key,), shortest=4).text(key)}")
    assert key not in str(error)


KEY = "sk-live-0123456789abcdef"
SECRETS = "the vault's code is 77-41-09"


@MANY
@given(
    st.sampled_from([300, 400, 401, 403, 404, 413, 422, 429, 500, 529]),
    st.integers(0, 12),
    st.integers(13, 24),
    st.text(max_size=30),
    st.booleans(),
)
def test_no_error_repeats_a_key_or_a_prompt(
    status: int, start: int, size: int, around: str, of_key: bool
) -> None:
    leaked = (KEY if of_key else SECRETS)[start : start + size]
    body = {"error": {"message": around + leaked + around}}

    told = str(failure_of(StatusError(status, body), begun=False, prompt=SECRETS, key=KEY))

    assert leaked not in told or len(leaked) < 12


def test_only_listed_headers_leave_and_a_key_only_where_there_is_one() -> None:
    sdk = [
        ("Host", "h"), ("Authorization", "Bearer none"), ("X-Api-Key", "none"), ("Cookie", "c"),
        ("X-Stainless-OS", "Linux"), ("OpenAI-Organization", "o"), ("traceparent", "t"),
        ("User-Agent", "OpenAI/Python"),
    ]  # fmt: skip

    assert kept(sdk, keyless=True) == [
        ("Host", "h"), ("accept-encoding", "identity"), ("user-agent", "cortex"),
    ]  # fmt: skip
    assert [name for name, _ in kept(sdk, keyless=False)] == [
        "Host", "Authorization", "X-Api-Key", "accept-encoding", "user-agent",
    ]  # fmt: skip
