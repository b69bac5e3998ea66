"""Measures what readers pay for comparing records with their leaf hashes: for `bench_log.py`.

A page as a user gets it: `cortex events query`, and `cortex trace` of one execution, in this
process, their output thrown away; with the comparison and without it in turn. The processor's time
counts, so that what else the machine does hardly shows.
"""

import contextlib
import importlib
import io
import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from cortex.bus import FORMAT, Batch, Draft, Event, Recorded, Row, encode
from cortex.bus.events import ExecutionRequest, StepCompleted, StepExecute
from cortex.runtime.cli import main
from cortex.runtime.log import EventLog
from cortex.runtime.projections import EventIndex, Runner

COUNTS = (1_000, 20_000)  # events of a log
TRACED = "k3f9q2m7"
SOURCE: Any = importlib.import_module("cortex.runtime.log.sqlite")  # where a page is compared


def events_of(execution_id: str, count: int) -> Iterator[Event]:
    """As many events of one execution: steps that are asked for and done."""
    yield ExecutionRequest(execution_id=execution_id, goal="make the tests pass", workspace="/w")
    for number in range(1, count):
        step_id = f"step_{(number + 1) // 2}"
        if number % 2:
            parameters = {"command": "pytest -q tests/unit", "timeout_s": 600}
            yield StepExecute(
                execution_id=execution_id, step_id=step_id, action="shell", parameters=parameters
            )
        else:
            result = {"exit_code": 0, "summary": "148 passed in 12.3 s"}
            yield StepCompleted(execution_id=execution_id, step_id=step_id, result=result)


def rows_of(count: int) -> Iterator[Row]:
    """Rows of a log: the execution that is traced has the first 1,000, others have 100 each."""
    made = [(TRACED, min(count, 1_000))]
    made += [(f"{number:08x}", 100) for number in range(max(0, count - 1_000) // 100)]
    position = 0
    for execution_id, many in made:
        for version, event in enumerate(events_of(execution_id, many), 1):
            position += 1
            draft = Draft.of(event)
            record = Recorded(
                format=FORMAT,
                position=position,
                stream=draft.stream,
                version=version,
                id=position.to_bytes(16, "big"),
                time_ns=1_700_000_000_000_000_000 + position * 1_000_000,
                topic=draft.topic,
                schema=draft.schema,
                correlation=execution_id,
                causation=position - 1 or None,
                source="process_execution_engine",
                key=draft.key,
                subject=None,
                body=draft.body,
            )
            yield Row(position, draft.stream, version, encode(record))


def fill(home: Path, count: int, batch: int = 10) -> None:
    """A home with that many events, recorded *batch* at a time."""
    home.mkdir(parents=True)
    log, rows = EventLog.open(home / "log.db"), list(rows_of(count))
    for start in range(0, count, batch):
        log.write(Batch(rows=rows[start : start + batch]))
    runner = Runner.open(home / "projections.db", [EventIndex()])
    runner.advance(log)
    runner.close()
    log.close()


def _as_it_is(*_: object) -> None:
    """Compare nothing."""


def took_s(home: Path, *command: str, checked: bool) -> float:
    """Seconds of this process that a command takes over a home."""
    with contextlib.ExitStack() as opened:
        if not checked:
            for name in ("check_page", "check_stream"):
                opened.enter_context(mock.patch.object(SOURCE, name, _as_it_is))
        opened.enter_context(contextlib.redirect_stdout(io.StringIO()))
        opened.enter_context(contextlib.redirect_stderr(io.StringIO()))
        began_s = time.process_time()
        code = main([*command, "--home", str(home)])
        ended_s = time.process_time()
    if code:
        raise RuntimeError(f"{command} ended with {code}")
    return ended_s - began_s


def compared(home: Path, *command: str, rounds: int) -> tuple[float, float]:
    """Seconds with the comparison, and the share of a command's time that it leaves: 1 is free."""
    took_s(home, *command, checked=True)  # what is imported and read for the first time
    pairs = []
    for number in range(rounds):
        order = (True, False) if number % 2 else (False, True)
        found = {checked: took_s(home, *command, checked=checked) for checked in order}
        pairs.append((found[True], found[False] / found[True]))
    return (
        statistics.median(with_s for with_s, _ in pairs),
        statistics.median(share for _, share in pairs),
    )


@contextlib.contextmanager
def homes(folder: Path, *counts: int) -> Iterator[dict[int, Path]]:
    """Homes by the number of their events; nothing of this user's is touched."""
    made = {count: folder / str(count) / ".cortex" for count in counts}
    for count, home in made.items():
        fill(home, count)
    with mock.patch.dict(os.environ, {"XDG_DATA_HOME": str(folder / "data")}):
        yield made


def lines(folder: Path, rounds: int) -> Iterator[str]:
    """What the comparison costs of each command."""
    with homes(folder, *COUNTS) as made:
        for count, home in made.items():
            for command in (("events", "query"), ("trace", TRACED)):
                seconds, share = compared(home, *command, rounds=rounds)
                events = count if command[0] == "events" else min(count, 1_000)
                yield (
                    f"cortex {' '.join(command)}, {events:,} of {count:,} events: "
                    f"{seconds * 1_000:,.0f} ms, of which {1 - share:.1%} compare leaf hashes "
                    "(goal < 10%)"
                )
