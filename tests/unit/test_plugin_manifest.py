"""Manifests: what they may ask for, what is granted of it, and what a guard lets through."""

from importlib import import_module
from typing import Any

import msgspec
import pytest

from cortex.bus import Draft
from cortex.bus.events import ModelInvoke, StepCompleted
from cortex.plugins import (
    FileWant,
    Granted,
    Limits,
    Manifest,
    PluginInvalidError,
    Wants,
    problems_of,
)
from cortex.runtime.access import PUBLISH, READ, SUBSCRIBE, WORK

_granted: Any = import_module("cortex.plugins.granted")
_manifest: Any = import_module("cortex.plugins.manifest")
chosen = _granted.chosen
read_manifest = _manifest.read_manifest

GOOD = Manifest(
    name="ticker",
    version="1.2.0",
    cortex=">=0.1,<2",
    components=("cortex_ticker:Tick",),
    publishes=("step.completed", "x.ticker.ticked"),
    subscribes=("step.execute=tick", "gate.*", "x.other.said"),
    wants=Wants(
        files=(FileWant("~/notes"), FileWant("./build", "write")),
        network=True,
        secrets=("TICKER_TOKEN",),
        models=("small",),
    ),
)


def but(**changes: Any) -> Manifest:
    return msgspec.structs.replace(GOOD, **changes)


def test_a_manifest_with_everything_is_taken_and_survives_its_bytes() -> None:
    assert read_manifest(msgspec.json.encode(GOOD)) == GOOD
    assert read_manifest(msgspec.json.encode(GOOD)).digest() == GOOD.digest()
    assert but(version="1.2.1").digest() != GOOD.digest()


def test_a_manifest_without_effects_has_the_digest_that_was_confirmed_before_there_were_any() -> (
    None
):
    before = "bf211e197a4a25d3d3ab2c2049f0250f6c2b2b45c6a82ce3f769f8e6f49b6cd4"

    assert GOOD.digest() == before
    assert but(effects={"tick": "read"}).digest() != GOOD.digest()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"effects": {"tick": "sometimes"}},
            "effects.tick is 'sometimes': give none, read, idempotent or once",
        ),
        ({"effects": {"tick": ["once"]}}, "effects.tick is"),
        ({"name": "Ticker"}, "give up to 40 small letters"),
        ({"name": "a" * 41}, "give up to 40 small letters"),
        ({"name": "../evil"}, "give up to 40 small letters"),
        ({"version": "new"}, "is not a version"),
        ({"cortex": "0.1"}, "is not a range"),
        ({"components": ()}, "components is empty"),
        ({"components": ("ticker.Tick",)}, "write 'package.module:Class'"),
        ({"publishes": ("step.*",)}, "name each topic"),
        ({"publishes": ("*",)}, "name each topic"),
        ({"publishes": ("step.finished",)}, "that is not a topic"),
        ({"publishes": ("x.other.said",)}, "its own topics start with x.ticker."),
        ({"publishes": ("grant.given",)}, "only the runtime publishes grant.*"),
        ({"publishes": ("plugin.load",)}, "only the runtime publishes plugin.*"),
        ({"publishes": ("component.announced",)}, "only the runtime publishes component.*"),
        ({"publishes": ("execution.completed",)}, "only the runtime may publish it"),
        ({"publishes": ("gate.evaluate",)}, "only the runtime may publish it"),
        ({"publishes": ("process.compiled",)}, "only the runtime may publish it"),
        ({"publishes": ("log.tail_lost",)}, "only the runtime may publish it"),
        ({"publishes": ("learning.action_observed",)}, "only the runtime may publish it"),
        ({"publishes": ("model.invoke",), "wants": Wants()}, "name the models"),
        ({"subscribes": ("step",)}, "write 'family.verb'"),
        ({"subscribes": ("step.finished",)}, "step.finished is not a topic"),
        ({"subscribes": ("trigger.received=ci",)}, "trigger.received has no key"),
        ({"wants": Wants(files=(FileWant("notes"),))}, "write an absolute path"),
        ({"wants": Wants(files=(FileWant("/srv/../etc"),))}, "write an absolute path"),
        ({"wants": Wants(files=(FileWant("~/"),))}, "name what in there it needs"),
        ({"wants": Wants(files=(FileWant("/"),))}, "name what in there it needs"),
        ({"wants": Wants(secrets=("token",))}, "write capitals"),
        ({"wants": Wants(secrets=("A=B",))}, "write capitals"),
        ({"limits": Limits(restarts=-1)}, "limits.restarts is -1"),
        ({"limits": Limits(memory_mb=16_385)}, "limits.memory_mb is 16385: give 0 to 16,384"),
        ({"limits": Limits(events_per_s=20_001)}, "limits.events_per_s is 20001"),
        ({"limits": Limits(silent_s=601)}, "limits.silent_s is 601"),
        ({"limits": Limits(silent_s=float("nan"))}, "limits.silent_s is nan"),
    ],
)
def test_what_is_wrong_with_a_manifest_is_named(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(PluginInvalidError) as error:
        but(**changes).check()

    assert problem in str(error.value)


def test_limits_are_told_and_no_memory_is_the_usual_bound() -> None:
    told = "at most 2,000 events/s and 2,048 MB a process, 5 restarts in a row, 60 s of silence"

    assert Limits(memory_mb=0).told() == told


def test_limits_that_rise_are_beyond_what_was_confirmed() -> None:
    assert not Limits().beyond({})
    assert not Limits(memory_mb=512).beyond({"memory_mb": 512})
    assert Limits(memory_mb=1_024).beyond({"memory_mb": 512})
    assert Limits(silent_s=61.0).beyond({})
    assert Limits(memory_mb=0).beyond({"memory_mb": 512})


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"name": "x"}', b'{"nme": "x"}'])
def test_what_is_no_manifest_is_refused(data: bytes) -> None:
    with pytest.raises(PluginInvalidError):
        read_manifest(data)


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(PluginInvalidError) as error:
        but(version="new", components=()).check()

    assert len(error.value.problems) == 2


@pytest.mark.parametrize(("version", "fits"), [("0.1.0", True), ("1.9", True), ("2.0", False)])
def test_it_says_which_versions_of_cortex_it_works_with(version: str, fits: bool) -> None:
    assert GOOD.fits(version) == fits


def test_everything_it_asks_for_has_a_name() -> None:
    assert GOOD.parts() == (
        "subscribe:step.execute=tick",
        "subscribe:gate.*",
        "subscribe:x.other.said",
        "publish:step.completed",
        "publish:x.ticker.ticked",
        "read:~/notes",
        "write:./build",
        "network",
        "secret:TICKER_TOKEN",
        "model:small",
    )


def test_parts_are_chosen_by_name_and_nothing_else_is() -> None:
    assert chosen(GOOD, (), ()) == GOOD.parts()
    assert chosen(GOOD, ("network",), ()) == ("network",)
    assert "network" not in chosen(GOOD, (), ("network",))
    with pytest.raises(ValueError, match="ticker does not ask for 'publish:\\*'; it asks for "):
        chosen(GOOD, ("publish:*",), ())


def test_nothing_granted_is_nothing_allowed() -> None:
    granted = Granted.of(())
    permissions = granted.permissions("plugin.ticker")

    assert granted == Granted()
    assert not permissions.something
    for verb in (PUBLISH, SUBSCRIBE, WORK, READ):
        assert not permissions.allows_key(verb, "step.completed", None)
        assert not permissions.allows(verb, "trigger.received")


def test_what_was_granted_reaches_to_the_key() -> None:
    permissions = Granted.of(GOOD.parts()).permissions("plugin.ticker")

    def sees(topic: str, key: str | None) -> bool:
        return permissions.allows_key(SUBSCRIBE, topic, key)

    assert sees("step.execute", "tick")
    assert sees("gate.evaluated", None)
    assert sees("gate.*", None)
    assert not sees("step.execute", None)
    assert not sees("step.execute", "shell")
    assert not sees("step.*", None)
    assert not sees("*", None)


def test_only_models_that_were_granted_may_be_asked() -> None:
    granted = Granted.of(GOOD.parts())
    invoke = ModelInvoke(execution_id="1", step_id="a", model="small", provider="p", prompt="d")

    assert granted.may_ask(Draft.of(StepCompleted(execution_id="1", step_id="a", result={})))
    assert granted.may_ask(Draft.of(invoke))
    dear = msgspec.structs.replace(invoke, model="dear")
    assert not granted.may_ask(Draft.of(dear))


@pytest.mark.parametrize("topic", ["grant.given", "execution.completed", "plugin.load"])
def test_a_plugin_says_no_guarded_topic_whatever_was_confirmed(topic: str) -> None:
    """A manifest that asks for one is refused; a log that was edited by hand asks nobody."""
    permissions = Granted.of((f"publish:{topic}", "publish:*")).permissions("plugin.ticker")

    assert not permissions.allows(PUBLISH, topic)
    assert permissions.allows(PUBLISH, "step.completed")
    assert not permissions.allows(PUBLISH, "step.execute")


def test_its_grant_is_by_topic_and_holds_its_components() -> None:
    given = Granted.of(GOOD.parts()).grant("plugin.ticker", "", ["Tick"])

    assert given.client == "plugin.ticker"
    assert given.names == ("Tick",)
    assert given.publish == ("step.completed", "x.ticker.ticked", "model.invoke")
    assert given.read == ()
    assert set(given.subscribe) == set(given.work) >= {"step.execute", "gate.*", "x.other.said"}
    assert given.token_sha256 == ""


SHELL = Manifest(
    name="shells",
    version="1.0.0",
    cortex=">=0.1",
    components=("cortex.actors.handlers:Shell", "cortex.actors.handlers:TextFiles"),
    subscribes=("step.execute",),
)


@pytest.mark.parametrize(
    ("effects", "problem"),
    [
        ({"shell": "once", "Shell": "once"}, ""),
        ({"shell": "read"}, "shell declares the effect once, and the manifest says read: remove"),
        (
            {"shel": "read"},
            "effects names 'shel', which is not one of its actions and tools: shell, ",
        ),
    ],
)
def test_an_effect_is_declared_of_what_there_is_and_in_one_place(
    effects: dict[str, Any], problem: str
) -> None:
    problems = problems_of(msgspec.structs.replace(SHELL, effects=effects))

    assert [each[: len(problem)] for each in problems] == ([problem] if problem else [])
