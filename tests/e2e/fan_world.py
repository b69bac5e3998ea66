"""A runtime with two large steps that is going to be killed: `python fan_world.py FOLDER ITEMS`.

One step goes over its items with an action that is repeated under its key, the other with one that
may happen once only. A person is played, too: who asks what happened is told what the disk shows.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cortex.bus import Event
from cortex.bus.events import (
    EffectSettled,
    EffectUnknown,
    ExecutionCompleted,
    ExecutionPaused,
    ExecutionRefused,
    ExecutionRequest,
    ProcessCompiled,
    ProcessRejected,
    ProcessSubmit,
    StepCompleted,
    StepExecute,
)
from cortex.runtime.executions import do_again, execution_of, it_happened
from cortex.runtime.kernel import Component, Delivery, Home, Output, Runtime, Serves, built_in, on

AT_ONCE = 16
PATIENCE_S = 120.0
WORK_S = 0.004
PROCESS = """
process: {name}
version: 1
inputs: {{items: list}}
outputs: {{results: list}}
steps:
  - id: each
    for_each: ${{inputs.items}}
    as: n
    at_once: 16
    action: {action}
    with: {{n: "${{n}}"}}
"""
ACTIONS = {"keyed": "put_down", "single": "add_line"}  # by process


class Number(msgspec.Struct, frozen=True):
    """An item, as it is handed over and given back."""

    n: int


class Hands(Component):
    """Leaves a file for each effect: under its key, or one more line for each time it happens."""

    workers = AT_ONCE
    serves = (
        Serves("action", "put_down", Number, Number, effect="idempotent"),
        Serves("action", "add_line", Number, Number, effect="once"),
    )

    def __init__(self, home: Home) -> None:
        self._folder = home.path.parent

    @on(StepExecute, where={"action": "put_down"})
    def put_down(self, event: StepExecute, delivery: Delivery) -> Iterator[Output]:
        n = int(event.parameters["n"])
        (self._folder / "keyed" / delivery.effect_key().replace("/", "_")).write_text(str(n))
        time.sleep(WORK_S)
        yield _completed(event, n)

    @on(StepExecute, where={"action": "add_line"})
    def add_line(self, event: StepExecute, delivery: Delivery) -> Iterator[Output]:
        n = int(event.parameters["n"])
        time.sleep(WORK_S)  # killed before it, and after it
        with (self._folder / "single" / str(n)).open("a") as file:
            file.write("it happened\n")
        time.sleep(WORK_S)
        yield _completed(event, n)


class Person:
    """Asks for both executions, says what became of effects, and waits for the end."""

    def __init__(self, runtime: Runtime, folder: Path, items: int) -> None:
        self._runtime, self._folder, self._items = runtime, folder, items
        self._client = runtime.client("person")
        self._compiled: set[str] = set()
        self._over: set[str] = set()
        self._asked: dict[str, str] = {}  # item executions with an effect of unknown outcome

    def run(self) -> None:
        """Go on until both are over, or until killed."""
        seen = 0
        for record in self._client.read():
            self._hear(self._runtime.vocabulary.read(record))
            seen = record.position
        feed = self._client.follow(after=seen)
        if self._compiled != ACTIONS.keys():
            put = self._runtime.blobs.put
            texts = {n: PROCESS.format(name=n, action=action) for n, action in ACTIONS.items()}
            sources = {f"{name}.yaml": put(text.encode()) for name, text in texts.items()}
            self._client.publish(ProcessSubmit(sources=sources))
        requested = False
        while self._over != ACTIONS.keys():
            if self._compiled == ACTIONS.keys() and not requested:
                self._request()
                requested = True
            self._settle()
            records = feed.next(PATIENCE_S)
            if not records:
                raise SystemExit(f"nothing happens any more; over: {sorted(self._over)}")
            for record in records:
                self._hear(self._runtime.vocabulary.read(record))

    def _hear(self, event: Event) -> None:
        match event:
            case ProcessCompiled():
                self._compiled.add(event.name)
            case ProcessRejected():
                raise SystemExit(f"it was rejected: {event.diagnostics}")
            case ExecutionCompleted() if event.execution_id in ACTIONS:
                self._over.add(event.execution_id)
            case ExecutionPaused() if event.reason == "effect":
                self._asked[event.execution_id] = "paused"
            case EffectSettled():
                self._asked.pop(event.execution_id, None)
            case ExecutionRefused() if event.execution_id in self._asked:
                self._asked[event.execution_id] = "paused"  # it was asked anew meanwhile
            case _:
                pass

    def _request(self) -> None:
        """Ask for the executions; who was asked for before is not asked for again."""
        for name in ACTIONS:
            if not any(self._client.read_stream(f"execution/{name}")):
                items = list(range(self._items))
                self._client.publish(
                    ExecutionRequest(
                        execution_id=name,
                        process=name,
                        inputs={"items": items},
                        workspace=str(self._folder),
                    )
                )

    def _settle(self) -> None:
        for execution_id, said in list(self._asked.items()):
            if said != "paused":
                continue
            state, seen = execution_of(self._client, execution_id), self._client.head
            if state.status != "paused" or not state.unknown:
                continue
            effect: EffectUnknown = next(iter(state.unknown.values()))
            n = int(effect.parameters["n"])
            path = self._folder / "single" / str(n)
            if path.exists() and path.stat().st_size:  # it is made a moment before it is written
                blobs = self._runtime.blobs
                settle = it_happened(self._client, blobs, state, {"n": n}, seen=seen)
            else:
                settle = do_again(state, seen=seen)
            self._asked[execution_id] = "answered"
            self._client.publish(settle)


def _completed(event: StepExecute, n: int) -> StepCompleted:
    return StepCompleted(
        execution_id=event.execution_id,
        step_id=event.step_id,
        attempt=event.attempt,
        result={"n": n},
    )


def main() -> None:
    """One life."""
    folder, items = Path(sys.argv[1]), int(sys.argv[2])
    home = Home.create(folder / ".cortex")
    with Runtime(home, components=[*built_in(), Hands]) as runtime:
        Person(runtime, folder, items).run()


if __name__ == "__main__":
    main()
