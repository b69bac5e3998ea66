"""Texts are cut along their structure, and nothing of them is lost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.retrieval import chunks_of

GUIDE = """\
# Guide

## Install

Run the installer.

```sh
# not a heading
make install
```

## Use

Open it.
"""


def texts(suffix: str, text: str) -> list[tuple[str, str]]:
    return [
        (chunk.heading, text[chunk.start : chunk.end].strip()) for chunk in chunks_of(suffix, text)
    ]


def test_markdown_is_cut_at_headings_and_fences_stay_whole() -> None:
    assert texts(".md", GUIDE) == [
        (
            "Guide > Install",
            (
                "# Guide\n\n## Install\n\nRun the installer.\n\n"
                "```sh\n# not a heading\nmake install\n```"
            ),
        ),
        ("Guide > Use", "## Use\n\nOpen it."),
    ]


def test_titles_stand_with_the_long_paragraph_that_follows_them() -> None:
    long = "Words of a rule. " * 70
    text = f"# Guide\n\n## Use\n\n{long}\n\n## Leave\n\n{long}\n\n# Rest\n\n{'x' * 2_000}"

    assert texts(".md", text) == [
        ("Guide > Use", f"# Guide\n\n## Use\n\n{long.strip()}"),
        ("Guide > Leave", f"## Leave\n\n{long.strip()}"),
        ("Rest", "# Rest"),
        ("Rest", "x" * 2_000),
    ]


def test_rest_titles_nest_by_the_order_of_their_marks() -> None:
    text = f"Top\n===\n\n{'One. ' * 30}\n\nInner\n-----\n\nTwo.\n"

    assert [heading for heading, _ in texts(".rst", text)] == ["Top", "Top > Inner"]


def test_each_turn_of_a_transcript_stands_alone_and_knows_its_speaker() -> None:
    text = "8 May\n\nAnna: Hello there.\nBen Cole: I moved to Oslo.\nand like it\nAnna: Nice!\n"

    chunks = chunks_of(".txt", text)

    turns = [(c.speaker, c.heading, text[c.start : c.end].strip()) for c in chunks if c.speaker]
    assert [turn[0] for turn in turns] == ["Anna", "Ben Cole", "Anna"]
    assert turns[0][1] == "8 May"


def test_rows_of_a_table_stand_under_its_header() -> None:
    text = "name,city\n" + "".join(f"person {i},town {i}\n" for i in range(100))

    chunks = chunks_of(".csv", text)

    assert len(chunks) > 1
    assert {chunk.heading for chunk in chunks} == {"name,city"}


def test_code_is_cut_at_its_definitions() -> None:
    body = "    x = 1\n" * 70
    text = f"import os\n\n@cached\ndef first():\n{body}\nclass Second:\n{body}"

    headings = [heading for heading, _ in texts(".py", text)]

    assert headings == ["", "def first()", "class Second"]
    assert texts(".py", text)[1][1].startswith("@cached")


@pytest.mark.parametrize("suffix", [".md", ".rst", ".txt", ".py", ".json", ".yaml", ".csv", ".log"])
@settings(max_examples=40, deadline=None)
@given(text=st.text(alphabet='aA #:=-,.`\n\t"{}[]', max_size=400) | st.text(max_size=200))
def test_every_character_that_shows_is_in_exactly_one_chunk(suffix: str, text: str) -> None:
    chunks = chunks_of(suffix, text * 20)

    whole, at = text * 20, 0
    for chunk in chunks:
        assert at <= chunk.start < chunk.end
        assert not whole[at : chunk.start].strip()
        at = chunk.end
    assert not whole[at:].strip()
    assert all(chunk.end - chunk.start <= 2_000 for chunk in chunks)


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".md", f"# x{' ' * 300_000}y"),
        (".md", f"# x{'#' * 300_000}y"),
        (".md", f"{'~' * 300_000}\n{'`' * 300_000}"),
        (".rst", f"x\n{'=' * 300_000}y\n{'x' * 300_000}"),
        (".py", "export\n" * 50_000),
        (".py", f"export{' ' * 300_000}y"),
        (".py", f"{'export ' * 50_000}y"),
        (".py", f"pub({'x' * 300_000}"),
        (".md", f"{'#' * 300_000}\n{'# x' * 400}{chr(10) * 300_000}y"),
        (".txt", f"{'x' * 300_000}"),
        (".txt", f"{' ' * 300_000}y"),
        (".txt", f"{chr(10) * 300_000}y"),
        (".yaml", f"{'x ' * 150_000}"),
    ],
    ids=lambda value: value[:6].encode("unicode_escape").decode(),
)
def test_a_line_as_long_as_the_file_is_cut_in_one_pass(suffix: str, text: str) -> None:
    # Squares of these lengths are hours: a pattern that tries every way does not come back.
    chunks = chunks_of(suffix, text)

    assert chunks[-1].end == len(text.rstrip()) or chunks[-1].end == len(text)


def test_a_title_ends_before_its_closing_marks_and_may_be_nothing_else() -> None:
    assert texts(".md", "# A #1 ## \t\nOne.\n")[0][0] == "A #1"
    assert texts(".md", "# ##\nOne.\n")[0][0] == ""


def test_words_before_a_definition_stand_on_its_line() -> None:
    body = "    work();\n" * 70
    text = "".join(
        f"{opening} {{\n{body}}}\n"
        for opening in ("export default async function run()", "pub(crate) unsafe fn go()")
    )

    headings = {heading for heading, _ in texts(".ts", text)}

    assert headings == {"export default async function run()", "pub(crate) unsafe fn go()"}
