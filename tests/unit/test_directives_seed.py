"""The seed profile: everyday wording, as the paper has it."""

import pytest

from cortex.runtime.directives import (
    INITIAL,
    SEED,
    Asked,
    Clarify,
    Decision,
    FactSet,
    Passthrough,
    PolicySet,
    State,
    Update,
    export_state,
    fold,
)


def said(*texts: str) -> tuple[State, list[Decision]]:
    """The state after *texts*, and each decision."""
    state, decisions = INITIAL, []
    for text in texts:
        state, decision = SEED.step(state, text)
        decisions.append(decision)
    return state, decisions


def prohibited(state: State) -> list[str]:
    return [item for item, _ in state.policies.items()]


def test_the_examples_of_the_paper_hold() -> None:
    state, decisions = said(
        "don't use docker",
        "how should I deploy my service?",
        "I'm using MacBook M3",
        "actually MacBook M2",
        "no use podman",
    )

    assert [each.kind for each in decisions] == [
        "update",
        "passthrough",
        "update",
        "update",
        "clarify",
    ]
    assert export_state(SEED, state) == (
        '{"facts":{"focus.device":"MacBook M2"},"policies":{"prohibit":["docker"]},"version":1}'
    )


def test_a_decision_carries_what_happened_and_the_new_state() -> None:
    state, (decision,) = said("don't use docker, the vim and emacs")

    assert decision.changes == tuple(
        PolicySet(item=item, rule="prohibit") for item in ("docker", "vim", "emacs")
    )
    assert decision.state is state
    assert fold(INITIAL, decision.changes) == state


def test_facts_are_exclusive_and_policies_additive() -> None:
    state, _ = said("use a laptop", "set an iPad", "never docker", "do not use vim", "dont Docker")

    assert state.device == "an iPad"
    assert prohibited(state) == ["docker", "vim"]


@pytest.mark.parametrize("text", ["allow Docker", "you can docker", "the docker is fine"])
def test_what_is_allowed_again_is_not_prohibited(text: str) -> None:
    state, _ = said("don't use docker", text)

    assert not state.policies


def test_a_pending_question_blocks_everything_until_yes_or_no() -> None:
    state, decisions = said("no use docker", "don't use vim", "maybe")

    assert not state.policies
    assert [each.kind for each in decisions] == ["clarify"] * 3
    after_yes, yes = SEED.step(state, " YES ")
    after_no, no = SEED.step(state, "no")
    assert isinstance(yes, Update)
    assert prohibited(after_yes) == ["docker"]
    assert isinstance(no, Passthrough)
    assert after_no == INITIAL


@pytest.mark.parametrize(
    "text",
    [
        "actually MacBook M2",  # there is nothing to correct
        "don't ,",
        "allow ,",
        "use docker and podman",
        "use and",
        "no use docker and vim",
    ],
)
def test_what_is_unclear_is_asked_and_changes_nothing(text: str) -> None:
    state, (decision,) = said(text)

    assert isinstance(decision, Clarify)
    assert decision.prompt_to_user
    assert state == INITIAL


def test_resetting_the_policies_keeps_the_device() -> None:
    state, _ = said("I am using a Mac", "never docker", "Reset  policies")

    assert (state.device, len(state.policies)) == ("a Mac", 0)


def test_a_polite_request_is_taken() -> None:
    state, _ = said("Please use MacBook M3")

    assert state.device == "MacBook M3"


def test_a_wide_comma_separates_what_is_allowed_as_what_is_prohibited() -> None:
    state, _ = said("don't use docker\uff0cvim", "allow docker\uff0cvim")

    assert not state.policies


@pytest.mark.parametrize(
    "text",
    [
        "use your best judgment when answering",
        "don't worry about it unless I say that it matters",
        "never mind what you said",
    ],
)
def test_a_sentence_to_the_model_is_asked_before_it_is_laid_down(text: str) -> None:
    state, (decision,) = said(text)

    assert isinstance(decision, Clarify)
    assert isinstance(decision.changes[0], Asked)
    assert not state.policies
    assert not state.facts
    assert isinstance(SEED.step(state, "yes")[1], Update)


def test_a_long_text_lays_nothing_down_however_it_begins() -> None:
    _, (decision,) = said("don't use docker. " + "This is a report. " * 100)

    assert isinstance(decision, Passthrough)


def test_a_correction_is_recorded_as_the_fact_that_holds_now() -> None:
    _, decisions = said("use M3", "no, M2")

    assert decisions[1].changes == (FactSet(name="focus.device", value="M2"),)
