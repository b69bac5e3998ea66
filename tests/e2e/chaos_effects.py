"""A home whose executions go on while its processes are killed: `test_chaos_effects.py` uses it."""

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec

from cortex.bus import Client, CortexError, Epochs, Recorded, TailLostError
from cortex.bus.events import ExecutionRequest, ProcessSubmit
from cortex.runtime.log import BlobStore
from cortex.runtime.processes.execution import Execution, execution_of, it_happened, open_effects
from cortex.runtime.serving import connected

from ..attacks.effects_world import EffectsWorld, descendants, until
from .power_cut import Cut, cut_power

SYNCED = frozenset({"effect.intended"})  # whatever `durability` says
ENDED = ("completed", "failed", "halted", "cancelled")
STOPPED_S = 0.5  # how long a hub stands still
SETTLE_S = 180.0
GIVEN = "{ file: '${inputs.file}', seconds: '${inputs.seconds}' }"
TYPED = "inputs: { file: { type: string }, seconds: { type: number } }\n"
STEP = (
    "process: {name}\nversion: 1\n{typed}steps:\n"
    "  - {{ id: act, action: {action}, with: {given} }}\n"
)
# Process by kind; what each does to the world is said where its action is served.
KINDS = {
    "once": ("chaos_mark", "mark"),
    "far": ("chaos_far", "far"),
    "read": ("chaos_look", "look"),
    "stored": ("chaos_store", "store"),
    "program": ("chaos_program", "shell"),
}
ONCE = frozenset({"once", "far", "program"})
RESULTS = {
    "mark": {"text": "marked"},
    "far": {"text": "marked"},
    "shell": {"exit_code": 0, "stdout": "", "stderr": "", "stdout_blob": "", "stderr_blob": ""},
}


def _compiled(client: Client, process: str) -> bool:
    return any(r.topic == "process.compiled" for r in client.read_stream(f"process/{process}"))


class Asked(msgspec.Struct, frozen=True):
    """An execution that the test asked for."""

    kind: str
    execution_id: str
    file: Path  # in which its effect leaves a line each time it begins

    def begun(self) -> int:
        """How often its effect has begun."""
        with suppress(FileNotFoundError):
            return len(self.file.read_text().splitlines())
        return 0


class Mirror(threading.Thread):
    """Follows the whole log through every end of its hub; holds what it saw, by position."""

    def __init__(self, world: EffectsWorld) -> None:
        super().__init__(daemon=True)
        self._world = world
        self._ended = threading.Event()
        self.held: dict[int, Recorded] = {}
        self.lost: list[tuple[int, int]] = []
        self.mixed: list[int] = []  # positions at which a second event came

    def run(self) -> None:
        """Follow until `end`."""
        epochs: Epochs = ()
        while not self._ended.is_set():
            try:
                with connected(self._world.home, "mirror") as client:
                    after = max(self.held, default=0)
                    try:
                        feed = client.follow(after=after, epochs=epochs)
                    except TailLostError as lost:
                        self._drop(lost)
                        epochs = client.epochs
                        continue
                    while not self._ended.is_set():
                        try:
                            self._take(feed.next(0.2))
                        except TailLostError as lost:
                            self._drop(lost)
                        epochs = client.epochs
            except CortexError:
                time.sleep(0.05)  # the hub is away

    def end(self) -> None:
        """Follow no more."""
        self._ended.set()
        self.join(60)

    def _take(self, records: list[Recorded]) -> None:
        for record in records:
            if record.position and self.held.setdefault(record.position, record) != record:
                self.mixed.append(record.position)

    def _drop(self, lost: TailLostError) -> None:
        self.lost.append((lost.seen, lost.common))
        self.held = {p: r for p, r in self.held.items() if p <= lost.common}


class Chaos:
    """The world, who is killed in it, and what was asked of it."""

    def __init__(self, folder: Path, durability: str, chance: random.Random) -> None:
        self.world = EffectsWorld(folder)
        self.chance = chance
        self.asked: list[Asked] = []
        self.kills: dict[str, int] = {}
        self.cuts: list[Cut] = []
        self._marks = folder / "each"
        self._marks.mkdir()
        config = self.world.home.config_path
        text = config.read_text().replace('durability = "full"', f'durability = "{durability}"')
        assert f'durability = "{durability}"' in text
        config.write_text(text)
        program = folder / "program.py"
        for name, action in KINDS.values():
            given = GIVEN
            if action == "shell":
                run = (
                    f"['{sys.executable}', '{program}', '${{inputs.file}}', '${{inputs.seconds}}']"
                )
                given = f"{{ run: {run} }}"
            typed = TYPED.replace("number", "string") if action == "shell" else TYPED
            source = STEP.format(name=name, typed=typed, action=action, given=given)
            (self.world.home.processes / f"{name}.yaml").write_text(source)

    def start(self) -> None:
        """Start hub and worker, and have all processes compiled."""
        self.world.up()
        self.world.worker("effects_parts:Far")
        blobs = BlobStore(self.world.home.blobs)
        with connected(self.world.home) as client:
            for name, _ in KINDS.values():
                source = (self.world.home.processes / f"{name}.yaml").read_bytes()
                client.publish(ProcessSubmit(sources={name: blobs.put(source)}))
                until(partial(_compiled, client, name))

    def ask(self, count: int) -> None:
        """Ask for *count* executions, each of a kind that chance says."""
        with connected(self.world.home) as client:
            for _ in range(count):
                kind = self.chance.choice(sorted(KINDS))
                name, action = KINDS[kind]
                asked = Asked(kind, client.new_id(), self._marks / f"{len(self.asked):04}")
                seconds = round(self.chance.choice((0.0, 0.0, 0.1, 0.5)), 2)
                given = str(seconds) if action == "shell" else seconds
                self.asked.append(asked)
                client.publish(
                    ExecutionRequest(
                        execution_id=asked.execution_id,
                        process=name,
                        inputs={"file": str(asked.file), "seconds": given},
                        workspace=str(self.world.folder / "work"),
                    )
                )

    def wait_a_moment(self) -> None:
        """Let some of what was asked for begin."""
        time.sleep(self.chance.random())

    def strike(self, whom: str) -> None:
        """Kill, stop or cut off *whom*, and have all of it at work again."""
        self.kills[whom] = self.kills.get(whom, 0) + 1
        if whom == "child":
            below = descendants(self.world.pid)
            with suppress(ProcessLookupError):
                os.kill(self.chance.choice(below), signal.SIGKILL) if below else None
        elif whom == "worker":
            self.world.started[-1].kill()
            self.world.started[-1].communicate()
            self.world.worker("effects_parts:Far")
        elif whom == "stop":
            with self._stopped():
                time.sleep(STOPPED_S)
        else:
            self.world.kill(whole=whom != "hub")
            if whom == "power":
                self.cuts.append(cut_power(self.world.home.log_path, SYNCED, self.chance))
            self.world.up()

    def settle(self) -> dict[str, Execution]:
        """Answer what a person is asked, until every execution has come to an end or a halt."""
        deadline = time.monotonic() + SETTLE_S
        while True:
            states = self._states()
            waiting = [s for s in states.values() if s.status not in (*ENDED, "unknown")]
            if not waiting:
                return states
            assert time.monotonic() < deadline, [(s.execution_id, s.status) for s in waiting]
            for state in waiting:
                self._answer(state.execution_id)
            time.sleep(0.2)

    def _states(self) -> dict[str, Execution]:
        with connected(self.world.home) as client:
            return {a.execution_id: execution_of(client, a.execution_id) for a in self.asked}

    def _answer(self, execution_id: str) -> None:
        with connected(self.world.home) as client:
            seen = client.head
            state = execution_of(client, execution_id)
            if state.status == "paused" and (effects := open_effects(state)):
                result = RESULTS[effects[0].name]
                blobs = BlobStore(self.world.home.blobs)
                client.publish(it_happened(client, blobs, state, result, seen=seen))

    @contextmanager
    def _stopped(self) -> Iterator[None]:
        os.kill(self.world.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.world.pid, signal.SIGCONT)
