"""Executions of the shipped processes, recorded beside a scripted endpoint, and what asked a model.

The agent without a process is recorded, too: one step whose model has every action as a tool. Its
script takes one action a turn, since each needs what the one before it gave, and then answers. It
needs no turn for an action that only makes a model think: it thinks while it chooses.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from cortex.actors.library import library_sources
from cortex.bus.events import ModelInvoke, StepExecute, ToolCall, ToolReturned
from cortex.runtime.kernel import Component, Delivery, Home, Runtime, Serves, built_in, on
from cortex.runtime.log import Blobs

sys.path.append(str(Path(__file__).parents[1]))  # the scripted endpoint is one of the tests

from tests.e2e.repair_world import KEY, KEY_ENV, PYTHON, checkout_of, diagnosis, model, patch, use
from tests.servers import Answer, ScriptedOpenAI, Tool
from tests.staff_world import Run, World

THINKING: Final = frozenset({"analyze_failure", "answer_question"})  # actions with no other effect
HOOK_ENV: Final = "CORTEX_BENCH_HOOK"
NOTES: Final = "Tea is served at four. The kitchen closes at nine.\n"
AGENT: Final = """
process: agent_without_a_process
version: 1
description: One model that may do everything
steps:
  - id: answer
    description: Do what is asked for, one action after the other
    action: answer_question
    tools: [act]
    budget: { turns: 40 }
    with: { question: Do it. }
"""


class Task(NamedTuple):
    """A process, what it is given, and what its model answers."""

    process: str
    inputs: dict[str, Any]
    answers: tuple[Answer, ...]


class Counted(NamedTuple):
    """The model calls of one task, as the logs of both executions have them."""

    process: str
    actions: int  # steps that were carried out
    tools: int  # tools that a model called
    ours: int  # `model.invoke`
    agent: int  # the same without a process


class Act(Component):
    """The only tool of the agent without a process: it reports the action as done."""

    serves = (Serves("tool", "act", traits={"provider": "acting", "description": "Act."}),)

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    @on(ToolCall, where={"provider": "acting"})
    def act(self, event: ToolCall, _: Delivery) -> Iterator[ToolReturned]:
        """Say that it is done."""
        text = f"{event.arguments['action']}: done".encode()
        yield ToolReturned(
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            turn=event.turn,
            call_id=event.call_id,
            tool=event.tool,
            result=self._blobs.put(text),
            bytes=len(text),
            lines=1,
        )


def counted() -> list[Counted]:
    """Each task, run and recorded with its process and without one."""
    os.environ[KEY_ENV] = KEY
    with ScriptedOpenAI(default=Answer(raw=b"ok", raw_type="text/plain")) as hook:
        os.environ[HOOK_ENV] = f"{hook.base_url}/chat/completions"
        return [_recorded(task) for task in _tasks()]


def _tasks() -> Iterator[Task]:
    # The repair looks into a file first: a turn with a tool is a call of the model, too.
    look = Answer(text=("I look.",), tools=(Tool("c1", "read_file", {"path": PYTHON.source}),))
    repair = (diagnosis(), look, patch(PYTHON.fix))
    log = {"log": "../ci.log"}
    yield Task("triage_ci_failure", log, (diagnosis(),))
    yield Task("fix_ci_failure", log, repair)
    yield Task("fix_ci_failure_with_notification", {**log, "webhook_env": HOOK_ENV}, repair)
    asked = {"question": "When is tea served?", "notes": "../notes.txt"}
    yield Task("answer_from_notes", asked, (Answer(text=("At four.",)),))


def _recorded(task: Task) -> Counted:
    with TemporaryDirectory() as folder, ScriptedOpenAI(*task.answers) as server:
        root = Path(folder)
        checkout = checkout_of(PYTHON, root)
        (root / "notes.txt").write_text(NOTES)
        home = use(Home.create(root / ".cortex"), model("scripted", server))
        with Runtime(home, components=[*built_in(), Act]) as runtime:
            world = World(runtime)
            world.submit_files(library_sources())
            ours = world.run(task.process, task.inputs, workspace=str(checkout))
            actions = [each.action for each in ours.all(StepExecute)]
            used = [each.tool for each in ours.all(ToolCall)]
            turns = [name for name in actions if name not in THINKING] + used
            server.script.answers[:] = [*map(_turn, range(len(turns)), turns), diagnosis()]
            world.compiled(AGENT)
            agent = world.run("agent_without_a_process")
    calls = [_calls(run) for run in (ours, agent)]
    return Counted(task.process, len(actions), len(used), *calls)


def _turn(number: int, action: str) -> Answer:
    return Answer(tools=(Tool(f"a{number}", "act", {"action": action}),))


def _calls(run: Run) -> int:
    if run.outcome != "completed":
        sys.exit(f"{run.execution_id}: {json.dumps(run.topics())}: {run.end}")
    return len(run.all(ModelInvoke))
