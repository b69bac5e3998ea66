"""The tools at work in a runtime: a call is recorded, its answer follows."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from cortex.actors.tools import CommandTools, FileTools, KnowledgeTools
from cortex.bus import Event
from cortex.bus.events import (
    ToolCall,
    ToolDenied,
    ToolFailed,
    ToolListed,
    ToolReturned,
)
from cortex.runtime.kernel import Entry, Home, Runtime
from cortex.runtime.registry import registry_of
from cortex.runtime.tools import allowed, check_call, shown

from .repair_world import CART, repository

SERVER = Path(__file__).with_name("tools_mcp_server.py")
COMPONENTS = [FileTools, CommandTools, KnowledgeTools]
PATIENCE_S = 120.0
STDIO = {"name": "tiny", "command": [sys.executable, str(SERVER)]}
MCP = Entry("cortex.actors.tools.mcp:McpTools", settings={"servers": [STDIO]})


def answers(runtime: Runtime, *calls: ToolCall) -> list[Event]:
    """What is recorded of tools until each of *calls* has its answer."""
    client = runtime.client("engine")
    feed = client.follow(("tool.*", None))
    client.publish(*calls)
    found: list[Event] = []
    open_ = {call.call_id for call in calls}
    while open_:
        records = feed.next(PATIENCE_S)
        assert records, "no answer came"
        for event in map(client.vocabulary.read, records):
            if isinstance(event, ToolReturned | ToolFailed | ToolDenied):
                open_.discard(event.call_id)
            if not isinstance(event, ToolCall):
                found.append(event)
    feed.close()
    return found


def call(workspace: Path, provider: str, tool: str, **arguments: Any) -> ToolCall:
    return ToolCall(
        execution_id="e1",
        step_id="s1",
        turn=1,
        call_id=f"{tool} {arguments}",
        tool=tool,
        provider=provider,
        arguments=arguments,
        workspace=str(workspace),
    )


def test_calls_of_one_turn_are_answered(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "work", {"cart.py": CART})
    with Runtime(Home.create(tmp_path / ".cortex"), components=COMPONENTS) as runtime:
        found = answers(
            runtime,
            call(workspace, "files", "read_file", path="cart.py"),
            call(workspace, "files", "read_file", path="none.py"),
            call(workspace, "commands", "run_command", argv=["cat", "cart.py"]),
            call(workspace, "knowledge", "find_knowledge", query="flaky tests"),
        )
        again = answers(
            runtime, call(workspace, "files", "read_result", handle=found_id(found, "read_file"))
        )

    told = sorted(
        f"{type(event).__name__} {event.tool}"
        for event in found
        if isinstance(event, ToolReturned | ToolFailed | ToolDenied)
    )
    assert told == [
        "ToolFailed read_file",
        "ToolReturned find_knowledge",
        "ToolReturned read_file",
        "ToolReturned run_command",
    ]
    assert isinstance(again[0], ToolReturned)
    assert again[0].excerpt.startswith("1\t1\tdef total(prices):")


def test_what_components_announce_is_what_a_step_may_call(tmp_path: Path) -> None:
    with Runtime(Home.create(tmp_path / ".cortex"), components=COMPONENTS) as runtime:
        client = runtime.client("engine")
        registry = registry_of(client.read_stream("registry"), client.vocabulary.read)

    may = allowed(["files", "run_command"], registry.tools)
    full = shown(may, ["files"]).tools
    assert [tool.name for tool in full] == [
        "enable_pack",
        "run_command",
        "apply_patch",
        "read_file",
        "read_result",
        "search_code",
    ]
    assert all(tool.parameters["type"] == "object" and tool.description for tool in full)
    found = check_call("apply_patch", {"patch": ""}, may, ["files"])
    assert not isinstance(found, str)
    assert (found.provider, found.effect) == ("files", "idempotent")


@pytest.mark.skipif(
    importlib.util.find_spec("mcp") is None, reason="the extra `mcp` is not installed"
)
def test_a_server_of_the_settings_is_listed_and_called(tmp_path: Path) -> None:
    with Runtime(Home.create(tmp_path / ".cortex"), components=[MCP]) as runtime:
        found = answers(runtime, call(tmp_path, "mcp", "tiny.add", a=1, b=2))
        client = runtime.client("engine")
        listed = [client.vocabulary.read(record) for record in client.read_stream("tools/tiny")]

    assert [event.excerpt for event in found if isinstance(event, ToolReturned)] == ["3\n"]
    names = [
        tool["name"] for event in listed if isinstance(event, ToolListed) for tool in event.tools
    ]
    assert "add" in names


def found_id(events: list[Event], tool: str) -> str:
    (found,) = [e for e in events if isinstance(e, ToolReturned) and e.tool == tool]
    return found.call_id
