"""A resume answers the halt that its sender saw, however it races the next one."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortex.bus import Recorded
from cortex.bus.events import ExecutionHalted, ExecutionRefused, ExecutionResume, ExecutionResumed
from cortex.runtime.serving import connected

from ..waiting import until
from . import effects_world
from .effects_world import EffectsWorld

FAILS = """
process: fails
version: 1
steps:
  - {{ id: act, action: shell, with: {{ run: ['{python}', '{program}', '{marks}'] }} }}
"""
# It takes a moment, so that a resume may come before, while and after it ends.
PROGRAM = """
import sys, time
with open(sys.argv[1], "a") as file:
    file.write("mark\\n")
time.sleep(0.4)
sys.exit(1)
"""
# Sees what there is, and resumes when it is told to: at once or a little later.
RESUMER = """
import sys, time
from pathlib import Path
from cortex.bus.events import ExecutionResume
from cortex.runtime.kernel import Home
from cortex.runtime.serving import connected

with connected(Home(Path(sys.argv[1]))) as client:
    seen = client.head
    print("ready", flush=True)
    sys.stdin.readline()
    time.sleep(float(sys.argv[3]))
    client.publish(ExecutionResume(execution_id=sys.argv[2], seen=seen))
"""
LATER_S = (0.0, 0.0, 0.0, 0.2, 0.4, 0.45, 0.5, 0.9)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[EffectsWorld]:
    yield from effects_world.opened(tmp_path)


def test_of_many_resumes_that_saw_one_halt_one_is_followed(world: EffectsWorld) -> None:
    program = world.folder / "fails.py"
    program.write_text(PROGRAM)
    text = FAILS.format(python=sys.executable, program=program, marks=world.marks)
    (world.home.processes / "fails.yaml").write_text(text)
    world.up()
    execution_id = world.begin("fails")
    world.until_status(execution_id, "halted")
    racing = [
        subprocess.Popen(
            [sys.executable, "-c", RESUMER, str(world.home.path), execution_id, str(later_s)],
            env=world.env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for later_s in LATER_S
    ]  # fmt: skip
    world.started += racing
    for process in racing:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

    for process in racing:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in racing:
        assert process.wait(120) == 0
    topic = ExecutionResume.topic_name()
    until(lambda: world.topics(execution_id).count(topic) == len(LATER_S))
    until(lambda: world.topics(execution_id).count(ExecutionHalted.topic_name()) == 2)

    # The runner may be killed and come back: what it did not follow it does not follow then.
    world.kill()
    world.up()
    assert world.until_status(execution_id, "halted", "completed").status == "halted"
    assert world.count() == 2
    until(lambda: all_late_are_refused(world, execution_id))
    records = recorded(world, execution_id)
    halts = [r.position for r in records if r.topic == ExecutionHalted.topic_name()]
    followed = [r for r in records if r.topic == ExecutionResumed.topic_name()]
    assert (len(halts), len(followed)) == (2, 1)


def recorded(world: EffectsWorld, execution_id: str) -> list[Recorded]:
    with connected(world.home) as client:
        return list(client.read_stream(f"execution/{execution_id}"))


def all_late_are_refused(world: EffectsWorld, execution_id: str) -> bool:
    """Whether each resume that came after the second halt was answered so."""
    records = recorded(world, execution_id)
    halts = [r.position for r in records if r.topic == ExecutionHalted.topic_name()]
    refused = {r.causation for r in records if r.topic == ExecutionRefused.topic_name()}
    topic = ExecutionResume.topic_name()
    return refused >= {r.position for r in records if r.topic == topic and r.position > halts[1]}
