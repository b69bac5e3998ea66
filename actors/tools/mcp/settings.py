"""Which servers there are, and what of the environment each of them knows."""

import contextlib
import os
from collections.abc import Mapping
from typing import Any

import msgspec

from cortex.runtime.kernel import ComponentInvalidError, Config
from cortex.runtime.secrets import SecretUnavailableError, secret_value, with_names
from cortex.runtime.tools import McpServer, ToolsConfig

SHORTEST_SECRET = 6  # characters; what is shorter would hide parts of any text


def servers_of(config: Config, settings: Mapping[str, Any]) -> tuple[McpServer, ...]:
    """The servers in config.toml under `[[tools.mcp]]`; else those in *settings*.

    Raises:
        ComponentInvalidError: One of them is not said rightly.
    """
    said = getattr(config, "tools", None)
    if isinstance(said, ToolsConfig) and said.mcp:
        return said.mcp
    try:
        return msgspec.convert({"mcp": settings.get("servers", ())}, ToolsConfig).mcp
    except msgspec.ValidationError as error:
        raise ComponentInvalidError("McpTools", f"cannot be started: {error}") from None


def environment(server: McpServer) -> dict[str, str]:
    """The variables that its program gets, as they are now."""
    return {name: os.environ[name] for name in server.env if name in os.environ}


def bearer(server: McpServer) -> dict[str, str]:
    """The header that says who asks, where a variable holds the token."""
    key = secret_value(server.key_env)
    return {"authorization": f"Bearer {key}"} if key else {}


def masked(server: McpServer, text: str) -> str:
    """*text* without the values of the variables that the server knows."""
    known: dict[str, str] = {}
    for name in (*server.env, server.key_env):
        with contextlib.suppress(SecretUnavailableError):  # then nobody was given it
            known[name] = secret_value(name)
    return with_names(text, known, SHORTEST_SECRET)
