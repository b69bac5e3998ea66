"""Which configured servers of tools offer nothing, as the log has it."""

from collections.abc import Iterator, Sequence

import msgspec

from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config
from cortex.runtime.projections import Selection
from cortex.runtime.registry import registry_of

LISTED = Selection(topics=("tool.listed",))
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
    servers = Config.shown(history.home).tools.mcp
    listings = registry_of(history.select(LISTED), history.event).listings if servers else {}
    found = []
    for server in servers:
        listing = listings.get(server.name)
        if listing is None:
            found.append(SilentServer(server.name, NOT_ASKED, "", asked=False))
        elif not listing.newest.tools:
            reason = listing.newest.reason.removeprefix(f"{server.name}: ") or "it offers no tools"
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
