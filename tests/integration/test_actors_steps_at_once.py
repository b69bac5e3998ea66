"""A step and the request for the next one are one transaction, while the engine is idle."""

from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import cortex
from cortex.bus import Client, Recorded
from cortex.bus.events import ExecutionCompleted, ExecutionRequest, ProcessCompiled, ProcessSubmit
from cortex.runtime.kernel import Home, Runtime

COMPONENTS = (
    "cortex.actors.accessors:ProcessDefinitionAccessor",
    "cortex.actors.managers:ProcessManager",
    "cortex.actors.engines:ProcessExecutionEngine",
)
PROCESS = """
process: thrice
version: 1
description: Add one, three times
inputs:
  value: { type: integer }
steps:
  - { id: s1, action: add_one, description: Add one, with: { value: "${inputs.value}" } }
  - { id: s2, action: add_one, description: Add one, with: { value: "${steps.s1.value}" } }
  - { id: s3, action: add_one, description: Add one, with: { value: "${steps.s2.value}" } }
outputs:
  value: { type: integer, value: "${steps.s3.value}" }
"""
EXECUTIONS = 20


@cortex.action("add_one", effect="none")
def add_one(value: int) -> int:
    """One more."""
    return value + 1


def carried_out(client: Client, number: int) -> list[Recorded]:
    """The stream of an execution that has ended."""
    with client.follow(ExecutionCompleted, quiet_s=60.0) as feed:
        client.publish(
            ExecutionRequest(execution_id=f"e{number}", process="thrice", inputs={"value": number})
        )
        ended = feed.next(60.0)
    assert ended is not None
    assert ended.outputs == {"value": number + 3}
    return [*client.read_stream(f"execution/e{number}")]


def test_what_follows_from_a_step_is_recorded_with_it(tmp_path: Path) -> None:
    with Runtime(Home.create(tmp_path / ".cortex"), components=[*COMPONENTS, add_one]) as runtime:
        client = runtime.client("tests")
        with client.follow(ProcessCompiled) as feed:
            sources = {"thrice.yaml": runtime.blobs.put(PROCESS.encode())}
            client.publish(ProcessSubmit(sources=sources))
            assert feed.next(60.0) is not None
        streams = [carried_out(client, number) for number in range(EXECUTIONS)]

    together = defaultdict[str, int](int)
    for records in streams:
        for before, after in pairwise(records):
            assert after.topic != "step.execute" or after.causation == before.position
            # All events of one transaction have its time.
            together[f"{before.topic} {after.topic}"] += before.time_ns == after.time_ns
    # At times the engine is busy with the end of the execution before.
    assert together["step.completed step.execute"] > EXECUTIONS / 2
    assert together["step.completed execution.completed"] > EXECUTIONS / 4
    assert together["step.execute step.completed"] == 0
