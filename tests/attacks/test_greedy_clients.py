"""A client that takes all it can get: bounded, refused by type, told once, and felt by nobody."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from cortex.bus import (
    Client,
    CortexError,
    Draft,
    Due,
    EventInvalidError,
    Hub,
    HubServer,
    LimitError,
    Limits,
    LocalHub,
    NotGrantedError,
    Publish,
    Subscribe,
    SystemClock,
    connect,
    system_entropy,
)
from cortex.bus.events import ClientLimited
from cortex.runtime.access import HubAccess, Terms, change, issue
from cortex.runtime.log import AgentWork, MemoryBlobs, MemoryLog

from .hub_process import SAID, WORDS, Said

FEW = Limits(
    subscriptions=5,
    filters=12,
    deadlines=4,
    watched=6,
    receipts=2,
    requests_per_s=200,
    bytes_per_s=1 << 20,
)
LONG = "n" * 3_000_000


class World:
    """A served hub with grants, an owner and whom she lets in."""

    def __init__(self, folder: Path, limits: Limits = FEW) -> None:
        folder.chmod(0o700)
        self.log = MemoryLog()
        self.hub = LocalHub(Hub(self.log, WORDS, system_entropy, policy=AgentWork()), SystemClock())
        self.access = HubAccess(self.hub, self.log, WORDS, folder / "keys", limits)
        self.server = HubServer(self.hub, self.log, MemoryBlobs(), self.access)
        self.url = self.server.listen(f"ipc://{folder}/bus.sock")
        self.owner = Client("cli", self.hub, self.log, WORDS)
        self._clients: list[Client] = []

    def client(self, name: str, **terms: object) -> Client:
        token = issue(self.owner, name, Terms(**terms))  # type: ignore[arg-type]  # as they are called
        return self.joined(token)

    def joined(self, token: str, name: str = "") -> Client:
        made = connect(self.url, token=token, name=name, vocabulary=WORDS)
        self._clients.append(made)
        return made

    def limited(self) -> list[ClientLimited]:
        events = (WORDS.read(r) for r in self.owner.read() if r.topic == "client.limited")
        return [event for event in events if isinstance(event, ClientLimited)]

    def close(self) -> None:
        for client in self._clients:
            client.close()
        self.server.close()
        self.access.close()
        self.hub.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def some(count: int, name: str = "greedy/s") -> list[Subscribe]:
    return [Subscribe(f"{name}{n}", "ordered", (SAID,)) for n in range(count)]


def due(name: str) -> Due:
    return Due(name, 1 << 62, Draft.of(Said()))


# Whatever a client might get without a single grant.
NOTHING: dict[str, Callable[[Client], object]] = {
    "subscribe": lambda client: client.subscribe("greedy/s", SAID),
    "everything": lambda client: client.subscribe("greedy/s"),
    "follow": lambda client: client.follow(SAID),
    "head": lambda client: client.head,
    "number": lambda client: client.next_number(),
    "version": lambda client: client.log.stream_version("grants"),
    "hashes": lambda client: client.log.leaf_hashes(1, 1),
    "read": lambda client: list(client.read()),
    "stream": lambda client: list(client.read_stream("grants")),
    "publish": lambda client: client.publish(Said()),
    "put": lambda client: client.blobs.put(b"x" * 100),
    "has": lambda client: client.blobs.has("0" * 64),
    "get": lambda client: client.blobs.get("0" * 64),
    "watch": lambda client: client.hub.watch("greedy/s", lambda: None),
}


@pytest.mark.parametrize("what", NOTHING)
def test_a_client_without_a_grant_may_say_hello_and_no_more(world: World, what: str) -> None:
    client = world.client("greedy")

    with pytest.raises(NotGrantedError):
        NOTHING[what](client)


def test_a_grant_that_comes_while_it_is_connected_holds_at_once(world: World) -> None:
    client = world.client("greedy")
    with pytest.raises(NotGrantedError):
        _ = client.head

    change(world.owner, "greedy", lambda terms: msgspec.structs.replace(terms, read=("x.*",)))

    assert client.head > 0


def test_what_it_makes_the_hub_keep_is_bounded_and_the_owner_is_told_once(world: World) -> None:
    client = world.client("greedy", subscribe=("x.*",), publish=("x.*",))

    answers = client.hub.submit("greedy", some(100))

    refused = [a for a in answers if type(a).__name__ == "Refused"]
    assert len(refused) == len(answers) - 5
    with pytest.raises(LimitError, match=r"greedy is at its limit of 5 subscriptions") as limit:
        client.subscribe("greedy/more", SAID)
    assert (limit.value.client, limit.value.what, limit.value.limit) == (
        "greedy",
        "subscriptions",
        5,
    )
    told = world.limited()
    assert [(each.client, each.what, each.limit) for each in told[:1]] == [
        ("greedy", "subscriptions", 5)
    ]
    assert len(told) <= 2


@pytest.mark.parametrize("what", ["filters", "deadlines", "watched", "receipts"])
def test_each_kind_has_its_limit(world: World, what: str) -> None:
    client = world.client("greedy", subscribe=("x.*",), publish=("x.*",))
    pairs = tuple((f"x.attack.{n}", None) for n in "abcdefghijklmnop")

    def ask(number: int) -> object:
        if what == "filters":
            return client.hub.ask_one(
                "greedy", Subscribe("greedy/s", "ordered", pairs[: number + 1])
            )
        if what == "deadlines":
            return client.hub.ask_one("greedy", Publish((), due=(due(f"d{number}"),)))
        if what == "watched":
            client.hub.watch(f"greedy/w{number}", lambda: None)
            return None
        return client.hub.ask_one(f"greedy/r{number}", Publish((Draft.of(Said()),), 1))

    limit = getattr(FEW, what)
    for number in range(limit):
        ask(number)

    with pytest.raises(LimitError, match=f"limit of {limit} {what}"):
        ask(limit)


def test_limits_are_of_the_client_whatever_its_connections_call_themselves(world: World) -> None:
    token = issue(world.owner, "greedy", Terms(subscribe=("x.*",)))
    one, other = world.joined(token, "greedy/1"), world.joined(token, "greedy/2")
    one.hub.submit("greedy/1", some(5, "greedy/1/s"))

    with pytest.raises(LimitError):
        other.subscribe("greedy/2/s", SAID)


def test_its_limits_outlive_it_and_the_hub(world: World) -> None:
    client = world.client("greedy", subscribe=("x.*",), publish=("x.*",))
    client.hub.submit("greedy", some(5))
    client.hub.ask_one("greedy", Publish((), due=tuple(due(f"d{n}") for n in range(4))))

    again = Hub(world.log, WORDS, system_entropy)
    again.allowed = world.access.limits

    for request in (some(1, "greedy/new")[0], Publish((), due=(due("new"),))):
        (answer,) = again.handle([("greedy", request)], 1 << 60)
        assert getattr(answer, "code", "") == "LimitError"


def test_a_grant_may_raise_a_limit_and_lower_it(world: World) -> None:
    client = world.client("greedy", subscribe=("x.*",), limits={"subscriptions": 7})
    client.hub.submit("greedy", some(9))
    with pytest.raises(LimitError, match="limit of 7"):
        client.subscribe("greedy/more", SAID)

    change(
        world.owner,
        "greedy",
        lambda terms: msgspec.structs.replace(terms, limits={"subscriptions": 0, "filters": 0}),
    )

    client.subscribe("greedy/more", SAID)


def test_the_owner_and_the_runtimes_own_components_are_not_limited(world: World) -> None:
    answers = world.hub.submit("Executions", some(50, "Executions/s"))

    assert {type(answer).__name__ for answer in answers} == {"Subscribed"}


@pytest.mark.parametrize("field", ["stream", "key", "correlation"])
def test_no_name_in_a_record_is_longer_than_a_name(world: World, field: str) -> None:
    client = world.client("greedy", publish=("x.*",))
    long = msgspec.structs.replace(Draft.of(Said()), **{field: LONG})

    with pytest.raises(EventInvalidError, match=f"its {field} has more than 256 bytes"):
        client.publish_drafts([long])


def test_no_other_name_is_longer_either(world: World) -> None:
    client = world.client("greedy", publish=("x.*",), subscribe=("x.*",))

    for ask in (
        lambda: client.subscribe(f"greedy/{LONG}", SAID),
        lambda: client.hub.ask_one("greedy", Publish((), due=(due(LONG),))),
        lambda: client.hub.ask_one(f"greedy/{LONG}", Publish((Draft.of(Said()),))),
    ):
        with pytest.raises(CortexError) as refused:
            ask()
        assert len(str(refused.value)) < 1_000
    assert max(len(data) for data in world.log.read(0, 1_000, 1 << 30)) < 2_000


def test_who_is_too_fast_is_held_back_then_refused_and_the_owner_is_told(world: World) -> None:
    client = world.client("greedy", publish=("x.*",), read=("x.*",))
    began = time.monotonic()
    refused = None
    published = 0
    while refused is None and time.monotonic() - began < 60:
        try:
            client.publish(*(Said(number=n) for n in range(800)))
            published += 800
        except LimitError as error:
            refused = error
    took_s = time.monotonic() - began

    assert refused is not None
    assert refused.what in ("requests_per_s", "bytes_per_s")
    # A burst of 5 s, what came in the time that it took, and one frame that overdraws.
    assert published <= 200 * (5 + took_s) + 800
    assert [each.client for each in world.limited()] == ["greedy"]


def test_what_is_answered_counts_as_well(world: World) -> None:
    world.owner.publish(*(Said(text="t" * 10_000) for _ in range(300)))
    reader = world.client("greedy", read=("x.*",))
    began = time.monotonic()

    size_bytes = 0
    while size_bytes < 9 << 20:
        size_bytes += sum(len(record.body) for record in reader.read())
    took_s = time.monotonic() - began

    # 5 s may come at once, and the page that overdraws is on its way already.
    assert took_s >= (size_bytes - (5 << 20) - (2 << 20)) / (1 << 20)


class Blobs:
    """A served hub whose clients have 1 MB for blobs that no event names, for a second."""

    def __init__(self, folder: Path) -> None:
        limits = Limits(blob_bytes=1_000_000, blob_kept_s=1)
        self.world = World(folder, limits)
        self.client = self.world.client("greedy", publish=("x.*",), read=("x.*",))

    @property
    def kept(self) -> MemoryBlobs:
        store = self.world.server._store
        assert isinstance(store, MemoryBlobs)
        return store

    def late(self) -> None:
        """As if the time of all that was put had come."""
        unnamed = self.world.server.unnamed
        assert unnamed is not None
        for own in unnamed._of.values():
            for each in own.values():
                each.until_ns = 0
        unnamed.look()


@pytest.fixture
def blobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Blobs]:
    made = Blobs(tmp_path)
    # The store's own clock: what was put at the start of a test is old at its end.
    monkeypatch.setattr("cortex.runtime.log.blobs.time.monotonic", _Minutes())
    yield made
    monkeypatch.undo()
    made.world.close()


class _Minutes:
    """A clock on which every look is a minute later."""

    def __init__(self) -> None:
        self._now_s = 0.0

    def __call__(self) -> float:
        self._now_s += 60.0
        return self._now_s


def payload(number: int) -> bytes:
    return bytes((number,)) * 400_000


def test_blobs_that_no_event_names_are_bounded_and_an_event_makes_room(blobs: Blobs) -> None:
    first, _ = (blobs.client.blobs.put(payload(n)) for n in range(2))
    with pytest.raises(LimitError, match="limit of 1000000 blob_bytes"):
        blobs.client.blobs.put(payload(2))
    assert [each.what for each in blobs.world.limited()] == ["blob_bytes"]

    blobs.client.publish(Said(text=first))

    blobs.client.blobs.put(payload(2))


def test_what_no_event_names_in_time_is_dropped_and_what_one_names_stays(blobs: Blobs) -> None:
    within, alone, lost = (payload(n) for n in range(3))
    outer = f"its parts: {blobs.kept.put(within)}".encode()
    named = [blobs.client.blobs.put(each) for each in (alone, outer)]
    gone = blobs.client.blobs.put(lost)
    blobs.world.owner.publish(*(Said(text=f"see {digest}") for digest in named))

    blobs.late()

    assert [blobs.kept.has(digest) for digest in (*named, gone)] == [True, True, False]
    blobs.client.blobs.put(payload(3))
    blobs.client.blobs.put(payload(4))  # there is room for as much again


def test_what_was_there_before_is_never_dropped_for_a_client(blobs: Blobs) -> None:
    there = blobs.kept.put(payload(1))
    blobs.client.blobs.put(payload(1))

    blobs.late()

    assert blobs.kept.has(there)
