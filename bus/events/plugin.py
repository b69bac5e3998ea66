"""Plugins: what is to run, what it was granted, and how it fares."""

from ..event import Event


class PluginLoad(Event, frozen=True, kw_only=True, tag="plugin.load"):
    """Start a plugin, now and with every later runtime, with only these grants."""

    belongs = ("plugin", "plugin")

    plugin: str
    version: str  # that somebody looked at; where another is installed by then, it is denied
    digest: str  # SHA-256 of the manifest that was shown, hex; where it is another, it is denied
    granted: tuple[str, ...] = ()  # parts of what it asks: "publish:tool.call", "secret:TOKEN", ...
    denied: tuple[str, ...] = ()  # the other parts that it asks for
    place: str = "process"  # of its own; "runtime": beside the hub
    confined: bool = True  # False: the owner takes it that grants do not hold if it is hostile
    package: str = ""  # that brings it; where another does by then, it is denied
    limits: dict[str, float] = {}  # that were confirmed, by name as in a manifest
    effects: dict[str, str] = {}  # that were confirmed, by action, tool or component
    start: str = ""  # where new subscriptions of its components begin; "" as each of them says


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
    times: int  # since it last worked for a while
    again_s: float = 0.0  # it is started again after so long
    given_up: bool = False  # it is not started again before somebody loads it


class PluginDenied(Event, frozen=True, kw_only=True, tag="plugin.denied"):
    """A plugin is not started, or something tried through it what is not granted."""

    belongs = ("plugin", "plugin")

    plugin: str
    reason: str
    part: str = ""  # of what it asks: "publish:tool.call"; empty where the whole plugin is meant
    times: int = 1  # how often that came since it was last recorded
    kept: bool = False  # the version before continues, and nothing has changed
