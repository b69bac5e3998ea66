"""What a home would run or connect to, from its files and its log; and the end of trust in it."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from cortex.bus import CortexError
from cortex.bus.events import TrustWithdrawn
from cortex.runtime.access import GRANTS, grants_in
from cortex.runtime.access.trust import acting_in, digest_at, withdraw_trust
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, ConfigError, Home, many
from cortex.runtime.log import EventLog
from cortex.runtime.models import endpoint_of

from .hub_or_log import granting

ENV = ("env", "_env")  # settings with these endings name environment variables


class ActingEndpoint(msgspec.Struct):
    """A host that Cortex would connect to, or a program that it would start."""

    what: str  # "model big", "tool server git", ...
    where: str  # its URL, or the program with its arguments
    variables: list[str]  # environment variables that it would get


class LogInside(msgspec.Struct):
    """The parts of a home's log that would have effects: waiting work, deadlines and tokens."""

    events: int
    waiting: int  # work that the next runtime would start
    deadlines: int  # that would become due
    clients: list[str]  # clients whose tokens would be valid


class ActingDocument(msgspec.Struct, kw_only=True):
    """Whether a home is trusted, and what it would run."""

    home: str
    trusted: bool
    reasons: list[str]  # why not
    digest: str  # SHA-256 over everything that can run: the value for CORTEX_TRUST
    files: list[str]  # files that can run something, by path in the home
    recorded: list[str]  # what a runtime recorded there: its log, keys and effects
    components: list[str]  # import strings
    endpoints: list[ActingEndpoint]
    log: LogInside | None
    unreadable: str  # the error in its config.toml or its log; "" for none


class WithdrawnDocument(msgspec.Struct):
    """A home that is not trusted any more."""

    home: str
    was_trusted: bool
    recorded: bool  # in its log


def acting_document(home: Home) -> ActingDocument:
    """What *home* would run or connect to.

    Raises:
        TrustError: The home cannot be read.
    """
    acting = acting_in(home.path)
    reasons = home.untrusted_because
    found = ActingDocument(
        home=str(home.path),
        trusted=not reasons,
        reasons=list(reasons),
        digest=digest_at(home.path),
        files=sorted(acting.files),
        recorded=list(acting.state),
        components=[],
        endpoints=[],
        log=None,
        unreadable="",
    )
    try:
        config = Config.shown(home)
        found.components = [component.use for component in config.components]
        found.endpoints = list(_endpoints(config))
    except ConfigError as error:
        found.unreadable = str(error)
    if home.log_path.exists():
        try:
            found.log = _inside(home)
        except CortexError as error:
            found.unreadable = found.unreadable or str(error)
    return found


def acting_lines(document: ActingDocument) -> Iterator[tuple[str, str]]:
    """The same for people: a word and its details."""
    for folder in sorted({path.partition("/")[0] for path in document.files}):
        inside = [f.partition("/")[2] for f in document.files if f.startswith(f"{folder}/")]
        yield folder, ", ".join(inside) or "settings"
    for component in document.components:
        yield "component", component
    for endpoint in document.endpoints:
        variables = ", ".join(endpoint.variables)
        yield endpoint.what, endpoint.where + (f" gets {variables}" if variables else "")
    if document.log is not None:
        log = document.log
        counts = (
            many(log.events, "event"),
            many(log.waiting, "waiting request"),
            many(log.deadlines, "deadline"),
        )
        tokens = f"tokens of {', '.join(log.clients)}" if log.clients else "no client has a token"
        yield "log", "; ".join((*counts, tokens))
    if document.unreadable:
        yield "unreadable", document.unreadable


def withdraw_recorded(home: Home) -> tuple[WithdrawnDocument, str]:
    """Trust *home* no more, and record that in its log.

    The second is why it could not be recorded; "" if it was, or if there was nothing to record.

    Raises:
        TrustError: The list of trusted homes cannot be changed.
    """
    recorded, problem = False, ""
    if not home.untrusted_because and home.log_path.exists():
        try:
            with granting(home) as owner:
                owner.publish(TrustWithdrawn(home=str(home.path)))
            recorded = True
        except CortexError as error:
            problem = str(error)
    return WithdrawnDocument(str(home.path), withdraw_trust(home.path), recorded), problem


def _endpoints(config: Config) -> Iterator[ActingEndpoint]:
    for model in config.models.use:
        asked = endpoint_of(model)
        where = f"unix:{asked.socket}" if asked.socket else asked.base_url or asked.log
        if where or asked.key_env:
            yield ActingEndpoint(
                f"model {model.name}", where or model.provider, _named(asked.key_env)
            )
    knowledge = config.knowledge
    if knowledge.base_url or knowledge.embedder == "local":
        where = knowledge.base_url or knowledge.model
        yield ActingEndpoint("embedder", where, _named(knowledge.key_env))
    for server in config.tools.mcp:
        where = " ".join(server.command) or server.url
        if server.packages:
            where += f" (installs {', '.join(server.packages)})"
        yield ActingEndpoint(
            f"tool server {server.name}", where, _named(server.key_env, *server.env)
        )
    for name, settings in config.plugins.items():
        yield ActingEndpoint(f"plugin {name}", "its settings", sorted(set(_variables(settings))))
    for component in config.components:
        if variables := sorted(set(_variables(component.config))):
            yield ActingEndpoint(f"component {component.use}", "its settings", variables)
    if config.handlers.shell.allow:
        yield ActingEndpoint("programs", ", ".join(config.handlers.shell.allow), [])


def _named(*names: str) -> list[str]:
    return [f"{name} (set)" if os.environ.get(name) else name for name in names if name]


def _variables(settings: Any) -> Iterator[str]:
    if isinstance(settings, Mapping):
        for key, value in settings.items():
            if str(key).endswith(ENV):
                yield from (str(each) for each in ([value] if isinstance(value, str) else value))
            else:
                yield from _variables(value)
    elif isinstance(settings, list | tuple):
        for value in settings:
            yield from _variables(value)


def _inside(home: Home) -> LogInside:
    log = EventLog.open(home.log_path, readonly=True)
    try:
        state = log.state()
    finally:
        log.close()
    clients: list[str] = []
    with suppress(CortexError), History.open(home) as history:
        grants = grants_in(history.stream(GRANTS), history.vocabulary)
        clients = sorted(grant.given.client for grant in grants.clients())
    return LogInside(state.head, len(state.work), len(state.deadlines), clients)


def home_in(folder: Path) -> Path:
    """The home that *folder* is or contains."""
    inside = folder / ".cortex"
    return inside if inside.is_dir() and folder.name != ".cortex" else folder
