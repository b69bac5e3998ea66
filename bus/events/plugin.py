"""Plugins: which ones run, their grants, and their failures."""

from ..event import Event


class PluginLoad(Event, frozen=True, kw_only=True, tag="plugin.load"):
    """Start a plugin, now and with every later runtime, with only these grants."""

    belongs = ("plugin", "plugin")

    plugin: str
    version: str  # that a person confirmed; if another one is installed, the plugin is denied
    digest: str  # SHA-256 of the confirmed manifest, hex; if it differs, the plugin is denied
    granted: tuple[str, ...] = ()  # requested parts: "publish:tool.call", "secret:TOKEN", ...
    denied: tuple[str, ...] = ()  # the other requested parts
    place: str = "process"  # "process": its own; "runtime": the hub's
    confined: bool = True  # False: the owner accepts that grants do not bind a hostile plugin
    package: str = ""  # its package; if another one provides it, the plugin is denied
    limits: dict[str, float] = {}  # confirmed limits, by name as in a manifest
    effects: dict[str, str] = {}  # confirmed effects, by action, tool or component
    start: str = ""  # start of new subscriptions of its components; "" for each component's own


class PluginUnload(Event, frozen=True, kw_only=True, tag="plugin.unload"):
    """Stop a plugin, and do not start it again."""

    belongs = ("plugin", "plugin")

    plugin: str
    reason: str = ""


class PluginLoaded(Event, frozen=True, kw_only=True, tag="plugin.loaded"):
    """A plugin runs; published again after each start, with its grants."""

    belongs = ("plugin", "plugin")

    plugin: str
    version: str
    components: tuple[str, ...]  # by name, as in events and subscriptions
    granted: tuple[str, ...] = ()
    place: str = "process"
    confined: bool = True
    listens: str = ""  # address where the plugin itself listens, for people; "" for nowhere


class PluginUnloaded(Event, frozen=True, kw_only=True, tag="plugin.unloaded"):
    """A plugin was stopped: no subscription, process or grant of it remains."""

    belongs = ("plugin", "plugin")

    plugin: str
    reason: str = ""


class PluginCrashed(Event, frozen=True, kw_only=True, tag="plugin.crashed"):
    """A plugin ended by itself, or Cortex ended it because it hung or flooded the bus."""

    belongs = ("plugin", "plugin")

    plugin: str
    reason: str
    times: int  # since it last ran without failure for a while
    again_s: float = 0.0  # seconds until Cortex starts it again
    given_up: bool = False  # Cortex does not start it again until a person loads it


class PluginDenied(Event, frozen=True, kw_only=True, tag="plugin.denied"):
    """A plugin was not started, or tried something that is not granted."""

    belongs = ("plugin", "plugin")

    plugin: str
    reason: str
    part: str = ""  # the requested part: "publish:tool.call"; empty for the whole plugin
    times: int = 1  # occurrences since the last record of it
    kept: bool = False  # the version before continues, and nothing has changed
