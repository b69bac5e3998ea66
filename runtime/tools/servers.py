"""Servers of tools, as config.toml says them: `[[tools.mcp]]`."""

import re
from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from cortex.bus import Effect
from cortex.runtime.models import ModelConfig, ModelConfigError, address_of

_NAME = re.compile(r"[A-Za-z0-9](?:-|_(?!_)|[A-Za-z0-9]){0,31}")  # `__` parts it from the tool

WAIT_S = 60.0  # that a step waits for tools which are not there, unless it is configured

Name = Annotated[str, Meta(min_length=1)]
# What `pip install` is given: no option, nothing that the shell of anybody would read.
Package = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][\w.\-\[\],<>=!~ ;@:/+%()'\"#&?]{0,299}$")]


class McpServer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One server of tools, which is started here or stands on a URL."""

    name: Annotated[str, Meta(description="its tools are called NAME.tool")]
    command: Annotated[
        tuple[str, ...],
        Meta(description="program and words that start it here; otherwise give url"),
    ] = ()
    url: Annotated[
        str,
        Meta(pattern=r"^(https?://.+)?$", description="its address; otherwise give command"),
    ] = ""
    env: Annotated[
        tuple[Name, ...], Meta(description="names of environment variables that its program gets")
    ] = ()
    key_env: Annotated[
        str,
        Meta(
            description="name of the variable that holds the bearer token for its url, or "
            "`keyring:SERVICE/NAME`"
        ),
    ] = ""
    packages: Annotated[
        tuple[Package, ...],
        Meta(
            description="Python packages of its program, such as `mcp<2`: Cortex installs them in "
            "a separate environment, and looks for its command there first"
        ),
    ] = ()
    timeout_s: Annotated[
        float, Meta(gt=0, description="most seconds that a connection and a call may take")
    ] = 60.0
    allow: Annotated[
        tuple[Name, ...], Meta(description="names of its tools to offer; none means all")
    ] = ()
    trust_annotations: Annotated[
        bool,
        Meta(
            description="whether to trust its own declarations of effects; otherwise each "
            "effect is `once`"
        ),
    ] = False
    effects: Annotated[
        dict[Name, Effect],
        Meta(description="the effects of its tools, by name: none, read, idempotent or once"),
    ] = {}

    def __post_init__(self) -> None:
        """Refuse what cannot be connected to."""
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"the name {self.name[:40]!r} of a server is to be 1 to 32 letters, digits, - or _"
            )
        if bool(self.command and self.command[0]) == bool(self.url):
            raise ValueError(f"the server {self.name} needs a command or a url, and not both")
        if self.packages and self.url:
            raise ValueError(
                f"the server {self.name} has a url: only a server with a command has packages"
            )
        for key, problem in _faults(self):
            raise ValueError(f"{key} of the server {self.name}: {problem}")

    @property
    def log(self) -> str:
        """The file, within a home, with what its program says on standard error."""
        return f"logs/mcp-{self.name}.log"

    def offers(self, tool: str) -> bool:
        """Whether its *tool* may be used."""
        return not self.allow or tool in self.allow


class CommandsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tool `run_command`; which programs it may start, `handlers.shell` says."""

    effect: Annotated[
        Effect,
        Meta(description="the effect of the programs that it runs, as in `handlers.shell`"),
    ] = "once"


class ToolsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tools beside those that come with Cortex."""

    commands: CommandsConfig = CommandsConfig()
    wait_s: Annotated[
        float,
        Meta(
            ge=0,
            le=86_400,
            description="seconds that a step waits for declared tools that nobody offers; then "
            "its attempt fails",
        ),
    ] = WAIT_S
    mcp: Annotated[tuple[McpServer, ...], Meta(description="servers of tools, one table each")] = ()

    def __post_init__(self) -> None:
        """Refuse two servers of one name."""
        names = [server.name for server in self.mcp]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two servers are called {twice[0]}: give each a name of its own")


def _faults(server: McpServer) -> Iterator[tuple[str, str]]:
    """Keys of *server* whose values cannot be, and why; no message repeats what may be a secret."""
    address = address_of(server.url)
    if server.url and address is None:
        problem = (
            "expected `https://HOST/PATH` or `http://127.0.0.1:PORT/PATH`, without user, password "
            "or query (the variable with a token is named by `key_env`)"
        )
        yield "url", problem
    named = (*(("env", name) for name in server.env), ("key_env", server.key_env))
    for key, name in named:
        if name and (problem := _wrong_variable(name)):
            yield key, problem
    if server.key_env and address and address.scheme == "http" and not address.on_this_host:
        yield "url", f"plain http to {address} shows the token to everyone on the way: use https"


def _wrong_variable(name: str) -> str:
    """Why *name* cannot be that of a variable, as for the key of a model."""
    try:
        ModelConfig(name="any", provider="openai", base_url="http://127.0.0.1", key_env=name)
    except ModelConfigError as error:
        return error.problem
    return ""
