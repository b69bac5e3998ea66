"""The plugins that a log tells of."""

from collections.abc import Sequence

from msgspec.structs import replace

from cortex.runtime.executions.view import History
from cortex.runtime.projections import Selection

from .. import PluginFared, plugin_after
from .failing import Failing, failing_of

PLUGINS = Selection(topics=("plugin.*",))
AILING = ("failing", "crashed", "denied", "given up")  # states of a plugin that is a warning


def plugins_of(history: History) -> dict[str, PluginFared]:
    """How each plugin stands that was ever loaded or asked for, by name."""
    found: dict[str, PluginFared] = {}
    for record in history.select(PLUGINS):
        name, event = record.stream.partition("/")[2], history.event(record)
        if event is not None:
            found[name] = plugin_after(found.get(name, PluginFared()), event)
    failing = failing_of(history) if found else []
    return {name: with_failures(how, failing) for name, how in found.items()}


def with_failures(how: PluginFared, failing: Sequence[Failing]) -> PluginFared:
    """The same with what its components could not handle; one that fails is not just loaded."""
    own = sorted((f for f in failing if f.component in how.components), key=lambda f: f.position)
    if not own or how.state != "loaded":
        return how
    failures = sum(each.failures for each in own)
    return replace(how, state="failing", reason=own[-1].reason, failures=failures)


def plugin_line(name: str, how: PluginFared) -> tuple[str, str]:
    """The line about a plugin, and its style: yellow where it does not do its work."""
    told = f": {how.reason}" if how.reason else ""
    return f"plugin     {name} {how.state}{told}", "yellow" if how.state in AILING else ""
