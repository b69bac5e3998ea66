"""Whoever follows event classes gets events, typed, and loses none between two loops."""

from collections.abc import Iterator

import pytest

from cortex.bus import (
    Client,
    Event,
    EventInvalidError,
    Hub,
    LocalHub,
    SystemClock,
    system_entropy,
)

from .bus_world import WORDS, FailingLog, PlanWrite, PlanWritten


class Own(Event, frozen=True, kw_only=True, tag="x.own.said"):
    belongs = ("own", "")

    text: str


@pytest.fixture
def client() -> Iterator[Client]:
    log = FailingLog()
    hub = LocalHub(Hub(log, WORDS, system_entropy), SystemClock())
    with Client("me", hub, log, WORDS) as made:
        yield made
    hub.close()


def test_events_come_typed_and_in_order(client: Client) -> None:
    with client.follow(PlanWrite, quiet_s=0.0) as written:
        client.publish(PlanWrite(plan="a"), PlanWritten(plan="a"), PlanWrite(plan="b"))

        assert list(written) == [PlanWrite(plan="a"), PlanWrite(plan="b")]


def test_a_feed_begins_when_it_is_made(client: Client) -> None:
    client.publish(PlanWrite(plan="before"))
    written = client.follow(PlanWrite, quiet_s=0.0)
    client.publish(PlanWrite(plan="after"))

    assert list(written) == [PlanWrite(plan="after")]
    assert list(client.follow(PlanWrite, quiet_s=0.0, after=0)) == [
        PlanWrite(plan="before"),
        PlanWrite(plan="after"),
    ]


def test_a_loop_that_is_left_loses_nothing_for_the_next(client: Client) -> None:
    written = client.follow(PlanWrite, quiet_s=0.0)
    client.publish(*(PlanWrite(plan=plan) for plan in "abc"))

    for event in written:
        assert event.plan == "a"
        break

    assert written.record is not None
    assert (written.record.position, written.record.source) == (1, "me")
    assert [event.plan for event in written] == ["b", "c"]


def test_where_names_the_key(client: Client) -> None:
    written = client.follow(PlanWrite, where={"plan": "b"}, quiet_s=0.0)
    client.publish(PlanWrite(plan="a"), PlanWrite(plan="b"))

    assert [event.plan for event in written] == ["b"]
    with pytest.raises(EventInvalidError, match="is routed by plan, not by plane"):
        client.follow(PlanWrite, where={"plane": "b"})


def test_several_classes_come_in_one_feed(client: Client) -> None:
    both = client.follow(PlanWrite, PlanWritten, quiet_s=0.0)
    client.publish(PlanWritten(plan="a"), PlanWrite(plan="a"))

    assert [type(event) for event in both] == [PlanWritten, PlanWrite]


def test_a_class_that_the_client_does_not_know_is_read_as_it_was_given(client: Client) -> None:
    said = client.follow(Own, quiet_s=0.0)
    client.publish(Own(text="hello"))

    assert list(said) == [Own(text="hello")]


def test_the_end_of_a_client_removes_what_it_followed(client: Client) -> None:
    client.follow(PlanWrite)
    feed = client.follow(PlanWrite)
    assert isinstance(client.hub, LocalHub)

    client.close()

    assert client.hub.pairs_of(feed._feed._name) == ()


def test_the_end_of_the_hub_ends_a_loop(client: Client) -> None:
    written = client.follow(PlanWrite)
    assert isinstance(client.hub, LocalHub)
    client.hub.close()

    assert list(written) == []
