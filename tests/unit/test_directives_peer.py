"""The profiles beside the published package, and beside the vectors of its repository.

They run where `CORTEX_DIRECTIVES_REFERENCE` names a folder of its versions (see
tests/directives_peer/reference.py). `CORTEX_DIRECTIVES_SEQUENCES` sets how many dialogues are
drawn. The vectors are the folders `tests/fixtures` of its repository, as `vectors/0.7.10`,
`vectors/0.8.3` and `vectors/0.9.2` in that folder.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortex.runtime.directives import (
    DIALOGUE,
    INITIAL,
    STRICT,
    Clarify,
    Decision,
    Directive,
    DirectiveKind,
    DirectivesError,
    Error,
    InvalidSyntax,
    Profile,
    State,
    Update,
    export_checkpoint,
    export_state,
    import_checkpoint,
    import_state,
    preview,
    read,
    replay,
    submit,
    text_of,
)

from ..directives_peer import LISTED, VARIABLE, compare, comparisons, folder

SEQUENCES = int(os.environ.get("CORTEX_DIRECTIVES_SEQUENCES", "500"))
QUOTED = {  # quotes are quotes here, and parts of a name there
    "grammar_decompose_invalid_quoted_compound_rejected",
    "step_quoted_payload_compound_invalid_boundary",
    "step_quoted_payload_compound_clarify",
}
UNREAD = {"api", "mutation-isolation"}  # about Python names and mutable results, which are not ours

needs_peer = pytest.mark.skipif(
    folder() is None, reason=f"{VARIABLE} does not name a folder of the published package"
)


@needs_peer
@pytest.mark.parametrize("number", range(4))
def test_a_profile_and_its_version_differ_only_where_it_is_listed(number: int) -> None:
    one = comparisons()[number]

    found = compare(one, SEQUENCES)

    assert found["texts"] > SEQUENCES
    assert set(found) - {"texts"} <= set(LISTED)


def vectors(version: str) -> list[dict[str, Any]]:
    root = (folder() or Path()) / "vectors" / version / "conformance"
    if not root.is_dir():
        pytest.skip(f"{root} is missing: put the fixtures of the package's repository there")
    paths = sorted(path for path in root.glob("*/*.json") if path.parent.name not in UNREAD)
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


@needs_peer
@pytest.mark.parametrize(
    ("version", "profile", "least"),
    [("0.7.10", DIALOGUE, 48), ("0.8.3", DIALOGUE, 54), ("0.9.2", STRICT, 170)],
)
def test_the_vectors_of_the_package_hold(version: str, profile: Profile, least: int) -> None:
    ran = 0
    for vector in vectors(version):
        if vector["id"] not in QUOTED:
            CHECKS[vector["kind"]](profile, vector)
            ran += 1

    assert ran >= least


def begun(profile: Profile, vector: dict[str, Any]) -> State:
    state = import_state(profile, json.dumps(vector["initial_state"]))
    for text in vector.get("prelude", ()):
        state, _ = profile.step(state, text)
    return state


def same_state(profile: Profile, state: State, expected: Any) -> None:
    assert json.loads(export_state(profile, state)) == expected


def same_pending(state: State, expected: dict[str, Any]) -> None:
    if "has_pending_clarification" in expected:
        assert (state.pending is not None) == expected["has_pending_clarification"]


def same_decision(decision: Decision, expected: dict[str, Any]) -> None:
    if isinstance(decision, Error) and decision.directive is None:
        assert expected["kind"] == "no_directive"
        return
    assert decision.kind == expected["kind"]
    if "changed" in expected:
        assert isinstance(decision, Update)
        assert decision.changed == expected["changed"]
    if isinstance(decision, Clarify):
        assert decision.prompt_to_user
    if isinstance(decision, Error):
        assert decision.failure == expected["failure"]
        assert decision.directive is not None
        assert written(decision.directive) == expected["directive"]
        assert [written(each) for each in decision.repairs] == expected["repairs"]


def written(found: Directive) -> dict[str, Any]:
    return {"kind": found.kind, "operands": found.operands, "text": text_of(found)}


def check_step(profile: Profile, vector: dict[str, Any]) -> None:
    state, decision = profile.step(begun(profile, vector), vector["input"])
    expected = vector["expected"]
    same_decision(decision, expected["decision"])
    same_state(profile, state, expected["state"])
    same_pending(state, expected)


def check_submitted(profile: Profile, vector: dict[str, Any]) -> None:
    directive = read(vector["action"]["text"])
    assert isinstance(directive, Directive)
    state, decision = submit(begun(profile, vector), directive)
    same_decision(decision, vector["expected"]["decision"])
    same_state(profile, state, vector["expected"]["state"])


def check_grammar(_: Profile, vector: dict[str, Any]) -> None:
    action, expected = vector["action"], vector["expected"]
    if action["fn"] == "render_directive":
        check_rendering(action, expected)
        return
    found, wanted = read(action["text"]), expected["directive"]
    if wanted is None:
        assert found is None
    elif isinstance(found, InvalidSyntax):
        assert wanted["kind"] == "invalid_directive_syntax"
        shown = (found.failure, found.kind, found.missing)
        assert shown == (wanted["failure"], wanted["directive_kind"], wanted["missing_operand"])
    else:
        assert found is not None
        assert written(found) == wanted


def check_rendering(action: dict[str, Any], expected: dict[str, Any]) -> None:
    made = Directive(DirectiveKind(action["kind"]), *action["operands"].values())
    if "error" in expected:  # ours writes it in quotes instead
        assert read(text_of(made)) == made
    else:
        assert text_of(made) == expected["text"]


def check_state(profile: Profile, vector: dict[str, Any]) -> None:
    state, action, expected = begun(profile, vector), vector["action"], vector["expected"]
    if action["fn"] == "export_json":
        assert export_state(profile, state) == expected["payload"]
    elif "error" in expected:
        with pytest.raises(DirectivesError):
            import_state(profile, action["payload"])
    else:
        state = import_state(profile, action["payload"])
    same_state(profile, state, expected["state"])


def check_checkpoint(profile: Profile, vector: dict[str, Any]) -> None:
    state, action, expected = begun(profile, vector), vector["action"], vector["expected"]
    payload = action.get("payload")
    text = payload if isinstance(payload, str) else json.dumps(payload)
    if action["fn"] == "export_checkpoint_json":
        assert json.loads(export_checkpoint(profile, state)) == expected["payload_object"]
    elif "error" in expected:
        with pytest.raises(DirectivesError):
            import_checkpoint(profile, text)
    elif action["fn"] == "checkpoint_json_round_trip":
        state = import_checkpoint(profile, export_checkpoint(profile, state))
    else:
        state = import_checkpoint(profile, text)
    same_state(profile, state, expected["state"])
    same_pending(state, expected)
    if "followup" in expected:
        after = expected["followup"]
        state, decision = profile.step(state, after["input"])
        same_decision(decision, after["decision"])
        same_state(profile, state, after["state"])


def check_transcript(profile: Profile, vector: dict[str, Any]) -> None:
    found, expected = replay(profile, vector["messages"]), vector["expected"]
    assert (found.question is not None) == ("clarify" in expected)
    if "state" in expected:
        same_state(profile, found.state, expected["state"]["state"])


def check_controller(profile: Profile, vector: dict[str, Any]) -> None:
    if "operations" in vector:
        check_operations(profile, vector)
        return
    action, expected = vector["action"], vector["expected"]
    if action["fn"] == "state_diff":
        return  # its form is not ours; the content is in `preview`
    state = begun(profile, vector)
    found = preview(profile, state, action["input"])
    same_decision(found.decision, expected["result"]["decision"])
    if action["fn"] == "preview":
        same_state(profile, found.before, expected["result"]["state_before"])
        same_state(profile, found.after, expected["result"]["state_after"])
        policies = expected["result"]["diff"]["policies"]
        assert found.diff.changed == expected["result"]["would_mutate"]
        assert found.diff.policies.added == policies["added"]
        assert found.diff.policies.removed == policies["removed"]
        same_pending(state, expected)
    else:
        same_state(profile, found.after, expected["state"])


def check_operations(profile: Profile, vector: dict[str, Any]) -> None:
    state, seen = begun(profile, vector), dict[str, Any]()
    for each in vector["operations"]:
        label = each.get("label", "")
        if each["fn"] == "export_json":
            seen[label] = export_state(profile, state)
        elif each["fn"] == "import_json":
            state = import_state(profile, each.get("payload") or seen[each["payload_ref"]])
        elif each["fn"] == "step":
            state, seen[label] = profile.step(state, each["input"])
        else:
            directive = read(each["text"])
            assert isinstance(directive, Directive)
            state, seen[label] = submit(state, directive)
    expected = vector["expected"]
    for label, wanted in expected["observations"].items():
        if isinstance(wanted, dict):
            same_decision(seen[label], wanted)
        else:
            assert seen[label] == wanted
    for first, second in expected["equal"]:
        assert seen[first] == seen[second]
    same_state(profile, state, expected["state"])


CHECKS = {
    "apply_directive": check_submitted,
    "checkpoint": check_checkpoint,
    "controller": check_controller,
    "grammar": check_grammar,
    "state_json": check_state,
    "step": check_step,
    "transcript": check_transcript,
}


def scenarios(version: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    root = (folder() or Path()) / "vectors" / version / "engine-regression" / "structured"
    for path in sorted((root / "scenarios").glob("*.json")):
        given = json.loads(path.read_text(encoding="utf-8"))
        wanted = json.loads((root / "expected" / path.name).read_text(encoding="utf-8"))
        yield given, wanted


@needs_peer
@pytest.mark.parametrize(("version", "profile"), [("0.8.3", DIALOGUE), ("0.9.2", STRICT)])
def test_the_recorded_scenarios_of_the_package_hold(version: str, profile: Profile) -> None:
    vectors(version)  # skips where there are none
    for _, wanted in scenarios(version):
        state = INITIAL
        for turn in wanted["turns"]:
            state, decision = profile.step(state, turn["input"])
            same_decision(decision, turn["decision"])
            same_state(
                profile, state, turn.get("state") or turn["checkpoint"]["authoritative_state"]
            )
