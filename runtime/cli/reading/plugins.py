"""The plugins that a log tells of."""

from cortex.runtime.serving import PluginFared, plugin_after

from .history import History
from .selection import Selection

PLUGINS = Selection(topics=("plugin.*",))


def plugins_of(history: History) -> dict[str, PluginFared]:
    """How each plugin stands that was ever loaded or asked for, by name."""
    found: dict[str, PluginFared] = {}
    for record in history.select(PLUGINS):
        name, event = record.stream.partition("/")[2], history.event(record)
        if event is not None:
            found[name] = plugin_after(found.get(name, PluginFared()), event)
    return found
