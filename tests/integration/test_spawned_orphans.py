"""A spawned component whose runtime was killed ends at once, and has nothing to say about it."""

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from cortex.runtime.isolation import ChildProcess

STARTED_IN_FULL = True  # it is about processes, from their start to their end

spawned: Any = import_module("cortex.runtime.kernel.hosts.spawned")
BORN = spawned.Born("cortex.actors.gates:FileExists", {}, "", ())


def test_a_child_whose_parent_was_killed_while_it_worked_ends_quietly(tmp_path: Path) -> None:
    with (tmp_path / "said").open("wb") as said:
        child = ChildProcess(spawned.CHILD, {}, output=said.fileno())
    os.close(child.descriptor)  # as by the kill of the parent, before the child can answer
    child.send(BORN)
    child.let_go()

    assert (child.wait(), (tmp_path / "said").read_bytes()) == (1, b"")
