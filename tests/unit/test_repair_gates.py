"""Green tests after the newest change, and a model that meets the needs: with evidence."""

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.actors import gates
from cortex.bus import FORMAT, Draft, Event, Recorded
from cortex.bus.events import (
    VOCABULARY,
    ComponentAnnounced,
    ComponentWithdrawn,
    GateEvaluated,
    StepCompleted,
    StepExecute,
    StepFailed,
)
from cortex.runtime.code.repair import repair_of
from cortex.runtime.kernel import Config
from cortex.runtime.log import MemoryBlobs

from .actors_world import gate_evaluate, verdict

GREEN = {
    "passed": True,
    "exit_code": 0,
    "command": ["make", "test"],
    "failed": [],
    "tree": sha256().hexdigest(),  # of a folder without files
}
RED = {
    "passed": False,
    "exit_code": 1,
    "command": ["make", "test"],
    "failed": ["test_a", "test_b"],
    "excerpt": "test_a failed",
}


def history(events: Sequence[Event], *topics: str) -> Callable[[str], Iterator[Recorded]]:
    """What a log gives of *events*, and of *topics* that nobody here knows."""
    drafts = [Draft.of(event) for event in events]
    drafts += [Draft(topic, 1, "execution/e1", None, b"\x80") for topic in topics]

    def read(stream: str) -> Iterator[Recorded]:
        for n, draft in enumerate(drafts, 1):
            if draft.stream == stream:
                yield Recorded(
                    FORMAT, n, stream, n, n.to_bytes(16, "big"), n, draft.topic, draft.schema,
                    None, None, "tests", draft.key, None, draft.body,
                )  # fmt: skip

    return read


def begun(action: str, step_id: str, attempt: int = 1) -> StepExecute:
    return StepExecute(execution_id="e1", step_id=step_id, action=action, attempt=attempt)


def ended(step_id: str, **result: Any) -> StepCompleted:
    return StepCompleted(execution_id="e1", step_id=step_id, result=result)


def asked(*events: Event, topics: Sequence[str] = ()) -> GateEvaluated:
    gate = gates.TestsPass(history(events, *topics), VOCABULARY)
    return verdict(gate.evaluate, gate_evaluate("tests_pass"))


WRITTEN = (begun("write_code", "fix"), ended("fix", summary="Add up"))
RAN = begun("run_tests", "verify")


# tests_pass


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing stands in the workspace."""
    monkeypatch.chdir(tmp_path)


def test_green_tests_after_the_change_pass() -> None:
    answer = asked(*WRITTEN, RAN, ended("verify", **GREEN), topics=["x.guest.said"])

    assert answer.outcome == "passed"
    assert answer.evidence == {"step": "verify", "command": ["make", "test"], "exit_code": 0}


def test_red_tests_name_what_failed() -> None:
    answer = asked(*WRITTEN, RAN, ended("verify", **RED))

    assert answer.reason == "the tests of verify are red: test_a and 1 more"
    assert answer.evidence["failed"] == ["test_a", "test_b"]
    assert answer.evidence["excerpt"] == "test_a failed"


def test_tests_that_ended_well_and_ran_nothing_are_said_to_have_run_nothing() -> None:
    answer = asked(RAN, ended("verify", passed=False, exit_code=0))
    assert answer.outcome == "failed"
    assert answer.reason.startswith("no test was run by verify: ")


def test_red_tests_that_name_nothing_give_the_exit_code() -> None:
    answer = asked(RAN, ended("verify", passed=False, exit_code=2))

    assert answer.reason == "the tests of verify ended with 2"


def test_tests_that_had_to_pass_and_did_not_say_why() -> None:
    broken = StepFailed(execution_id="e1", step_id="verify", error="a test failed: test_a")

    answer = asked(*WRITTEN, RAN, broken)

    assert answer.outcome == "failed"
    assert answer.reason == "the tests of verify did not pass: a test failed: test_a"


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ((), "no tests were run"),
        (WRITTEN, "no tests were run"),
        ((RAN,), "the tests did not end yet"),
        ((RAN, ended("verify", **GREEN), *WRITTEN), "written again after the tests"),
        ((RAN, ended("verify", **GREEN), WRITTEN[0]), "written again after the tests"),
        ((RAN, ended("verify", **GREEN), RAN), "the tests did not end yet"),
    ],
)
def test_without_tests_of_what_it_is_now_nothing_passes(
    events: tuple[Event, ...], reason: str
) -> None:
    answer = asked(*events)

    assert answer.outcome == "failed"
    assert reason in answer.reason


def test_the_newest_run_counts() -> None:
    again = (*WRITTEN, begun("run_tests", "verify", 2), ended("verify", **GREEN))

    assert asked(*WRITTEN, RAN, ended("verify", **RED), *again).outcome == "passed"


PIECES = [*WRITTEN, RAN, ended("verify", **GREEN), ended("verify", **RED)]


@given(st.lists(st.sampled_from(PIECES), max_size=12))
@settings(max_examples=300, deadline=None)
def test_what_is_green_was_never_followed_by_a_change(events: list[Event]) -> None:
    record = repair_of(events)

    if record.tests == "green":
        passing = max(n for n, event in enumerate(events) if event == PIECES[3])
        after = events[passing + 1 :]
        assert WRITTEN[0] not in after
        assert RAN not in after
        assert PIECES[4] not in after


# model_available


def model_available(*events: Event, **needs: Any) -> GateEvaluated:
    gate = gates.ModelAvailable(Config(), history(events), MemoryBlobs(), VOCABULARY)
    return verdict(gate.evaluate, gate_evaluate("model_available", parameters={"needs": needs}))


def model(name: str, **traits: Any) -> ComponentAnnounced:
    said = {"name": name, "window": 32_000, "local": True, **traits}
    return ComponentAnnounced(component="P", kind="model", name=name, traits=said)


def test_a_model_that_meets_the_needs_is_named() -> None:
    answer = model_available(model("small"), model("large", code="high"), code="medium")

    assert (answer.outcome, answer.evidence["model"]) == ("passed", "large")


def test_without_such_a_model_what_lacks_is_said() -> None:
    answer = model_available(model("small"), code="medium")

    assert answer.outcome == "failed"
    assert "small lacks code medium" in answer.reason
    assert "config.toml" in answer.reason


def test_a_model_that_was_withdrawn_is_gone() -> None:
    gone = ComponentWithdrawn(component="P", kind="model", name="small")

    assert model_available(model("small"), gone).outcome == "failed"


def test_what_does_not_describe_itself_stops_nobody() -> None:
    odd = ComponentAnnounced(component="P", kind="model", name="odd", traits={"window": "?"})
    action = ComponentAnnounced(component="P", kind="action", name="shell")

    assert model_available(odd, action, model("small")).evidence["model"] == "small"


def test_needs_that_nobody_knows_are_refused() -> None:
    answer = model_available(model("small"), code="perfect")

    assert answer.outcome == "failed"
    assert answer.reason.startswith("model_available: ")
