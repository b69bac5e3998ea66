"""A separate environment for a server that is a Python program, with the packages it needs.

A server for an older SDK cannot run in our environment. Its own environment is in the
user's cache folder, not in the home: so that nothing from a checkout is run as ours.
It may be deleted at any time.
"""

import asyncio
import contextlib
import hashlib
import os
import shutil
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import platformdirs

from cortex.runtime.code.programs import ProgramError, run_program
from cortex.runtime.isolation import interpreter
from cortex.runtime.kernel import ComponentInvalidError, Config
from cortex.runtime.secrets import SecretUnavailableError, secret_value, with_names
from cortex.runtime.tools import McpServer, ToolsConfig

from ..answers import one_line
from .errors import ServerError

INSTALL_S: Final = 600.0  # to download and install its packages
READY: Final = "cortex-ready"  # written last
PIP: Final = ("-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--")
SHORTEST_SECRET = 6  # characters; shorter ones would mask parts of any text


class Environments:
    """The environments of one home's servers."""

    def __init__(self, home: Path | None) -> None:
        self._home = str(home.absolute()) if home else ""

    def folder(self, server: McpServer) -> Path:
        """The folder of *server*; it depends on the home, the packages and the Python."""
        named = (self._home, server.name, sys.version, *server.packages)
        key = hashlib.sha256("\0".join(named).encode()).hexdigest()[:24]
        cache = Path(platformdirs.user_cache_path("cortex", appauthor=False))
        return cache / "tool-servers" / f"{server.name}-{key}"

    async def make(self, server: McpServer, known: Mapping[str, str]) -> dict[str, str]:
        """The variables of *server*: the *known* ones and its environment's, created if needed.

        Raises:
            ServerError: Its packages cannot be installed.
        """
        folder = self.folder(server)
        if not (folder / READY).exists():
            await self._install(server, folder, known)
        programs = folder / "bin"
        path = os.pathsep.join(filter(None, (str(programs), known.get("PATH", os.defpath))))
        return {**known, "PATH": path, "VIRTUAL_ENV": str(folder)}

    async def _install(self, server: McpServer, folder: Path, known: Mapping[str, str]) -> None:
        try:
            shutil.rmtree(folder, ignore_errors=True)  # of an interrupted attempt
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            async with asyncio.timeout(INSTALL_S):
                await _run(server, interpreter("-m", "venv", str(folder)), known)
                python = str(folder / "bin" / "python")
                await _run(server, (python, "-I", *PIP, *server.packages), known)
            (folder / READY).touch()
        except TimeoutError:
            problem = f"its packages were not installed within {INSTALL_S:g} s"
            raise ServerError(f"{server.name}: {problem}", "timeout") from None
        except OSError as error:
            problem = f"its environment cannot be made: {error.strerror or error}"
            raise ServerError(f"{server.name}: {problem}") from None


def program_of(server: McpServer, folder: Path) -> tuple[str, ...]:
    """The command of *server*; it uses the program of its environment, if it has one."""
    own = folder / "bin" / server.command[0]
    if os.sep in server.command[0] or not own.exists():
        return server.command
    return (str(own), *server.command[1:])


async def _run(server: McpServer, command: Sequence[str], known: Mapping[str, str]) -> None:
    wanted = threading.Event()
    wanted.set()
    try:
        ended = await asyncio.to_thread(
            run_program, command, "/", INSTALL_S, environment=known, wanted=wanted.is_set
        )
    except ProgramError as error:
        raise ServerError(f"{server.name}: its packages cannot be installed: {error}") from None
    finally:
        wanted.clear()  # if this is cancelled, the program ends, too
    if ended.exit_code:
        said = (ended.stdout + ended.stderr).decode(errors="replace")
        lines = [line for line in said.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines[-1:]
        why = masked(
            server, one_line(errors[0] if errors else f"it ended with {ended.exit_code}", 300)
        )
        raise ServerError(f"{server.name}: its packages cannot be installed: {why}")


def servers_of(config: Config, settings: Mapping[str, Any]) -> tuple[McpServer, ...]:
    """The servers in config.toml under `[[tools.mcp]]`; else those in *settings*.

    Raises:
        ComponentInvalidError: One of them is invalid.
    """
    said = getattr(config, "tools", None)
    if isinstance(said, ToolsConfig) and said.mcp:
        return said.mcp
    try:
        return msgspec.convert({"mcp": settings.get("servers", ())}, ToolsConfig).mcp
    except msgspec.ValidationError as error:
        raise ComponentInvalidError("McpTools", f"cannot be started: {error}") from None


def environment(server: McpServer) -> dict[str, str]:
    """The current variables for its program."""
    return {name: os.environ[name] for name in server.env if name in os.environ}


def bearer(server: McpServer) -> dict[str, str]:
    """The authorization header, if a variable has the token."""
    key = secret_value(server.key_env)
    return {"authorization": f"Bearer {key}"} if key else {}


def masked(server: McpServer, text: str) -> str:
    """*text* with masked values of the server's variables."""
    known: dict[str, str] = {}
    for name in (*server.env, server.key_env):
        with contextlib.suppress(SecretUnavailableError):  # then the server did not get it
            known[name] = secret_value(name)
    return with_names(text, known, SHORTEST_SECRET)
