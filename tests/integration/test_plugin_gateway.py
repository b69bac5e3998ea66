"""The plugins' door: who comes in by it, and what of their requests reaches the hub."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.bus import (
    Answer,
    Appended,
    ClientDeniedError,
    CortexError,
    Draft,
    HubServer,
    NotGrantedError,
    Peer,
    Publish,
    Refused,
    Renew,
    Request,
    Subscribe,
    Subscribed,
    connect,
)
from cortex.bus.events import (
    ComponentFailed,
    EffectIntended,
    EffectUnknown,
    ExecutionCompleted,
    ModelInvoke,
    StepCompleted,
    TriggerReceived,
)
from cortex.plugins import Granted
from cortex.runtime.kernel import Runtime

from .wire_world import Raw

_gateway: Any = import_module("cortex.plugins.host.gateway")
GatewayAccess = _gateway.GatewayAccess
Pass = _gateway.Pass

PARTS = ("publish:step.completed", "subscribe:step.execute=tick", "subscribe:execution.*")
TOKEN = "a token of the test"
DONE = Draft.of(StepCompleted(execution_id="1", step_id="a", result={}))
TRIGGER = Draft.of(TriggerReceived(trigger_id="1", fields={}))
IPC = Peer("ipc")


class World:
    """One plugin at the door of a hub in memory, and its connection."""

    def __init__(self, runtime: Runtime, folder: Path) -> None:
        self.hub = runtime.hub
        self.denied: list[tuple[str, str, int]] = []
        self.flooded: list[bool] = []
        self.access = GatewayAccess(lambda *told: self.denied.append(told), self.hub.steady_ns)
        self.let_in(*PARTS)
        self.path = f"{folder}/bus.sock"
        self.server = HubServer(runtime.hub, runtime.log, runtime.blobs, self.access)
        self.client = connect(self.server.listen(f"ipc://{self.path}"), token=TOKEN)

    def let_in(self, *parts: str) -> None:
        entry = Pass("ticker", TOKEN, Granted.of(parts), 100, ["Tick"])
        entry.flooded = lambda: self.flooded.append(True)
        self.access.let_in(entry)

    def ask(self, *requests: Request, client: str = "Tick") -> list[Answer]:
        return self.client.hub.submit(client, requests)

    def close(self) -> None:
        self.client.close()
        self.server.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    tmp_path.chmod(0o700)
    with Runtime(components=[]) as runtime:
        made = World(runtime, tmp_path)
        yield made
        made.close()


@pytest.fixture
def raw(world: World) -> Iterator[Raw]:
    made = Raw(world.path)
    made.greet()
    made.ask(["hello", [2], TOKEN, ""])
    yield made
    made.close()


def sent(raw: Raw, number: int, repeat: bool, *requests: Request) -> list[Any]:
    """The answers to a numbered frame of the plugin's component."""
    raw.send(msgspec.msgpack.encode([number, repeat, [["Tick", requests]]]))
    return raw.answers()


def failed(component: str) -> Draft:
    return Draft.of(ComponentFailed(component=component, reason="x"))


def invoke(model: str) -> Draft:
    return Draft.of(
        ModelInvoke(execution_id="1", step_id="a", model=model, provider="here", prompt="0")
    )


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
    before = world.hub.head
    with pytest.raises(CortexError):  # it may not know whether this was done before the cut
        world.ask(Publish((DONE,)))
    assert world.hub.head == before
    refusal = world.access.refusal("Tick", Publish((DONE,)))  # of what was on its way
    assert isinstance(refusal, NotGrantedError)


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
        ("subscribe", "step.execute", False),  # it was granted one key
        ("work", "step.execute", False),
        ("read", "step.execute", False),
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


@pytest.mark.parametrize("verb", ["subscribe", "work", "read"])
def test_by_key_it_may_do_what_was_granted(world: World, verb: str) -> None:
    assert world.access.keys("plugin.ticker", verb, "step.execute") == {"tick"}
    assert world.access.keys("Tick", verb, "step.execute") == {"tick"}
    assert not world.access.keys("plugin.ticker", verb, "step.completed")
    assert not world.access.keys("Other", verb, "step.execute")


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


def test_of_a_frame_that_may_come_again_the_rest_is_done_once(world: World, raw: Raw) -> None:
    publishes = [Publish((draft,)) for draft in (DONE, failed("Shell"), DONE)]
    before = world.hub.head

    first = sent(raw, 1 << 32, False, *publishes)
    again = sent(raw, 1 << 32, True, *publishes)

    assert [each[0] for each in first] == ["appended", "refused", "appended"]
    assert again == first
    assert world.hub.head == before + 2


def test_a_frame_of_which_nothing_is_allowed_is_answered_all_the_same(raw: Raw) -> None:
    (answer,) = sent(raw, 1 << 32, False, Publish((failed("Shell"),)))

    assert answer[0] == "refused"


def test_it_gives_up_events_for_its_own_components_alone(world: World) -> None:
    own, other = world.ask(Publish((failed("Tick"),)), Publish((failed("Shell"),)))

    assert isinstance(own, Appended)
    assert isinstance(other, Refused)


def test_it_begins_effects_for_its_own_components_alone(world: World) -> None:
    def of(kind: Any, component: str, **more: str) -> Draft:
        effect = {"execution_id": "1", "step_id": "a", "effect_key": component}
        return Draft.of(kind(**effect, component=component, kind="action", name="tick", **more))

    own, both, other = world.ask(
        Publish((of(EffectUnknown, "Tick", reason="x"),)),
        Publish((of(EffectUnknown, "Tick", reason="x"), of(EffectUnknown, "Shell", reason="x"))),
        Publish((of(EffectIntended, "Shell"),), sync=True),
    )

    assert isinstance(own, Appended)
    assert [each.code for each in (both, other) if isinstance(each, Refused)] == [
        "NotGrantedError",
        "NotGrantedError",
    ]
    parts = [part for _, part, _ in world.denied]
    assert parts == ["publish:effect.unknown", "publish:effect.intended"]


def test_it_asks_the_models_that_it_was_granted_and_no_others(world: World) -> None:
    world.let_in(*PARTS, "model:small")

    small, large = world.ask(*(Publish((invoke(model),)) for model in ("small", "large")))

    assert isinstance(small, Appended)
    assert isinstance(large, Refused)
    assert world.denied == [("ticker", "publish:model.invoke=here", 1)]


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
