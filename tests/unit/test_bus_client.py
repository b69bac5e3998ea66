"""A client publishes once what it must repeat because an acknowledgement was lost."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import (
    Batch,
    Client,
    ConflictError,
    Hub,
    LocalHub,
    SystemClock,
    TopicUnknownError,
    decode,
    system_entropy,
)

from .bus_world import WORDS, FailingLog, PlanWrite


class Restarted:
    """A log, and whichever hub serves it."""

    def __init__(self) -> None:
        self.log = FailingLog()
        self.hub = self._hub()

    def restart(self) -> None:
        self.hub.close()
        self.hub = self._hub()

    def client(self, name: str = "me") -> Client:
        return Client(name, self.hub, self.log, WORDS)

    def plans(self) -> list[str | None]:
        return [decode(data).key for data in self.log.read(0, 9_999, 1 << 30)]

    def _hub(self) -> LocalHub:
        return LocalHub(Hub(self.log, WORDS, system_entropy), SystemClock())


@pytest.fixture
def bus() -> Iterator[Restarted]:
    made = Restarted()
    yield made
    made.hub.close()


@pytest.mark.parametrize("kept", [True, False])
def test_a_publish_whose_acknowledgement_was_lost_is_repeated_and_stands_once(
    bus: Restarted, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    me, write = bus.client(), bus.log.write
    number = me.next_number()

    def interrupted(batch: Batch) -> None:
        if kept:
            write(batch)
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(bus.log, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            me.publish(PlanWrite(plan="a"), number=number)

    assert me.publish(PlanWrite(plan="a"), number=number) == 1
    assert me.publish(PlanWrite(plan="a"), number=number) == 1
    assert bus.plans() == ["a"]


def test_a_repeat_is_answered_after_a_restart_of_both_sides(bus: Restarted) -> None:
    number = bus.client().next_number()
    bus.client().publish(PlanWrite(plan="a"), number=number)
    bus.restart()

    again = bus.client().publish(PlanWrite(plan="a"), expected_version=0, number=number)
    next_ = bus.client()
    after = next_.publish(PlanWrite(plan="b"), number=next_.next_number())

    assert (again, after) == (1, 2)
    assert bus.plans() == ["a", "b"]


def test_only_the_newest_number_can_be_repeated(bus: Restarted) -> None:
    me = bus.client()
    first, second = me.next_number(), me.next_number()
    me.publish(PlanWrite(plan="a"), number=first)
    me.publish(PlanWrite(plan="b"), number=second)

    with pytest.raises(ConflictError, match="client/me"):
        me.publish(PlanWrite(plan="a"), number=first)

    assert bus.plans() == ["a", "b"]


def test_what_is_not_numbered_is_appended_each_time(bus: Restarted) -> None:
    me = bus.client()

    assert [me.publish(PlanWrite(plan="a")) for _ in range(2)] == [1, 2]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), max_size=30))
@settings(max_examples=100, deadline=None)
def test_two_clients_of_one_name_never_lose_an_event_to_each_other(
    turns: list[tuple[str, bool]],
) -> None:
    bus = Restarted()
    clients = {name: bus.client() for name in "ab"}
    expected = []
    for count, (name, repeats) in enumerate(turns):
        plan = f"{name}/{count}"
        while True:  # a refusal says that the other was there before; nothing was recorded then
            number = clients[name].next_number()
            try:
                position = clients[name].publish(PlanWrite(plan=plan), number=number)
                break
            except ConflictError:
                continue
        expected.append(plan)
        if repeats:
            assert clients[name].publish(PlanWrite(plan=plan), number=number) == position
    bus.hub.close()

    assert bus.plans() == expected


@pytest.mark.parametrize("pattern", ["plan.writen", "pln.*"])
def test_what_no_event_can_be_is_not_waited_for(bus: Restarted, pattern: str) -> None:
    client = bus.client()

    for wait in (
        lambda: client.follow((pattern, None)),
        lambda: client.subscribe("me/s", (pattern, None)),
        lambda: client.work("me/w", ("plan.written", None), (pattern, None)),
    ):
        with pytest.raises(TopicUnknownError, match=r"did you mean plan\."):
            wait()
