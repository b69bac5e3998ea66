"""Exact packages: what is decoded equals what was encoded, and nothing gets larger."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cortex.runtime.context import TokenCounter
from cortex.runtime.ctx import (
    CtxBoundError,
    CtxFormatError,
    CtxSourceError,
    Kind,
    check,
    decode,
    encode,
    kind_of,
)

COUNTER = TokenCounter()
NASTY = [
    "",
    " ",
    "  a",
    "a ",
    "true",
    "null",
    "1",
    "1.0",
    "-0",
    "1e5",
    "NaN",
    "Infinity",
    "#x",
    "a #b",
    "^",
    "~",
    "~+",
    "|",
    "[",
    "{",
    "}",
    "* a",
    "- a",
    "-",
    "-:",
    "a: b",
    "a:",
    ":",
    "= 1",
    "a,b",
    "a, b",
    "x|y",
    "\n",
    "a\n",
    "\na",
    "a\n\n",
    "a\nb",
    "a\r\nb",
    "x\ty",
    "\x00",
    "\x1b[0m",
    "!2020-01-01",
    "\ud800",
    "\u2028",
    "\u00a0",
    "é",
    "😀",
    "{b}",
    "*",
    '"',
    "'",
    "\\",
    "\\n",
    "α=x",  # noqa: RUF001
    "#ctx exact json",
    "0x1F",
    "01",
    "2024-05-01",
    "http://host/p/1",
    "http://host/p/2",
    "http://host/{id}/*",
]
texts = st.sampled_from(NASTY) | st.text(max_size=10)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
rows = st.lists(
    st.fixed_dictionaries(
        {"id": st.integers(100, 199), "a b": texts, "url": texts}, optional={"more": leaves}
    ),
    max_size=4,
)


def deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4) | rows


data = st.recursive(leaves, deeper, max_leaves=15)


def plain(value: Any) -> str:
    """Data as JSON that shows types, order and the sign of zero."""
    return json.dumps(value)


@settings(
    max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(data)
@example([{"a": "", "id": 100}, {"a": "", "id": 100, "more": None}])
@example({"a": {"b": {"c": [[[]], {}, [{}], [[1], []]]}}})
@example([{"0000": None}, {"0000": None}, {"x|y": None}])
@example([-0.0, 0.0, 10**400, 1e300, 5e-324])
def test_what_is_decoded_is_what_was_encoded_and_never_larger_than_compact_json(value: Any) -> None:
    text = json.dumps(value)

    package = encode(text, "json", counter=COUNTER)

    assert plain(decode(package.text).data) == plain(json.loads(text))
    compact = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    if not any("\ud800" <= c <= "\udfff" for c in compact):  # those have no compact UTF-8
        assert COUNTER.count(package.text) <= COUNTER.count(compact)


@pytest.mark.parametrize("written", ["1.0", "1", "1e5", "1E+5", "-0", "-0.0", "1.10", "0.1e-7"])
def test_numbers_keep_how_they_were_written(written: str) -> None:
    numbers = ", ".join(f'{{"name": "part {at}", "size": {written}}}' for at in range(9))

    text = encode(f"[{numbers}]", "json", counter=COUNTER).text

    assert not text.startswith("[")  # it is not JSON
    assert text.count(f"size={written}") == 1  # said once, for all rows
    assert type(decode(text).data[0]["size"]) is not str


def test_rows_share_what_they_have_in_common() -> None:
    found = [
        {
            "id": n,
            "url": f"https://example.org/items/{n}/view",
            "state": "open",
            "by": f"user {n * 7}",
        }
        for n in range(100, 140)
    ]

    package = encode(found, counter=COUNTER)

    assert '|id url~https://example.org/items/{id}/view,state=open,by~"user *"' in package.text
    assert decode(package.text).data == found
    assert package.tokens < package.source_tokens / 4


def test_a_list_of_objects_that_differ_is_no_table() -> None:
    found = [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"c": [1, {"d": None}]}, {}, [], [[]], "x", "a: b"]

    assert decode(encode(found, counter=COUNTER).text).data == found


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


def test_what_nests_too_deep_stays_json() -> None:
    package = encode(deep(150), "json", counter=COUNTER)

    assert package.text == deep(150)


def test_bounds_are_one_clear_error() -> None:
    lines = "\n".join(" " * level + "a:" for level in range(200)) + "\n" + " " * 200 + "b 1"
    bomb = ["α=" + "ha" * 50, *(f"{b}={a * 50}" for a, b in zip("αβγδε", "βγδεζ", strict=True))]  # noqa: RUF001
    header = f"#ctx exact json {len(bomb)} names:"

    for text in (
        f"#ctx exact json\n{lines}",
        f"#ctx exact json\n= {'[' * 300}{']' * 300}",
        "\n".join([header, *bomb, "= ζ"]),
    ):
        with pytest.raises(CtxBoundError, match="over the bound of"):
            decode(text)


@pytest.mark.parametrize(
    "table",
    [
        f"|a~{'x' * 2_000}*,b\n" + ",1\n" * 2_000,
        f"|a,b~{{a}}{'x' * 2_000}\n" + "yy\n" * 2_000,
        f"|a={'x' * 2_000},b\n" + "1\n" * 2_000,
        f"|a,b\n{'x' * 2_000},1\n" + "^,1\n" * 2_000,
        "".join(f"{n} |a~{'x' * 2_000}*\n" + " y\n" * 400 for n in "abcde"),
    ],
)
def test_a_table_cannot_say_more_than_a_reader_allows(table: str) -> None:
    text = f"#ctx exact json\n{table}"

    with pytest.raises(CtxBoundError, match="the text of tables in characters"):
        decode(text, limit_chars=3_000_000)
    assert decode(text).data


def test_a_form_that_does_not_say_the_same_is_not_given_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cortex.runtime.ctx.notation.writer.write", lambda *_: "a 1")
    monkeypatch.setattr("cortex.runtime.ctx.logs.fold", lambda _: "a 1")
    rows = [{"name": f"berth {n}"} for n in range(40)]

    package = encode(rows, counter=COUNTER)

    assert decode(package.text).data == rows
    assert (
        decode(encode("# why\na: [1, 2]\n", "yaml", counter=COUNTER).text)
        .source()
        .startswith("# why")
    )
    assert decode(encode(LOG, "log", counter=COUNTER).text).source() == LOG


def test_a_source_that_cannot_be_read_says_where() -> None:
    wrong: tuple[tuple[str, Kind, int], ...] = (
        ('{"a": 1,\n"b"', "json", 2),
        ('{}\n{"a"', "jsonl", 2),
        ("a: [", "yaml", 2),
    )
    for text, kind, line in wrong:
        with pytest.raises(CtxSourceError, match=f"not {kind}") as raised:
            encode(text, kind, counter=COUNTER)
        assert raised.value.line == line
    with pytest.raises(CtxSourceError, match="a whole number of 5,001 digits"):
        encode(f"[1{'0' * 5000}]", "json", counter=COUNTER)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#ctx",
        "#ctx exact",
        "#ctx exact nothing\na 1",
        "#ctx exact json 5 names:\na=b",
        "#ctx exact json",
        "#ctx exact json\na",
        "#ctx exact json\na:",
        "#ctx exact json\na 1\n  b 2",
        "#ctx exact json\na 1\na 2",
        '#ctx exact json\na "b',
        "#ctx exact json\na [1, 2",
        "#ctx exact json\na {b}",
        "#ctx exact json\n|a b\n1",
        "#ctx exact json\n|a,b~{c}*\n1",
        "#ctx exact json\n|a,b\n1",
        '#ctx exact json\n|a\n"x',
        "#ctx exact json\n* 1\nx 2",
        "#ctx exact json\na !x",
        "#ctx exact json\n= 1 2\n= 3",
        "#ctx exact yaml stream\na 1",
        "#ctx exact json 1 names:\nx=y\na 1",
        "#ctx verbatim json\n{",
        '{"a":',
        "#ctx exact json\na 1" + "0" * 5000,
        "#ctx exact json\na {b 1, b 2}",
        "#ctx exact json\n|a,a\n1,2",
        "#ctx exact json\n|a=1,a\n2",
    ],
)
def test_a_damaged_package_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(CtxFormatError, match="package"):
        decode(text)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(max_size=60), st.sampled_from(["json", "yaml stream", "csv", "log stamps", "text"]))
def test_no_text_breaks_the_decoder(body: str, kind: str) -> None:
    for text in (body, f"#ctx exact {kind}\n{body}", f"#ctx verbatim {kind}\n{body}"):
        try:
            decode(text)
        except (CtxFormatError, CtxBoundError) as error:
            assert str(error)  # noqa: PT017  # any other exception is the failure


LOG = "".join(
    f"2024-05-01T12:{n // 60:02}:{n % 60:02}.{n * 7919 % 10**7:07}Z "
    f"step {n} of the build is done\r\n"
    for n in range(200)
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (LOG, "log"),
        (
            (
                ".5 x\n:06 y\n\\z\n2024-05-01T12:00:00.1Z a\n"
                "2024-05-01T12:00:01.2Z b\n,5 c\n2024-05-01T12:00:02 d\n"
            ),
            "log",
        ),
        ("# A heading\n\n* a list\n* of two\n\n" * 20, "markdown"),
        ("", "text"),
        ("\n\n", "log"),
        ("α β γ", "text"),  # noqa: RUF001
        ("#ctx exact text\n", "text"),
    ],
)
def test_logs_and_texts_come_back_byte_for_byte(text: str, kind: Kind) -> None:
    package = encode(text, kind, counter=COUNTER)

    assert decode(package.text).source() == text
    assert package.tokens <= package.source_tokens + 8  # the header


def test_stamps_are_said_once() -> None:
    package = encode(LOG, "log", counter=COUNTER)

    assert package.tokens < package.source_tokens * 0.6


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.lists(
        st.sampled_from(
            ["2024-05-01T12:00:01.5Z a", "2024-05-01T12:00:02.5Z b", ".5 a", ":01 b", "\\", "", ","]
        )
    )
)
def test_any_mixture_of_stamped_lines_comes_back(lines: list[str]) -> None:
    text = "\n".join(lines)

    assert decode(encode(text, "log", counter=COUNTER).text).source() == text


def test_every_part_of_a_package_has_a_mode() -> None:
    package = encode({"a": 1}, counter=COUNTER)

    assert [(part.mode, part.start, part.end) for part in package.parts] == [
        ("exact", 0, len(package.text))
    ]


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ('{"a": 1}', "", "json"),
        ('{"a": 1}\n{"a": 2}\n', "", "jsonl"),
        ("a: 1", "x.yml", "yaml"),
        ("a,b", "x.csv", "csv"),
        ("[a]\nb = 1", "poetry.lock", "toml"),
        (LOG, "", "log"),
        ("# Title\n\nWords.", "", "markdown"),
        ("Words.", "", "text"),
        ("[not json", "", "text"),
        ("{}", "-", "json"),
    ],
)
def test_the_kind_is_seen_by_name_or_by_looks(text: str, name: str, kind: Kind) -> None:
    assert kind_of(text, name) == kind


def test_check_names_what_a_package_lost() -> None:
    source = "# why\na: 1\nb: [x, y] # beside\n"
    package = encode(source, "yaml", counter=COUNTER).text

    assert check(source, "yaml", package).holds
    changes = {
        ("x", "z"): "b[0]: z in the source, x in the package",
        ("x, y", "x"): "b: 1 items in the source, 2 in the package",
        ("a: 1", "a: 1.0"): "a: 1.0 in the source, 1 in the package",
        ("a: 1\n", ""): "a is not in the source",
        ("a: 1", "a: 1\nc: 1"): "c is not in the package",
        ("beside", "besides"): "b: the comment differs",
        ("beside\n", "beside\n# after\n"): "the comments at the end differ",
    }
    for (old, new), lost in changes.items():
        assert lost in check(source.replace(old, new), "yaml", package).lost
    swapped = encode('{"a": [1], "b": 2}', "json", counter=COUNTER).text
    assert check('{"b": 2, "a": [1]}', "json", swapped).lost == ["the names are in another order"]
    assert check("other", "text", package).lost == ["the text differs"]
