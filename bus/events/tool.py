"""Tools: what a model asked for in an agent step, and what came of it."""

from typing import Any

from ..event import Event


class ToolCall(Event, frozen=True, kw_only=True, tag="tool.call"):
    """Use a tool, as a model asked for it."""

    belongs = ("execution", "execution_id")
    routing = "provider"

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int  # of the model's answer that asked for it
    call_id: str  # unique in the execution
    tool: str
    provider: str  # who takes it
    arguments: dict[str, Any] = {}
    workspace: str = ""
    timeout_s: float = 120.0
    effect: str = ""  # what it does to the world, as it was listed; "" counts as "once"
    component: str = ""  # who is asked; the answer of anybody else does not count
    host: str = ""  # the client that announced it, whose answer counts, too; "" for the owner's
    worktree: bool = False  # whether it changes nothing but a work tree
    tree: str = ""  # the execution whose work tree that is; "" for its own


class ToolReturned(Event, frozen=True, kw_only=True, tag="tool.returned"):
    """A tool gave its result, which nobody vouches for."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int
    call_id: str
    tool: str
    result: str  # digest of the blob that holds the whole text
    excerpt: str = ""  # its beginning, for people
    bytes: int = 0
    lines: int = 0
    summary: str = ""  # one line for people


class ToolFailed(Event, frozen=True, kw_only=True, tag="tool.failed"):
    """A tool did not give a result; the model is told, and goes on."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int
    call_id: str
    tool: str
    error: str
    kind: str = "failed"  # "timeout", "missing", "wrong_arguments", "interrupted", "masked"


class ToolDenied(Event, frozen=True, kw_only=True, tag="tool.denied"):
    """The step may not use the tool; the model is told, and goes on."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int
    call_id: str
    tool: str
    reason: str


class ToolUnclaimed(Event, frozen=True, kw_only=True, tag="tool.unclaimed"):
    """Nobody offers tools that a step declares; it waits before it asks its model, then fails."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    attempt: int = 1  # that begins once they are there
    tools: tuple[str, ...]  # as the step lists them
    reasons: tuple[str, ...] = ()  # what their servers say, where one is known
    wait_s: float  # that it waits at most


class ToolEnabled(Event, frozen=True, kw_only=True, tag="tool.enabled"):
    """A pack of tools or skills is shown in full from the next turn on."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int
    pack: str
    by: str = "model"


class ToolListed(Event, frozen=True, kw_only=True, tag="tool.listed"):
    """The tools that a server offers now; it replaces what was listed of it before."""

    belongs = ("tools", "server")
    routing = "server"

    server: str
    provider: str = "mcp"
    tools: tuple[dict[str, Any], ...] = ()  # "name", "description", "parameters" (JSON Schema)
    reason: str = ""  # why there are none, or what was left out
    component: str = ""  # who takes calls of them, where the runtime says it; else who lists them
