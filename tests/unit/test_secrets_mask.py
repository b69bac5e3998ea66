"""A mask hides what is known and what looks like a secret, no more, and moves nothing."""

import base64
import importlib
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import Draft
from cortex.bus.events import StepCompleted
from cortex.runtime.secrets import Mask, MaskedTextError, mask_shapes, named_in, refuse_masked

shapes_part = importlib.import_module(f"{Mask.__module__.rpartition('.')[0]}.shapes")

STEADY = settings(max_examples=60, deadline=None, derandomize=True)
SECRET = st.text(st.characters(exclude_categories=["Cs"]), min_size=8, max_size=60)
AROUND = st.text(max_size=60)
LOOKING = [
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghijklmnop",
    "glpat-abcdefghij0123456789",
    "xoxb-123456789012-abcdefghijkl",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "hf_abcdefghijklmnopqrstuvwxyz012345",
    "sk-proj-abcdefghijklmnop1234",
    "sk_live_abcdefghijklmnop1234",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
]
PLAIN = [
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "0198a7c2-3f4e-7d21-9c53-1f2e3d4c5b6a",
    "pk_customer_order_items_id_seq and task-scheduler-of-the-team-2",
    "sk-learn-contrib-is-a-package-of-many-words",
    "secret = get_secret_value_1234567(x)",
    "password: see the team's safe",
    "-----BEGIN PRIVATE KEY----- is how it begins",
    "token_sha256=" + "a" * 64,
]


@STEADY
@given(SECRET, AROUND, AROUND)
def test_a_known_secret_is_hidden_in_text_json_and_msgpack_and_nothing_moves(
    secret: str, before: str, after: str
) -> None:
    mask = Mask([secret])
    whole = {"text": f"{before}{secret}{after}", "end": [1, 2]}

    for encode, decode in (
        (msgspec.json.encode, msgspec.json.decode),
        (msgspec.msgpack.encode, msgspec.msgpack.decode),
    ):
        masked = mask.data(encode(whole))

        assert len(masked) == len(encode(whole))
        assert secret not in decode(masked)["text"].removeprefix(before)
        assert decode(masked)["end"] == [1, 2]


@pytest.mark.parametrize("secret", LOOKING)
@pytest.mark.parametrize(
    "around", ["{}", "key {} here", '{{"k":"{}"}}', "a={}\nb", "https://x:{}@h"]
)
def test_what_looks_like_a_secret_is_hidden_and_only_that(secret: str, around: str) -> None:
    masked = Mask().text(around.format(secret))

    assert secret not in masked
    assert secret[-12:] not in masked
    assert len(masked.encode()) == len(around.format(secret).encode())
    assert Mask().text(masked) == masked


@pytest.mark.parametrize(
    "shape", [shape for shape in shapes_part.SHAPES if shape.certain], ids=lambda s: s.name
)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.data())
def test_the_quick_look_overlooks_no_secret_of_the_table(shape: Any, data: st.DataObject) -> None:
    secret = data.draw(st.from_regex(shape.pattern.encode(), fullmatch=False))

    if re.search(shape.pattern.encode(), secret):  # what is drawn may end in the look ahead
        assert shapes_part.may_hold(secret)
        assert re.compile(shape.pattern.encode()) in shapes_part.marked(secret)


@pytest.mark.parametrize("others", [0, 3, 40])
@pytest.mark.parametrize(
    "shape", [shape for shape in shapes_part.SHAPES if shape.certain], ids=lambda s: s.name
)
@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.data())
def test_a_secret_is_found_among_long_words_and_far_from_them(
    shape: Any, others: int, data: st.DataObject
) -> None:
    secret = data.draw(st.from_regex(shape.pattern.encode(), fullmatch=True))
    filler = b", ".join([b"a_long_name_of_something", b"and words between them " * 5] * others)
    text = filler + b", " + secret + b", " + filler

    if re.search(shape.pattern.encode(), text):
        assert re.compile(shape.pattern.encode()) in shapes_part.marked(text)


@pytest.mark.parametrize("secret", LOOKING)
@pytest.mark.parametrize("size", [47, 48, 57, 65, 77, 90, 97, 110, 122, 123])
def test_the_length_that_stands_before_a_text_hides_no_secret(secret: str, size: int) -> None:
    text = secret + " " * (size - len(secret))
    event = StepCompleted(execution_id="e", step_id="s", result={text: text, "end": 1})

    (masked,) = Mask().drafts([Draft.of(event)])

    assert secret[5:].encode() not in masked.body
    assert len(masked.body) == len(Draft.of(event).body)
    assert msgspec.msgpack.decode(masked.body, type=StepCompleted).result["end"] == 1


def test_a_secret_that_looks_like_another_in_its_middle_is_hidden_whole() -> None:
    secret = f"Zx9/{LOOKING[0]}/vQ3mT8restofthepassword"

    masked, found = mask_shapes(f"password={secret} and {LOOKING[1]}")

    assert re.fullmatch(r"password=⟦secret\*+⟧ and ⟦secret\*+⟧", masked)
    assert found == 2


def test_a_known_secret_inside_a_larger_one_leaves_nothing_of_that_to_read() -> None:
    known, other = "Zq3vX9tLw2Ub7Rk5", "mandarin/kumquat=7"
    for whole in (
        f"ghp_Ab9Cd8Ef7{known}Gh6Ij5Kl4",
        f"{known}ghp_Ab9Cd8Ef7Gh6Ij5Kl4Mn3Op2",
        f"api_key=Ab9Cd8Ef7Gh6{known}",
        f"sk-Ab9Cd8Ef7Gh6Ij5Kl4{known}{known}",
    ):
        masked = Mask([known, other]).text(f"before {whole} after {other} 8")

        assert len(masked.encode()) == len(f"before {whole} after {other} 8".encode())
        kept = whole if "=" not in whole else whole.partition("=")[2]
        pieces = {kept[at : at + 6] for at in range(len(kept) - 5)} - {"secret"}
        assert not any(piece in masked for piece in pieces), masked
        assert masked.startswith("before ")
        assert masked.endswith(" 8")


@pytest.mark.parametrize("body", [b"\xc1", b"\x81\xa1", b"\x91" * 5_000 + b"\x01", b"\x81\x90\x01"])
def test_what_is_no_body_is_masked_as_bytes_and_left_to_whoever_checks_it(body: bytes) -> None:
    draft = Draft("x.a.b", 1, "bus/x", None, body + b" " + LOOKING[1].encode())

    (masked,) = Mask().drafts([draft])

    assert LOOKING[1].encode() not in masked.body


@pytest.mark.parametrize("secret", LOOKING)
@pytest.mark.parametrize(
    "before", ["\\n", "\\t", "\\u001b[32m", "\x1b[1;31m", "%20", "%3d", "\\u0022"]
)
def test_an_escape_or_a_colour_before_a_secret_does_not_hide_it(secret: str, before: str) -> None:
    masked = Mask().text(f'{{"a": "said{before}{secret}"}}')

    assert secret[5:] not in masked


@STEADY
@given(st.lists(st.tuples(AROUND, st.sampled_from(["", *LOOKING, "correct horse"]), AROUND)))
def test_drafts_are_masked_together_as_each_is_alone(parts: list[tuple[str, str, str]]) -> None:
    mask = Mask(["correct horse"])
    drafts = [
        Draft.of(StepCompleted(execution_id="e", step_id="s", result={"text": "".join(part)}))
        for part in [*parts, ("", "", "")]
    ]

    masked = mask.drafts(drafts)

    alone = [each for draft in drafts for each in mask.drafts([draft])]
    assert [draft.body for draft in masked] == [draft.body for draft in alone]


@pytest.mark.parametrize("text", PLAIN)
def test_evidence_stays(text: str) -> None:
    assert Mask().text(text) is text or Mask().text(text) == text


def test_an_armoured_key_is_emptied_line_by_line_also_where_it_is_json() -> None:
    lines = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" * 2, "abcdefghijklmnopqrstuvwxyz0123456789", "MHc="]
    key = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----"])

    masked = Mask().text(f"a\n{key}\nb")
    inside = json.loads(Mask().text(json.dumps({"key": key})))["key"]

    for found in (masked, inside):
        assert not any(line in found for line in lines)
        assert found.count("\n") == key.count("\n") + (2 if found is masked else 0)
    assert masked.startswith("a\n-----BEGIN RSA PRIVATE KEY-----\n⟦secret*")


def test_a_value_that_is_assigned_to_a_name_that_says_so_is_hidden() -> None:
    masked, found = mask_shapes("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")

    assert re.fullmatch(r"aws_secret_access_key = ⟦secret\*+⟧", masked)
    assert found == 1


def test_a_draft_without_secrets_is_the_same_object_and_one_with_is_still_its_event() -> None:
    mask = Mask(["correct horse battery"])
    clean = Draft.of(StepCompleted(execution_id="e", step_id="s", result={"text": "said"}))
    dirty = Draft.of(
        StepCompleted(execution_id="e", step_id="s", result={"text": "correct horse battery!"})
    )

    assert mask.drafts([clean])[0] is clean
    event = msgspec.msgpack.decode(mask.drafts([clean, dirty])[1].body, type=StepCompleted)
    assert event.result == {"text": "⟦secret*********⟧!"}


def test_a_secret_that_is_added_later_is_hidden_from_then_on() -> None:
    mask = Mask()
    before = mask.text("the pass phrase")
    mask.add(["pass phrase"])

    assert (before, mask.text("the pass phrase")) == ("the pass phrase", "the ⟦*****⟧")


def test_text_with_a_mask_is_not_written() -> None:
    refuse_masked("the patch", "[secret] and ⟦INST⟧ are no masks")

    with pytest.raises(MaskedTextError, match=r"the patch contains ⟦secret\*\*⟧, the mask of"):
        refuse_masked("the patch", "-key = ⟦secret**⟧\n+key = 1")


def test_every_setting_that_names_a_secret_is_found_however_deep() -> None:
    settings = {
        "models": {"use": [{"key_env": "A", "name": "n"}]},
        "plugins": {"webhook": {"hooks": [{"secret_env": "B", "secret": "F"}], "api_key_env": "C"}},
        "knowledge": {"key_env": ""},
        "components": [{"config": {"servers": [{"webhook_env": "D", "token_env": "E"}]}}],
        "environment": "no",
    }

    assert sorted(named_in(settings)) == ["", "A", "B", "C", "D", "E", "F"]


def test_masking_a_hostile_text_is_linear() -> None:
    for piece in (
        "sk-",
        "eyJ",
        "secret=",
        "password: ",
        "-----BEGIN PRIVATE KEY-----\n",
        "ghp_",
        "a",
    ):
        text = piece * (300_000 // len(piece))

        assert len(Mask().data(text.encode())) == len(text)


WRITTEN = [
    lambda s: quote(s),
    lambda s: quote(s, safe=""),
    lambda s: re.sub("%..", lambda m: m[0].lower(), quote(s, safe="")),
    lambda s: urlencode({"key": s}).replace("+", "%20"),
    lambda s: json.dumps({"key": s}),
    lambda s: json.dumps(s).replace("/", "\\/"),
    lambda s: json.dumps(s).replace("+", "\\u002B").replace("=", "\\u003d"),
    lambda s: base64.b64encode(s.encode()).decode(),
    lambda s: base64.urlsafe_b64encode(s.encode()).decode(),
    lambda s: "Authorization: Basic " + base64.b64encode(f"x:{s}".encode()).decode(),
    lambda s: "Authorization: Basic " + base64.b64encode(f"token:{s}\n".encode()).decode(),
    lambda s: "Authorization: Basic " + base64.b64encode(f"me:{s}@".encode()).decode(),
]


@pytest.mark.parametrize("write", WRITTEN)
@pytest.mark.parametrize(
    "secret",
    [
        "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLE=KEY9",
        "plain0123",
        "with-dashes_and.dots-0123456789",
        "p@ss/word w\u00f6rt+1",
        "ab12/cd34+ef56/gh78+",
    ],
)
def test_a_known_secret_is_hidden_as_urls_json_and_logins_write_it(
    write: Callable[[str], str], secret: str
) -> None:
    text = f"before {write(secret)} after"

    masked = Mask([secret]).text(text)

    assert len(masked.encode()) == len(text.encode())
    assert "\u27e6" in masked, masked
    hidden = masked.removeprefix("before ").removesuffix(" after")
    assert secret[1:6] not in hidden
    # In base64 a letter or two at the ends depend on what is beside them.
    assert hidden.count("*") >= 0.7 * len(secret.encode()) - len("\u27e6secret\u27e7".encode())


def test_values_under_secret_names_of_the_same_length_are_all_kept() -> None:
    one, two = "open sesame one", "open sesame two"
    mask = Mask([one, two])

    value = mask.value({one: 1, two: 2, "plain": 3})
    body = msgspec.msgpack.encode({"result": {one: 1, two: 2}})
    (draft,) = mask.drafts([Draft("x.a.b", 1, "bus/x", None, body)])
    result = msgspec.msgpack.decode(draft.body)["result"]

    assert list(value.values()) == [1, 2, 3]
    assert list(result.values()) == [1, 2]
    assert b"sesame" not in draft.body
    assert mask.value(value) == value
