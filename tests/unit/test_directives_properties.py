"""What holds for every sequence of texts."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.runtime.directives import (
    DIALOGUE,
    INITIAL,
    PREMISE,
    PROFILES,
    SEED,
    STRICT,
    Change,
    Clarify,
    Directive,
    DirectiveKind,
    Error,
    FactCleared,
    FactSet,
    PoliciesReset,
    PolicyRemoved,
    PolicySet,
    Profile,
    State,
    StateCleared,
    TextMap,
    apply,
    export_checkpoint,
    export_state,
    fold,
    import_checkpoint,
    import_state,
    read,
    replay,
    state_diff,
    text_of,
)

# Characters that change their neighbours, or change twice; blanks; quotes; lone surrogates.
HARD = (
    "aAbße\u0301\u0345\u0130\u03aa\u1e9e\u1fbc\ufb01\uff24\u00a8\u00b4\u2019"
    "`'\"\\\u201c\u201d,\uff0c\u00a0\u200b\x1c\n\t .?"
)
NAMES = st.one_of(
    st.sampled_from(
        ["docker", "Docker", "the docker", "podman", "to be", "use", "a the b", "dont"]
    ),
    st.text(alphabet=HARD, max_size=8),
    st.text(st.characters(), max_size=8),
)
HEADS = st.sampled_from(
    ["set premise ", "change premise to ", "use ", "prohibit ", "remove policy ", "don't use ",
     "never ", "allow ", "I'm using ", "no use ", "actually ", "Use  ", ""]
)  # fmt: skip
TEXTS = st.one_of(
    st.tuples(HEADS, NAMES).map("".join),
    st.tuples(NAMES, NAMES).map(lambda pair: f"use {pair[0]} instead of {pair[1]}"),
    st.sampled_from(["yes", "no", "clear premise", "reset policies", "clear state", "hello there"]),
)
SEQUENCES = st.lists(TEXTS, max_size=12)
EACH = pytest.mark.parametrize("profile", PROFILES.values(), ids=list(PROFILES))


def after(profile: Profile, texts: list[str]) -> State:
    state = INITIAL
    for text in texts:
        state, _ = profile.step(state, text)
    return state


@EACH
@given(texts=SEQUENCES)
def test_the_same_texts_give_the_same_state_and_the_same_bytes(
    profile: Profile, texts: list[str]
) -> None:
    one, other = after(profile, texts), after(profile, texts)

    assert one == other
    assert one.digest == other.digest
    assert export_checkpoint(profile, one) == export_checkpoint(profile, other)


@EACH
@given(texts=SEQUENCES, text=TEXTS)
def test_an_error_or_a_question_changes_no_fact_and_no_policy(
    profile: Profile, texts: list[str], text: str
) -> None:
    before = after(profile, texts)

    state, decision = profile.step(before, text)

    if isinstance(decision, Error):
        assert state is before
    if isinstance(decision, Clarify):
        assert state.same_content(before)
    assert (decision.state is not None) == (decision.kind == "update")


@EACH
@given(texts=SEQUENCES)
def test_an_export_is_imported_as_the_same_state_and_exported_as_the_same_bytes(
    profile: Profile, texts: list[str]
) -> None:
    state = after(profile, texts)
    exported, checkpoint = export_state(profile, state), export_checkpoint(profile, state)

    assert export_state(profile, import_state(profile, exported)) == exported
    assert import_checkpoint(profile, checkpoint) == state
    assert exported.isascii()
    assert json.dumps(json.loads(exported), sort_keys=True, separators=(",", ":")) == exported


@EACH
@given(texts=SEQUENCES)
def test_whatever_is_stored_can_be_named_again_by_its_stored_text(
    profile: Profile, texts: list[str]
) -> None:
    state = after(profile, texts)

    for stored in dict(state.policies.items()):
        assert profile.identity(stored) == stored
        without, _ = profile.step(State(policies=state.policies), removal(profile, stored))
        assert without.policies.get(stored) is None
        assert len(without.policies) == len(state.policies) - 1


def removal(profile: Profile, item: str) -> str:
    if profile is SEED:
        return f"allow {item}"
    return text_of(Directive(DirectiveKind.REMOVE_POLICY, item))


@EACH
@given(texts=SEQUENCES)
def test_recorded_changes_fold_to_every_state(profile: Profile, texts: list[str]) -> None:
    live = folded = INITIAL
    for text in texts:
        live, decision = profile.step(live, text)
        folded = fold(folded, decision.changes)
        assert folded == live


KEYS = st.sampled_from([f"{n}" for n in range(60)])
RULES = st.sampled_from(["use", "prohibit", None])


@given(st.lists(st.dictionaries(KEYS, RULES, max_size=60), max_size=6))
def test_many_updates_at_once_are_the_same_as_one_by_one(
    updates: list[dict[str, str | None]],
) -> None:
    at_once = one_by_one = TextMap()
    for news in updates:
        before = at_once
        at_once = at_once.updated(news)
        for key, value in news.items():
            one_by_one = one_by_one.without(key) if value is None else one_by_one.having(key, value)
        assert at_once.items() == one_by_one.items()
        assert at_once.digest == one_by_one.digest
        assert (at_once is before) == (at_once.items() == before.items())


CHANGES = st.one_of(
    st.builds(PolicySet, item=KEYS, rule=st.sampled_from(["use", "prohibit"])),
    st.builds(PolicyRemoved, item=KEYS),
    st.builds(FactSet, name=st.just(PREMISE), value=KEYS),
    st.sampled_from([PoliciesReset(), StateCleared(), FactCleared(name=PREMISE)]),
)


@given(st.lists(CHANGES, min_size=16, max_size=200))
def test_many_changes_at_once_are_the_same_as_one_by_one(changes: list[Change]) -> None:
    one_by_one = INITIAL
    for change in changes:
        one_by_one = apply(one_by_one, change)

    assert fold(INITIAL, tuple(changes)).digest == one_by_one.digest


@given(SEQUENCES, SEQUENCES)
def test_a_difference_leads_from_one_state_to_the_other(one: list[str], two: list[str]) -> None:
    first, second = after(STRICT, one), after(STRICT, two)

    made = fold(first, state_diff(first, second).changes())

    assert (made.facts, made.policies) == (second.facts, second.policies)


ROLES = st.sampled_from(["assistant", "system", "tool", "developer", "User", "", None])


@EACH
@given(st.lists(st.tuples(st.one_of(st.just("user"), ROLES), TEXTS), max_size=12))
def test_what_anybody_but_the_user_says_changes_nothing(
    profile: Profile, said: list[tuple[str | None, str]]
) -> None:
    messages = [{"role": role, "content": text} for role, text in said]

    whole = replay(profile, messages)
    alone = replay(profile, [each for each in messages if each["role"] == "user"])

    assert whole == alone


@given(TEXTS)
def test_the_canonical_text_of_a_directive_is_that_directive(text: str) -> None:
    found = read(text)
    if isinstance(found, Directive):
        assert read(text_of(found)) == found


@given(NAMES, st.sampled_from(list(DirectiveKind)[:6]))
def test_every_name_can_be_written_into_a_directive(name: str, kind: DirectiveKind) -> None:
    made = Directive(kind, name, name if kind is DirectiveKind.REPLACE_USE else "")
    encodable = name.encode("utf-8", "replace").decode() == name

    if encodable and STRICT.identity(name):
        assert read(text_of(made)) == made


@given(st.dictionaries(st.text(max_size=4), st.sampled_from(["use", "prohibit"]), max_size=40))
def test_the_order_of_updates_leaves_no_trace(rules: dict[str, str]) -> None:
    directives = [
        text_of(Directive(kind, name))
        for name, rule in rules.items()
        for kind in [DirectiveKind.USE_ITEM if rule == "use" else DirectiveKind.PROHIBIT_ITEM]
        if STRICT.identity(name) == name and name
    ]

    one, other = after(STRICT, directives), after(STRICT, directives[::-1])

    assert one.digest == other.digest
    for text in directives:
        one, _ = STRICT.step(one, re.sub("^(use|prohibit)", "remove policy", text))
    assert one.digest == INITIAL.digest


@given(st.text(max_size=200))
def test_no_text_raises(text: str) -> None:
    for profile in (SEED, DIALOGUE, STRICT):
        profile.step(INITIAL, text)
