"""What a client offers, the same wherever its hub is: blobs, and event classes of its own."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import Client, CortexError, Event, Query, UnansweredError, connect
from cortex.bus.events import VOCABULARY
from cortex.runtime.kernel import Runtime

from .bus_world import LONG_S, Served

CARRIERS = ["inproc", "ipc", "tls"]


class Own(Event, frozen=True, kw_only=True, tag="x.own.said"):
    """Of the client alone: the hub does not know it."""

    text: str


class Half(Query, frozen=True, kw_only=True, tag="x.own.half"):
    number: int


class Halved(Query, frozen=True, kw_only=True, tag="x.own.halved"):
    number: int


OWN = (Own, Half, Halved)


@pytest.fixture(params=[*CARRIERS, "runtime"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "runtime":
        with Runtime(components=[]) as runtime:
            yield runtime.client("me", events=OWN)
        return
    served = Served(request.param, tmp_path)
    with connect(served.url, name="me", events=OWN) as made:
        yield made
    served.close()


def test_a_blob_that_was_put_comes_back(client: Client) -> None:
    data = b"payload" * 100_000

    digest = client.blobs.put(data)

    assert digest == sha256(data).hexdigest()
    assert client.blobs.has(digest)
    assert client.blobs.size(digest) == len(data)
    assert client.blobs.get(digest) == data


def test_a_blob_that_was_never_put_is_refused_by_name(client: Client) -> None:
    digest = sha256(b"never").hexdigest()

    assert not client.blobs.has(digest)
    with pytest.raises(CortexError, match=digest):
        client.blobs.get(digest)


def test_events_of_its_own_are_read_as_its_own(client: Client) -> None:
    position = client.publish(Own(text="hello"))

    (record,) = client.read(after=position - 1, until=position)

    assert client.vocabulary.read(record) == Own(text="hello")


def test_its_own_events_are_nobody_elses(client: Client) -> None:
    assert Own.topic_name() not in VOCABULARY


@pytest.mark.parametrize("carriers", [(a, b) for a in ("inproc", "ipc") for b in ("inproc", "ipc")])
def test_questions_of_its_own_reach_whoever_answers_them(
    tmp_path: Path, carriers: tuple[str, str]
) -> None:
    served = Served("ipc", tmp_path)
    urls = {"ipc": served.url, "inproc": served.server.listen(f"inproc://{tmp_path.name}")}
    asks, answers = (urls[carrier] for carrier in carriers)
    with (
        connect(asks, name="asker", events=OWN) as asker,
        connect(answers, name="answerer", events=OWN) as answerer,
    ):
        with pytest.raises(UnansweredError):
            asker.ask(Half(number=4), LONG_S)
        answerer.hub.answer(Half, lambda q, _: Halved(number=getattr(q, "number", 0) // 2))

        assert asker.ask(Half(number=84), LONG_S) == Halved(number=42)

        answerer.hub.unanswer(Half)
        with pytest.raises(UnansweredError):
            asker.ask(Half(number=4), LONG_S)
    served.close()
