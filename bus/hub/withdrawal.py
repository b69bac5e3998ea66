"""Removes what a client left at a hub, and checks its deadlines against its current grants."""

from collections import Counter
from collections.abc import Collection, Iterator

import msgspec

from ..access import Owners
from ..event import Draft
from ..events.client import ClientDenied
from ..events.grant import GrantRevoked
from ..limits import root_of
from ..log import Batch, Deadline
from ..vocabulary import Vocabulary
from .deadlines import kept_draft
from .hub_state import HubState

REVOKED = GrantRevoked.topic_name()
DEADLINES, SUBSCRIPTIONS, ANNOUNCEMENTS = "deadlines", "subscriptions", "announcements"
SHOWN = 80  # characters of a client's text in the record of a denial

_READ_REVOKED = msgspec.msgpack.Decoder(GrantRevoked).decode


class DueRights:
    """Decides which due deadlines are recorded, by the current grants of their owners.

    Args:
        owners: Knows the grants; None if every client may do everything.
        vocabulary: The events of the hub.
        now_ns: When the deadlines became due.
    """

    def __init__(self, owners: Owners | None, vocabulary: Vocabulary, now_ns: int) -> None:
        self._owners, self._vocabulary, self._now_ns = owners, vocabulary, now_ns
        self._found: dict[tuple[str, str, str, str | None], bool] = {}
        self._dropped: Counter[tuple[str, str, str]] = Counter()  # by client, verb and topic

    def granted(self, deadline: Deadline) -> Draft | None:
        """The draft to record for *deadline*; None if its owner may no longer publish it."""
        draft = kept_draft(deadline)
        verb = self._vocabulary.granted_by(draft.topic) if draft.key else ""
        about = (draft.key or "") if verb else draft.topic
        verb = verb or "publish"
        if self._may(draft.owner, verb, about, draft.key):
            return draft
        self._dropped[root_of(draft.owner), verb, about[:SHOWN]] += 1
        return None

    def _may(self, owner: str, verb: str, about: str, key: str | None) -> bool:
        if self._owners is None:
            return True
        found = self._found.get((owner, verb, about, key))
        if found is None:  # asked once for all deadlines that are due together
            found = self._owners.may(owner, verb, about, self._now_ns, key)
            self._found[owner, verb, about, key] = found
        return found

    def denials(self) -> Iterator[Draft]:
        """The events about dropped deadlines, one for all with the same content."""
        for (client, verb, about), times in self._dropped.items():
            reason = "not granted any more when its deadline came"
            yield Draft.of(
                ClientDenied(client=client, verb=verb, about=about, reason=reason, times=times)
            )


def gone_with(draft: Draft) -> tuple[str, tuple[str, ...]]:
    """The client of a `grant.revoked`, and what of it stays."""
    event = _READ_REVOKED(draft.body)
    return event.client, event.keeps


def deadlines_of(client: str, keeps: Collection[str], state: HubState, batch: Batch) -> list[str]:
    """Names of the deadlines of *client*, whatever name it used when it set them."""
    if DEADLINES in keeps:
        return []
    found = {**state.deadlines, **batch.deadlines}.values()
    return [each.name for each in found if root_of(kept_draft(each).owner) == client]


def subscriptions_of(
    client: str, keeps: Collection[str], state: HubState, batch: Batch, passing: Collection[str]
) -> set[str]:
    """Names of the subscriptions of *client*: its own name, and every name below it."""
    if SUBSCRIPTIONS in keeps:
        return set()
    there = {*state.standings, *batch.standings, *passing} - {*batch.dropped}
    return {name for name in there if root_of(name) == client}
