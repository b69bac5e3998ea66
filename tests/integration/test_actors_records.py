"""The records of executions, as the accessor answers for them while executions run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cortex.actors.accessors import ExecutionRecordAccessor
from cortex.bus.events import ExecutionAnswer, ExecutionGet, ExecutionList
from cortex.runtime.kernel import Home, Runtime

from ..staff_world import QUICK, Run, World

SOURCE = (
    "process: p\nversion: 1\ndescription: For a test\nsteps:\n"
    "  - id: only\n    description: Do it\n    action: shell\n    with: {run: RUN}\n"
)


@pytest.fixture
def world(home: Home) -> Iterator[World]:
    with Runtime(home, components=[*QUICK, ExecutionRecordAccessor]) as runtime:
        world = World(runtime)
        world.compiled(SOURCE.replace("RUN", "'true'"))
        world.compiled(SOURCE.replace("RUN", "'false'").replace("process: p", "process: q"))
        yield world


def got(world: World, execution_id: str) -> ExecutionAnswer:
    answer = world.client.ask(ExecutionGet(execution_id=execution_id))
    assert isinstance(answer, ExecutionAnswer)
    return answer


def ids(world: World, query: ExecutionList) -> list[str]:
    answer = world.client.ask(query)
    assert isinstance(answer, ExecutionAnswer)
    return [each["execution_id"] for each in answer.executions]


def status(answer: ExecutionAnswer) -> list[tuple[str, str]]:
    return [(each["execution_id"], each["status"]) for each in answer.executions]


def test_an_execution_is_told_as_it_stands_at_the_position_of_the_answer(world: World) -> None:
    run: Run = world.run("p")

    answer = got(world, run.execution_id)

    assert status(answer) == [(run.execution_id, "completed")]
    assert answer.position >= run.said[-1].record.position


def test_the_beginning_of_an_id_is_enough_where_no_other_begins_so(world: World) -> None:
    for execution_id in ("k3f9", "k3f9q2", "m7xx"):
        request = world.run("p").said[0].event
        again = type(request)(execution_id=execution_id, process="p")
        world.stopped(execution_id, world.client.publish(again))

    assert status(got(world, "m7")) == [("m7xx", "completed")]
    assert status(got(world, "k3f9")) == [("k3f9", "completed")]
    assert status(got(world, "k3")) == []
    assert status(got(world, "nobody")) == []
    assert status(got(world, "")) == []
    assert status(got(world, "%")) == []


def test_executions_are_listed_newest_first_and_by_what_is_asked(world: World) -> None:
    first, failed, last = world.run("p"), world.run("q"), world.run("p")

    assert ids(world, ExecutionList()) == [each.execution_id for each in (last, failed, first)]
    assert ids(world, ExecutionList(status="halted")) == [failed.execution_id]
    assert ids(world, ExecutionList(process="p", limit=1)) == [last.execution_id]
    assert ids(world, ExecutionList(text="no-such-word")) == []


def test_items_of_a_step_are_listed_where_their_execution_is_named(world: World) -> None:
    world.compiled(
        "process: many\nversion: 1\nsteps:\n  - id: each\n    for_each: [a, b, c]\n"
        "    action: shell\n    with: {run: 'true'}\n"
    )
    run = world.run("many")

    assert ids(world, ExecutionList()) == [run.execution_id]
    answer = world.client.ask(ExecutionList(parent=run.execution_id))
    assert isinstance(answer, ExecutionAnswer)
    assert sorted(each["item"] for each in answer.executions) == [1, 2, 3]
    assert ids(world, ExecutionList(parent="nobody")) == []


def test_a_runtime_in_memory_leaves_no_records_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    with Runtime(components=[*QUICK, ExecutionRecordAccessor]) as runtime:
        world = World(runtime)
        world.compiled(SOURCE.replace("RUN", "'true'"))
        assert status(got(world, world.run("p").execution_id))

    assert list(tmp_path.iterdir()) == []
