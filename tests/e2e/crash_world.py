"""A runtime that is going to be killed: `python crash_world.py FOLDER WORLD LIFE publish|finish`.

It asks for executions of several shapes by numbered publishes and writes what was acknowledged into
a journal, so that whoever kills it can tell what must be there afterwards.
"""

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cortex.bus import Appended, Draft, Event, Publish
from cortex.bus.events import (
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionRequest,
    GateEvaluate,
    GateEvaluated,
    ProcessCompiled,
    ProcessRejected,
    ProcessSubmit,
    StepCompleted,
    StepExecute,
    StepFailed,
)
from cortex.runtime.kernel import Component, Delivery, Home, Output, Runtime, Serves, built_in, on

CLIENT = "crowd"  # who publishes the numbered requests
OVER = (ExecutionCompleted, ExecutionFailed, ExecutionHalted)
ENDINGS = frozenset(cls.topic_name() for cls in OVER)
PATIENCE_S = 120.0
NOTES = "The key is under the mat.\nThe cat is called Ada.\n"
PROCESSES = {
    path.stem: path.read_text()
    for path in sorted(Path(__file__).parents[1].glob("fixtures/crash/*.yaml"))
}


class World(msgspec.Struct, frozen=True):
    """Which processes are asked for in turn, and how many executions run at a time."""

    shapes: tuple[str, ...]
    open_at_once: int


class Outcome(msgspec.Struct, frozen=True):
    """How executions of a shape have to end."""

    text: str
    statuses: dict[str, str]


WORLDS = {
    "busy": World(("sequence", "effects", "stubborn", "patient", "lenient", "family"), 12),
    "thinking": World(("question", "sequence", "effects", "question", "family"), 6),
}
OUTCOMES = {
    "sequence": Outcome(
        "one two", {"first": "completed", "never": "skipped", "second": "completed"}
    ),
    "effects": Outcome("ended with 0", {"once": "completed", "twice": "completed"}),
    "stubborn": Outcome("after 2", {"try": "completed"}),
    "patient": Outcome("spoke", {"wait": "completed"}),
    "lenient": Outcome("all the same", {"try": "failed", "wait": "failed", "last": "completed"}),
    "leaf": Outcome("7 leaves", {"only": "completed"}),
    "family": Outcome("7 leaves fell", {"child": "completed", "last": "completed"}),
    "question": Outcome(
        "extractive: true", {"read": "completed", "answer": "completed", "last": "completed"}
    ),
}
EFFECTS = {"effects": {"once-1", "twice-1", "twice-2"}}  # step and attempt, one file each


class Said(msgspec.Struct, frozen=True):
    text: str


class Fails(msgspec.Struct, frozen=True):
    fails: int  # attempts before the one that does not


class Until(msgspec.Struct, frozen=True):
    until: int  # the first attempt that is answered


class Hands(Component):
    """Does what the processes ask for, and writes each run down before it answers."""

    workers = 2
    serves = (
        Serves("action", "note", Said, Said, effect="idempotent"),
        Serves("action", "flaky", Fails, Said, effect="idempotent"),
        Serves("action", "mute", Until, Said, effect="idempotent"),
        Serves("gate", "open"),
    )

    def __init__(self, home: Home) -> None:
        self._runs = home.path.parent / "runs"
        self._life = os.environ["CORTEX_LIFE"]

    @on(GateEvaluate, where={"gate": "open"})
    def evaluate(self, event: GateEvaluate, delivery: Delivery) -> Iterator[Output]:
        yield GateEvaluated(
            execution_id=event.execution_id,
            gate=event.gate,
            outcome="passed",
            index=event.index,
            step_id=event.step_id,
            attempt=event.attempt,
        )

    @on(StepExecute, where={"action": "note"})
    def note(self, event: StepExecute, delivery: Delivery) -> Iterator[Output]:
        self._write_down(event, delivery)
        yield _completed(event, str(event.parameters["text"]))

    @on(StepExecute, where={"action": "flaky"})
    def flaky(self, event: StepExecute, delivery: Delivery) -> Iterator[Output]:
        self._write_down(event, delivery)
        fails = int(event.parameters["fails"])
        if event.attempt > fails:
            yield _completed(event, f"after {fails}")
        else:
            yield StepFailed(
                execution_id=event.execution_id,
                step_id=event.step_id,
                attempt=event.attempt,
                error="not yet",
            )

    @on(StepExecute, where={"action": "mute"})
    def mute(self, event: StepExecute, delivery: Delivery) -> Iterator[Output]:
        self._write_down(event, delivery)
        if event.attempt >= int(event.parameters["until"]):
            yield _completed(event, "spoke")

    def _write_down(self, event: StepExecute, delivery: Delivery) -> None:
        run = (self._life, delivery.effect_key(), event.execution_id, event.step_id, event.attempt)
        append(self._runs, " ".join(map(str, run)), lasting=False)
        hashlib.pbkdf2_hmac("sha256", b"work", b"takes time", 4_000)  # a few milliseconds


class Crowd:
    """Asks for executions, a new one for each that is over, and journals what was acknowledged."""

    def __init__(self, runtime: Runtime, folder: Path, world: str) -> None:
        self._runtime, self._folder, self._world = runtime, folder, WORLDS[world]
        self._shapes = world
        self._client = runtime.client(CLIENT)
        self._journal = folder / "acknowledged"
        self._open: set[str] = set()  # executions that were asked for and are not over
        self._over: set[str] = set()
        self._compiled: set[str] = set()

    def run(self, *, publishing: bool) -> None:
        """Go on until killed; where nothing more is to be published, until all are over."""
        seen = 0
        for record in self._client.read():
            self._hear(self._runtime.vocabulary.read(record), record.source)
            seen = record.position
        feed = self._client.follow(after=seen)
        if self._compiled != set(PROCESSES):
            self._submit()
        number = self._last_acknowledged()
        while publishing or self._open:
            ready = self._compiled == set(PROCESSES)
            while publishing and ready and len(self._open) < self._world.open_at_once:
                number += 1
                self._publish(number)
            records = feed.next(PATIENCE_S)
            if not records:
                raise SystemExit(f"nothing happens any more; open: {sorted(self._open)}")
            for record in records:
                self._hear(self._runtime.vocabulary.read(record), record.source)

    def _hear(self, event: Event, source: str) -> None:
        match event:
            case ProcessCompiled():
                self._compiled.add(event.name)
            case ProcessRejected():
                raise SystemExit(f"{event.file} was rejected: {event.diagnostics}")
            case ExecutionRequest() if source == CLIENT:
                self._open.add(event.execution_id)
            case ExecutionCompleted() | ExecutionFailed() | ExecutionHalted():
                self._open.discard(event.execution_id)
                self._over.add(event.execution_id)
            case _:
                pass

    def _submit(self) -> None:
        put = self._runtime.blobs.put
        sources = {f"{name}.yaml": put(text.encode()) for name, text in PROCESSES.items()}
        self._client.publish(ProcessSubmit(sources=sources))

    def _last_acknowledged(self) -> int:
        lines = self._journal.read_text().splitlines() if self._journal.exists() else ["0"]
        return int(lines[-1].split()[0])

    def _publish(self, number: int) -> None:
        answer = self._ask(number)
        if self._ask(number) != answer:
            raise SystemExit(f"{number} was published twice, and not answered with {answer} twice")
        # Killed before it could say that this was acknowledged, it may be over long since.
        self._open |= {execution_id(number)} - self._over
        append(self._journal, f"{number} {answer.first} {answer.last}", lasting=True)

    def _ask(self, number: int) -> Appended:
        request = ExecutionRequest(
            execution_id=execution_id(number),
            process=shape_of(self._shapes, number),
            inputs={"n": number},
            goal="survive",
            workspace=str(self._folder),
            trigger="none",
        )
        answer = self._runtime.hub.ask_one(CLIENT, Publish((Draft.of(request),), number))
        if not isinstance(answer, Appended):
            raise SystemExit(f"{number} was answered with {answer}")
        return answer


def execution_id(number: int) -> str:
    """The execution that the publish of that number asks for."""
    return f"e{number:05}"


def shape_of(world: str, number: int) -> str:
    """The process that the publish of that number asks for."""
    shapes = WORLDS[world].shapes
    return shapes[number % len(shapes)]


def append(path: Path, line: str, *, lasting: bool) -> None:
    """Add one line with one write, so that a kill leaves all of it or nothing."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, line.encode() + b"\n")
    if lasting:
        os.fsync(file)
    os.close(file)


def _completed(event: StepExecute, text: str) -> StepCompleted:
    return StepCompleted(
        execution_id=event.execution_id,
        step_id=event.step_id,
        attempt=event.attempt,
        result={"text": text},
    )


def main() -> None:
    """One life."""
    folder, world, life, mode = Path(sys.argv[1]), *sys.argv[2:]
    os.environ["CORTEX_LIFE"] = life
    home = Home.create(folder / ".cortex")
    with Runtime(home, components=[*built_in(), Hands]) as runtime:
        Crowd(runtime, folder, world).run(publishing=mode == "publish")


if __name__ == "__main__":
    main()
