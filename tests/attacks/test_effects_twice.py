"""No effect that may happen once happens twice, whatever is killed in the middle of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from . import effects_world
from .effects_world import EffectsWorld

WAITING = 5  # exit code of a command whose execution waits for a person


@pytest.fixture
def world(tmp_path: Path) -> Iterator[EffectsWorld]:
    yield from effects_world.opened(tmp_path)


def test_a_shell_step_that_was_killed_with_its_program_is_asked_about_and_not_resumed(
    world: EffectsWorld,
) -> None:
    world.up()
    execution_id = world.begin("program", seconds="60")
    world.until_marked()
    world.kill(whole=True)

    first = world.run("execution", "resume", execution_id)
    others = [world.run("execution", "resume", execution_id) for _ in range(2)]

    assert world.count() == 1
    assert "Did it happen?" in first.stdout + first.stderr
    assert "--it-happened" in first.stdout + first.stderr
    assert {done.returncode for done in (first, *others)} == {WAITING}
