"""A runtime that repairs a checkout: `python repair_child.py HOME CHECKOUT`; it may be killed."""

import sys
from collections.abc import Iterator
from pathlib import Path

from cortex.actors.accessors import ProcessDefinitionAccessor
from cortex.actors.engines import CompilationEngine, ProcessExecutionEngine
from cortex.actors.handlers import CommitAndPush, RunTests, WriteCode
from cortex.actors.managers import ProcessManager
from cortex.bus import Event
from cortex.bus.events import ExecutionRequest, ModelInvoke, ModelResponded, ProcessSubmit
from cortex.runtime.kernel import Component, Delivery, Home, Runtime, Serves, on

PATIENCE_S = 120.0
PROCESS = """\
process: repair
version: 1
description: Write, test, commit
steps:
  - id: fix
    action: write_code
    description: Fix it
  - id: verify
    action: run_tests
    description: Test it
    with: {must_pass: true}
  - id: commit
    action: commit_and_push
    description: Commit it
    with: {message: Add up, hooks: true}
"""
EDIT = {"path": "cart.py", "old": "result -= price", "new": "result += price"}


class OneAnswer(Component):
    """A model that knows one edit."""

    workers = 1
    serves = (Serves("model", "one", traits={"name": "one", "window": 64_000, "local": True}),)

    @on(ModelInvoke)
    def invoke(self, event: ModelInvoke, delivery: Delivery) -> Iterator[Event]:
        """Give it."""
        yield ModelResponded(
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            model=event.model,
            prompt=event.prompt,
            answer={"text": "", "data": {"summary": "Add up", "edits": [EDIT]}},
        )


STAFF = (
    ProcessDefinitionAccessor,
    ProcessManager,
    ProcessExecutionEngine,
    CompilationEngine,
    OneAnswer,
    CommitAndPush,
    RunTests,
    WriteCode,
)


def main(home: Path, checkout: str) -> None:
    """Begin the repair where it was not begun, and wait until it is over."""
    with Runtime(Home.create(home), components=STAFF) as runtime:
        client = runtime.client("tests")
        if not any(client.read_stream("execution/e1")):
            source = runtime.blobs.put(PROCESS.encode())
            client.publish(ProcessSubmit(sources={"repair": source}))
            client.publish(
                ExecutionRequest(execution_id="e1", process="repair", workspace=checkout)
            )
        feed = client.follow(after=0)
        while True:
            for record in feed.next(PATIENCE_S) or sys.exit("nothing came"):
                if record.topic in ("execution.completed", "execution.halted", "execution.failed"):
                    sys.stdout.write(f"{record.topic}\n")
                    return


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
