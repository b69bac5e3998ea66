"""A component as its manager sees it."""

import secrets
from collections.abc import Callable

import msgspec

from cortex.bus import Pair

from .components.component import Component, Route, is_query
from .components.manifest import Entry
from .hosts.shared_host import SharedHost
from .shells.at_once import AtOnce
from .shells.resting import Dormant, KeptHosts, Resting

TAG = secrets.token_hex(4)  # another process may host a component of the same name


class ManagedComponent(msgspec.Struct):
    """One running component."""

    component: type[Component]
    entry: Entry
    labels: tuple[str, ...]  # names of its shells
    routes: tuple[Route, ...]
    kept: KeptHosts  # hosts of resting shells
    wakes: dict[str, Callable[[], None]] = {}  # by label
    answering: SharedHost | None = None  # host of the first shell
    resting: Resting | None = None  # of workers; None if their shells always run
    at_once: AtOnce | None = None  # asks its running shell; None if it is never asked at once
    dormant: Dormant | None = None  # of an ordered component; None if its shell always runs

    @property
    def name(self) -> str:
        """The component's name, also the name of its subscription."""
        return self.component.component_name()

    @property
    def endings(self) -> str:
        """Its subscription to endings, which is unique to this process."""
        return f"{self.name}/endings-{TAG}"

    @property
    def start(self) -> str:
        """Where its subscription begins, if it is new."""
        return self.entry.start or self.component.start

    def pairs(self) -> tuple[Pair, ...]:
        """What it subscribes to; empty if it only answers queries."""
        return tuple(
            dict.fromkeys((r.event.topic_name(), r.key) for r in self.routes if not is_query(r))
        )
