"""Limits of one client: how much the hub keeps for it, and how much it may do per second.

This module is pure. The hub's state machine counts what it keeps for a client, by the first part of
a name ("alice" of "alice/feed/1"), and refuses more. The server measures how fast a client is,
where its frames arrive. Clients without an `Allowance` have no limits: the owner, and what the
runtime hosts.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from .errors import LimitError

NAME_BYTES = 256  # of a name: stream, correlation, source, key, subscription, deadline, client
NAME_CHARACTERS = NAME_BYTES // 4  # in UTF-8 no name within the bound has more
BURST_S = 5.0  # of a rate may come at once

Count = Annotated[int, Meta(ge=0, le=1 << 50)]
OWNER: Final = "owner"  # the holder of the token in the home's keys/; may do everything
# Sources of the hub's own process, and the owner.
RESERVED: Final = frozenset({OWNER, "bus", "cli", "cortex", "hub", "runtime"})


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """What the hub keeps for a client, and what the client may do; 0 is no bound."""

    subscriptions: Annotated[
        Count, Meta(description="subscriptions, lasting or not, under the client's names")
    ] = 256
    filters: Annotated[
        Count, Meta(description="(topic, key) pairs in all its subscriptions together")
    ] = 2_048
    waiting: Annotated[
        Count,
        Meta(
            description="events kept ready for workers in all its work subscriptions together "
            "(for the owner and the runtime, in each); more of them wait in the log"
        ),
    ] = 10_000
    deadlines: Annotated[Count, Meta(description="deadlines that wait for their time")] = 1_024
    watched: Annotated[
        Count,
        Meta(description="subscriptions that it watches, and topics whose queries it answers"),
    ] = 1_024
    receipts: Annotated[Count, Meta(description="names under which it has numbered a publish")] = (
        256
    )
    blob_bytes: Annotated[
        Count, Meta(description="bytes of blobs that it uploaded and no event names yet")
    ] = 64 << 20
    blob_kept_s: Annotated[
        Count, Meta(description="seconds after which the hub drops a blob that no event names")
    ] = 3_600
    requests_per_s: Annotated[
        Count, Meta(description="events and other requests a second; a burst of 5 s is allowed")
    ] = 500
    bytes_per_s: Annotated[
        Count, Meta(description="bytes a second, sent and answered; a burst of 5 s is allowed")
    ] = 8 << 20

    def but(self, changed: Mapping[str, int]) -> "Limits":
        """These limits with the changes in *changed*; unknown names in it are ignored."""
        known = {name: n for name, n in changed.items() if name in self.__struct_fields__}
        return msgspec.structs.replace(self, **known) if known else self


class Allowance(Struct, frozen=True):
    """The limits of one client, and the names that are counted for it."""

    client: str
    limits: Limits
    roots: tuple[str, ...]  # its own name, and those of components that it hosts


Allowed = Callable[[str], Allowance | None]  # the owner of a name; None: no limits


def root_of(name: str) -> str:
    """The client that *name* is a part of: "alice" for "alice/feed/1"."""
    return name.partition("/")[0]


def is_too_long(name: str) -> bool:
    """Whether the name is longer than `NAME_BYTES`."""
    if len(name) <= NAME_CHARACTERS:
        return False
    return len(name) > NAME_BYTES or len(name.encode(errors="replace")) > NAME_BYTES


class Tally:
    """What the hub keeps, counted by kind (a field of `Limits`) and by the first part of a name."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str], int] = {}

    def add(self, what: str, name: str, count: int = 1) -> None:
        """Add *count* to *what* of the owner of *name*."""
        key = what, root_of(name)
        self.counts[key] = self.counts.get(key, 0) + count

    def of(self, what: str, roots: Iterable[str]) -> int:
        """The sum of *what* under these names."""
        return sum(self.counts.get((what, root), 0) for root in roots)

    def take(self, staged: "Tally") -> None:
        """Apply the changes of a transaction."""
        for key, count in staged.counts.items():
            total = self.counts.pop(key, 0) + count
            if total:
                self.counts[key] = total


class StagedTally(Tally):
    """What a transaction adds to what the hub *kept* before.

    Args:
        kept: The counts before the transaction.
        allowed: The limits, by name.
    """

    def __init__(self, kept: Tally, allowed: Allowed) -> None:
        self.counts = {}
        self._kept, self._allowed = kept, allowed

    def refuse_over(self, name: str, what: str, more: int) -> None:
        """Refuse *more* of *what* if the client that owns *name* would be over its limit.

        Raises:
            LimitError: With the client and its limit.
        """
        allowance = self._allowed(root_of(name)) if more > 0 else None
        if allowance is None:
            return
        limit: int = getattr(allowance.limits, what)
        roots = allowance.roots
        if limit and self._kept.of(what, roots) + self.of(what, roots) + more > limit:
            raise LimitError(allowance.client, what, limit)


class Rate:
    """A token bucket that may be overdrawn, because the amount used is known only afterwards."""

    def __init__(self, per_s: int) -> None:
        self.per_s = per_s  # 0: no bound
        self._level = per_s * BURST_S
        self._last_ns: int | None = None

    def wait_ns(self, now_ns: int) -> int:
        """How long until more may be used, at *now_ns* (steady); 0 for now."""
        if not self.per_s:
            return 0
        if self._last_ns is not None and now_ns > self._last_ns:
            gained = self.per_s * (now_ns - self._last_ns) / 1e9
            self._level = min(self.per_s * BURST_S, self._level + gained)
        self._last_ns = max(now_ns, self._last_ns or 0)
        return max(0, int(-self._level * 1e9 / self.per_s))

    def use(self, amount: int) -> None:
        """Take *amount* out."""
        self._level -= amount

    def take(self, amount: int, now_ns: int) -> bool:
        """Take *amount* out at *now_ns* (steady); False if more was used than there was."""
        self.wait_ns(now_ns)
        self.use(amount)
        return self._level >= 0


def person_of(source: str) -> str:
    """The client that a recorded *source* belongs to, or `OWNER`."""
    root = root_of(source)
    return OWNER if root in RESERVED else root
