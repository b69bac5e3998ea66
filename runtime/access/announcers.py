"""Who serves what: the component that announced or listed it, and the client that said so."""

from collections.abc import Iterable

from cortex.bus.events import ComponentAnnounced, ComponentWithdrawn, ToolListed

from .grants import OWNER, person_of

SERVER = "server"  # the kind under which a tool server stands here
LISTER = "McpTools"  # the runtime's component that lists the servers of config.toml


class Announcers:
    """Who announced what: no client takes over, or takes back, what another one serves.

    The runtime and its owner do, and whoever hosts the same component shares it.
    """

    def __init__(self, kept: Iterable[tuple[str, str, str, str]] = ()) -> None:
        self._by: dict[tuple[str, str], tuple[str, str]] = {  # component and client
            (kind, name): (component, by) for kind, name, component, by in kept
        }

    def kept(self) -> list[tuple[str, str, str, str]]:
        """All of it, for an instance to come: kind, name, component and client of each."""
        return [(*key, *said) for key, said in self._by.items()]

    def take(self, event: ComponentAnnounced | ComponentWithdrawn, source: str) -> bool:
        """Take in what *source* says; whether it counts."""
        who, key = person_of(source), (event.kind, event.name)
        component, by = self._by.get(key, (event.component, who))
        own = who in (by, OWNER)
        if isinstance(event, ComponentAnnounced):
            if component != event.component and not own:
                return False
            self._by[key] = event.component, who if own or component != event.component else by
            return True
        if component != event.component or not own:
            return False
        self._by.pop(key, None)
        return True

    def lists(self, event: ToolListed, source: str) -> bool:
        """Take in what *source* lists of a tool server; whether it counts.

        It does from whoever listed that server first, and from the owner, who takes it over.
        """
        key, who = (SERVER, event.server), OWNER if source == LISTER else person_of(source)
        _, by = self._by.get(key, ("", who))
        if who not in (by, OWNER):
            return False
        self._by[key] = event.component or ("" if who == OWNER else who), who
        return True

    def announcer(self, kind: str, name: str) -> str:
        """The client that announced it; the owner where that is not known."""
        return self._by.get((kind, name), ("", OWNER))[1]

    def serves(self, kind: str, name: str) -> tuple[str, str]:
        """The component that serves it, and the client that announced it; "" where there is none.

        The client is left out where it is the owner: whatever the runtime itself hosts publishes
        under the name of the component.
        """
        component, by = self._by.get((kind, name), ("", OWNER))
        return component, "" if by == OWNER else by
