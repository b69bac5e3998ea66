"""What a client announced is withdrawn once, whatever comes with it in one transaction."""

import pytest

from cortex.bus import Draft, Hub, Publish, Request, Withdraw, decode
from cortex.bus.events import VOCABULARY, ComponentAnnounced, GrantRevoked
from cortex.runtime.access import RecordedOwners
from cortex.runtime.log import AgentWork, MemoryLog

from .bus_world import NOON_NS

ANNOUNCED = Publish((Draft.of(ComponentAnnounced(component="Fix", kind="action", name="fix")),))
REVOKED = Publish((Draft.of(GrantRevoked(client="alice")),))
GONE = Withdraw("alice")


class Announced:
    """A hub with owners, and the topics that its log has."""

    def __init__(self) -> None:
        self._log = MemoryLog()
        owners = RecordedOwners(self._log, VOCABULARY)
        self._hub = Hub(self._log, VOCABULARY, bytes, owners, policy=AgentWork())

    def together(self, *asked: tuple[str, Request]) -> list[str]:
        """Topics of the log once all of *asked* came in one transaction."""
        self._hub.handle(list(asked), NOON_NS)
        return [decode(data).topic for data in self._log.read(0, 100, 1 << 20)]


@pytest.mark.parametrize("again", [GONE, REVOKED], ids=["over", "revoked"])
def test_two_withdrawals_in_one_transaction_withdraw_once(again: Request) -> None:
    world = Announced()
    world.together(("alice/worker", ANNOUNCED))

    topics = world.together(("hub", GONE), ("owner", again))

    assert topics.count("component.withdrawn") == 1


def test_what_comes_in_the_transaction_of_a_withdrawal_goes_with_it() -> None:
    topics = Announced().together(("alice/worker", ANNOUNCED), ("hub", GONE))

    assert topics == ["component.announced", "component.withdrawn"]


def test_what_was_withdrawn_and_is_announced_again_is_withdrawn_again() -> None:
    alice = ("alice/worker", ANNOUNCED)

    topics = Announced().together(alice, ("hub", GONE), alice, ("hub", GONE))

    assert topics == ["component.announced", "component.withdrawn"] * 2
