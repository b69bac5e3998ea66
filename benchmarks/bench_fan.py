"""What does a step with 1,000 items, 16 at once, make of the speed of as many single executions?

A process of one step that goes over a list of 1,000 numbers with a trivial action (it adds one),
and a process of one such step that is run 1,000 times, 16 executions at a time: the same action,
the same components (ProcessDefinitionAccessor, ProcessManager, ProcessExecutionEngine and one
worker), on SQLite. Both are in items a second. The bare limit is a loop of ``sqlite3`` transactions
that write as many events as the fan has, two transactions for 16 items. All in one run and in turn.

Then, without a disk: how long the fold of one item takes where 1,000 and where 10,000 items came
before it, and how large the state is. It must not grow with the number of items.
"""

import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

from adding import COMPONENTS, INSERT, RECORD, bare_log, drive, submit
from measure import (
    Figures,
    Ratios,
    Run,
    arguments,
    heading,
    in_turn,
    keep,
    quickly,
    ratio,
    report,
    run,
)

from cortex.bus import Client, Event
from cortex.bus.events import (
    ExecutionCompleted,
    ExecutionRequest,
    ExecutionStarted,
    StepDelegated,
    StepFanned,
    StepItemChanged,
)
from cortex.runtime.executions import ENGINE, Execution, evolve
from cortex.runtime.kernel import Config, Home, Runtime

RESULT = Path(__file__).parent / "results" / "bench_fan.txt"
ITEMS = 1_000
AT_ONCE = 16
GOAL = 0.6  # of the speed of single executions
ROWS = 6  # events of one item: begun, its start, asked, answered, its end, noted
PROCESSES = {
    "fan": """
process: fan
version: 1
description: Add one to each
inputs: {values: list}
steps:
  - id: add
    for_each: ${inputs.values}
    as: value
    at_once: 16
    action: add_one
    with: {value: "${value}"}
outputs:
  results: {type: list, value: "${steps.add.results}"}
""",
    "single": """
process: single
version: 1
description: Add one
inputs: {value: integer}
steps:
  - {id: add, action: add_one, with: {value: "${inputs.value}"}}
outputs:
  value: {type: integer, value: "${steps.add.value}"}
""",
}


def fan_out(client: Client, name: str, items: int) -> float:
    """Seconds that one execution with so many items takes."""
    feed = client.follow(("execution.completed", None), ("execution.failed", None))
    began = time.perf_counter()
    values = list(range(items))
    client.publish(ExecutionRequest(execution_id=name, process="fan", inputs={"values": values}))
    while True:
        ended = feed.next(60.0)
        if not ended:
            sys.exit("nothing happened for a minute")
        for record in ended:
            event = client.vocabulary.read(record)
            if getattr(event, "execution_id", "") != name:
                continue
            took_s = time.perf_counter() - began
            feed.close()
            wanted = [{"value": each + 1} for each in values]
            if not isinstance(event, ExecutionCompleted) or event.outputs != {"results": wanted}:
                sys.exit(str(event))
            return took_s


def one_by_one(client: Client, name: str, items: int) -> float:
    """Seconds that so many executions take, a new one for each that has completed."""
    asked = [
        ExecutionRequest(execution_id=f"{name}{n}", process="single", inputs={"value": 0})
        for n in range(items)
    ]
    took_s: float = drive(client, asked, AT_ONCE, 1)
    return took_s


def ours(how: str, items: int) -> Figures:
    """Items a second of a fan, or of as many single executions."""
    work = fan_out if how == "fan" else one_by_one
    with tempfile.TemporaryDirectory() as folder:
        home = Home.create(Path(folder) / ".cortex")
        with Runtime(home, components=COMPONENTS, config=Config()) as runtime:
            client = runtime.client("bench")
            submit(runtime, client, PROCESSES)
            work(client, "warm", 2 * AT_ONCE)
            return {"items": items / work(client, "x", items)}


def bare(items: int) -> Figures:
    """As many events in transactions of 16 items."""
    with tempfile.TemporaryDirectory() as folder:
        connection = bare_log(Path(folder), "normal")
        began = time.perf_counter()
        for first in range(0, items, AT_ONCE):
            batch = range(first, min(first + AT_ONCE, items))
            for versions in (range(3), range(3, ROWS)):  # begun and asked; answered and noted
                connection.execute("begin immediate")
                rows = [(f"execution/{n}", version, RECORD) for n in batch for version in versions]
                connection.executemany(INSERT, rows)
                connection.execute("commit")
        took_s = time.perf_counter() - began
        connection.close()
    return {"items": items / took_s}


def fold(items: int) -> Figures:
    """Microseconds that the fold of one item takes after so many: the median of the last 200."""
    state = _folded(Execution(execution_id="x"), _begun(items))
    took_s: list[float] = []
    for item in range(1, items + 1):
        events = _of_item(item)
        began = time.perf_counter()
        state = _folded(state, events)
        took_s.append(time.perf_counter() - began)
    if state.fan is None or state.fan.ended != items:
        sys.exit("not all items are over")
    return {"item_us": statistics.median(took_s[-200:]) * 1e6}


def memory(items: int) -> Figures:
    """Bytes that the state takes for each item that is over."""
    tracemalloc.start()
    state = _folded(Execution(execution_id="x"), _begun(items))
    before, _ = tracemalloc.get_traced_memory()
    for item in range(1, items + 1):
        state = _folded(state, _of_item(item))
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    if state.fan is None or state.fan.ended != items:
        sys.exit("not all items are over")
    return {"item_bytes": (after - before) / items}


def _begun(items: int) -> list[Event]:
    started = ExecutionStarted(
        execution_id="x",
        process="fan",
        process_version=1,
        digest="d",
        linked="l",
        inputs={},
        goal="",
        workspace="",
        trigger="",
    )
    fanned = StepFanned(execution_id="x", step_id="add", items=items, at_once=AT_ONCE)
    return [started, fanned]


def _of_item(item: int) -> list[Event]:
    child = f"child of {item:08}"
    return [
        StepDelegated(execution_id="x", step_id="add", child=child, purpose="item", item=item),
        StepItemChanged(
            execution_id="x",
            step_id="add",
            item=item,
            child=child,
            status="completed",
            result={"value": item},
            bytes=10,
        ),
    ]


def _folded(state: Execution, events: list[Event]) -> Execution:
    for event in events:
        own = not isinstance(event, ExecutionStarted)
        state = evolve(state, event, 1, own=own, source=ENGINE)
    return state


def lines(found: dict[str, Figures]) -> Iterator[str]:
    """What was found."""
    fan, single, limit = (found.get(name) for name in ("fan", "single", "bare"))
    if fan and single and limit:
        share = fan["items"] / single["items"]
        yield (
            f"{ITEMS:,} items, {AT_ONCE} at once: {fan['items']:8,.0f} items/s, "
            f"{share:.2f} x as many single executions (goal >= {GOAL}), {fan['rss_mb']:.0f} MB"
        )
        yield (f"    single executions {single['items']:8,.0f} items/s, {single['rss_mb']:.0f} MB")
        yield (
            f"    bare              {limit['items']:8,.0f} items/s, "
            f"ours {fan['items'] / limit['items']:.2f} x"
        )
    for items in (1_000, 10_000):
        folded, kept = found.get(f"fold/{items}"), found.get(f"memory/{items}")
        if folded and kept:
            yield (
                f"the fold of one item after {items:6,}: {folded['item_us']:6.1f} us, "
                f"{kept['item_bytes']:,.0f} bytes an item"
            )


def quick() -> Ratios:
    """Items a second to bare transactions, and to single executions."""
    items = 20 * AT_ONCE
    return {
        "items": ratio(lambda: ours("fan", items)["items"], lambda: bare(items)["items"]),
        "of single executions": ratio(
            lambda: ours("fan", items)["items"], lambda: ours("single", items)["items"]
        ),
    }


def child(*command: object) -> Run:
    """A measurement in a process of its own."""
    words = [str(word) for word in command]
    return lambda: run(sys.executable, __file__, "--child", *words)


def main() -> None:
    """Measure, print and keep."""
    quickly(quick)
    if sys.argv[1:2] == ["--child"]:
        what, count = sys.argv[2], int(sys.argv[3])
        measures = {"bare": bare, "fold": fold, "memory": memory}
        report(measures[what](count) if what in measures else ours(what, count))
        return
    options = arguments(__doc__).parse_args()
    runs = {"fan": child("fan", ITEMS), "single": child("single", ITEMS)}
    runs["bare"] = child("bare", ITEMS)
    for items in (1_000, 10_000):
        runs[f"fold/{items}"] = child("fold", items)
        runs[f"memory/{items}"] = child("memory", items)
    runs = {name: measure for name, measure in runs.items() if options.only in name}
    head = heading(options.rounds)
    keep([head, *lines(in_turn(options.rounds, runs))], RESULT)


if __name__ == "__main__":
    main()
