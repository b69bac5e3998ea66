"""A commit says whose it is, in trailers that git reads too."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.code.repair import message_of, trailers_of

OURS = {"Cortex-Execution": "e1", "Cortex-Step": "commit"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Fix it", "Fix it\n\nCortex-Execution: e1\nCortex-Step: commit\n"),
        ("", "Change\n\nCortex-Execution: e1\nCortex-Step: commit\n"),
        ("Fix\n\nWhy", "Fix\n\nWhy\n\nCortex-Execution: e1\nCortex-Step: commit\n"),
        (
            "Fix\n\nCo-authored-by: Bo <b@x>",
            "Fix\n\nCo-authored-by: Bo <b@x>\nCortex-Execution: e1\nCortex-Step: commit\n",
        ),
    ],
)
def test_a_message_ends_with_the_trailers(text: str, message: str) -> None:
    assert message_of(text, "e1", "commit") == message


def test_a_long_first_line_goes_on_in_the_body() -> None:
    message = message_of("word " * 60, "e1", "commit")

    subject, empty, body, *_ = message.splitlines()
    assert len(subject) <= 101
    assert (empty, body.startswith("…word")) == ("", True)


def test_git_reads_the_trailers_as_we_do() -> None:
    message = message_of("Fix\n\nWhy: not a trailer, this is text\nand more", "e1", "commit")

    said = subprocess.run(
        ["git", "interpret-trailers", "--parse"],
        input=message,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert dict(line.split(": ", 1) for line in said.splitlines()) == OURS


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_whatever_the_text_says_the_trailers_are_ours(text: str) -> None:
    message = message_of(text, "e1", "commit")

    said = trailers_of(message)

    assert {name: said[name] for name in OURS} == OURS
    assert message.splitlines()[0].strip()
