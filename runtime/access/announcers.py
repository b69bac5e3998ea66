"""Who serves what: the component that announced it, and the client that said so."""

from collections.abc import Iterable

from cortex.bus.events import ComponentAnnounced, ComponentWithdrawn

from .grants import OWNER, person_of


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
