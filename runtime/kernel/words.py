"""The vocabulary of a runtime: the bus's own, and the events of the components it hosts."""

from collections.abc import Iterable

from cortex.bus import Event, Vocabulary
from cortex.bus.events import VOCABULARY

from .component import Component, routes_of


def vocabulary_of(components: Iterable[type[Component]]) -> Vocabulary:
    """Every event class that these components handle, besides the bus's own.

    A vocabulary of its own: what it adopts later, the bus's does not get to know.
    """
    own: dict[str, type[Event]] = {}
    for component in components:
        for route in routes_of(component):
            if route.event.topic_name() not in VOCABULARY:
                own[route.event.topic_name()] = route.event
    return VOCABULARY.extended(own.values())
