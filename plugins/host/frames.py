"""The messages between the runtime and a plugin's process."""

from typing import Any

import msgspec
from msgspec import Struct

from cortex.bus.events import ComponentAnnounced

from ..checking import Description
from ..manifest import MEMORY_MB

HUNG = 75  # exit code: a handler hangs, and only the end of its process ends it
FRAME_BYTES = 4 << 20  # announcements carry schemas


class Spec(Struct, frozen=True):
    """The first frame that a plugin's process reads."""

    do: str  # "describe" or "run"
    where: str  # of its manifest: "package.module:NAME"
    path: tuple[str, ...] = ()  # folders to look for modules in, after Python's own
    url: str = ""
    client: str = ""
    settings: dict[str, Any] = {}
    start: str = ""  # of new subscriptions, instead of what its components say
    memory_mb: int = MEMORY_MB  # data of each of its processes
    confined: bool = False


class Go(Struct, frozen=True):
    """A frame after its description: work, or rest until the next frame.

    At rest none of its handlers runs, and its code stays in memory: it can continue.
    """

    token: str  # in no argument or environment; empty for rest


class PluginFrame(Struct, frozen=True, omit_defaults=True):
    """A frame from a plugin's process."""

    described: Description | None = None
    ready: bool = False
    announced: tuple[ComponentAnnounced, ...] = ()
    alive: bool = False
    resting: bool = False  # its handlers are stopped
    failed: str = ""
    denied: bool = False  # it failed for want of a grant


def frame_in(data: bytes) -> PluginFrame:
    """The message in a frame; an unreadable frame counts as a failure."""
    try:
        return msgspec.msgpack.decode(data, type=PluginFrame)
    except msgspec.DecodeError as error:
        return PluginFrame(failed=f"it sent what is not a frame of a plugin: {error}")
