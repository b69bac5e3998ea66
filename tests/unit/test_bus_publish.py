"""Publishing to a hub: whole or not at all, once, in one order."""

from collections.abc import Mapping, Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import (
    Appended,
    Batch,
    CheckedDraft,
    Claim,
    ConflictError,
    Draft,
    Due,
    Event,
    Hub,
    LogError,
    Publish,
    Refused,
    decode,
)
from cortex.runtime.log import MemoryLog

from .bus_world import (
    SECOND_NS,
    WORDS,
    HubWorld,
    PlanWrite,
    as_reopened,
    draft,
    glance,
    ordered,
    refusal,
    shape,
    work,
)


@pytest.fixture
def world() -> HubWorld:
    return HubWorld()


def test_an_answer_names_the_positions_of_the_events(world: HubWorld) -> None:
    first = world.one(Publish((draft("a"), draft("b"))))
    second = world.one(Publish((draft("a"),)))

    assert (first, second) == (Appended(1, 2), Appended(3, 3))


def test_a_record_has_what_the_hub_adds(world: HubWorld) -> None:
    world.one(Publish((draft("a"), draft("b"), draft("a"))), client="me")

    records = [decode(data) for data in world.log.read(0, 10, 1 << 20)]

    assert [(r.position, r.stream, r.version) for r in records] == [
        (1, "plan/a", 1),
        (2, "plan/b", 1),
        (3, "plan/a", 2),
    ]
    assert {(r.source, r.time_ns, r.key) for r in records} == {
        ("me", world.now_ns, "a"),
        ("me", world.now_ns, "b"),
    }
    assert len({r.id for r in records}) == 3


def test_one_bad_event_refuses_its_request_and_leaves_the_neighbours_alone(
    world: HubWorld,
) -> None:
    bad = Draft("plan.write", 1, "plan/a", None, b"\x80")

    answers = world.ask(Publish((draft("a"),)), Publish((draft("a"), bad)), Publish((draft("b"),)))

    assert answers[0] == Appended(1, 1)
    assert refusal(answers[1]) == "EventInvalidError"
    assert answers[2] == Appended(2, 2)
    assert world.topics() == ["plan.write"] * 2


def test_what_was_checked_is_checked_again_where_a_mask_changed_it(world: HubWorld) -> None:
    made = CheckedDraft.of(PlanWrite(plan="secret"))

    def broken(drafts: Sequence[Draft]) -> Sequence[Draft]:
        return [msgspec.structs.replace(each, body=b"\x80") for each in drafts]

    hidden = Hub(world.log, WORDS, bytes, mask=broken)
    requests = (Publish((made,)), Publish((), due=(Due("d", world.now_ns, made),)))

    answers = hidden.handle([("tests", request) for request in requests], world.now_ns)

    assert [refusal(answer) for answer in answers] == ["EventInvalidError"] * 2


def test_what_comes_over_a_wire_counts_as_checked_by_nobody(world: HubWorld) -> None:
    sent = Publish((CheckedDraft("plan.write", 1, "plan/a", None, b"\x80"),))
    come = msgspec.msgpack.decode(msgspec.msgpack.encode(sent), type=Publish)

    assert refusal(world.one(come)) == "EventInvalidError"
    assert isinstance(world.one(sent), Appended)  # of this very process: its maker checked it


def test_a_bad_deadline_refuses_its_request_whole(world: HubWorld) -> None:
    unknown = Draft("plan.burn", 1, "plan/a", None, b"\x80")

    answer = world.one(Publish((draft(),), due=(Due("d", world.now_ns, unknown),)))

    assert refusal(answer) == "TopicUnknownError"
    assert world.hub.head == 0


def test_a_repeated_number_is_answered_and_not_appended(world: HubWorld) -> None:
    first = world.one(Publish((draft("a"),), number=1), client="me")
    again = world.one(Publish((draft("a"),), number=1), client="me")
    other = world.one(Publish((draft("a"),), number=1), client="you")

    assert first == again == Appended(1, 1)
    assert other == Appended(2, 2)


def test_a_repeated_number_in_one_batch_is_appended_once(world: HubWorld) -> None:
    answers = world.ask(Publish((draft(),), number=1), Publish((draft(),), number=1))

    assert answers == [Appended(1, 1), Appended(1, 1)]


def test_a_repeated_number_is_answered_after_a_restart(world: HubWorld) -> None:
    world.one(Publish((draft(),), number=7))
    world.reopened()

    assert world.one(Publish((draft(),), number=7)) == Appended(1, 1)


def test_an_older_number_is_refused(world: HubWorld) -> None:
    world.ask(Publish((draft(),), number=1), Publish((draft(),), number=2))

    assert refusal(world.one(Publish((draft(),), number=1))) == "ConflictError"
    assert world.hub.head == 2


def test_a_refused_number_may_be_used_again(world: HubWorld) -> None:
    refused = world.one(Publish((draft(expected_version=4),), number=1))

    assert refusal(refused) == "ConflictError"
    assert world.one(Publish((draft(),), number=1)) == Appended(1, 1)


def test_expected_versions_are_checked_within_a_batch(world: HubWorld) -> None:
    answers = world.ask(
        Publish((draft("a", expected_version=0),)),
        Publish((draft("a", expected_version=0),)),
        Publish((draft("a", expected_version=1),)),
        Publish((draft("b", expected_version=0), draft("b", expected_version=1))),
    )

    assert answers[0] == Appended(1, 1)
    assert isinstance(answers[1], Refused)
    assert answers[1].error().args == ConflictError("plan/a", 0, 1).args
    assert answers[2:] == [Appended(2, 2), Appended(3, 4)]


def test_expected_versions_are_checked_after_a_restart(world: HubWorld) -> None:
    world.one(Publish((draft("a"),)))
    world.reopened()

    assert refusal(world.one(Publish((draft("a", expected_version=0),)))) == "ConflictError"
    assert world.one(Publish((draft("a", expected_version=1),))) == Appended(2, 2)


class CountingLog(MemoryLog):
    """A log that notes whose versions were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.looks: list[tuple[str, ...]] = []

    def stream_versions(self, streams: Sequence[str]) -> Mapping[str, int]:
        self.looks.append(tuple(streams))
        return super().stream_versions(streams)


def test_the_versions_of_a_request_are_read_in_one_look() -> None:
    log = CountingLog()
    Hub(log, WORDS, bytes).handle([("", Publish((draft("s1"), draft("s2"))))], 1)
    log.looks.clear()
    hub = Hub(log, WORDS, bytes)

    hub.handle([("", Publish(tuple(map(draft, ("s1", "s2", "s1", "new")))))], 2)

    records = [decode(data) for data in log.read(2, 10, 1 << 20)]
    assert [(r.stream, r.version) for r in records] == [
        ("plan/s1", 2),
        ("plan/s2", 2),
        ("plan/s1", 3),
        ("plan/new", 1),
    ]
    assert log.looks == [("plan/s1", "plan/s2", "plan/new")]


def test_a_failed_write_leaves_the_hub_as_it_was(world: HubWorld) -> None:
    world.one(Publish((draft("a"),), number=1))
    before = shape(world.hub)

    world.log.full = True
    with pytest.raises(LogError):
        world.one(Publish((draft("a"),), number=2))
    assert shape(world.hub) == before
    world.log.full = False

    assert world.one(Publish((draft("a", expected_version=1),), number=2)) == Appended(2, 2)
    assert shape(world.hub) == as_reopened(world)


@pytest.mark.parametrize("kept", [True, False])
def test_an_interrupted_write_is_settled_by_the_log(
    world: HubWorld, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    world.ask(work("w"), ordered("passing", lasting=False), Publish((draft(),)))
    write = world.log.write

    def interrupted(batch: Batch) -> None:
        if kept:
            write(batch)
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(world.log, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            world.ask(Publish((draft(),), number=1), Claim("w", 1, SECOND_NS))

    assert world.one(Publish((draft(),), number=1)) == Appended(2, 2)
    assert [lease.attempts for lease in world.claim("w", 9)] == [1 + kept, 1]
    assert len(world.fetch("passing").records) == 2
    assert shape(world.reopened()) == as_reopened(world)


def test_the_time_in_the_log_never_goes_back(world: HubWorld) -> None:
    world.one(Publish((draft(),)))
    world.later(-3600)
    world.one(Publish((draft(),)))
    world.reopened()
    world.later(-3600)
    world.one(Publish((draft(),)))

    times = [decode(data).time_ns for data in world.log.read(0, 10, 1 << 20)]
    assert times == sorted(times)


def test_an_unexpected_error_in_one_request_writes_nothing(world: HubWorld) -> None:
    class Strange(Publish, frozen=True, tag="strange"):
        pass

    answer = world.ask(Publish((draft(),)), Strange((draft(),)))

    assert answer == [Appended(1, 1), Appended(2, 2)]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]),  # client
            st.integers(0, 4),  # number
            st.lists(st.tuples(st.sampled_from("xy"), st.none() | st.integers(0, 6)), max_size=3),
        ),
        max_size=12,
    ),
    st.integers(1, 4),
)
@settings(max_examples=200, deadline=None)
def test_batching_changes_no_answer(
    asked: list[tuple[str, int, list[tuple[str, int | None]]]], size: int
) -> None:
    requests = [
        (
            client,
            Publish(
                tuple(
                    Draft.of(PlanWrite(plan=plan), expected_version=version)
                    for plan, version in events
                ),
                number,
            ),
        )
        for client, number, events in asked
    ]
    alone, together = HubWorld(), HubWorld()

    one_by_one = [alone.hub.handle([r], alone.now_ns)[0] for r in requests]
    batched = [
        answer
        for at in range(0, len(requests), size)
        for answer in together.hub.handle(requests[at : at + size], together.now_ns)
    ]

    assert batched == one_by_one
    assert together.topics() == alone.topics()
    assert shape(together.hub) == shape(alone.hub) == as_reopened(alone)


def test_the_ids_of_one_batch_are_all_different(world: HubWorld) -> None:
    world.one(ordered("s", "*"))
    world.one(Publish((glance(), glance(), draft(), glance(), draft())))

    page = world.fetch("s")
    ids = [r.id for r in (*page.records, *page.ephemeral)]
    assert len(set(ids)) == 5


def test_an_event_class_without_routing_has_no_key() -> None:
    class PlainEvent(Event, frozen=True, kw_only=True, tag="plain.event"):
        pass

    assert Draft.of(PlainEvent()).key is None
    assert Draft.of(PlainEvent()).stream == "bus"
