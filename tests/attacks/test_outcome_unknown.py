"""A hub that stands still while it is spoken to: nothing is done twice, no error says wrong."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cortex.bus import Client, HubAwayError, OutcomeUnknownError

from .hub_process import HubProcess, Said

PATIENCE_S = 1.0  # instead of a minute: how long an answer is waited for


class StandingHub(HubProcess):
    """One whose clients wait less for it, but only while it stands still: it may be slow."""

    @contextmanager
    def stopped(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patched, super().stopped():
            for constant in ("PATIENCE_S", "DIAL_S"):
                patched.setattr(f"cortex.bus.wire.client.channel.{constant}", PATIENCE_S)
            yield


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    made = StandingHub(tmp_path)
    yield made
    made.close()


def numbers(client: Client) -> list[int]:
    said = (r for r in client.read() if r.topic == Said.topic_name())
    events = (client.vocabulary.read(record) for record in said)
    return [event.number for event in events if isinstance(event, Said)]


def test_what_may_have_happened_is_never_called_away(hub: HubProcess) -> None:
    with hub.client("me", away_s=0.0) as client:
        client.publish(Said(number=1))

        with hub.stopped(), pytest.raises(OutcomeUnknownError, match="Look at the log") as unknown:
            client.publish(Said(number=2))

        assert "try later" not in str(unknown.value)


def test_the_same_publish_again_is_answered_and_not_done_twice(hub: HubProcess) -> None:
    with hub.client("me", away_s=0.0) as client:
        client.publish(Said(number=1))
        with hub.stopped(), pytest.raises(OutcomeUnknownError):
            client.publish(Said(number=2))

        position = client.publish(Said(number=2))

        assert numbers(client) == [1, 2]
        (record,) = client.read(after=position - 1, until=position)
        assert client.vocabulary.read(record) == Said(number=2)
        client.publish(Said(number=2))  # and once more is once more
        assert numbers(client) == [1, 2, 2]


def test_what_was_given_up_is_not_done_behind_the_back_of_what_follows(hub: HubProcess) -> None:
    with hub.client("me", away_s=0.0) as client:
        client.publish(Said(number=1))
        with hub.stopped(), pytest.raises(OutcomeUnknownError):
            client.publish(Said(number=2))

        client.publish(Said(number=3))  # the fate of 2 is settled before this one
        there = numbers(client)
        client.publish(Said(number=4))

        assert there in ([1, 2, 3], [1, 3])
        assert numbers(client) == [*there, 4]


def test_what_was_never_sent_is_away_and_may_be_tried_again(hub: HubProcess) -> None:
    with hub.client("me", away_s=0.0) as client:
        client.publish(Said(number=1))
        with hub.stopped():
            with pytest.raises(OutcomeUnknownError):
                client.publish(Said(number=2))
            with pytest.raises(HubAwayError):
                client.publish(Said(number=3))  # that of 2 is asked for first

        client.publish(Said(number=3))

        assert numbers(client)[-1:] == [3]
        assert numbers(client).count(3) == 1


def test_a_caller_that_is_closed_in_the_middle_is_told_that_it_may_have_happened(
    hub: HubProcess,
) -> None:
    client = hub.client("me", away_s=60.0)
    client.publish(Said(number=1))

    with hub.stopped(), pytest.raises(OutcomeUnknownError):
        _closing(client, Said(number=2))


def _closing(client: Client, event: Said) -> None:
    closing = threading.Timer(0.2, client.close)
    closing.start()
    try:
        client.publish(event)
    finally:
        closing.join()
