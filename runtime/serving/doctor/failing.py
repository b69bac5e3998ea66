"""Components, plugins and tool servers that fail or offer nothing, according to the log."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from cortex.bus.events import (
    ComponentFailed,
    EffectUnknown,
    PluginLoaded,
    RuntimeStarted,
)
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, many
from cortex.runtime.projections import Selection
from cortex.runtime.registry import registry_of

from .. import PluginFared, plugin_after

PLUGINS = Selection(topics=("plugin.*",))
AILING = ("failing", "crashed", "denied", "given up")  # states of a plugin that are warnings
LISTED = Selection(topics=("tool.listed",))
NOT_ASKED = "not asked yet: the next start of Cortex asks it"


class Failing(msgspec.Struct):
    """A component, and its failures since the start of it or of the runtime."""

    component: str
    failures: int
    reason: str  # of the newest failure
    about: str  # topic of the event that failed; empty if there is none
    position: int  # of the event that reports the failure
    trace: str  # digest of the blob that holds its traceback; empty if there is none


def failing_of(history: History) -> list[Failing]:
    """All of them by name; failures before the newest start of a runtime do not count."""
    newest = next(history.newest(Selection(topics=(RuntimeStarted.topic_name(),))), None)
    started = newest.position if newest else 0
    since: dict[str, int] = {}  # for components whose plugin was loaded later
    for record in history.select(Selection(topics=(PluginLoaded.topic_name(),)), started):
        event = history.event(record)
        if isinstance(event, PluginLoaded):
            since.update(dict.fromkeys(event.components, record.position))
    found: dict[str, Failing] = {}
    for position, event in sorted(_failures(history, started), key=lambda each: each[0]):
        if position > since.get(event.component, 0):
            before = found.get(event.component)
            about = event.about if isinstance(event, ComponentFailed) else _asked(event)
            found[event.component] = Failing(
                event.component,
                before.failures + 1 if before else 1,
                event.reason,
                about,
                position,
                event.trace,
            )
    return [found[name] for name in sorted(found)]


def failing_lines(found: Sequence[Failing]) -> Iterator[str]:
    """A line for each of them, and one with the command that shows the traceback."""
    for each in found:
        yield f"failing    {each.component}: {each.reason} ({times(each.failures)})"
    if found:
        yield "-> cortex events query --topic component.failed --traceback"


def times(failures: int) -> str:
    """How many, in words."""
    return many(failures, "failure")


def _asked(event: EffectUnknown) -> str:
    return f"{event.kind} {event.name}"


def _failures(
    history: History, after: int
) -> Iterator[tuple[int, ComponentFailed | EffectUnknown]]:
    for kind in (ComponentFailed, EffectUnknown):
        for record in history.select(Selection(topics=(kind.topic_name(),)), after):
            event = history.event(record)
            # An interrupted effect is no failure of the component; a handler's error has a trace.
            if isinstance(event, ComponentFailed) or (
                isinstance(event, EffectUnknown) and event.trace
            ):
                yield record.position, event


def plugins_of(history: History) -> dict[str, PluginFared]:
    """The state of each plugin that was ever loaded or requested, by name."""
    found: dict[str, PluginFared] = {}
    for record in history.select(PLUGINS):
        name, event = record.stream.partition("/")[2], history.event(record)
        if event is not None:
            found[name] = plugin_after(found.get(name, PluginFared()), event)
    failing = failing_of(history) if found else []
    return {name: with_failures(how, failing) for name, how in found.items()}


def with_failures(how: PluginFared, failing: Sequence[Failing]) -> PluginFared:
    """The same with the failures of its components; a failing plugin is not just loaded."""
    own = sorted((f for f in failing if f.component in how.components), key=lambda f: f.position)
    if not own or how.state != "loaded":
        return how
    failures = sum(each.failures for each in own)
    return replace(how, state="failing", reason=own[-1].reason, failures=failures)


def plugin_line(name: str, how: PluginFared) -> tuple[str, str]:
    """The line about a plugin, and its style: yellow if it does not work."""
    told = f": {how.reason}" if how.reason else ""
    return f"plugin     {name} {how.state}{told}", "yellow" if how.state in AILING else ""


class SilentServer(msgspec.Struct):
    """A configured tool server that offers no tools."""

    name: str
    reason: str
    log: str  # the file with the output of its program; empty if there is none
    asked: bool = True  # whether it ever was


def silent_servers_of(history: History) -> list[SilentServer]:
    """All of them, as configured, including those that were never asked.

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
    """A line for each of them, and the file with the output of its program."""
    for each in found:
        yield f"no tools   {each.name}: {each.reason}"
    for each in found:
        if each.log:
            yield f"-> {each.log}"
