"""An environment of its own for a server that is a Python program, with the packages it wants.

A server that was written for an older SDK cannot start beside ours. Its environment stands in the
user's cache folder, not in the home: nothing that came with a checkout is run as if it were ours.
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

INSTALL_S: Final = 600.0  # for its packages to be fetched and installed
READY: Final = "cortex-ready"  # written last
PIP: Final = ("-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--")
SHORTEST_SECRET = 6  # characters; what is shorter would hide parts of any text


class Environments:
    """Where the environments of one home's servers stand."""

    def __init__(self, home: Path | None) -> None:
        self._home = str(home.absolute()) if home else ""

    def folder(self, server: McpServer) -> Path:
        """Of *server*: another home, list of packages or Python makes it another one."""
        named = (self._home, server.name, sys.version, *server.packages)
        key = hashlib.sha256("\0".join(named).encode()).hexdigest()[:24]
        cache = Path(platformdirs.user_cache_path("cortex", appauthor=False))
        return cache / "tool-servers" / f"{server.name}-{key}"

    async def make(self, server: McpServer, known: Mapping[str, str]) -> dict[str, str]:
        """The variables of *server*: what is *known* to it, in its environment, made if need be.

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
            shutil.rmtree(folder, ignore_errors=True)  # of a try that was cut off
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
    """The words that start *server*: its program is that of its environment, where it has one."""
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
        wanted.clear()  # where this is cut, the program is ended, too
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
