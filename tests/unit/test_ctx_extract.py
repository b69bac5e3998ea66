"""Prose to a budget: whole sentences, unchanged, that together say most."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.context import TokenCounter
from cortex.runtime.ctx import check, decode, extract

COUNTER = TokenCounter()
FILL = "The boats lie there and the water is calm, as it was before."
TEXT = "\n".join(
    [
        "# The harbour",
        "",
        f"{FILL} {FILL} The harbour of Port Ellen opens at 06:30. {FILL}",
        "",
        "## Fees",
        "",
        f"{FILL} A berth costs 14.50 euros a night. {FILL} Ann Black collects the fees.",
        "",
        "## Weather",
        "",
        f"* {FILL}",
        "* The wind is measured by `gauge_7` on the north pier.",
    ]
)
HEADER = COUNTER.count("#ctx extracted markdown\n")


def test_the_sentences_that_say_something_are_taken_and_those_said_before_are_not() -> None:
    package = extract(TEXT, "markdown", tokens=HEADER + 80, counter=COUNTER)

    text = str(decode(package.text).data)
    assert package.mode == "extracted"
    assert package.tokens <= HEADER + 80
    assert "06:30" in text
    assert "14.50 euros" in text
    assert "gauge_7" in text
    assert text.count(FILL) <= 1
    assert text.index("## Fees") < text.index("14.50") < text.index("## Weather")


def test_what_is_asked_for_comes_first() -> None:
    room = HEADER + 24

    plain = extract(TEXT, "markdown", tokens=room, counter=COUNTER)
    asked = extract(
        TEXT, "markdown", tokens=room, counter=COUNTER, question="how is the wind measured?"
    )

    assert "The wind is measured by" in asked.text
    assert "The wind is measured by" not in plain.text


def test_a_text_that_fits_is_given_whole() -> None:
    package = extract(TEXT, "markdown", tokens=10_000, counter=COUNTER)

    assert package.mode != "extracted"
    assert decode(package.text, kind="markdown").text == TEXT


def test_a_sentence_that_the_source_does_not_have_is_found() -> None:
    package = extract(TEXT, "markdown", tokens=HEADER + 80, counter=COUNTER).text

    assert check(TEXT, "markdown", package).holds
    assert check(TEXT, "markdown", package.replace("14.50", "15.50")).lost == [
        "A berth costs 15.50 euros a night."
    ]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(
        st.sampled_from(
            [FILL, "# Pier", "* An item of 5.", "```\ncode = 1\n```", "", "It is `x`."]
        ),
        max_size=20,
    ),
    st.integers(1, 120),
)
def test_an_extraction_keeps_to_its_budget_and_says_nothing_else(
    lines: list[str], tokens: int
) -> None:
    text = "\n".join(lines)

    package = extract(text, "markdown", tokens=tokens, counter=COUNTER)

    assert check(text, "markdown", package.text).holds
    if package.mode == "extracted":
        assert package.tokens <= max(tokens, HEADER)


@pytest.mark.parametrize("tokens", [1, HEADER])
def test_without_room_nothing_is_taken(tokens: int) -> None:
    package = extract(TEXT, "markdown", tokens=tokens, counter=COUNTER)

    assert decode(package.text).text == ""
