"""A server of tools over stdio that leaves a line in a file and takes its time."""

import sys
from pathlib import Path

import anyio
from mcp.server.mcpserver import MCPServer

server = MCPServer("slowly")


@server.tool()
async def mark(seconds: float) -> str:
    """Leave a line."""
    with Path(sys.argv[1]).open("a") as file:  # a line, at once
        file.write("mark\n")
    await anyio.sleep(seconds)
    return "marked"


server.run()
