"""Sources: YAML and TOML keep their comments, CSV its rows, whatever stands in them."""

import datetime
import itertools
import json
from importlib import import_module
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.context import TokenCounter
from cortex.runtime.ctx import (
    CtxFormatError,
    CtxSourceError,
    Kind,
    Notes,
    check,
    decode,
    encode,
    read_source,
)

COUNTER = TokenCounter()
# What is behind the front door, for one test of the form that `encode` would not give away.
_reader: Any = import_module("cortex.runtime.ctx.notation.reader")
_writer: Any = import_module("cortex.runtime.ctx.notation.writer")
_comparing: Any = import_module("cortex.runtime.ctx.comparing")
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

    found = decode(package.text, kind="yaml")

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

    again = decode(package.text, kind="yaml").source()

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

    found = decode(encode(text, "yaml", counter=COUNTER).text, kind="yaml")

    assert repr(found.data) == before
    if found.kind == "yaml":  # the smallest ones are shorter as compact JSON
        assert repr(yaml.safe_load(found.source())) == before


cells = st.sampled_from(["berth", "#", "# x", "a #b", "", " ", "^", "|", "- a", "\\u2028", "\n", 7])
table_rows = st.lists(
    st.fixed_dictionaries({"name": cells, "at": cells}, optional={"more": cells}),
    min_size=2,
    max_size=5,
)
remarks = st.lists(st.sampled_from(["#", "# of it", "#- name: x", "# |a,b", "  # deep", ""]))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(table_rows, remarks, remarks, remarks, st.sampled_from(["", "a", "a.b"]))
def test_comments_behind_between_and_above_tables_stay_comments(
    rows: list[dict[str, Any]],
    above: list[str],
    between: list[str],
    behind: list[str],
    under: str,
) -> None:
    first, *rest = (yaml.safe_dump([row], sort_keys=False) for row in rows)
    lines = [*above, first.rstrip(), *between, "".join(rest).rstrip(), *behind]
    levels = under.split(".") if under else []
    pad = "  " * len(levels)
    heads = ["  " * at + f"{name}:" for at, name in enumerate(levels)]
    tail = ["last: 1", *behind] if levels else []
    text = "\n".join([*heads, *(pad + each for each in "\n".join(lines).split("\n")), *tail])
    document = read_source(text, "yaml")

    # The exact form itself: `encode` would take another where it fails.
    again = _reader.read(_writer.write(document, COUNTER), 10_000)
    assert _comparing.differences(document, again) == []
    assert check(text, "yaml", encode(text, "yaml", counter=COUNTER).text).holds


def test_a_table_with_comments_behind_it_is_still_a_table() -> None:
    text = "".join(f"- name: berth {n}\n" for n in range(9)) + "# the end of it\n#\n"

    package = encode(text, "yaml", counter=COUNTER).text

    assert "\n|name" in package
    assert check(text, "yaml", package).holds
    assert check(decode(package, kind="yaml").source(), "yaml", package).holds


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029", "\r"])
def test_what_ends_a_line_of_yaml_ends_its_comment(end: str) -> None:
    text = f"# above{end}- one # beside{end}# two{end}- two\n- three\n# behind{end}#end\n"

    package = encode(text, "yaml", counter=COUNTER).text
    found = decode(package, kind="yaml")

    assert found.data == yaml.safe_load(text) == ["one", "two", "three"]
    assert found.document is not None
    assert found.document.notes[0,] == Notes([" above"], " beside")
    assert found.document.after == [" behind", "end"]
    assert check(found.source(), "yaml", package).holds


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029", "\r"])
def test_a_comment_of_a_package_cannot_become_data(end: str) -> None:
    package = f"#ctx exact yaml\n# a{end}- x\n* 1 # b{end}- y\n# c{end}- z"

    assert yaml.safe_load(decode(package, kind="yaml").source()) == [1]


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

    found = decode(package.text, kind="toml")

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
        'a,b\n"x\ry",2\n3,"\r"\n',
        '"a\r",b\nx,2\n',
        '"a\r\nb"\n"\r"\n',
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
    again = decode(package.text, kind="csv")
    if again.kind == "csv":  # the smallest ones are shorter as compact JSON
        assert check(again.source(), "csv", package.text).holds


@pytest.mark.parametrize("body", ["* 1\n* 2", "- a 1\n- b 1", "- a 1\n- [1]", "a 1"])
def test_a_csv_package_that_holds_no_rows_is_written_as_json(body: str) -> None:
    found = decode(f"#ctx exact csv\n{body}")

    assert json.loads(found.source()) == found.data


@pytest.mark.parametrize("kind", ["json", "jsonl"])
def test_a_package_with_names_that_its_kind_cannot_have_is_refused(kind: str) -> None:
    found = decode(f"#ctx exact {kind}\n* {{!2024-05-01 1}}")

    with pytest.raises(CtxFormatError, match="cannot be written as JSON"):
        found.source()


def test_a_table_of_text_needs_no_quotes_around_numbers() -> None:
    text = "code,name,lat\n" + "".join(f"{n:03},Field {n},{n / 7}\n" for n in range(60))

    package = encode(text, "csv", counter=COUNTER)

    assert '"007"' not in package.text
    assert package.tokens <= package.source_tokens


@pytest.mark.parametrize(("kind", "text"), [("jsonl", '{"a": 1}\n\n{"a": 2.50}\n'), ("json", "[]")])
def test_json_lines_come_back_as_lines(kind: Kind, text: str) -> None:
    package = encode(text, kind, counter=COUNTER)

    assert check(text, kind, package.text).holds


def test_a_comment_in_a_toml_list_stays_at_its_item() -> None:
    text = (
        'deps = [\n  "a",  # why a\n  # above b\n  "b = [1]",\n  ["n", # nested\n   "m"],\n'
        "  # table\n  { x = 1 },\n  # gone\n] # all\nrest = 1 # alone\n"
    )

    notes = read_source(text, "toml").notes
    package = encode(text, "toml", counter=COUNTER).text

    assert notes["deps", 0] == Notes([], " why a")
    assert notes["deps", 1] == Notes([" above b"])
    assert notes["deps", 2, 0].beside == " nested"
    assert notes["deps", 3].before == [" table"]
    assert notes["deps",] == Notes([" gone"], " all")
    assert notes["rest",].beside == " alone"
    assert check(text, "toml", package).holds


def test_what_equal_data_does_not_keep_of_yaml_is_said() -> None:
    text = "open: yes\nbase: &b {a: 1}\nnorth: *b\nsouth: *b\nshut: off\nplain: true\n" + "".join(
        f"row{n}: {{name: pier, berths: 14}}\n" for n in range(20)
    )

    package = encode(text, "yaml", counter=COUNTER)
    report = check(text, "yaml", package.text)

    assert package.mode == "exact"
    assert report.holds
    assert report.unkept == list(package.unkept)
    truth, aliases = report.unkept
    assert truth.startswith("'yes' on line 1 and 1 more like it: YAML 1.1 reads")
    assert aliases == "2 aliases are written out"
    assert not check(text, "yaml", text).unkept
