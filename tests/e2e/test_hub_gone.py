"""A command that follows an execution says how it ended, also where the hub went away before."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..waiting import until
from .up_world import STUCK_S, Desk, up

pytestmark = pytest.mark.once  # long waits, and commands that others run from the wheel


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    desk.up = json.loads(up(desk, "--json").stdout)
    yield desk
    desk.run("down", "--kill")


def test_an_execution_that_ended_before_its_hub_did_is_not_said_to_go_on(desk: Desk) -> None:
    following = desk.run_sleeping("--json")
    try:
        os.kill(following.pid, signal.SIGSTOP)  # what comes now, it does not see
        desk.wake()
        until(lambda: "execution.completed" in desk.topics())
        down = desk.run("down")
    finally:
        os.kill(following.pid, signal.SIGCONT)
    out, err = following.communicate(timeout=STUCK_S)

    assert down.returncode == 0, down
    assert following.returncode == 0, err
    assert json.loads(out)["status"] == "completed"
    assert "continues when a hub is up again" not in err
