"""Tools of MCP servers, which are programs started here or stand on a URL."""

from .errors import ServerError
from .mcp_tools import McpTools
from .settings import servers_of

__all__ = ["McpTools", "ServerError", "servers_of"]
