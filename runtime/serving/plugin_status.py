"""Which plugins should run, and their states: a fold over their events."""

import msgspec
from msgspec import Struct

from cortex.bus import Event
from cortex.bus.events import (
    PluginCrashed,
    PluginDenied,
    PluginLoad,
    PluginLoaded,
    PluginUnload,
    PluginUnloaded,
)


class PluginFared(Struct, frozen=True):
    """The state of one plugin."""

    state: str = "unloaded"  # or "loading", "loaded", "crashed", "given up", "denied"
    load: PluginLoad | None = None  # how it should run; None if it should not
    components: tuple[str, ...] = ()  # by name, when it last ran
    reason: str = ""  # of the state
    previous: PluginLoad | None = None  # it runs until the loading one runs
    confirmed: PluginLoad | None = None  # the last request for it, until it is unloaded
    failures: int = 0  # of its components since it was loaded, if counted


def plugin_after(before: PluginFared, event: Event) -> PluginFared:
    """The state of a plugin after *event*, one of its own."""
    change = msgspec.structs.replace
    match event:
        case PluginLoad():
            previous = before.load if before.state == "loaded" else before.previous
            return change(
                before, state="loading", load=event, confirmed=event, previous=previous, reason=""
            )
        case PluginLoaded():
            about = f"listens on {event.listens}" if event.listens else ""
            components = event.components
            return change(
                before, state="loaded", components=components, previous=None, reason=about
            )
        case PluginCrashed(given_up=True):
            return change(before, state="given up", load=None, previous=None, reason=event.reason)
        case PluginCrashed():
            return change(before, state="crashed", reason=event.reason)
        case PluginDenied(part="", kept=True):
            reason = f"the loaded version continues, because the reload failed: {event.reason}"
            load = before.previous or before.load
            return change(
                before, state="loaded", load=load, confirmed=load, previous=None, reason=reason
            )
        case PluginDenied(part=""):
            return change(before, state="denied", load=None, previous=None, reason=event.reason)
        case PluginUnload() | PluginUnloaded():
            return change(
                before,
                state="unloaded",
                load=None,
                confirmed=None,
                previous=None,
                reason=event.reason,
            )
    return before
