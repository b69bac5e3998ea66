"""Numbers keep how they were written, names stand once, and nothing nasty gets through unsaid."""

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.context import TokenCounter
from cortex.runtime.ctx import CtxSourceError, Kind, check, decode, encode, kind_of, read_source

COUNTER = TokenCounter()
EVALUATION = Path(os.environ.get("CORTEX_EVAL", Path(__file__).parents[3] / "shared" / "eval"))
FILE_CHARS = 65_000  # of a real file; larger ones are read by the benchmark
NUMBER = re.compile(r"-?(?:NaN|Infinity|[0-9][0-9.eE+-]*)")

json_numbers = st.from_regex(
    r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True
)
yaml_numbers = st.from_regex(
    r"[-+]?(0x[0-9a-fA-F_]{1,9}|0b[01_]{1,9}|0[0-7_]{1,9}|[0-9][0-9_]{0,20}|[0-9][0-9_]{0,9}\.[0-9_]{0,9}"
    r"([eE][-+][0-9]{1,3})?|\.[0-9]{1,9}|[1-9][0-9]?(:[0-5][0-9]){1,2}(\.[0-9]{1,3})?|\.(inf|Inf|INF))",
    fullmatch=True,
)
toml_numbers = st.from_regex(
    r"0x[0-9a-fA-F](_?[0-9a-fA-F]){0,9}|0o[0-7](_?[0-7]){0,9}|0b[01](_?[01]){0,9}"
    r"|[-+]?[1-9](_?[0-9]){0,15}(\.[0-9](_?[0-9]){0,9})?([eE][-+]?[0-9]{1,3})?|[-+]?(inf|nan)",
    fullmatch=True,
)


def numbers_of(text: str) -> list[str]:
    """The numbers of a JSON text that holds no other digits."""
    return NUMBER.findall(text)


def written(value: Any) -> str:
    """How a number was written."""
    return getattr(value, "written", None) or repr(value)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(json_numbers, min_size=1, max_size=6), st.booleans(), st.sampled_from((1, 12)))
def test_numbers_of_json_come_back_as_they_were_written(
    numbers: list[str], named: bool, times: int
) -> None:
    row = [f'{{"a":{number},"b":[{number}]}}' if named else number for number in numbers]
    text = f"[{','.join(row * times)}]"

    package = encode(text, "json", counter=COUNTER).text

    assert numbers_of(decode(package).source()) == numbers_of(text)
    assert check(text, "json", package).holds


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(yaml_numbers, min_size=1, max_size=6), st.sampled_from((1, 9)))
def test_numbers_of_yaml_come_back_as_they_were_written(numbers: list[str], times: int) -> None:
    text = "".join(f"- {{size: {number}, at: [{number}]}}\n" for number in numbers * times)
    try:
        before = yaml.safe_load(text)
    except ValueError:  # digits that YAML 1.1 takes for octal ones, and only underscores
        return

    found = decode(encode(text, "yaml", counter=COUNTER).text, kind="yaml")

    assert repr(found.data) == repr(before)
    for data in (found.data, read_source(found.source(), "yaml").data):
        for row, number in zip(data, numbers * times, strict=True):
            if not isinstance(row["size"], str) and number not in (".inf", "-.inf"):
                assert written(row["size"]) == written(row["at"][0]) == number


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(toml_numbers, min_size=1, max_size=5))
def test_numbers_of_toml_are_decoded_as_they_were_written(numbers: list[str]) -> None:
    entries = "".join(f"n{at} = {number}\n" for at, number in enumerate(numbers))
    text = f"# why\n{entries}[t]\nall = [{', '.join(numbers)}] # end\nx = {{ y = {numbers[0]} }}\n"

    package = encode(text, "toml", counter=COUNTER)

    assert repr(decode(package.text, kind="toml").data) == repr(tomllib.loads(text))
    assert check(text, "toml", package.text).holds
    found: Any = decode(package.text, kind="toml").data
    assert [written(found[f"n{at}"]) for at in range(len(numbers))] == numbers
    assert [written(each) for each in found["t"]["all"]] == numbers


def test_what_looks_like_a_number_of_toml_and_is_none_stays_what_it_is() -> None:
    text = (
        '# = 0x10\na = "= 0x10"\n"0x10" = 1_0 # 1_1\n1_0 = 0x1F\n[1_1]\nb = """\n= 0x10,\n"""\n'
        "c = [ # 0x1\n  1_0, # 2_0\n  2_0\n]\n[[d]]\n0x1 = { 1_2 = +3 }\n"
    )

    package = encode(text, "toml", counter=COUNTER).text

    assert decode(package).data == tomllib.loads(text)
    for number in ("!1_0", "!0x1F", "!2_0", "!+3"):
        assert number in package


@pytest.mark.parametrize(
    ("kind", "source", "other"),
    [
        ("json", '{"a": {"b": [1, 1.10]}}', '{"a": {"b": [1, 1.1]}}'),
        ("yaml", "a:\n  b: [1, 0x1F]\n", "a:\n  b: [1, 31]\n"),
        ("toml", "a = { b = [1, 1_0] }", "a = { b = [1, 10] }"),
    ],
)
def test_check_says_where_a_number_is_written_otherwise(
    kind: Kind, source: str, other: str
) -> None:
    package = encode(other, kind, counter=COUNTER).text

    (lost,) = check(source, kind, package).lost

    assert re.fullmatch(r"a\.b\[1\]: \S+ in the source, \S+ in the package", lost)


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        ("json", '{"a": 1, "b": {"c": 1, "c": 2}}', 'the name "c" occurs twice'),
        ("jsonl", '{"a": 1}\n{"a": 1, "a": 2}', "line 2: .*occurs twice"),
        ("yaml", "a: 1\nb: 2\na: 3\n", "line 3: .*the name a occurs twice"),
        ("yaml", "- {1: a, 0x1: b}", "line 1: .*the name 0x1 occurs twice"),
        ("toml", "a = 1\na = 2", "not toml"),
        ("json", f"[{'1' * 5_000}]", "a whole number of 5,000 digits"),
        ("yaml", f"a: {'1' * 5_000}", "a whole number of 5,000 digits"),
        ("yaml", f"a: 0x{'1' * 3_998}", "a whole number of over 4,000 digits"),
        ("toml", f"a = {'1' * 5_000}", "a whole number of over 4,000 digits"),
        ("json", "[" * 1_000 + "]" * 1_000, "too deep"),
        ("json", '{"a":' * 1_000 + "1" + "}" * 1_000, "too deep"),
        ("yaml", "[" * 1_000 + "]" * 1_000, "deeper than"),
        ("yaml", "\n".join(" " * at + "a:" for at in range(1_000)), "deeper than"),
        ("yaml", "\r".join(" " * at + "a:" for at in range(700)), "deeper than"),
        ("yaml", "\u2028".join("  " * at + "- a:" for at in range(700)), "deeper than"),
        ("yaml", "- " * 9_000 + "a", "deeper than"),
        ("yaml", "~: 1\nnull: 2\n", "line 2: .*occurs twice"),
        ("toml", "a = " + "[" * 1_000 + "]" * 1_000, "too deep"),
        ("json", "", "it is empty"),
        ("csv", 'a,b\n"open', "not csv"),
    ],
)
def test_what_would_be_lost_or_cannot_be_read_is_refused(
    kind: Kind, text: str, problem: str
) -> None:
    with pytest.raises(CtxSourceError, match=problem):
        encode(text, kind, counter=COUNTER)


def test_data_with_a_number_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(CtxSourceError, match="over 4,000 digits"):
        encode({"a": 10**5_000}, counter=COUNTER)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("json", "\ufeff[1.0]"),
        ("json", "[NaN, Infinity, -Infinity, -0, -0.0, 1e400]"),
        ("json", '["\\ud800", "\\ud83d\\ude00", "!0x1F", "!!22:22", "007", "1_000", ".5"]'),
        ("json", "[" * 800 + "1.10" + "]" * 800),
        ("jsonl", "\ufeff[1]\r\n\r\n[2.0]\r\n"),
        ("yaml", "\ufeffa: 1\n"),
        ("yaml", "a: 1\r\nb: [2,\r\n  3]\r\n# end\r\n"),
        ("yaml", ""),
        ("yaml", "# only\n\n# comments\n"),
        ("yaml", "---\n...\n"),
        ("yaml", "a:\t1\n"),
        ("yaml", "base: &b {x: 0x1F}\nown:\n  <<: *b\n  y: 1_0\nagain: *b\n"),
        ("yaml", "0x1F: a\n1.50: b\n!!float 5: c\n22:22: d\n"),
        ("toml", "\ufeffa = 1_0\r\nb = 2\r\n"),
        ("toml", "# only\n"),
        ("csv", "\ufeffa,b\r\n1,2\r\n"),
        ("csv", 'a,b\n"x\r\ny","say ""no"""\n"",\n'),
        ("csv", "a,b\n1\n1,2,3\n\n"),
        ("csv", "\n\n"),
        ("log", "\x1b[31mred\x1b[0m\r\nplain\n" * 9),
        ("log", "2024-05-01T12:00:00.1Z \x1b[1mx\r\n" * 9),
        ("text", "\ufeff\x00\t\r\n\r"),
        (
            "markdown",
            "| a | b |\n|---|:-:|\n| 1.10 | `x | y` |\n\n- one\n  - two\n    1. three\n" * 5,
        ),
    ],
)
def test_whatever_stands_in_a_source_comes_back(kind: Kind, text: str) -> None:
    package = encode(text, kind, counter=COUNTER).text

    again = decode(package)

    package.encode()  # it has UTF-8
    assert check(text, kind, package).holds
    if kind in ("log", "text", "markdown"):
        assert again.source() == text
    elif again.kind == kind != "toml":
        assert check(again.source(), kind, package).holds


def test_a_stamp_and_a_number_that_look_alike_stay_apart() -> None:
    day: Any = read_source("a: 12:30:00\nb: 2024-05-01\nc: 12:30\n", "yaml").data
    hour: Any = read_source("a = 12:30:00\n", "toml").data

    assert (day["a"], day["c"], hour["a"].hour) == (45_000, 750, 12)
    for kind, text in (("yaml", "a: 12:30:00 # x\n"), ("toml", "a = 12:30:00 # x\n")):
        assert check(text, kind, encode(text, kind, counter=COUNTER).text).holds  # type: ignore[arg-type]


def test_real_files_lose_nothing() -> None:
    folder = EVALUATION / "corpus" / "structured"
    if not folder.is_dir():
        pytest.skip(f"no files at {folder}: set CORTEX_EVAL")
    files = [each for each in folder.iterdir() if each.stat().st_size < FILE_CHARS]

    for file in files:
        text = file.read_text(encoding="utf-8")
        kind = kind_of(text, file.name)
        package = encode(text, kind, counter=COUNTER)
        assert check(text, kind, package.text).holds, file
        assert package.mode == "exact", file
        assert package.tokens < package.source_tokens, file
        if kind in ("json", "jsonl"):
            assert json.loads(json.dumps(decode(package.text).data)) is not None
