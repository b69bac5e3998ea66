"""Sources: YAML and TOML keep their comments, CSV its rows, whatever stands in them."""

import datetime
import itertools
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.context import TokenCounter
from cortex.runtime.ctx import CtxSourceError, Kind, Notes, check, decode, encode

COUNTER = TokenCounter()
YAML = """\
# About the whole
name: harbour  # beside the name
opens: 2024-05-01
at: 2024-05-01T06:30:00Z
empty:
codes: {200: ok, "404": gone, null: none}
# Above the piers
piers:
  # Above the first
  - id: 1  # the north one
    note: |
      Two lines,
      # no comment
    # Above boats
    boats: [a, b]  # few
  - id: 2
    note: "a # b"
    boats: []
text: >-
  folded
  text
base: &base {x: 1, y: 0x1F}
copy: *base
merged:
  <<: *base
  y: 2
# At the end
"""


def test_yaml_keeps_comments_order_and_types() -> None:
    package = encode(YAML, "yaml", counter=COUNTER)

    found = decode(package.text)

    assert found.document is not None
    assert found.data == yaml.safe_load(YAML)
    assert list(found.data) == list(yaml.safe_load(YAML))
    assert found.data["opens"] == datetime.date(2024, 5, 1)
    assert found.document.notes["name",] == Notes([" About the whole"], " beside the name")
    assert found.document.notes["piers",].before == [" Above the piers"]
    assert found.document.notes["piers", 0].before == [" Above the first"]
    assert found.document.notes["piers", 0, "id"].beside == " the north one"
    assert found.document.notes["piers", 0, "boats"] == Notes([" Above boats"], " few")
    assert found.document.after == [" At the end"]


def test_yaml_that_was_decoded_says_the_same_with_the_same_comments() -> None:
    package = encode(YAML * 1, "yaml", counter=COUNTER)

    again = decode(package.text).source()

    assert yaml.safe_load(again) == yaml.safe_load(YAML)
    assert check(again, "yaml", package.text).holds


def test_a_stream_of_documents_stays_one() -> None:
    text = "".join(
        f"---\n# of {n}\nkind: Service\nname: part-{n}\nports: [80, 443]\n" for n in range(9)
    )
    package = encode(text, "yaml", counter=COUNTER)

    again = decode(package.text).source()

    assert package.tokens < package.source_tokens
    assert list(yaml.safe_load_all(again)) == list(yaml.safe_load_all(text))
    assert check(again, "yaml", package.text).holds


@pytest.mark.parametrize(
    "text",
    [
        "a: !!binary aGk=",
        "? [1, 2]\n: 3",
        "!!set {a, b}",
        "a: !custom x",
        "a: 1\n b: 2",
        "a: [",
        "\x00",
        "- *nobody",
    ],
)
def test_yaml_without_a_text_form_is_refused(text: str) -> None:
    with pytest.raises(CtxSourceError, match="not yaml"):
        encode(text, "yaml", counter=COUNTER)


def test_yaml_that_nests_without_end_is_refused() -> None:
    for text in ("[" * 100_000, "\n".join(" " * level + "a:" for level in range(700))):
        with pytest.raises(CtxSourceError, match="deeper than"):
            encode(text, "yaml", counter=COUNTER)


def test_aliases_that_grow_are_refused_before_they_do() -> None:
    names = "abcdefgh"
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{n}: &{n} [{', '.join([f'*{m}'] * 9)}]" for m, n in itertools.pairwise(names)]

    with pytest.raises(CtxSourceError, match="aliases"):
        encode("\n".join(lines), "yaml", counter=COUNTER)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.dates() | st.text(max_size=8)
trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(trees)
def test_any_yaml_comes_back(value: Any) -> None:
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
    before = repr(yaml.safe_load(text))

    found = decode(encode(text, "yaml", counter=COUNTER).text)

    assert repr(found.data) == before
    if found.kind == "yaml":  # the smallest ones are shorter as compact JSON
        assert repr(yaml.safe_load(found.source())) == before


TOML = """\
# On top
title = "a # b"
when = 2024-05-01T06:30:00Z
at = 07:32:00
[owner] # beside
name = '''
# no comment
'''
list = [
  1, # one
  2,
]
# Above the first
[[pier]]
name = "north"
[[pier.boat]]
name = "x"
# Above the second
[[pier]]
name = "south" # last
"""


def test_toml_keeps_comments_and_times() -> None:
    package = encode(TOML, "toml", counter=COUNTER)

    found = decode(package.text)

    assert found.document is not None
    assert found.data["at"] == datetime.time(7, 32)
    assert found.data["owner"]["name"] == "# no comment\n"
    assert found.document.notes["title",].before == [" On top"]
    assert found.document.notes["owner",].beside == " beside"
    assert found.document.notes["pier", 1].before == [" Above the second"]
    assert found.document.notes["pier", 1, "name"].beside == " last"
    assert check(TOML, "toml", package.text).holds


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n3,4\n",
        'a,b\n"x, y","say ""no"""\n"two\nlines",\n',
        "a,a\n1,2\n",
        "a,b\n1\n1,2,3\n",
        "a\n\n\nb\n",
        "",
        "a,b\n",
        "code,name,lat\n" + "".join(f"{n:03},Field {n},{n / 7}\n" for n in range(60)),
    ],
)
def test_csv_keeps_every_cell_as_text(text: str) -> None:
    package = encode(text, "csv", counter=COUNTER)

    assert check(text, "csv", package.text).holds
    again = decode(package.text)
    if again.kind == "csv":  # the smallest ones are shorter as compact JSON
        assert check(again.source(), "csv", package.text).holds


def test_a_table_of_text_needs_no_quotes_around_numbers() -> None:
    text = "code,name,lat\n" + "".join(f"{n:03},Field {n},{n / 7}\n" for n in range(60))

    package = encode(text, "csv", counter=COUNTER)

    assert '"007"' not in package.text
    assert package.tokens <= package.source_tokens


@pytest.mark.parametrize(("kind", "text"), [("jsonl", '{"a": 1}\n\n{"a": 2.50}\n'), ("json", "[]")])
def test_json_lines_come_back_as_lines(kind: Kind, text: str) -> None:
    package = encode(text, kind, counter=COUNTER)

    assert check(text, kind, package.text).holds
