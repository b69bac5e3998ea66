"""What the benchmarks of steps and of items share: one trivial action, and what drives it."""

import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cortex.bus import Client, Event
from cortex.bus.events import (
    ExecutionCompleted,
    ExecutionRequest,
    ProcessSubmit,
    StepCompleted,
    StepExecute,
)
from cortex.runtime.kernel import Component, Delivery, Runtime, Serves, on

COMPONENTS = (
    "cortex.actors.accessors:ProcessDefinitionAccessor",
    "cortex.actors.managers:ProcessManager",
    "cortex.actors.engines:ProcessExecutionEngine",
    "adding:AddOne",
)
RECORD = b"x" * 350  # as large as our records are
INSERT = "insert into events (stream, version, record) values (?, ?, ?)"


class AddOne(Component):
    """The trivial action."""

    workers = 1
    serves = (Serves("action", "add_one", effect="none"),)

    @on(StepExecute, where={"action": "add_one"})
    def carry_out(self, event: StepExecute, _: Delivery) -> Iterator[Event]:
        """Add one."""
        yield StepCompleted(
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            result={"value": event.parameters["value"] + 1},
        )


def submit(runtime: Runtime, client: Client, processes: Mapping[str, str]) -> None:
    """Have *processes*, which are sources by name, compiled."""
    feed = client.follow(("process.compiled", None), ("process.rejected", None))
    put = runtime.blobs.put
    sources = {f"{name}.yaml": put(text.encode()) for name, text in processes.items()}
    client.publish(ProcessSubmit(sources=sources))
    compiled = 0
    while compiled < len(processes):
        for record in feed.next(30.0):
            if record.topic != "process.compiled":
                sys.exit(str(runtime.vocabulary.read(record)))
            compiled += 1
    feed.close()


def drive(client: Client, asked: Sequence[ExecutionRequest], at_once: int, steps: int) -> float:
    """Seconds that the executions *asked* for take; a new one begins when one has completed.

    Each adds one to its input 0 in so many *steps*.
    """
    feed = client.follow(("execution.completed", None), ("execution.failed", None))
    began = time.perf_counter()
    client.publish(*asked[:at_once])
    done, sent = 0, min(at_once, len(asked))
    while done < len(asked):
        ended = feed.next(60.0)
        if not ended:
            sys.exit(f"{done} of {len(asked)} executions completed, then nothing for a minute")
        for record in ended:
            event = client.vocabulary.read(record)
            if not isinstance(event, ExecutionCompleted) or event.outputs != {"value": steps}:
                sys.exit(str(event))
        done += len(ended)
        if fresh := asked[sent : sent + len(ended)]:
            client.publish(*fresh)
            sent += len(fresh)
    took_s = time.perf_counter() - began
    feed.close()
    return took_s


def bare_log(folder: Path, synchronous: str) -> sqlite3.Connection:
    """A log with nothing around it, which takes rows by `INSERT`."""
    connection = sqlite3.connect(folder / "log.db", isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute(f"pragma synchronous = {synchronous}")
    connection.execute("pragma wal_autocheckpoint = 16000")
    connection.execute(
        "create table events (position integer primary key, stream text, version integer, "
        "record blob, unique (stream, version)) strict"
    )
    return connection
