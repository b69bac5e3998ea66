"""Tools: calls by a model in an agent step, and their results."""

from typing import Any

from ..event import Event
from .execution import RECORD


class ToolCall(Event, frozen=True, kw_only=True, tag="tool.call"):
    """Call a tool, as a model asked for it."""

    belongs = ("execution", "execution_id")
    routing = "provider"
    personal = ("arguments", "workspace")

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int  # of the model's answer that asked for it
    call_id: str  # unique in the execution
    tool: str
    provider: str  # the component that takes it
    arguments: dict[str, Any] = {}
    workspace: str = ""
    timeout_s: float = 120.0
    effect: str = ""  # its effect, as listed; "" counts as "once"
    component: str = ""  # the component that is asked; answers of others do not count
    host: str = ""  # the client that announced it, whose answers count as well; "" for the owner
    worktree: bool = False  # whether it changes only a work tree
    tree: str = ""  # the execution whose work tree that is; "" for its own
    recorded: int = 0  # position of the answer on record that counts; nobody is asked then
    anew: bool = False  # a fork or what-if has an effect that is not on record

    def key(self) -> str | None:
        """The provider; `RECORD` if the answer is on record."""
        return RECORD if self.recorded else self.provider


class ToolReturned(Event, frozen=True, kw_only=True, tag="tool.returned"):
    """A tool returned its result, which is untrusted."""

    belongs = ("execution", "execution_id")
    personal = ("excerpt", "summary")

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
    """A tool returned no result; the model gets the reason, and continues."""

    belongs = ("execution", "execution_id")
    personal = ("error",)

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int
    call_id: str
    tool: str
    error: str
    kind: str = "failed"  # "timeout", "missing", "wrong_arguments", "interrupted", "masked"


class ToolDenied(Event, frozen=True, kw_only=True, tag="tool.denied"):
    """The step may not use the tool; the model gets the reason, and continues."""

    belongs = ("execution", "execution_id")
    personal = ("reason",)

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int
    call_id: str
    tool: str
    reason: str


class ToolUnclaimed(Event, frozen=True, kw_only=True, tag="tool.unclaimed"):
    """No server offers tools that a step declares; the step waits before it asks its model."""

    belongs = ("execution", "execution_id")
    personal = ("tools", "reasons")

    execution_id: str
    step_id: str
    attempt: int = 1  # the attempt that waits for them
    tools: tuple[str, ...]  # as the step lists them
    reasons: tuple[str, ...] = ()  # from their servers, if known
    wait_s: float  # the longest wait


class ToolEnabled(Event, frozen=True, kw_only=True, tag="tool.enabled"):
    """A pack of tools or skills is shown in full from the next turn on."""

    belongs = ("execution", "execution_id")
    personal = ()

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int
    pack: str
    by: str = "model"


class ToolListed(Event, frozen=True, kw_only=True, tag="tool.listed"):
    """The tools that a server offers now; it replaces the earlier list."""

    belongs = ("tools", "server")
    routing = "server"

    server: str
    provider: str = "mcp"
    tools: tuple[dict[str, Any], ...] = ()  # "name", "description", "parameters" (JSON Schema)
    reason: str = ""  # why there are none, or which were left out
    component: str = ""  # the component that takes their calls; "" for the source
