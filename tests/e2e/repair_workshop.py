"""A runtime whose one model is a scripted server; the tests of a module share it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortex.actors.library import library_sources
from cortex.bus import Backoff
from cortex.bus.events import ContextCompiled
from cortex.runtime.context import (
    prompt_text,
)
from cortex.runtime.kernel import Home, Runtime

from ..servers import Answer, ScriptedServer
from ..staff_world import Run, World
from .repair_world import KEY, KEY_ENV, SERVERS, model, need_sdk, use


class Workshop:
    """Repairs one checkout after the other."""

    def __init__(self, home: Home, server: ScriptedServer, world: World) -> None:
        self.home, self.server, self.world = home, server, world

    def script(self, *answers: Answer) -> None:
        """What the model is going to answer."""
        self.server.script.answers[:] = answers
        self.server.asked.clear()

    def repair(self, checkout: Path, process: str = "fix_ci_failure", **inputs: Any) -> Run:
        """A repair, up to where it stops."""
        inputs = {"log": str(checkout.parent / "ci.log"), **inputs}
        return self.world.run(process, inputs, workspace=str(checkout), goal="make main green")

    def prompts(self, run: Run, step_id: str) -> list[str]:
        """What the log says was sent for a step, in order."""
        return [
            prompt_text(self.world.blobs.get(each.prompt))
            for each in run.all(ContextCompiled)
            if each.step_id == step_id
        ]


@contextlib.contextmanager
def workshop(shape: str, folder: Path, **processes: str) -> Iterator[Workshop]:
    """A workshop in *folder* that knows the library and *processes*."""
    need_sdk(shape)
    home = Home.create(folder / ".cortex")
    with pytest.MonkeyPatch.context() as patched, SERVERS[shape]() as server:
        patched.setenv(KEY_ENV, KEY)
        # What is waited for is in the log; a test need not wait as long.
        patched.setattr(
            "cortex.runtime.executions.steps.deadlines.MODEL_BACKOFF", Backoff(0.02, 300.0)
        )
        with Runtime(use(home, model("scripted", server))) as runtime:
            world = World(runtime)
            world.submit_files({**library_sources(), **processes})
            yield Workshop(home, server, world)
