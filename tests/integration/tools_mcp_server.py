"""A small MCP server: over stdio, or over HTTP on a port of this machine with `http PORT`."""

import os
import sys
from pathlib import Path

import anyio
from mcp.server.mcpserver import Context, Image, MCPServer

server = MCPServer("tiny")
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f64540"
    "0000000049454e44ae426082"
)


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def boom() -> str:
    """Always fails."""
    sys.stderr.write("boom was called\n")
    sys.stderr.flush()
    raise ValueError("no luck")


@server.tool()
async def slow(seconds: float) -> str:
    """Take some time."""
    await anyio.sleep(seconds)
    return "slept"


@server.tool()
def secret() -> str:
    """Tell what it was given."""
    return f"token {os.environ.get('TINY_TOKEN', 'none')}, other {os.environ.get('OTHER', 'none')}"


@server.tool()
def pixel() -> Image:
    """Draw one pixel."""
    return Image(data=PIXEL, format="png")


@server.tool()
def who() -> dict[str, int]:
    """Tell the process."""
    return {"pid": os.getpid()}


@server.tool()
async def grow(ctx: Context) -> str:
    """Add a tool in mid-run."""
    server.add_tool(lambda: "hi", name="hello", description="Say hi.")
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "grown"


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        if sys.argv[1:2] == ["once"]:
            server.add_tool(lambda: "new", name=Path(sys.argv[2]).read_text("utf-8").strip())
        server.run("stdio")
