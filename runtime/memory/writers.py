"""In which scopes a client may write, where its grant names single scopes. Pure.

The hub checks the scope of each request. What a request names beside it, the ends of edges, only
memory itself can check: it knows the scope of each node.
"""

import msgspec

from cortex.bus import Event, root_of
from cortex.bus.events import GrantGiven, GrantRevoked
from cortex.runtime.access import PUBLISH, Permissions, pair_of


class LimitedWriter(msgspec.Struct, frozen=True):
    """A client whose grant names keys."""

    client: str
    publish: tuple[str, ...]  # patterns as in its grant


class WriterScopes(msgspec.Struct):
    """A fold of grants; a client that is not in it may write in every scope that the hub allows."""

    # By client, and by component that it hosts. Of a client that was revoked nothing comes any
    # more: what it published before is before that in the log.
    limited: dict[str, LimitedWriter] = {}

    def apply(self, event: Event) -> None:
        """Fold a grant; other events change nothing."""
        if not isinstance(event, GrantGiven | GrantRevoked):
            return
        self.limited = {
            name: writer for name, writer in self.limited.items() if writer.client != event.client
        }
        if isinstance(event, GrantGiven) and any("=" in pattern for pattern in event.publish):
            writer = LimitedWriter(event.client, event.publish)
            self.limited.update(dict.fromkeys((event.client, *event.names), writer))

    def scopes(self, by: str, topic: str) -> frozenset[str] | None:
        """The scopes in which *by* may publish requests of *topic*; None for every scope."""
        writer = self.limited.get(root_of(by))
        if writer is None:
            return None
        pairs = {PUBLISH: map(pair_of, writer.publish)}
        may = Permissions(writer.client, pairs)
        return None if may.allows(PUBLISH, topic) else may.keys(PUBLISH, topic)
