"""Who announced what: what one client serves, no other takes over or takes back."""

import pytest

from cortex.bus.events import ComponentAnnounced, ComponentWithdrawn
from cortex.runtime.access import Announcers


def announced(component: str) -> ComponentAnnounced:
    return ComponentAnnounced(component=component, kind="gate", name="tidy")


def withdrawn(component: str) -> ComponentWithdrawn:
    return ComponentWithdrawn(component=component, kind="gate", name="tidy")


@pytest.mark.parametrize(
    ("component", "source", "counts"),
    [
        ("Other", "mallory", False),
        ("Other", "alice/worker", True),
        ("Other", "owner/cli", True),
        ("Other", "runtime", True),
        ("Tidy", "mallory", True),  # who hosts the same component shares it
    ],
)
def test_only_who_announced_it_and_the_owner_put_another_in_its_place(
    component: str, source: str, counts: bool
) -> None:
    announcers = Announcers()
    announcers.take(announced("Tidy"), "alice")

    assert announcers.take(announced(component), source) is counts
    assert announcers.announcer("gate", "tidy") == (
        "owner" if source == "runtime" else {"owner/cli": "owner"}.get(source, "alice")
    )


@pytest.mark.parametrize(
    ("source", "counts"), [("mallory", False), ("alice", True), ("hub", True), ("runtime", True)]
)
def test_only_who_announced_it_and_the_owner_take_it_back(source: str, counts: bool) -> None:
    announcers = Announcers()
    announcers.take(announced("Tidy"), "alice")
    announcers.take(announced("Tidy"), "mallory")

    assert announcers.take(withdrawn("Tidy"), source) is counts
    assert announcers.take(announced("Other"), "mallory") is counts
