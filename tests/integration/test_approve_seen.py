"""`cortex execution approve` answers the question that it read, whatever is asked meanwhile."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import Client, Recorded
from cortex.bus.events import ExecutionPaused, ExecutionResumed
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.sessions import asked_by_gate


class Overtaken:
    """A client that others are faster than: something is said right after it has read a stream."""

    def __init__(self, client: Client, others: Any) -> None:
        self._client, self._others = client, others

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def read_stream(self, stream: str) -> Iterator[Recorded]:
        yield from self._client.read_stream(stream)
        self._others()


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with Runtime(Home.create(tmp_path / ".cortex"), components=[]) as runtime:
        yield runtime


def asks(step_id: str) -> ExecutionPaused:
    return ExecutionPaused(
        execution_id="x", reason="approval", step_id=step_id, question=f"{step_id}?", gate="p/g"
    )


def test_a_question_that_is_asked_after_the_reading_was_not_seen(runtime: Runtime) -> None:
    engine, said = runtime.client("ProcessExecutionEngine"), list[int]()
    engine.publish(asks("a"), causation=1)

    def another() -> None:
        resumed = ExecutionResumed(execution_id="x", step_id="a")
        said.append(engine.publish(resumed, asks("b"), causation=1))

    alice: Any = Overtaken(runtime.client("alice"), another)

    asked, seen = asked_by_gate(alice, "x")

    assert asked.question == "a?"
    assert seen < said[0]
