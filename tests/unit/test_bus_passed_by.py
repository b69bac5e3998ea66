"""Subscriptions that see none of the events move on all the same, so that a start is short."""

from cortex.bus import PASSED_BY, Publish, Subscribe

from .bus_world import HubWorld, draft, written

ASIDE = (("plan.written", None),)


def test_who_sees_none_of_many_events_is_woken_once_for_all_of_them() -> None:
    world = HubWorld()
    world.one(Subscribe("idle", "ordered", ASIDE))
    world.one(Subscribe("worker", "work", ASIDE))
    world.hub.take_woken()

    woken: list[int] = []
    for _ in range(2 * PASSED_BY // 1_000 + 1):
        world.one(Publish(tuple(draft() for _ in range(1_000))))
        woken += [world.hub.head] if "idle" in world.hub.take_woken() else []

    assert woken == [PASSED_BY, 2 * PASSED_BY]


def test_who_works_is_not_woken_for_nothing() -> None:
    world = HubWorld()
    world.one(Subscribe("worker", "work", ASIDE))
    world.hub.take_woken()

    for _ in range(PASSED_BY // 1_000):
        world.one(Publish(tuple(draft() for _ in range(1_000))))

    assert "worker" not in world.hub.take_woken()
    world.one(Publish((written(),)))
    assert "worker" in world.hub.take_woken()
