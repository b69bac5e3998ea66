"""What a client leaves at a hub: removed with its grant, limited by its grant until then."""

from collections import Counter
from collections.abc import Collection, Iterator

import msgspec

from .access import Owners
from .deadlines import kept_draft
from .event import Draft
from .events.client import ClientDenied
from .events.grant import GrantRevoked
from .hub_state import HubState
from .limits import root_of
from .log import Batch, Deadline
from .vocabulary import Vocabulary

REVOKED = GrantRevoked.topic_name()
DEADLINES, SUBSCRIPTIONS, ANNOUNCEMENTS = "deadlines", "subscriptions", "announcements"
SHOWN = 80  # characters of what a client said that are recorded of a denial

_READ_REVOKED = msgspec.msgpack.Decoder(GrantRevoked).decode


class DueRights:
    """Lets deadlines that have come be recorded by what their owners may do now.

    Args:
        owners: Who knows that; None where everybody may do everything.
        vocabulary: The events of the hub.
        now_ns: When the deadlines have come.
    """

    def __init__(self, owners: Owners | None, vocabulary: Vocabulary, now_ns: int) -> None:
        self._owners, self._vocabulary, self._now_ns = owners, vocabulary, now_ns
        self._found: dict[tuple[str, str, str], bool] = {}
        self._dropped: Counter[tuple[str, str, str]] = Counter()  # by client, verb and topic

    def granted(self, deadline: Deadline) -> Draft | None:
        """What is to be recorded of *deadline*; None where its owner may not say that any more."""
        draft = kept_draft(deadline)
        verb = self._vocabulary.granted_by(draft.topic) if draft.key else ""
        about = (draft.key or "") if verb else draft.topic
        verb = verb or "publish"
        if self._may(draft.owner, verb, about):
            return draft
        self._dropped[root_of(draft.owner), verb, about[:SHOWN]] += 1
        return None

    def _may(self, owner: str, verb: str, about: str) -> bool:
        if self._owners is None:
            return True
        found = self._found.get((owner, verb, about))
        if found is None:  # asked once for all that come together
            found = self._owners.may(owner, verb, about, self._now_ns)
            self._found[owner, verb, about] = found
        return found

    def denials(self) -> Iterator[Draft]:
        """What is to be recorded of those that were dropped, together where they say the same."""
        for (client, verb, about), times in self._dropped.items():
            reason = "not granted any more when its deadline came"
            yield Draft.of(
                ClientDenied(client=client, verb=verb, about=about, reason=reason, times=times)
            )


def gone_with(draft: Draft) -> tuple[str, tuple[str, ...]]:
    """The client that a `grant.revoked` is about, and what stays of it."""
    event = _READ_REVOKED(draft.body)
    return event.client, event.keeps


def deadlines_of(client: str, keeps: Collection[str], state: HubState, batch: Batch) -> list[str]:
    """Names of the deadlines that go with *client*, whatever it called itself when it set them."""
    if DEADLINES in keeps:
        return []
    found = {**state.deadlines, **batch.deadlines}.values()
    return [each.name for each in found if root_of(kept_draft(each).owner) == client]


def subscriptions_of(
    client: str, keeps: Collection[str], state: HubState, batch: Batch, passing: Collection[str]
) -> set[str]:
    """Names of the subscriptions that go with *client*: its own, and everything below its name."""
    if SUBSCRIPTIONS in keeps:
        return set()
    there = {*state.standings, *batch.standings, *passing} - {*batch.dropped}
    return {name for name in there if root_of(name) == client}
