"""Whether a home is trusted, decided from what is there and what was recorded alone."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.runtime.access.trust import (
    SILENT,
    Acting,
    HomeState,
    Seen,
    TrustRecord,
    assess,
    learn_all,
)

PATH = "processes/p.yaml"


def seen(content: str, **more: Any) -> Seen:
    return Seen(content, (f"git-{content}",), **more)


def found(content: str | None, objects: Collection[str] | None = (), **more: Any) -> HomeState:
    """A home with one file, of which git has *objects*; None where that cannot be told."""
    files = {} if content is None else {PATH: seen(content, **more)}
    in_git = None if objects is None else {PATH: frozenset(objects)} if objects else {}
    return HomeState(Path("/home"), "id", 7, Acting(files, ()), in_git)


def trusted(at: HomeState, *, made_here: bool = True) -> TrustRecord:
    """The record of a home that was trusted as it was at *at*."""
    record = TrustRecord(home="/home", identity="id", inode=7, made_here=made_here, given_ns=1)
    learn_all(at, record)
    return record


@pytest.mark.parametrize(
    ("before", "now", "made_here", "holds"),
    [
        (found("a"), found("a"), True, True),
        (found("a"), found("b"), True, True),  # an own edit, where no git is
        (found("a"), found("b", {"git-a"}), True, True),  # committed as it was seen, then edited
        (found("a"), found("b", {"git-b"}), True, False),  # committed, or brought, unseen
        (found("a"), found("b"), False, False),  # it came as a copy: who tells an edit from one?
        (found("a"), found(None), True, True),
        (found("a", {"git-a"}), found("b", {"git-a"}), True, True),  # not committed yet
        (found("a", {"git-a"}), found("b", {"git-a"}), False, True),
        (found("a", {"git-a"}), found("b", {"git-b"}), True, False),  # a pull
        (found("a", {"git-a"}), found("c", {"git-b"}), True, False),  # edited after the pull
        (found("a", {"git-a"}), found(None), True, False),  # taken away by a pull
        (found("a", {"git-a"}), found(None, {"git-a"}), True, True),  # removed by hand
        (found("a", {"git-a"}), found("a"), True, True),  # git rm --cached
        (found(None), found("a", {"git-a"}), True, False),
        (found(None), found(None, {"git-a"}), True, True),  # a sparse checkout
        (found("a", {"git-x"}), found("x", {"git-x"}), True, False),  # checkout -- FILE
        (found("a"), found("b", None), True, False),  # an index that cannot be read
        (found("a"), found("b", foreign=True), True, False),
        (found("a", foreign=True), found("a", foreign=True), True, True),
    ],
)
def test_the_rules(before: HomeState, now: HomeState, made_here: bool, holds: bool) -> None:
    # Something else is there, or nothing would be there to be trusted.
    other = {"config.toml": seen("settings")}
    before, now = (
        HomeState(f.path, f.identity, f.inode, Acting({**f.acting.files, **other}, ()), f.objects)
        for f in (before, now)
    )

    assert assess(now, trusted(before, made_here=made_here)).trusted is holds


def test_an_edit_that_was_seen_may_be_committed() -> None:
    record = trusted(found("a", {"git-a"}))

    assert assess(found("b", {"git-a"}), record).learned
    assert assess(found("b", {"git-b"}), record).trusted
    assert assess(found("c", {"git-b"}), record).trusted


def test_an_edit_that_was_seen_may_be_committed_and_edited_again_before_the_next_look() -> None:
    record = trusted(found("a", {"git-a"}))

    assert assess(found("b", {"git-a"}), record).learned
    assert assess(found("c", {"git-b"}), record).trusted
    assert not assess(found("d", {"git-x"}), record).trusted


def silent(objects: Collection[str], content: str = "silent") -> HomeState:
    """A home whose settings, of which git has *objects*, let nothing act."""
    settings = Seen(f"{SILENT}{content}", (f"git-{content}",))
    acting = Acting({PATH: seen("a")}, (), {"config.toml": settings})
    return HomeState(Path("/home"), "id", 7, acting, {"config.toml": frozenset(objects)})


def edited(objects: Collection[str]) -> HomeState:
    """The same home with settings that let something act."""
    files = {PATH: seen("a"), "config.toml": seen("edited")}
    return HomeState(Path("/home"), "id", 7, Acting(files, ()), {"config.toml": frozenset(objects)})


def test_settings_that_let_nothing_act_may_be_committed_and_then_edited() -> None:
    record = trusted(silent({}))

    assert assess(edited({"git-silent"}), record).trusted


def test_settings_that_let_nothing_act_are_known_however_they_came() -> None:
    record = trusted(found("a"))

    assert assess(silent({"git-silent"}), record).learned
    assert assess(edited({"git-silent"}), record).trusted


def test_settings_that_a_pull_made_act_or_emptied_are_asked_about() -> None:
    record = trusted(silent({"git-silent"}))
    assert not assess(edited({"git-edited"}), record).trusted

    record = trusted(edited({"git-edited"}))
    assert not assess(silent({"git-silent"}), record).trusted


def test_a_pull_may_bring_other_settings_that_let_nothing_act_or_take_them_away() -> None:
    record = trusted(silent({"git-silent"}))

    assert assess(found("a"), record).trusted
    assert assess(silent({"git-other"}, "other"), record).trusted
    assert assess(edited({"git-other"}), record).trusted


def test_a_state_that_git_keeps_is_asked_about_when_git_has_another() -> None:
    record = trusted(found("a"))
    home = HomeState(
        Path("/home"), "id", 7, Acting({PATH: seen("a")}, ("log.db",)), {"log.db": frozenset("x")}
    )

    assert assess(home, record).reasons == (
        "git keeps log.db, and has another one than you trusted: `git rm --cached` it",
    )


@pytest.mark.parametrize("other", [("id", 8), ("di", 7), ("", 7)])
def test_another_home_at_the_same_path_is_not_the_trusted_one(other: tuple[str, int]) -> None:
    record = trusted(found("a"))
    home = HomeState(Path("/home"), *other, Acting({PATH: seen("a")}, ()), {})

    assert not assess(home, record).trusted


CONTENTS = st.sampled_from("abc")


@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("edit"), CONTENTS),
            st.tuples(st.just("commit"), st.just("")),
            st.tuples(st.just("look"), st.just("")),
        ),
        max_size=12,
    )
)
def test_whatever_its_user_did_before_what_a_pull_brings_is_never_trusted(
    steps: list[tuple[str, str]],
) -> None:
    work, in_git = "a", "a"
    record = trusted(found("a", {"git-a"}))
    for step, content in steps:
        if step == "edit":
            work = content
        elif step == "commit":
            in_git = work
        else:
            assess(found(work, {f"git-{in_git}"}), record)

    assert not assess(found("evil", {"git-evil"}), record).trusted
    assert not assess(found("evil, and edited", {"git-evil"}), record).trusted
    assert not assess(found("evil", {"git-evil", f"git-{in_git}"}), record).trusted
