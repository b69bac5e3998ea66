"""A request waits for what was submitted before it, and for nothing else."""

import importlib
from typing import Any

import msgspec
import pytest

from cortex.bus import Draft
from cortex.bus.events import (
    VOCABULARY,
    ComponentFailed,
    ExecutionCancelled,
    ExecutionFailed,
    ExecutionRequest,
    ExecutionStarted,
    ProcessCompiled,
    ProcessSubmit,
    ProcessUnchanged,
    StepWake,
)
from cortex.runtime.executions import ENGINE
from cortex.runtime.processes import LinkedProcess

from .test_manager_requests import Office, one

waiting_part: Any = importlib.import_module("cortex.actors.managers.waiting")


def submit(office: Office) -> int:
    """Submit sources; their position."""
    office.publish(ProcessSubmit(sources={"p.yaml": "digest"}))
    return len(office.world.records)


def compiled(office: Office, process: LinkedProcess) -> ProcessCompiled:
    return ProcessCompiled(
        name=process.name,
        process_version=process.version,
        digest=process.digest,
        source_digest="s",
        linked=office.world.blobs.put(msgspec.json.encode(process)),
        source="s",
    )


def answers(office: Office) -> list[ExecutionStarted | ExecutionFailed]:
    return office.world.said(ExecutionStarted, ExecutionFailed)


def request(office: Office, process: str = "p", **more: object) -> None:
    office.publish(ExecutionRequest(execution_id="x", process=process, **more))  # type: ignore[arg-type]


def wake(office: Office) -> None:
    assert office.world.fire()
    office.play()


@pytest.mark.parametrize("restarted", [False, True])
def test_a_request_right_after_a_submission_waits_until_all_of_it_is_compiled(
    restarted: bool,
) -> None:
    office = Office()
    position = submit(office)
    request(office, "q")
    before = answers(office)
    for process in (one("p"), one("q")):
        draft = Draft.of(compiled(office, process), causation=position)
        office.world.append(draft, "ProcessDefinitionAccessor")
    office.world.pump(office.manager, limit=1)
    if restarted:
        waiting = office.manager.snapshot()
        office.manager = office.new_manager()
        office.manager.restore(waiting)
    office.play()

    wake(office)

    assert before == []
    (started,) = answers(office)
    assert isinstance(started, ExecutionStarted)
    assert started.process == "q"
    assert office.world.deadlines == {}


def test_a_request_takes_the_version_that_was_submitted_right_before_it() -> None:
    office = Office(one())
    position = submit(office)
    request(office)
    draft = Draft.of(compiled(office, one(version=2)), causation=position)
    office.world.append(draft, "ProcessDefinitionAccessor")
    office.play()

    wake(office)

    (started,) = answers(office)
    assert isinstance(started, ExecutionStarted)
    assert started.process_version == 2


def test_what_needs_no_compiler_does_not_wait() -> None:
    office = Office(one())
    submit(office)

    request(office, process_version=1)
    office.publish(ExecutionRequest(execution_id="y", process="p", parent="x"))
    office.publish(ExecutionRequest(execution_id="z"))

    assert [type(each) for each in answers(office)] == [ExecutionStarted] * 3


def test_a_request_does_not_wait_for_ever_for_a_compiler_that_says_nothing() -> None:
    office = Office()
    submit(office)
    request(office)

    wake(office)
    request(office)

    failed = answers(office)
    assert isinstance(failed[0], ExecutionFailed)
    assert failed[0].reason.startswith("there is no process or interface p")
    assert len(failed) == 2


@pytest.mark.parametrize("parked", [False, True])
def test_a_submission_that_came_to_nothing_is_not_waited_for(parked: bool) -> None:
    office = Office(one())
    position = submit(office)
    request(office)

    answer = (
        ComponentFailed(component="ProcessDefinitionAccessor", reason="no", position=position)
        if parked
        else ProcessUnchanged(files=("p.yaml",))
    )
    office.world.append(Draft.of(answer, causation=position), "ProcessDefinitionAccessor")
    office.play()
    wake(office)

    assert [type(each) for each in answers(office)] == [ExecutionStarted]


def test_an_answer_to_one_submission_does_not_let_go_what_waits_for_another() -> None:
    office = Office()
    first, second = submit(office), submit(office)
    request(office)

    for position, process in ((first, one("other")), (second, one())):
        draft = Draft.of(compiled(office, process), causation=position)
        office.world.append(draft, "ProcessDefinitionAccessor")
        office.play()
    wake(office)

    assert isinstance(answers(office)[0], ExecutionStarted)


@pytest.mark.parametrize("restarted", [False, True])
def test_of_too_many_requests_that_wait_for_the_compiler_one_more_fails_at_once(
    restarted: bool,
) -> None:
    office = Office()
    submit(office)
    for number in range(1_000):
        office.publish(ExecutionRequest(execution_id=f"e{number}", process="p"))
    if restarted:
        waiting = office.manager.snapshot()
        office.manager = office.new_manager()
        office.manager.restore(waiting)

    office.publish(ExecutionRequest(execution_id="one-more", process="p"))

    (refused,) = answers(office)
    assert isinstance(refused, ExecutionFailed)
    assert refused.execution_id == "one-more"
    assert "1,000 requests" in refused.reason
    assert "ask again" in refused.reason


def test_requests_that_wait_for_the_compiler_take_a_bounded_room() -> None:
    office = Office()
    submit(office)
    for number in range(20):
        office.publish(
            ExecutionRequest(execution_id=f"e{number}", process="p", inputs={"a": "x" * 1_000_000})
        )

    refused = answers(office)

    assert [each.execution_id for each in refused] == ["e16", "e17", "e18", "e19"]
    assert all(isinstance(each, ExecutionFailed) for each in refused)


def test_a_request_that_was_cancelled_while_it_waited_for_the_compiler_begins_nothing() -> None:
    office = Office(one())
    position = submit(office)
    request(office)
    office.world.append(Draft.of(ExecutionCancelled(execution_id="x", reason="enough")), ENGINE)

    draft = Draft.of(compiled(office, one(version=2)), causation=position)
    office.world.append(draft, "ProcessDefinitionAccessor")
    office.play()
    wake(office)

    assert answers(office) == []


@pytest.mark.parametrize("compiling", [False, True])
def test_a_request_that_waits_is_measured_once(
    compiling: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[str] = []
    size_of = waiting_part._size

    def counted(request: ExecutionRequest) -> int:
        measured.append(request.execution_id)
        return int(size_of(request))

    monkeypatch.setattr(waiting_part, "_size", counted)
    held = waiting_part.Waiting(lambda _: iter(()), VOCABULARY)
    event = ExecutionRequest(execution_id="x", process="p")

    if compiling:
        held.submit(ProcessSubmit(sources={"p.yaml": "digest"}), 1, 0)
        held.hold(event, 0)
        held.woken(StepWake(execution_id="x", step_id="", what="request"))
    else:
        assert held.has_room(event)
        list(held.defer(event, "p", ("action a",), 0, 60.0))

    assert measured == ["x"]
