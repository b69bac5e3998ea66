"""Which plugins are to run, and how they fared: a fold over their events."""

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
    """One plugin, as its events leave it."""

    state: str = "unloaded"  # or "loading", "loaded", "crashed", "given up", "denied"
    load: PluginLoad | None = None  # as it is to run; None where it is not to
    components: tuple[str, ...] = ()  # by name, when it was last at work
    reason: str = ""  # of what became of it
    previous: PluginLoad | None = None  # that is at work until the one that is loading is
    confirmed: PluginLoad | None = None  # as it was last asked for, until it is unloaded
    failures: int = 0  # of its components since it was loaded, where somebody has counted them


def plugin_after(before: PluginFared, event: Event) -> PluginFared:
    """How a plugin stands once *event*, one of its own, has happened."""
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
