"""The shipped repair links as it stands, and takes a red checkout to a green commit."""

import json
import os
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from cortex.actors import gates, handlers
from cortex.actors.library import library_sources
from cortex.actors.tools import FileTools
from cortex.bus import Event
from cortex.bus.events import (
    ExecutionCompleted,
    ExecutionHalted,
    GateEvaluated,
    ModelInvoke,
    ModelResponded,
    ModelSelected,
    ProcessCompiled,
    StepCompleted,
    StepFailed,
)
from cortex.runtime.kernel import Component, Delivery, Home, Runtime, Serves, on
from cortex.runtime.processes import LinkedProcess

from ..staff_world import ANSWERING, World
from .repair_world import CART, CART_TEST, FIX, WRONG, files_of, git, repository

DEFAULT = Path(__file__).parents[3] / "shared" / "seeds" / "processes"
SEEDS = Path(os.environ.get("CORTEX_SEEDS", DEFAULT))
SHIPPED = {"fix_ci_failure", "fix_ci_failure_with_notification"}
LOG = """\
FAIL: test_total_adds_up (test_cart.CartTest.test_total_adds_up)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/builds/shop/test_cart.py", line 8, in test_total_adds_up
    self.assertEqual(total([1, 2]), 3)
AssertionError: -3 != 3

FAILED (failures=1)
"""


class ScriptedModel(Component):
    """A model that gives the answers it was handed, and says what it can do."""

    workers = 1
    serves = (
        Serves(
            "model",
            "scripted",
            traits={
                "name": "scripted",
                "provider": "scripted",
                "window": 64_000,
                "local": True,
                "reasoning": "high",
                "code": "high",
            },
        ),
    )
    edits: ClassVar[list[dict[str, str]]] = []  # one for each time that code is asked for

    @on(ModelInvoke)
    def invoke(self, event: ModelInvoke, delivery: Delivery) -> Iterator[Event]:
        """Answer with the next edit, or with a diagnosis."""
        if event.model != "scripted":
            return
        answer: dict[str, Any] = {"text": "The sum subtracts."}
        if event.step_id == "implement_fix":
            data = {"summary": "Add prices up", "edits": [self.edits.pop(0)]}
            answer = {"text": json.dumps(data), "data": data}
        yield ModelResponded(
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            model=event.model,
            prompt=event.prompt,
            answer=answer,
        )


STAFF = (
    *ANSWERING,
    FileTools,
    ScriptedModel,
    gates.ModelAvailable,
    gates.TestsPass,
    handlers.AnalyzeFailure,
    handlers.CommitAndPush,
    handlers.FindRelevantCode,
    handlers.ReadCiLog,
    handlers.RunTests,
    handlers.SendNotification,
    handlers.WriteCode,
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    home = Home.create(tmp_path_factory.mktemp("repair") / ".cortex")
    with Runtime(home, components=STAFF) as runtime:
        world = World(runtime)
        said = world.submit_files(library_sources())
        assert {e.name for e in said if isinstance(e, ProcessCompiled)} >= SHIPPED
        yield world


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "ci.log").write_text(LOG)
    return repository(tmp_path / "shop", {"cart.py": CART, "test_cart.py": CART_TEST})


@pytest.mark.skipif(not SEEDS.is_dir(), reason=f"no seeds at {SEEDS} (CORTEX_SEEDS)")
def test_the_steps_are_those_of_the_paper(world: World) -> None:
    paper = (SEEDS / "fix_ci_failure.yaml").read_text("utf-8")
    compiled = [
        said.event
        for said in world.said()
        if isinstance(said.event, ProcessCompiled) and said.event.name == "fix_ci_failure"
    ]

    linked = msgspec.json.decode(world.blobs.get(compiled[-1].linked), type=LinkedProcess)

    steps = [(step.id, step.action.name) for step in linked.steps if step.action]
    assert steps == re.findall(r"- id: (\w+)\n +action: (\w+)", paper)
    assert [gate.name for gate in linked.step("commit").gates] == ["tests_pass"]
    assert {"execution_context_exists", "branch_clean"} <= {gate.name for gate in linked.gates}


def inputs(checkout: Path, **more: Any) -> dict[str, Any]:
    return {"log": str(checkout.parent / "ci.log"), **more}


def test_a_red_checkout_becomes_a_green_commit(world: World, checkout: Path) -> None:
    before = files_of(checkout)
    ScriptedModel.edits[:] = [FIX]

    run = world.run("fix_ci_failure", inputs(checkout), workspace=str(checkout))

    assert run.outcome == "completed", run.end
    outputs = run.last(ExecutionCompleted).outputs
    branch = f"cortex/{run.execution_id}"
    assert outputs["branch"] == branch
    assert outputs["commit"] == git(checkout, "rev-parse", branch).strip()
    assert git(checkout, "log", "-1", "--format=%s", branch) == "Add prices up\n"
    assert git(checkout, "show", f"{branch}:cart.py") == CART.replace("-=", "+=")
    assert files_of(checkout) == before
    assert {selected.model for selected in run.all(ModelSelected)} == {"scripted"}
    assert [g.outcome for g in run.all(GateEvaluated) if g.gate == "tests_pass"] == ["passed"]


def test_an_edit_that_does_not_apply_is_asked_for_again(world: World, checkout: Path) -> None:
    ScriptedModel.edits[:] = [{**FIX, "old": "result =- price"}, FIX]

    run = world.run("fix_ci_failure", inputs(checkout), workspace=str(checkout))

    assert run.outcome == "completed", run.end
    (failed,) = run.all(StepFailed)
    assert failed.error.startswith("edit 1 of 'cart.py' does not apply: `old` is not in it")


def test_a_wrong_change_is_never_committed(world: World, checkout: Path) -> None:
    ScriptedModel.edits[:] = [WRONG] * 9

    run = world.run("fix_ci_failure", inputs(checkout), workspace=str(checkout))

    assert run.outcome in ("halted", "failed")
    assert "test_total_adds_up" in run.last(StepFailed).error
    assert run.last(StepFailed).kind == "tests_failed"
    assert git(checkout, "rev-parse", f"cortex/{run.execution_id}") == git(
        checkout, "rev-parse", "main"
    )


def test_uncommitted_work_halts_before_a_model_is_asked(world: World, checkout: Path) -> None:
    (checkout / "cart.py").write_text("half done\n")

    run = world.run("fix_ci_failure", inputs(checkout), workspace=str(checkout))

    assert run.last(ExecutionHalted).gate == "branch_clean"
    assert run.all(ModelInvoke) == []
    assert (checkout / "cart.py").read_text() == "half done\n"


class Hook(BaseHTTPRequestHandler):
    got: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:  # as the library calls it
        self.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
        """Tests are quiet."""


def test_the_team_is_told_of_the_commit(
    world: World, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ScriptedModel.edits[:] = [FIX]
    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        monkeypatch.setenv("CORTEX_WEBHOOK", f"http://127.0.0.1:{server.server_port}/")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        run = world.run(
            "fix_ci_failure_with_notification", inputs(checkout), workspace=str(checkout)
        )
        server.shutdown()
        thread.join()

    assert run.outcome == "completed", run.end
    (told,) = Hook.got
    assert (
        told["data"]["commit"] == git(checkout, "rev-parse", f"cortex/{run.execution_id}").strip()
    )
    assert told["message"].endswith("Add prices up")
    assert run.last(StepCompleted).step_id == "notify"
