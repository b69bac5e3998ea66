"""The plugins' door: who comes in by it, and what of their requests reaches the hub."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from cortex.bus import (
    Answer,
    Appended,
    ClientDeniedError,
    Done,
    Draft,
    Once,
    Peer,
    Publish,
    Refused,
    Renew,
    Request,
    Subscribe,
    Subscribed,
)
from cortex.bus.events import ComponentFailed, ExecutionCompleted, StepCompleted, TriggerReceived
from cortex.plugins import Granted
from cortex.runtime.kernel import Runtime

_gateway: Any = import_module("cortex.plugins.hosting.gateway")
GatewayAccess = _gateway.GatewayAccess
Guard = _gateway.Guard
Pass = _gateway.Pass

PARTS = ("publish:step.completed", "subscribe:step.execute=tick", "subscribe:execution.*")
TOKEN = "a token of the test"
DONE = Draft.of(StepCompleted(execution_id="1", step_id="a", result={}))
TRIGGER = Draft.of(TriggerReceived(trigger_id="1", fields={}))
IPC = Peer("ipc")


class World:
    """One plugin at the door of a hub in memory."""

    def __init__(self, runtime: Runtime) -> None:
        self.hub = runtime.hub
        self.denied: list[tuple[str, str, int]] = []
        self.flooded: list[bool] = []
        self.access = GatewayAccess(lambda *told: self.denied.append(told), self.hub.steady_ns)
        self.guard = Guard(self.hub, self.access)
        self.entry = Pass("ticker", TOKEN, Granted.of(PARTS), 100)
        self.entry.names = frozenset(["Tick"])
        self.entry.flooded = lambda: self.flooded.append(True)
        self.access.let_in(self.entry)

    def ask(self, *requests: Request, client: str = "Tick") -> list[Answer]:
        answers: list[Answer] = self.guard.submit(client, requests)
        return answers


@pytest.fixture
def world() -> Iterator[World]:
    with Runtime(components=[]) as runtime:
        yield World(runtime)


def failed(component: str) -> Draft:
    return Draft.of(ComponentFailed(component=component, reason="x"))


def pairs(*pairs: tuple[str, str | None]) -> Subscribe:
    return Subscribe("Tick", "ordered", pairs)


def test_only_the_plugins_own_token_and_name_come_in(world: World) -> None:
    assert world.access.admit(TOKEN, "", IPC) == "plugin.ticker"
    assert world.access.admit(TOKEN, "plugin.ticker/feed", IPC) == "plugin.ticker/feed"
    for token, name in (("", ""), (TOKEN + "x", ""), ("é", ""), (TOKEN, "owner")):
        with pytest.raises(ClientDeniedError):
            world.access.admit(token, name, IPC)
    assert world.denied == [("ticker", "client:another", 1)]


def test_shut_out_it_has_no_standing_and_is_cut(world: World) -> None:
    cut: list[str] = []
    world.access.watch(cut.append)

    world.access.shut_out("ticker")

    assert cut == ["plugin.ticker"]
    assert not world.access.standing("plugin.ticker")
    assert not world.access.allows("plugin.ticker", "publish", "step.completed")
    with pytest.raises(ClientDeniedError):
        world.access.admit(TOKEN, "", IPC)
    (refused,) = world.ask(Publish((DONE,)))
    assert isinstance(refused, Refused)


def test_it_answers_queries_of_its_own_that_it_was_granted_and_no_others(world: World) -> None:
    entry = Pass("teller", "another", Granted.of(("subscribe:x.teller.ask", "subscribe:*")), 100)
    world.access.let_in(entry)

    asked = ("x.teller.ask", "x.ticker.ask", "execution.get", "step.execute")
    assert [world.access.answers("plugin.teller", topic) for topic in asked] == [True] + 3 * [False]
    assert not world.access.answers("plugin.ticker", "x.ticker.ask")  # its own, and not granted
    assert not world.access.answers("plugin.gone", "x.gone.ask")


@pytest.mark.parametrize(
    ("verb", "topic", "allowed"),
    [
        ("publish", "step.completed", True),
        ("publish", "trigger.received", False),
        ("subscribe", "step.execute", True),
        ("work", "step.execute", True),
        ("read", "step.execute", False),  # it was granted one key, and reading has them all
        ("read", "execution.completed", True),
        ("subscribe", "grant.given", False),
    ],
)
def test_by_topic_it_may_do_what_was_granted(
    world: World, verb: str, topic: str, allowed: bool
) -> None:
    assert world.access.allows("plugin.ticker", verb, topic) == allowed
    assert world.access.allows("Tick", verb, topic) == allowed
    assert not world.access.allows("Other", verb, topic)


def test_what_was_granted_reaches_the_hub_and_nothing_else_does(world: World) -> None:
    done, beyond, again = world.ask(Publish((DONE,)), Publish((DONE, TRIGGER)), Publish((DONE,)))

    assert isinstance(done, Appended)
    assert isinstance(beyond, Refused)
    assert isinstance(again, Appended)
    assert again.last == done.last + 1
    assert world.denied == [("ticker", "publish:trigger.received", 1)]


def test_it_subscribes_to_its_own_keys(world: World) -> None:
    own, wider, all_keys = world.ask(
        pairs(("step.execute", "tick"), ("execution.completed", None)),
        pairs(("step.execute", "shell")),
        pairs(("*", None)),
    )

    assert isinstance(own, Subscribed)
    assert isinstance(wider, Refused)
    assert isinstance(all_keys, Refused)
    assert [part for _, part, _ in world.denied] == ["subscribe:step.execute=shell", "subscribe:*"]


def test_of_a_frame_that_may_come_again_the_rest_is_done_once(world: World) -> None:
    parts = tuple(("Tick", (Publish((draft,)),)) for draft in (DONE, TRIGGER, DONE))
    before = world.hub.head

    answers = [
        world.ask(Once(1 << 32, repeat, parts), client="plugin.ticker") for repeat in (False, True)
    ]

    for (answer,) in answers:
        assert isinstance(answer, Done)
        assert [type(each) for each in answer.answers] == [Appended, Refused, Appended]
    assert world.hub.head == before + 2


def test_a_frame_of_which_nothing_is_allowed_is_answered_all_the_same(world: World) -> None:
    parts: Any = (("Tick", (Publish((TRIGGER,)),)),)

    (answer,) = world.ask(Once(1 << 32, False, parts), client="plugin.ticker")

    assert isinstance(answer, Done)
    assert [type(each) for each in answer.answers] == [Refused]


def test_it_gives_up_events_for_its_own_components_alone(world: World) -> None:
    own, other = world.ask(Publish((failed("Tick"),)), Publish((failed("Shell"),)))

    assert isinstance(own, Appended)
    assert isinstance(other, Refused)


def test_leases_are_renewed_whoever_asks_for_it(world: World) -> None:
    (answer,) = world.ask(Renew("Tick", 1, 1, 1_000_000_000), client="leases")

    # The hub's own word on a lease that there is not, and no denial.
    assert isinstance(answer, Refused)
    assert answer.code != "NotGrantedError"
    assert world.denied == []


def test_a_flood_is_refused_and_told_of(world: World) -> None:
    few, many = world.ask(Publish((DONE,)), Publish(600 * (DONE,)))

    assert world.flooded == [True]
    assert isinstance(few, Appended)
    assert isinstance(many, Refused)


def test_other_components_are_none_of_its_own(world: World) -> None:
    event = Draft.of(ExecutionCompleted(execution_id="1"))

    (refused,) = world.ask(Publish((event,)), client="Shell")

    assert isinstance(refused, Refused)
    assert not world.access.holds("plugin.ticker", "Shell")
    assert world.access.holds("plugin.ticker", "Tick")
    assert world.access.holds("plugin.ticker", "plugin.ticker/feed/1")


def test_it_hears_what_is_asked_of_its_own_components_and_of_no_other(world: World) -> None:
    own = Subscribe("Tick", "ordered", (("component.retry", "Tick"),))
    another = Subscribe("Tick", "ordered", (("component.retry", "Another"),))
    any_of_them = Subscribe("Tick", "ordered", (("component.retry", None),))

    answers = world.ask(own, another, any_of_them)

    assert isinstance(answers[0], Subscribed)
    assert [each.code for each in answers[1:] if isinstance(each, Refused)] == [
        "NotGrantedError",
        "NotGrantedError",
    ]
