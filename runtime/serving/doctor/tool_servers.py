"""Which configured servers of tools offer nothing, as the log has it."""

from collections.abc import Iterator, Sequence

import msgspec

from cortex.bus.events import ToolListed
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config

NOT_ASKED = "not asked yet: the next start of Cortex asks it"


class SilentServer(msgspec.Struct):
    """A server of tools that is configured and offers none."""

    name: str
    reason: str
    log: str  # the file with what its program said; empty where there is none
    asked: bool = True  # whether it ever was


def silent_servers_of(history: History) -> list[SilentServer]:
    """All of them, as config.toml has them, with those that were never asked.

    Raises:
        ConfigError: config.toml cannot be read.
    """
    found = []
    for server in Config.shown(history.home).tools.mcp:
        event = _newest(history, server.name)
        if event is None:
            found.append(SilentServer(server.name, NOT_ASKED, "", asked=False))
        elif not event.tools:
            reason = event.reason.removeprefix(f"{server.name}: ") or "it offers no tools"
            said = history.home.path / server.log
            has_log = said.is_file() and said.stat().st_size > 0
            found.append(SilentServer(server.name, reason, str(said) if has_log else ""))
    return found


def silent_server_lines(found: Sequence[SilentServer]) -> Iterator[str]:
    """A line for each of them, and where to see what its program said."""
    for each in found:
        yield f"no tools   {each.name}: {each.reason}"
    for each in found:
        if each.log:
            yield f"-> {each.log}"


def _newest(history: History, server: str) -> ToolListed | None:
    records = history.stream(ToolListed(server=server).stream())
    event = history.event(records[-1]) if records else None
    return event if isinstance(event, ToolListed) else None
