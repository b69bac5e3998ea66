"""Kills, stops and cuts off, one after the other, whoever is at work in a `ChaosWorld`."""

import os
import random
import signal
import time
from collections import Counter
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from cortex.bus import Client
from cortex.bus.events import ExecutionRequest, PluginLoad, ProcessSubmit
from cortex.plugins.host import unavailable
from cortex.runtime.executions import (
    Execution,
    do_again,
    execution_of,
    it_happened,
    open_effects,
)
from cortex.runtime.log import BlobStore
from cortex.runtime.serving import connected

from ..waiting import until
from .chaos_parts import lines_in
from .chaos_plugin import PLUGIN
from .chaos_world import STEPS, ChaosWorld
from .power_cut import Cut, cut_power

ENDED = ("completed", "failed", "halted", "cancelled")
SETTLE_S = 60.0
STILL_S = 1.0  # after which nobody tells any more of a file or a minute that came before
UNDER_WAY_S = 5.0  # that an effect is waited for which is to be killed in the middle
AT_RISK = 3  # executions asked for right before the power fails
HELD_S = 1.5  # how long such an effect takes; its lease is shorter
CHILD, SERVER, PLUGGED = "spawned_child", "chaos_server.py", "host.child"
ASKED = tuple(kind for kind in STEPS if kind not in ("seen", "tick"))  # files and minutes ask, too
KIND_OF = {process: kind for kind, (process, _) in STEPS.items()}
ONCE = frozenset({"once", "far", "plug", "tool", "program", "seen", "tick"})
SHELL = {"exit_code": 0, "stdout": "", "stderr": "", "stdout_blob": "", "stderr_blob": ""}
# Who is killed, stopped or cut off, and which effect of theirs is under way then.
STRUCK = {
    "hub": "once",
    "whole": "program",
    "child": "tool",
    "worker": "far",
    "plugin": "plug",
    "server": "tool",
    "program": "program",
    "watcher": "seen",
    "follower": "read",
    "runner": "once",
    "alone": "stored",
    "stop": "far",
    "power": "stored",
}


def dealt(seed: str, number: int) -> list[str]:
    """Whom *number* faults strike, from a shuffled deck: none comes again before all have come."""
    chance, cards = random.Random(seed), list[str]()
    while len(cards) < number:
        deck = [each for each in STRUCK if each != "power"]
        chance.shuffle(deck)
        cards += [*deck, "power"]
    return cards[:number]


class Asked(msgspec.Struct, frozen=True):
    """An execution that was asked for, and acknowledged."""

    kind: str
    execution_id: str
    position: int  # of the request in the log


class Chaos:
    """The world, who is killed in it, and what was asked of it."""

    def __init__(self, folder: Path, durability: str, chance: random.Random) -> None:
        self.world = ChaosWorld(folder, durability)
        self.chance = chance
        self.asked: list[Asked] = []
        self.kills: Counter[str] = Counter()
        self.in_the_middle = 0  # kills while an effect of their victim was under way
        self.told: Counter[tuple[str, str]] = Counter()  # execution, and what a person said
        self.cuts: list[Cut] = []
        self._files = 0

    def start(self) -> None:
        """Start all, and have all processes compiled."""
        self.world.up()
        granted = tuple(PLUGIN.parts())
        load = PluginLoad(
            plugin=PLUGIN.name, version=PLUGIN.version, digest=PLUGIN.digest(), granted=granted,
            confined=not unavailable(), package="cortex-chaos", limits=PLUGIN.limits.bounds(),
        )  # fmt: skip
        with self._client() as client:
            client.publish(load)
            until(partial(_says, client, "plugin/chaos", "plugin.loaded"))
        for name in ("worker", "watcher", "follower"):
            self.world.put_up(name)
        blobs = BlobStore(self.world.home.blobs)
        with self._client() as client:
            for name, _ in STEPS.values():
                path = self.world.home.processes / f"{name}.yaml"
                client.publish(ProcessSubmit(sources={str(path): blobs.put(path.read_bytes())}))
                until(partial(_says, client, f"process/{name}", "process.compiled"))

    def ask(self, count: int) -> None:
        """Ask for *count* executions, each of a kind that chance says, and leave a file or none."""
        with self._client() as client:
            for _ in range(count):
                seconds = self.chance.choice((0.0, 0.0, 0.1, 0.5))
                self._ask(client, self.chance.choice(ASKED), seconds)
        if self.chance.random() < 0.5:
            self._leave_file()

    def _ask(self, client: Client, kind: str, seconds: float) -> str:
        name, _ = STEPS[kind]
        execution_id = client.new_id()
        given = str(seconds) if kind == "program" else seconds
        request = ExecutionRequest(
            execution_id=execution_id,
            process=name,
            inputs={"seconds": given},
            workspace=str(self.world.work),
        )
        self.asked.append(Asked(kind, execution_id, client.publish(request)))
        return execution_id

    def _leave_file(self) -> None:
        self._files += 1
        (self.world.inbox / f"{self._files:04}.txt").touch()

    def strike(self, whom: str) -> None:
        """Kill, stop or cut off *whom* in the middle of an effect; have all of it at work again."""
        self.kills[whom] += 1
        self._begin_effect(STRUCK[whom])
        time.sleep(self.chance.random() * 0.3)
        getattr(self, f"_{whom}", partial(self._beside, whom))()

    def _begin_effect(self, kind: str) -> None:
        if kind == "seen":
            self._leave_file()
            return
        deadline = time.monotonic() + UNDER_WAY_S
        with self._client() as client:
            execution_id = self._ask(client, kind, HELD_S)
            while not self.begun(execution_id) and time.monotonic() < deadline:
                # It is refused while who does it is away; they are coming back.
                if execution_of(client, execution_id).status == "failed":
                    time.sleep(0.2)
                    execution_id = self._ask(client, kind, HELD_S)
                time.sleep(0.02)
        self.in_the_middle += bool(self.begun(execution_id))

    def begun(self, execution_id: str) -> int:
        """How often the effect of an execution has begun."""
        return lines_in(self.world.each / execution_id)

    def _hub(self) -> None:
        self._fall(whole=False)
        self.world.up()

    def _whole(self) -> None:
        self._fall(whole=True)
        self.world.up()

    def _power(self) -> None:
        with self._client() as client:  # nothing of these is synced
            for _ in range(AT_RISK):
                self._ask(client, "read", 0.1)
        self._fall(whole=True)
        self.cuts.append(cut_power(self.world.home.log_path, self.world.synced, self.chance))
        self.world.up()

    def _fall(self, *, whole: bool) -> None:
        assert self.world.hub is not None
        self.world.kill(self.world.hub, whole=whole)

    def _alone(self) -> None:
        """Kill a command that runs an execution while no hub is up, with all that it started."""
        self._fall(whole=True)
        self.world.runs("chaos_once", HELD_S)
        time.sleep(self.chance.random())
        self.world.kill(self.world.beside["runner"], whole=True)
        self.world.up()

    def _runner(self) -> None:
        self.world.runs("chaos_once", HELD_S)
        time.sleep(self.chance.random())
        self.world.kill(self.world.beside["runner"])

    def _child(self) -> None:
        self._one_of(CHILD)

    def _server(self) -> None:
        self._one_of(SERVER)

    def _program(self) -> None:
        self._one_of("program.py")

    def _plugin(self) -> None:
        self._one_of(PLUGGED)

    def _one_of(self, word: str) -> None:
        pid = self.chance.choice(until(partial(self.world.below, word)))
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def _beside(self, name: str) -> None:
        self.world.kill(self.world.beside[name])
        self.world.put_up(name)

    def _stop(self) -> None:
        """Let somebody stand still for longer than a lease; it goes on as if nothing was."""
        beside = [self.world.beside[name].pid for name in ("worker", "watcher", "follower")]
        pid = self.chance.choice([*beside, self.world.pid, *self.world.below(PLUGGED)])
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            try:
                time.sleep(HELD_S)
            finally:
                os.kill(pid, signal.SIGCONT)

    def end(self) -> None:
        """Let nothing new begin, have all come to its end, and end the hub in good order."""
        name, _ = STEPS["tick"]
        file = str(self.world.home.processes / f"{name}.yaml")
        with self._client() as client:
            client.publish(ProcessSubmit(sources={}, removed=(file,)))
            until(partial(_says, client, f"process/{name}", "process.retired"))
        time.sleep(STILL_S)
        self.settle()
        self.world.down()

    def settle(self) -> None:
        """Answer what a person is asked, until every execution has come to an end or a halt."""
        deadline = time.monotonic() + SETTLE_S
        left: set[str] = set()
        while True:
            with self._client() as client:
                left = left or requested(client)
                states = [execution_of(client, each) for each in sorted(left)]
                waiting = [s for s in states if s.status not in (*ENDED, "unknown")]
                for state in waiting:
                    self._answer(client, state)
            if not waiting:
                return
            assert time.monotonic() < deadline, [(s.execution_id, s.status) for s in waiting]
            left = {state.execution_id for state in waiting}
            time.sleep(0.2)

    def _answer(self, client: Client, state: Execution) -> None:
        """Say of an effect that it happened, or have it done again."""
        seen = client.head
        state = execution_of(client, state.execution_id)
        if state.status != "paused" or not (effects := open_effects(state)):
            return
        key = effects[0].effect_key
        if (key, "again") in self.told or (key, "happened") in self.told:
            return  # it was answered, and that is not recorded yet
        if self.chance.random() < 0.3:
            client.publish(do_again(state, seen=seen))
            self.told[key, "again"] += 1
        else:
            result: Any = {"text": "marked"}
            if effects[0].kind == "tool":
                result = "marked"
            elif effects[0].name == "shell":
                result = SHELL
            blobs = BlobStore(self.world.home.blobs)
            client.publish(it_happened(client, blobs, state, result, seen=seen))
            self.told[key, "happened"] += 1

    def _client(self) -> AbstractContextManager[Client]:
        return connected(self.world.home)


def _says(client: Client, stream: str, topic: str) -> bool:
    return any(record.topic == topic for record in client.read_stream(stream))


def requested(client: Client) -> set[str]:
    """The executions that were asked for, whoever did."""
    return {
        record.stream.partition("/")[2]
        for record in client.read()
        if record.topic == "execution.request"
    }
