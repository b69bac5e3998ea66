"""The tools that were there at a moment, read from what was announced and listed until then."""

from collections.abc import Callable, Iterator, Sequence

from cortex.bus import Recorded, Vocabulary
from cortex.bus.events import ComponentAnnounced, ComponentWithdrawn, ToolListed
from cortex.runtime.access import Announcers
from cortex.runtime.executions import Offers
from cortex.runtime.tools import WAIT_S, Tools

TOLD = frozenset(cls.topic_name() for cls in (ComponentAnnounced, ComponentWithdrawn, ToolListed))


def offers_at(
    position: int,
    history: Callable[[str], Iterator[Recorded]],
    vocabulary: Vocabulary,
    wait_s: float = WAIT_S,
) -> Offers:
    """Looks up what there was, when the event at *position* was recorded, of what a step lists.

    It reads the log and not the memory, so that an event which is handled again meets the same
    tools.
    """

    def offers(entries: Sequence[str]) -> Tools:
        tools = Tools(wait_s)
        for stream in ("registry", *_servers(entries)):
            for record in history(stream):
                about_tools = record.stream != "registry" or record.key == "tool"
                if about_tools and record.topic in TOLD and record.position < position:
                    event = vocabulary.read(record)
                    if isinstance(event, ComponentAnnounced | ComponentWithdrawn | ToolListed):
                        tools.fold(event, record.source)
        return tools

    return offers


def _servers(entries: Sequence[str]) -> list[str]:
    """The streams of servers that *entries* may be about: `SERVER`, `SERVER.*`, `SERVER.tool`."""
    names: set[str] = set()
    for entry in entries:
        parts = entry.removesuffix(".*").split(".")
        names.update(".".join(parts[: n + 1]) for n in range(len(parts)))
    return sorted(f"tools/{name}" for name in names)


def announcers_at(
    position: int, history: Callable[[str], Iterator[Recorded]], vocabulary: Vocabulary
) -> Announcers:
    """Who served what when the event at *position* was recorded."""
    announcers = Announcers()
    for record in history("registry"):
        if record.topic in TOLD and record.position < position:
            event = vocabulary.read(record)
            if isinstance(event, ComponentAnnounced | ComponentWithdrawn):
                announcers.take(event, record.source)
    return announcers
