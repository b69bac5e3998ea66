from actors.tools.mcp import *
