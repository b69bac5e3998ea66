"""What a client may say is looked at request by request, and an event is what its body says."""

import msgspec
import pytest

from cortex.bus import Publish, Refused

from .bus_world import HubWorld, draft, glance


@pytest.mark.parametrize(
    "claimed",
    [{"stream": "execution/k3f9"}, {"key": "another"}, {"ephemeral": True}],
    ids=["stream", "key", "kind"],
)
def test_an_event_is_where_its_body_says_it_is(claimed: dict[str, object]) -> None:
    world = HubWorld()

    refused = world.one(Publish((msgspec.structs.replace(draft(), **claimed),)))

    assert isinstance(refused, Refused)
    assert refused.code == "EventInvalidError"
    assert world.topics() == []


def test_an_ephemeral_event_is_kept_out_of_the_log() -> None:
    world = HubWorld()

    refused = world.one(Publish((msgspec.structs.replace(glance(), ephemeral=False),)))

    assert isinstance(refused, Refused)
    assert world.topics() == []


def test_a_body_that_is_no_text_where_text_is_wanted_refuses_its_request_alone() -> None:
    world = HubWorld()
    bad = msgspec.msgpack.encode({"topic": "plan.write", "plan": "pq"}).replace(b"pq", b"\xf8\xff")

    answers = world.ask(Publish((msgspec.structs.replace(draft(), body=bad),)), Publish((draft(),)))

    assert isinstance(answers[0], Refused)
    assert world.topics() == ["plan.write"]
