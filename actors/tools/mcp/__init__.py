"""Tools of MCP servers, which are programs started here, or are at a URL."""

from .environments import servers_of
from .errors import ServerError
from .mcp_tools import McpTools

__all__ = ["McpTools", "ServerError", "servers_of"]
