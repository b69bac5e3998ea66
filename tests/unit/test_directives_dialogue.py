"""The dialogue profile: exact directives, and questions."""

import pytest

from cortex.runtime.directives import (
    DIALOGUE,
    INITIAL,
    Asked,
    Clarify,
    Decision,
    Passthrough,
    SemanticFailure,
    State,
    SyntaxFailure,
    Update,
    preview,
    replay,
)


def said(*texts: str) -> tuple[State, list[Decision]]:
    """The state after *texts*, and each decision."""
    state, decisions = INITIAL, []
    for text in texts:
        state, decision = DIALOGUE.step(state, text)
        decisions.append(decision)
    return state, decisions


def test_a_premise_is_set_once_and_then_changed() -> None:
    state, decisions = said("set premise short", "set premise long", "change premise to  long one")

    assert [each.kind for each in decisions] == ["update", "clarify", "update"]
    assert state.premise == "long one"
    assert isinstance(decisions[1], Clarify)
    assert decisions[1].failure is SemanticFailure.PREMISE_ALREADY_SET


@pytest.mark.parametrize(
    "text", ["Use docker", " use docker", "please use docker", "user data", ""]
)
def test_what_is_not_a_directive_to_the_letter_is_passed_on(text: str) -> None:
    assert DIALOGUE.step(INITIAL, text) == (INITIAL, Passthrough())


def test_spellings_of_one_thing_are_one_policy() -> None:
    state, _ = said("use the Docker", "use don\u2019t panic", "use Dont  panic", "use \uff24ocker")

    assert state.policies.items() == [("docker", "use"), ("don't panic", "use")]


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("use", SyntaxFailure.MISSING_REQUIRED_OPERAND),
        ("use the", SyntaxFailure.MISSING_REQUIRED_OPERAND),
        ("prohibit ", SyntaxFailure.MISSING_REQUIRED_OPERAND),
        ("set premise \u00a0", SyntaxFailure.MISSING_REQUIRED_OPERAND),
        ("use docker instead of", SyntaxFailure.MISSING_REQUIRED_OPERAND),
        ("use the instead of docker", SyntaxFailure.MISSING_REQUIRED_OPERAND),
        ("set premise to short", SyntaxFailure.MALFORMED_DIRECTIVE),
        ("change premise short", SyntaxFailure.MALFORMED_DIRECTIVE),
        ("use docker and prohibit vim", SyntaxFailure.COMPOUND_DIRECTIVE),
    ],
)
def test_a_directive_that_is_not_whole_is_asked_about(text: str, failure: SyntaxFailure) -> None:
    state, (decision,) = said(text)

    assert isinstance(decision, Clarify)
    assert decision.failure is failure
    assert decision.pending is None
    assert state == INITIAL


@pytest.mark.parametrize("answer", ["yes", "Yes!", " ok ", "yes please.", "\uff59\uff45\uff53"])
def test_a_replacement_of_what_is_not_in_use_waits_for_a_yes(answer: str) -> None:
    state, decisions = said("use podman instead of docker", "use vim", answer)

    assert [each.kind for each in decisions] == ["clarify", "clarify", "update"]
    assert isinstance(decisions[0].changes[0], Asked)
    assert state.policies.items() == [("podman", "use")]
    assert state.pending is None


def test_a_no_drops_the_question_and_changes_nothing() -> None:
    state, decisions = said("use podman instead of docker", "No thanks.")

    assert isinstance(decisions[1], Update)
    assert not decisions[1].changed
    assert state == INITIAL


def test_a_question_says_that_a_yes_lifts_a_prohibition() -> None:
    _, decisions = said("prohibit podman", "use podman instead of docker")

    assert '"podman" is prohibited' in str(decisions[1].prompt_to_user)


def test_a_sentence_to_the_model_is_asked_before_it_becomes_a_policy() -> None:
    state, (decision,) = said("use your best judgment when answering")

    assert isinstance(decision, Clarify)
    assert not state.policies
    assert DIALOGUE.step(state, "no")[0] == INITIAL
    after, _ = DIALOGUE.step(state, "yes")
    assert after.policies.items() == [("your best judgment when answering", "use")]


def test_a_directive_word_in_quotes_belongs_to_the_premise() -> None:
    state, _ = said('set premise "use short words and prohibit jargon"')

    assert state.premise == "use short words and prohibit jargon"


def test_a_preview_says_what_would_happen_and_leaves_the_state() -> None:
    before, _ = said("use docker", "set premise short")

    found = preview(DIALOGUE, before, "use podman instead of docker")

    assert found.before is before
    assert found.diff.changed
    assert found.diff.policies.added == {"podman": "use"}
    assert found.diff.policies.removed == {"docker": "use"}
    assert before.policies.items() == [("docker", "use")]


def test_a_transcript_is_replayed_up_to_the_first_question() -> None:
    messages: list[dict[str, object]] = [
        {"role": "system", "content": "prohibit docker"},
        {"role": "user", "content": "use docker"},
        {"role": "user", "content": ["prohibit vim"]},
        {"role": "user", "content": "use podman instead of vim"},
        {"role": "user", "content": "clear state"},
    ]

    found = replay(DIALOGUE, messages)

    assert found.state.policies.items() == [("docker", "use")]
    assert found.question is not None
    assert found.question.pending == found.state.pending
    assert replay(DIALOGUE, messages[:3]).question is None
