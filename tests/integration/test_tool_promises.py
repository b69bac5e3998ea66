"""A declared tool is a promise: in a running Cortex, with real servers of tools."""

import importlib.util
import json
import sys
import time
from pathlib import Path

import pytest

from cortex.actors.tools import FileTools
from cortex.actors.tools.mcp import McpTools
from cortex.bus.events import (
    ContextCompiled,
    ExecutionHalted,
    ExecutionRequest,
    ModelInvoke,
    ProcessCompiled,
    ProcessRejected,
    ProcessUnlinked,
    StepFailed,
    ToolCall,
    ToolFailed,
    ToolListed,
    ToolUnclaimed,
)
from cortex.runtime.cli import main
from cortex.runtime.kernel import Home, Runtime

from ..staff_world import ANSWERING, World

SERVER = Path(__file__).with_name("tools_mcp_server.py")
PATIENCE_S = 120.0
STAFF = (*ANSWERING, FileTools, McpTools)
PROCESS = """
process: ask_once
version: 1
description: Ask a model
steps:
  - id: answer
    description: Say what the sum is
    action: answer_question
    with: { question: What is the sum? }
    tools: [TOOLS]
"""

needs_sdk = pytest.mark.skipif(
    importlib.util.find_spec("mcp") is None, reason="the extra `mcp` is not installed"
)


@pytest.fixture(scope="module", autouse=True)
def _sdk() -> None:
    """Import the SDK before anybody's time runs: that takes seconds on a machine that is busy."""
    if importlib.util.find_spec("mcp") is not None:
        importlib.import_module("mcp")


def configured(home: Home, wait_s: float, *command: str) -> Home:
    # In the file: what computes in a process of its own reads it there.
    home.config_path.write_text(
        f"[tools]\nwait_s = {wait_s}\n"
        f'[[tools.mcp]]\nname = "tiny"\ncommand = {json.dumps(command)}\n'
    )
    return home


def asking(tools: str) -> str:
    return PROCESS.replace("TOOLS", tools)


def test_a_tool_that_nobody_offers_does_not_compile(home: Home) -> None:
    with Runtime(home, components=STAFF) as runtime:
        world = World(runtime)
        (said,) = world.submit(**{"p.yaml": asking("read_file, no_such_tool")})

    assert isinstance(said, ProcessRejected)
    assert [each["code"] for each in said.diagnostics] == ["P417"]


@needs_sdk
@pytest.mark.parametrize("entry", ["tiny", "tiny.add"])
def test_a_server_that_cannot_be_started_holds_the_step_and_then_fails_it(
    home: Home, entry: str
) -> None:
    with Runtime(configured(home, 2, "no-such-program"), components=STAFF) as runtime:
        world = World(runtime)
        world.compiled(asking(entry))
        run = world.run("ask_once")

    assert run.outcome == "halted"
    held = run.last(ToolUnclaimed)
    assert (held.tools, held.wait_s) == ((entry,), 2.0)
    failed = run.last(StepFailed)
    assert failed.kind == "missing"
    assert (
        "which no component or server offers (tiny: its command is not installed)" in failed.error
    )
    assert isinstance(run.end, ExecutionHalted)
    assert not run.all(ModelInvoke)


def test_without_the_sdk_the_step_fails_at_once_with_the_remedy_and_runs_once_it_is_there(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = configured(home, 86_400, sys.executable, str(SERVER))
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "mcp", None)  # as if it were not installed
        with Runtime(server, components=STAFF) as runtime:
            world = World(runtime)
            world.compiled(asking("tiny.add"))
            run = world.run("ask_once")  # long before a day is over

    assert run.outcome == "halted"
    assert not run.all(ToolUnclaimed)
    assert run.last(StepFailed).kind == "missing"
    assert "not installed: pip install 'cortex-runtime[mcp]'" in run.last(StepFailed).error
    if importlib.util.find_spec("mcp") is not None:
        with Runtime(server, components=STAFF) as runtime:
            assert World(runtime).run("ask_once").outcome == "completed"


@needs_sdk
def test_a_server_that_comes_while_the_step_is_held_is_asked_again(
    home: Home, tmp_path: Path
) -> None:
    there = tmp_path / "there"
    script = tmp_path / "late.py"
    script.write_text(
        "import pathlib, runpy, sys\n"
        f"pathlib.Path({str(there)!r}).exists() or sys.exit(1)\n"
        f"runpy.run_path({str(SERVER)!r}, run_name='__main__')\n"
    )
    with Runtime(configured(home, 600, sys.executable, str(script)), components=STAFF) as runtime:
        world = World(runtime)
        world.compiled(asking("tiny.add"))
        request = ExecutionRequest(execution_id="e1", process="ask_once", goal="see it work")
        after = world.client.publish(request)
        world.wait(lambda said: isinstance(said.event, ToolUnclaimed), after)
        there.touch()
        run = world.stopped("e1", after)  # long before ten minutes are over

    assert run.outcome == "completed", run.end
    assert len(run.all(ToolUnclaimed)) == 1
    assert run.all(ModelInvoke)


@needs_sdk
def test_an_optional_tool_holds_and_fails_nothing_and_the_manifest_says_it_was_left_out(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    with Runtime(configured(home, 60, "no-such-program"), components=STAFF) as runtime:
        world = World(runtime)
        world.compiled(asking("{name: tiny.add, optional: true}"))
        run = world.run("ask_once")

    assert run.outcome == "completed", run.end
    assert not run.all(ToolUnclaimed)
    (compiled,) = run.all(ContextCompiled)
    assert compiled.notes == ("no component or server offers the tool or pack tiny.add",)
    for rebuilt in ([], ["--rebuild"]):
        shown = ["prompt", "show", compiled.prompt, "--manifest", *rebuilt]
        assert main([*shown, "--home", str(home.path)]) == 0
        assert (
            "noted         no component or server offers the tool or pack tiny.add"
            in capsys.readouterr().out
        )


def test_a_process_whose_tool_is_no_longer_listed_is_unlinked_and_comes_back(home: Home) -> None:
    with Runtime(home, components=(*ANSWERING, FileTools)) as runtime:
        world = World(runtime)
        offered = ToolListed(server="far", tools=({"name": "look"},))
        runtime.client("cortex").publish(offered)
        world.compiled(asking("far.look"))

        gone = runtime.client("cortex").publish(ToolListed(server="far", tools=({"name": "see"},)))
        (unlinked,) = world.settled(gone)
        back = runtime.client("cortex").publish(offered)
        (compiled,) = world.settled(back)

    assert isinstance(unlinked, ProcessUnlinked)
    assert unlinked.missing == ("tool far.look",)
    assert isinstance(compiled, ProcessCompiled)


@needs_sdk
def test_a_server_that_a_call_found_dead_no_longer_counts_as_offering_its_tools(
    home: Home, tmp_path: Path
) -> None:
    there = tmp_path / "there"
    there.touch()
    script = tmp_path / "mortal.py"
    script.write_text(
        "import pathlib, runpy, sys\n"
        f"pathlib.Path({str(there)!r}).exists() or sys.exit(1)\n"
        f"runpy.run_path({str(SERVER)!r}, run_name='__main__')\n"
    )
    server = sys.executable, str(script)
    with Runtime(configured(home, PATIENCE_S, *server), components=STAFF) as runtime:
        world = World(runtime)
        world.compiled(asking("tiny.add"))
        assert world.run("ask_once").outcome == "completed"
    there.unlink()

    with Runtime(configured(home, 2, *server), components=STAFF) as runtime:
        world, client = World(runtime), runtime.client("cortex")
        feed = client.follow(("tool.*", None))
        client.publish(
            ToolCall(
                execution_id="other", step_id="s", turn=1, call_id="c", tool="tiny.add",
                provider="mcp", arguments={"a": 1, "b": 2}, effect="none",
            )
        )  # fmt: skip
        told: list[str] = []
        until = time.monotonic() + PATIENCE_S
        both = {ToolFailed.topic_name(), ToolListed.topic_name()}
        while not both <= set(told) and time.monotonic() < until:
            told += [record.topic for record in feed.next(1.0)]
        feed.close()
        dead = world.run("ask_once")
    there.touch()
    with Runtime(configured(home, PATIENCE_S, *server), components=STAFF) as runtime:
        alive = World(runtime).run("ask_once")

    assert both <= set(told)
    assert dead.outcome == "halted"
    assert dead.last(ToolUnclaimed).tools == ("tiny.add",)
    assert dead.last(StepFailed).kind == "missing"
    assert not dead.all(ModelInvoke)
    assert alive.outcome == "completed"
