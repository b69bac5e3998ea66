"""A model's edits fit their files exactly, or are refused in one line; paths stay inside."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.code.repair import (
    EditError,
    PathRefusedError,
    apply_edit,
    checked_path,
    nearest_line,
)

TEXT = "def total(prices):\n    result = 0\n    return result\n"


# edits


def test_an_edit_replaces_what_occurs_once() -> None:
    assert apply_edit(TEXT, "result = 0", "result = 1") == TEXT.replace("= 0", "= 1")


def test_an_edit_without_old_creates_a_file() -> None:
    assert apply_edit(None, "", "new\n") == "new\n"


def test_an_edit_without_old_fills_an_empty_file() -> None:
    assert apply_edit("", "", "new\n") == "new\n"


def test_an_edit_without_old_overwrites_nothing() -> None:
    with pytest.raises(EditError, match="the file exists: give the text to replace"):
        apply_edit(TEXT, "", "new\n")


def test_an_edit_of_a_file_that_is_not_there_says_how_one_is_created() -> None:
    with pytest.raises(EditError, match="no such file; to create it leave `old` empty"):
        apply_edit(None, "old", "new")


def test_an_edit_that_fits_twice_names_both_lines() -> None:
    with pytest.raises(EditError, match="more than once, as in lines 1 and 3: take more"):
        apply_edit("a = 1\nb = 2\na = 1\n", "a = 1", "a = 3")


def test_occurrences_that_overlap_count() -> None:
    with pytest.raises(EditError, match="more than once"):
        apply_edit("aaa", "aa", "b")


def test_an_edit_that_does_not_fit_shows_the_nearest_line() -> None:
    with pytest.raises(EditError, match=r"the nearest line is 2: '    result = 0'"):
        apply_edit(TEXT, "  result = 0.0", "result = 1")


def test_an_edit_that_begins_right_shows_where_it_goes_wrong() -> None:
    with pytest.raises(EditError, match=r"it differs from line 3 on: '    return result'"):
        apply_edit(TEXT, "    result = 0\n    return None\n", "")


def test_an_edit_that_goes_on_after_the_end_is_refused() -> None:
    with pytest.raises(EditError, match="is not in it"):
        apply_edit("a = 1", "a = 1\nb = 2", "")


def test_an_edit_that_is_like_nothing_says_so() -> None:
    assert nearest_line(TEXT, "zzzzzzzzzzzz") == "no line of it is like the first of `old`"
    assert nearest_line(TEXT, " \n") == "no line of it is like the first of `old`"


def test_a_long_nearest_line_is_cut() -> None:
    assert len(nearest_line("x" * 9_999, "x" * 9_998)) < 200


def test_the_line_ends_of_windows_stay() -> None:
    assert apply_edit("a\r\nb\r\nc\r\n", "a\nb\n", "a\nB\n") == "a\r\nB\r\nc\r\n"


def test_mixed_line_ends_are_taken_as_they_stand() -> None:
    assert apply_edit("a\r\nb\n", "b\n", "c\n") == "a\r\nc\n"


@given(before=st.text(), old=st.text(min_size=1), new=st.text(), after=st.text())
@settings(max_examples=200, deadline=None)
def test_an_edit_changes_its_own_place_alone_or_is_refused(
    before: str, old: str, new: str, after: str
) -> None:
    text = before + old + after

    try:
        edited = apply_edit(text, old, new)
    except EditError:
        first = text.replace("\r\n", "\n").find(old.replace("\r\n", "\n"))
        assert first < 0 or old.replace("\r\n", "\n") in text.replace("\r\n", "\n")[first + 1 :]
        return

    if "\r" not in text + new:
        assert edited == before + new + after


# paths


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("a.py", "a.py"),
        ("./src//a.py", "src/a.py"),
        (".github/workflows/ci.yml", ".github/workflows/ci.yml"),
        (".gitignore", ".gitignore"),
        ("ä b/c.py", "ä b/c.py"),
    ],
)
def test_a_path_inside_is_taken_in_its_plain_form(path: str, plain: str) -> None:
    assert checked_path(path) == plain


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "1 to 1,000 characters"),
        ("  ", "1 to 1,000 characters"),
        ("x" * 1_001, "1 to 1,000 characters"),
        ("/etc/passwd", "absolute"),
        ("C:/Windows", "absolute"),
        ("../outside", "leads out"),
        ("a/../../outside", "leads out"),
        (".", "name a file"),
        ("a/", "name a file"),
        ("a\\b", "written with /"),
        ("a\0b", "control characters"),
        ("a\nb", "control characters"),
        ("\ud800", "control characters"),
        (".git/config", "git's own folder"),
        ("sub/.GIT/hooks/pre-commit", "git's own folder"),
        (".git./config", "git's own folder"),
        ("GIT~1/config", "git's own folder"),
        (".g\u200cit/config", "git's own folder"),
    ],
)
def test_a_path_that_nobody_may_edit_is_refused(path: str, reason: str) -> None:
    with pytest.raises(PathRefusedError, match=reason):
        checked_path(path)


@given(st.text(max_size=40))
@settings(max_examples=300, deadline=None)
def test_a_path_that_is_taken_leads_nowhere_else(path: str) -> None:
    try:
        plain = checked_path(path)
    except PathRefusedError:
        return

    parts = plain.split("/")
    assert not plain.startswith("/")
    assert not {"", ".", "..", ".git"} & set(parts)
    assert checked_path(plain) == plain
