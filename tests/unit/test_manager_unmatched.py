"""What matched nothing and requests for what is unlinked wait: bounded, once, and past a kill."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import Draft
from cortex.bus.events import (
    ExecutionCancelled,
    ExecutionDeferred,
    ExecutionFailed,
    ExecutionRequest,
    ExecutionStarted,
    GrantRevoked,
    ProcessUnlinked,
    TriggerMatched,
    TriggerReceived,
    TriggerUnmatched,
)
from cortex.runtime.processes import EventTrigger, ManualTrigger

from .execution_world import SECOND_NS
from .test_manager_requests import Office, one

WAIT_NS = 600 * SECOND_NS


def on(source: str, **more: str) -> EventTrigger:
    return EventTrigger(match=tuple((k, (v,)) for k, v in {"source": source, **more}.items()))


def received(trigger_id: str = "t", source: str = "ci", **more: Any) -> TriggerReceived:
    return TriggerReceived(trigger_id=trigger_id, fields={"source": source}, **more)


def fire(office: Office) -> None:
    """Let the next deadline come, and everything that follows from it."""
    assert office.world.fire("ProcessManager")
    office.play()


def matched(office: Office) -> list[str]:
    return [each.process for each in office.world.said(TriggerMatched)]


def test_an_event_that_matched_nothing_is_matched_when_a_process_that_fits_it_comes() -> None:
    office = Office(one())
    office.publish(received(inputs={"log": "x"}, goal="g", workspace="/w"))
    office.compile(one("other", triggers=(on("cd"),)))
    before = matched(office)

    office.compile(one("fits", triggers=(on("ci"),)))
    fire(office)

    (unmatched,) = office.world.said(TriggerUnmatched)
    (request,) = office.world.said(ExecutionRequest)
    assert (before, matched(office)) == ([], ["fits"])
    assert unmatched.waits_s == 600.0
    assert (request.goal, request.workspace, request.trigger) == ("g", "/w", "t")
    assert request.requested_by == "somebody"
    assert office.world.deadlines == {}


def test_of_several_that_come_together_the_most_specific_is_chosen() -> None:
    office = Office()
    office.publish(TriggerReceived(trigger_id="t", fields={"source": "ci", "status": "failure"}))

    office.compile(
        one("wide", triggers=(on("ci"),)), one("narrow", triggers=(on("ci", status="failure"),))
    )
    fire(office)

    assert matched(office) == ["narrow"]


def test_it_waits_ten_minutes_and_no_longer() -> None:
    office = Office()
    office.publish(received())
    ((at_ns, _),) = office.world.deadlines.values()
    since_ns = office.world.records[0].time_ns

    fire(office)
    office.compile(one("late", triggers=(on("ci"),)))

    assert at_ns - since_ns == WAIT_NS
    assert [each.waits_s for each in office.world.said(TriggerUnmatched)] == [600.0, 0.0]
    assert matched(office) == []
    assert office.world.deadlines == {}


def test_what_a_person_was_told_of_and_what_several_fit_does_not_wait() -> None:
    office = Office(one("a", triggers=(on("cd"),)), one("b", triggers=(on("cd"),)))

    office.publish(received("told", waits=False), received("tied", "cd"))

    assert [each.waits_s for each in office.world.said(TriggerUnmatched)] == [0.0, 0.0]
    assert office.world.deadlines == {}


def test_one_that_names_its_process_waits_for_that() -> None:
    office = Office()
    fields = {"source": "manual", "process": "p"}
    office.publish(TriggerReceived(trigger_id="t", fields=fields))

    office.compile(one(triggers=(ManualTrigger(),)))
    fire(office)

    assert matched(office) == ["p"]


def test_what_a_client_said_whose_grant_is_revoked_waits_no_longer() -> None:
    office = Office()
    office.world.publish(received("theirs"), source="mallory/x")
    office.world.publish(received("ours"), source="alice")
    office.play()

    office.publish(GrantRevoked(client="mallory"))
    office.compile(one("fits", triggers=(on("ci"),)))
    fire(office)

    assert [each.trigger_id for each in office.world.said(TriggerMatched)] == ["ours"]
    assert office.world.deadlines == {}


def test_only_so_many_wait_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cortex.actors.managers.unmatched.MOST", 2)
    office = Office()

    office.publish(*(received(f"t{n}") for n in range(3)))

    assert [each.waits_s for each in office.world.said(TriggerUnmatched)] == [600.0, 600.0, 0.0]


# A request for a process that lacks something.


def unlinked(office: Office, *missing: str) -> None:
    process = one()
    office.publish(ProcessUnlinked(name="p", digest=process.digest, missing=missing))


def test_a_request_for_an_unlinked_process_waits_and_begins_once_it_is_linked_again() -> None:
    office = Office(one())
    unlinked(office, "action work")

    office.publish(ExecutionRequest(execution_id="x", process="p"))
    before = office.world.said(ExecutionStarted, ExecutionFailed)
    office.compile(one())
    fire(office)

    (deferred,) = office.world.said(ExecutionDeferred)
    (started,) = office.world.said(ExecutionStarted)
    assert before == []
    assert (deferred.missing, deferred.waits_s) == (("action work",), 600.0)
    assert started.execution_id == "x"
    assert office.world.deadlines == {}


def test_only_so_many_requests_wait_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cortex.actors.managers.waiting.MOST", 2)
    office = Office(one())
    unlinked(office, "action work")

    office.publish(*(ExecutionRequest(execution_id=f"x{n}", process="p") for n in range(3)))

    assert [each.execution_id for each in office.world.said(ExecutionDeferred)] == ["x0", "x1"]
    assert [each.execution_id for each in office.world.said(ExecutionFailed)] == ["x2"]


def test_requests_that_wait_take_only_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cortex.actors.managers.waiting.MOST_BYTES", 5_000, raising=False)
    office = Office(one())
    unlinked(office, "action work")
    large = ExecutionRequest(execution_id="large", process="p", goal=4_000 * "g")

    office.publish(large, ExecutionRequest(execution_id="more", process="p", goal=2_000 * "g"))
    office.manager, before = office.new_manager(), office.manager.snapshot()
    office.manager.restore(before)
    office.publish(ExecutionRequest(execution_id="again", process="p", goal=2_000 * "g"))
    office.compile(one())
    fire(office)
    unlinked(office, "action work")
    office.publish(ExecutionRequest(execution_id="room", process="p", goal=2_000 * "g"))

    waited = [each.execution_id for each in office.world.said(ExecutionDeferred)]
    refused = [each.execution_id for each in office.world.said(ExecutionFailed)]
    assert (waited, refused) == (["large", "room"], ["more", "again"])


@pytest.mark.parametrize(
    ("wait_s", "waits_s"), [(1e300, [600.0]), (float("inf"), [600.0]), (-1, [])]
)
def test_nobody_waits_longer_than_is_configured(wait_s: float, waits_s: list[float]) -> None:
    office = Office(one())
    unlinked(office, "action work")

    office.publish(ExecutionRequest(execution_id="x", process="p", wait_s=wait_s))

    assert [each.waits_s for each in office.world.said(ExecutionDeferred)] == waits_s


def test_it_fails_with_its_reason_if_nothing_comes_in_time() -> None:
    office = Office(one())
    unlinked(office, "action work")
    office.publish(ExecutionRequest(execution_id="x", process="p", wait_s=5.0))
    ((at_ns, _),) = office.world.deadlines.values()
    since_ns = office.world.records[-2].time_ns

    fire(office)

    (failed,) = office.world.said(ExecutionFailed)
    assert at_ns - since_ns == 5 * SECOND_NS
    assert "p is unlinked: action work is not there" in failed.reason
    assert office.world.deadlines == {}


def test_one_that_was_cancelled_meanwhile_does_not_begin() -> None:
    office = Office(one())
    unlinked(office, "action work")
    office.publish(ExecutionRequest(execution_id="x", process="p"))

    office.world.append(
        Draft.of(ExecutionCancelled(execution_id="x", reason="no")), "ProcessExecutionEngine"
    )
    office.compile(one())
    fire(office)

    assert office.world.said(ExecutionStarted) == []


def test_a_trigger_takes_an_unlinked_process_whose_execution_waits() -> None:
    office = Office(one(triggers=(on("ci"),)))
    unlinked(office, "action work")

    office.publish(received())
    office.compile(one(triggers=(on("ci"),)))
    fire(office)

    assert matched(office) == ["p"]
    assert len(office.world.said(ExecutionStarted)) == 1


# Whatever is lost between two commits.

SOURCES = ("ci", "cd")
STEPS = st.one_of(
    st.tuples(st.just("received"), st.sampled_from(SOURCES)),
    st.tuples(st.just("compiled"), st.sampled_from(SOURCES)),
    st.tuples(st.just("request"), st.just("")),
    st.tuples(st.just("unlinked"), st.just("")),
    st.tuples(st.just("linked"), st.just("")),
    st.tuples(st.sampled_from(["pump", "fire", "snapshot", "kill", "lose"]), st.just("")),
)


class Killed(Office):
    """An office whose manager is killed between any two commits, and comes back from a snapshot."""

    def __init__(self) -> None:
        super().__init__(one(), one("idle"))
        self._kept: tuple[int, bytes] = (0, b"")
        self._count = 0

    def do(self, what: str, about: str) -> None:
        self._count += 1
        match what:
            case "received":
                self.world.publish(received(f"t{self._count}", about))
            case "compiled":
                self.add(one(f"for_{about}", triggers=(on(about),)))
            case "linked":
                self.add(one())
            case "request":
                request = ExecutionRequest(execution_id=f"x{self._count}", process="p")
                self.world.publish(request)
            case "unlinked":
                gone = ProcessUnlinked(name="p", digest=one().digest, missing=("action work",))
                self.world.publish(gone)
            case "pump":
                self.world.pump(self.manager, limit=2)
            case "fire":
                self.world.fire("ProcessManager")
            case "snapshot":
                self._kept = self.cursor(), self.manager.snapshot()
            case "lose":  # handled, and killed before the commit
                self.world._handle(self.manager, 256)
                self.come_back()
            case "kill":
                self.come_back()

    def cursor(self) -> int:
        return self.world._cursors.get("ProcessManager", 0)

    def come_back(self) -> None:
        position, snapshot = self._kept
        self.manager = self.new_manager()
        if snapshot:
            self.manager.restore(snapshot)
        self.world.recall(self.manager, position, self.cursor())

    def finish(self) -> None:
        """Everything that is wanted comes, and everything is handled; no time passes."""
        for source in SOURCES:
            self.add(one(f"for_{source}", triggers=(on(source),)))
        self.add(one())
        self.play()
        while any(at_ns <= self.world.now_ns for at_ns, _ in self.world.deadlines.values()):
            fire(self)


@given(steps=st.lists(STEPS, max_size=40))
@settings(max_examples=300, deadline=None)
def test_no_kill_loses_what_waits_or_fires_it_twice(steps: list[tuple[str, str]]) -> None:
    office = Killed()
    for step in steps:
        office.do(*step)

    office.finish()

    world = office.world
    matches = [each.trigger_id for each in world.said(TriggerMatched)]
    ended = [each.trigger_id for each in world.said(TriggerUnmatched) if not each.waits_s]
    begun = [e.execution_id for e in world.said(ExecutionStarted, ExecutionFailed)]
    asked = [each.execution_id for each in world.said(ExecutionRequest)]
    assert sorted(matches + ended) == sorted(e.trigger_id for e in world.said(TriggerReceived))
    assert sorted(begun) == sorted(asked)
    assert len([e for e in world.said(ExecutionRequest) if e.trigger]) == len(matches)
    assert world.deadlines == {}


def test_a_second_wake_after_a_kill_finds_in_the_log_that_the_first_was_answered() -> None:
    office = Killed()
    for step in ("unlinked", "received", "request"):
        office.do(step, "ci")
    office.play()
    office.do("snapshot", "")
    office.add(one("fits", triggers=(on("ci"),)))
    office.add(one())
    office.play()
    while office.world.deadlines:  # both wakes of each, and none of them is handled yet
        office.world.fire("ProcessManager")
    office.world.pump(office.manager, limit=2)

    office.come_back()
    office.play()

    assert matched(office) == ["fits"]
    assert sorted(e.execution_id for e in office.world.said(ExecutionStarted)) == sorted(
        each.execution_id for each in office.world.said(ExecutionRequest)
    )


def test_a_grant_that_was_revoked_before_a_kill_ends_the_wait_of_its_triggers_after_it() -> None:
    office = Killed()
    office.play()
    office.world.publish(received("theirs"), source="mallory/x")
    office.world.publish(GrantRevoked(client="mallory"))
    office.world.pump(office.manager, limit=1)  # that it waits stands behind the revocation

    office.come_back()
    office.play()

    office.compile(one("fits", triggers=(on("ci"),)))
    assert office.world.deadlines == {}
    assert matched(office) == []


def test_a_kill_lets_no_more_triggers_wait_than_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cortex.actors.managers.unmatched.MOST", 2)
    office = Killed()
    office.play()
    office.world.publish(*(received(f"t{n}") for n in range(4)))
    office.world.pump(office.manager, limit=2)

    office.come_back()
    office.play()

    waits = [each.waits_s > 0 for each in office.world.said(TriggerUnmatched)]
    assert waits == [True, True, False, False]


def test_a_kill_lets_no_more_requests_wait_than_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cortex.actors.managers.waiting.MOST", 1)
    office = Killed()
    office.do("unlinked", "")
    office.play()
    office.do("request", "")
    office.do("request", "")
    office.world.pump(office.manager, limit=1)

    office.come_back()
    office.play()

    assert len(office.world.said(ExecutionDeferred)) == 1
    assert len(office.world.said(ExecutionFailed)) == 1
