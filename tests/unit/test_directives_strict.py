"""The strict profile: canonical directives, typed failures, repairs that are only offered."""

import pytest

from cortex.runtime.directives import (
    INITIAL,
    STRICT,
    Decision,
    Directive,
    DirectiveKind,
    Error,
    Failure,
    NoDirective,
    SemanticFailure,
    State,
    SyntaxFailure,
    Update,
    export_state,
    import_state,
    read,
    submit,
    text_of,
)


def said(*texts: str) -> tuple[State, list[Decision]]:
    """The state after *texts*, and each decision."""
    state, decisions = INITIAL, []
    for text in texts:
        state, decision = STRICT.step(state, text)
        decisions.append(decision)
    return state, decisions


def failed(*texts: str) -> Error:
    """The error of the last of *texts*, which changed nothing."""
    before, _ = said(*texts[:-1])
    after, decision = STRICT.step(before, texts[-1])
    assert after is before
    assert isinstance(decision, Error)
    assert decision.message
    assert not decision.changes
    return decision


@pytest.mark.parametrize(
    ("texts", "failure", "repairs"),
    [
        (
            ["set premise a", "set premise b"],
            SemanticFailure.PREMISE_ALREADY_SET,
            ["change premise to b"],
        ),
        (["change premise to b"], SemanticFailure.PREMISE_NOT_SET, ["set premise b"]),
        (
            ["prohibit x", "use X"],
            SemanticFailure.ITEM_PROHIBITED,
            ["remove policy X", "use X"],
        ),
        (
            ["use x", "prohibit x"],
            SemanticFailure.ITEM_ALREADY_IN_USE,
            ["remove policy x", "prohibit x"],
        ),
        (
            ["prohibit x", "use y instead of x"],
            SemanticFailure.REPLACEMENT_SOURCE_PROHIBITED,
            [],
        ),
        (
            ["use x", "prohibit y", "use y instead of x"],
            SemanticFailure.REPLACEMENT_TARGET_PROHIBITED,
            ["remove policy y", "use y instead of x"],
        ),
        (["use y instead of x"], SemanticFailure.REPLACEMENT_SOURCE_MISSING, []),
    ],
)
def test_each_failure_offers_its_repairs_in_order(
    texts: list[str], failure: Failure, repairs: list[str]
) -> None:
    decision = failed(*texts)

    assert decision.failure is failure
    assert [text_of(each) for each in decision.repairs] == repairs


@pytest.mark.parametrize(
    ("text", "failure", "kind", "missing"),
    [
        ("set premise", "missing_required_operand", "set_premise", "value"),
        ("use instead of x", "missing_required_operand", "replace_use", "new_item"),
        ("use x instead of", "missing_required_operand", "replace_use", "old_item"),
        ("remove policy \u00a0", "missing_required_operand", "remove_policy", "item"),
        ("set premise to be short", "malformed_directive", "set_premise", None),
        ("use a instead of b instead of c", "malformed_directive", "use_item", None),
        ("prohibit a\nb", "malformed_directive", "prohibit_item", None),
        ("clear state now", "malformed_directive", None, None),
        ("use docker and prohibit vim", "compound_directive", None, None),
    ],
)
def test_a_failure_of_syntax_is_a_decision_that_says_which(
    text: str, failure: str, kind: str | None, missing: str | None
) -> None:
    decision = failed(text)

    assert (decision.failure, decision.directive_kind, decision.missing) == (failure, kind, missing)
    assert decision.directive is None


def test_keywords_take_any_case_and_blanks_and_operands_keep_theirs() -> None:
    assert read(" USE\t Docker  Desktop \n") == Directive(DirectiveKind.USE_ITEM, "Docker  Desktop")
    assert read("u\u017fe docker") is None  # a long s is no s


def test_an_update_says_whether_anything_changed() -> None:
    _, decisions = said("use docker", "Use DOCKER", "use docker instead of Docker", "clear state")

    assert [each.changed for each in decisions if isinstance(each, Update)] == [
        True,
        False,
        False,
        True,
    ]


def test_prose_is_no_directive() -> None:
    assert STRICT.step(INITIAL, "How do I use docker?") == (INITIAL, NoDirective())


def test_a_repair_is_applied_only_where_it_is_submitted() -> None:
    state, decisions = said("prohibit docker", "use docker")
    error = decisions[1]
    assert isinstance(error, Error)

    for repair in error.repairs:
        state, _ = submit(state, repair)

    assert state.policies.items() == [("docker", "use")]


# What the published package gets wrong.


def test_a_premise_that_begins_with_to_is_refused_without_an_exception_and_can_be_repaired() -> (
    None
):
    decision = failed("change premise to to be formal")

    assert decision.failure is SemanticFailure.PREMISE_NOT_SET
    (repair,) = decision.repairs
    assert text_of(repair) == 'set premise "to be formal"'
    assert STRICT.step(INITIAL, text_of(repair))[0].premise == "to be formal"


@pytest.mark.parametrize("blank", ["\u00a0", "\u3000\u2003", "\x1c"])
def test_an_operand_of_blanks_of_any_kind_is_missing_so_that_all_that_is_stored_can_be_imported(
    blank: str,
) -> None:
    for head in ("use", "prohibit", "remove policy", "set premise"):
        assert failed(f"{head} {blank}").failure is SyntaxFailure.MISSING_REQUIRED_OPERAND
    assert failed(f"use x instead of {blank}").missing == "old_item"


def test_a_directive_word_in_a_premise_is_refused_with_the_remedy_and_taken_in_quotes() -> None:
    decision = failed("set premise prefer answers that use short words")

    assert "double quotes" in decision.message
    state, _ = said('set premise "prefer answers that use short words"')
    assert state.premise == "prefer answers that use short words"


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ('use "docker"', ["docker"]),
        ("use “a instead of b”", ["a instead of b"]),
        ('use "a instead of b" instead of c', ["a instead of b", "c"]),
        ('use a instead of "b instead of c"', ["a", "b instead of c"]),
        ('prohibit "a \\"b\\" \\\\ c"', ['a "b" \\ c']),
        ('use "a" and "b"', ['"a" and "b"']),
        ('use 5" nails', ['5" nails']),
        ('set premise "one\ntwo"', ["one\ntwo"]),
    ],
)
def test_quotes_around_a_whole_operand_are_no_part_of_it(text: str, operands: list[str]) -> None:
    found = read(text)

    assert isinstance(found, Directive)
    assert list(found.operands.values()) == operands
    assert read(text_of(found)) == found


def test_a_spelling_that_changes_twice_is_reached_again() -> None:
    state, _ = said("use a\u00df\u0301b")
    ((stored, _),) = state.policies.items()

    after, _ = STRICT.step(state, f"remove policy {stored}")

    assert not after.policies
    assert import_state(STRICT, export_state(STRICT, state)) == state
