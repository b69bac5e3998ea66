"""No effect that may happen once happens twice, whatever is killed in the middle of it."""

import importlib.util
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import effects_world
from .effects_world import EffectsWorld

# The second time it ends at once.
PIDDED = """process: pidded
version: 1
steps:
  - id: only
    action: shell
    with:
      run:
        - sh
        - -c
        - test -s {marks} && echo 2 >> {marks} && exit 0; echo $$ > {marks}; exec sleep 600
"""
WAITING = 5  # exit code of a command whose execution waits for a person


@pytest.fixture
def world(tmp_path: Path) -> Iterator[EffectsWorld]:
    yield from effects_world.opened(tmp_path)


def test_a_shell_step_that_was_killed_with_its_program_is_asked_about_and_not_resumed(
    world: EffectsWorld,
) -> None:
    world.up()
    execution_id = world.begin("program", seconds="600")
    world.until_marked()
    world.kill(whole=True)

    first = world.run("execution", "resume", execution_id)
    others = [world.run("execution", "resume", execution_id) for _ in range(2)]

    assert world.count() == 1
    assert "Did it happen?" in first.stdout + first.stderr
    assert "--it-happened" in first.stdout + first.stderr
    assert {done.returncode for done in (first, *others)} == {WAITING}


def test_a_program_that_outlives_its_hub_is_found_and_not_asked_about(
    world: EffectsWorld,
) -> None:
    world.up()
    execution_id = world.begin("program", seconds="600")
    world.until_marked()
    world.kill()
    world.up()
    world.end_program()

    ended = world.until_status(execution_id, "completed", "paused", "halted", "failed")

    assert (ended.status, world.count()) == ("completed", 1)


def test_a_resume_that_finds_the_step_failed_says_so_and_the_next_one_goes_on(
    world: EffectsWorld,
) -> None:
    source = PIDDED.format(marks=world.marks)
    (world.home.processes / "pidded.yaml").write_text(source)
    world.up()
    execution_id = world.begin("pidded")
    world.until_marked()
    program = int(world.marks.read_text())
    world.kill()
    os.kill(program, signal.SIGKILL)

    first = world.run("execution", "resume", execution_id)
    begun = world.count()
    second = world.run("execution", "resume", execution_id)

    assert (first.returncode, begun) == (1, 1), first
    assert "refused" not in first.stdout + first.stderr
    assert "sh ended with -9" in first.stdout + first.stderr
    assert (second.returncode, world.count()) == (0, 2), second


@pytest.mark.skipif(
    importlib.util.find_spec("mcp") is None, reason="the extra `mcp` is not installed"
)
def test_a_tool_of_a_server_is_not_called_again_when_the_hub_was_killed_in_mid_call(
    world: EffectsWorld,
) -> None:
    world.up()
    execution_id = world.begin("think", seconds=0)
    world.until_marked()
    world.kill(whole=True)
    world.up()
    asked = world.until_status(execution_id, "paused", "completed", "halted", "failed")
    shown = world.shown(execution_id)
    told = world.run("execution", "resume", execution_id, "--it-happened", "marked")

    assert (asked.status, asked.reason, world.count()) == ("paused", "effect", 1)
    assert [(e["kind"], e["name"]) for e in shown["effects"]] == [("tool", "slowly.mark")]
    assert told.returncode == 0, told.stdout + told.stderr
    assert (world.state(execution_id).status, world.count()) == ("completed", 1)


@pytest.mark.parametrize("times", [0, 1])
def test_an_action_that_declares_nothing_is_done_again_only_where_a_person_says_so(
    world: EffectsWorld, times: int
) -> None:
    world.up()
    execution_id = world.begin("act", seconds=600)
    world.until_marked()
    world.kill()
    world.up()
    world.until_status(execution_id, "paused")
    answer = ("--do-it-again",) if times else ("--it-happened", '{"text": "yes"}')

    refused = world.run("execution", "resume", execution_id)
    back = world.run("execution", "resume", execution_id, "--from", "one")
    wrong = world.run("execution", "resume", execution_id, "--it-happened", '{"no": 1}')
    before = world.count()
    done = world.run("execution", "resume", execution_id, *answer)

    assert (refused.returncode, before) == (WAITING, 1)
    assert (back.returncode, "Did it happen?" in back.stderr) == (WAITING, True)
    assert "the result of mark is not as declared" in wrong.stderr
    assert """give JSON, such as '{"text":""}'""" in wrong.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    assert (world.state(execution_id).status, world.count()) == ("completed", 1 + times)
    assert world.topics(execution_id).count("effect.settled") == 1
    (said,) = world.shown(execution_id)["answers"]
    assert (said["by"], said["answer"]) == ("owner", "again" if times else "happened")
    assert "settled  " in done.stderr
    assert "says owner" in done.stderr


def test_what_only_reads_is_run_again(world: EffectsWorld) -> None:
    world.up()
    execution_id = world.begin("read", seconds=600)
    world.until_marked()
    world.kill()
    world.up()

    ended = world.until_status(execution_id, "completed", "paused", "halted", "failed")

    assert (ended.status, world.count()) == ("completed", 2)
    assert not [topic for topic in world.topics(execution_id) if topic.startswith("effect.")]


def test_a_step_of_a_worker_that_was_killed_is_not_handed_to_the_next(
    world: EffectsWorld,
) -> None:
    world.up()
    first = world.worker("effects_parts:Far")
    execution_id = world.begin("far", seconds=600)
    world.until_marked()
    first.kill()
    world.worker("effects_parts:Far")

    asked = world.until_status(execution_id, "paused", "completed", "halted", "failed")

    assert (asked.status, asked.reason, world.count()) == ("paused", "effect", 1)


def test_a_notification_whose_program_was_killed_is_asked_about(world: EffectsWorld) -> None:
    world.up()
    execution_id = world.begin("tell", seconds="600")
    world.until_marked()
    world.kill(whole=True)
    world.up()

    asked = world.until_status(execution_id, "paused", "completed", "halted", "failed")

    assert (asked.status, asked.reason, world.count()) == ("paused", "effect", 1)


def test_a_step_that_runs_out_of_time_is_not_tried_again_while_nobody_knows_its_end(
    world: EffectsWorld,
) -> None:
    world.up()
    execution_id = world.begin("again", seconds=600)
    world.until_marked()

    asked = world.until_status(execution_id, "paused", "completed", "halted", "failed")

    assert (asked.status, asked.reason, world.count()) == ("paused", "effect", 1)
