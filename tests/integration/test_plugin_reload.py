"""A plugin that is loaded again: what is at work goes on until what takes its place stands."""

import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import Event
from cortex.bus.events import (
    ComponentWithdrawn,
    PluginCrashed,
    PluginDenied,
    PluginLoad,
    PluginLoaded,
    PluginUnload,
    PluginUnloaded,
    StepCompleted,
    StepExecute,
)
from cortex.plugins.host import PluginManager, describe, unavailable
from cortex.runtime.kernel import Home, Runtime

from ..installed_packages import install
from ..waiting import until

INSTALLED: Any = import_module("cortex.plugins.installed")  # an inner part
PATIENCE_S = 120.0
CONFINED = not unavailable()
CODE = """
import os
from cortex.bus.events import StepCompleted, StepExecute
from cortex.plugins import Manifest
from cortex.runtime.kernel import Component, Serves, on

class Say(Component):
    workers = 1
    serves = (Serves("action", "say", effect="none"),)

    def on_start(self):
        START

    @on(StepExecute, where={"action": "say"})
    def say(self, event, delivery):
        result = {"text": "VERSION", "pid": os.getpid()}
        yield StepCompleted(execution_id=event.execution_id, step_id=event.step_id, result=result)

PLUGIN = Manifest(
    name="changing",
    version="VERSION",
    cortex=">=0.1",
    components=("plugin_changing:Say",),
    subscribes=("step.execute=say",),
    publishes=("step.completed",),
)
"""


class World:
    """A runtime with one plugin, whose code a test changes."""

    def __init__(self, runtime: Runtime, site: Path, home: Home) -> None:
        self.client, self.site, self.home = runtime.client("test"), site, home
        self.log = runtime.log
        self.steps = 0

    def write(self, version: str, *, start: str = "pass", code: str = CODE) -> None:
        text = code.replace("START", start).replace("VERSION", version)
        (self.site / "plugin_changing.py").write_text(text)

    def described(self) -> dict[str, Any]:
        found = describe(
            INSTALLED.installed_as("changing"), self.home.path, confined=CONFINED
        ).manifest
        parts = found.parts()
        return {"version": found.version, "digest": found.digest(), "granted": parts}

    def load(self, **changes: Any) -> tuple[Event, int]:
        """What comes of loading it as it is installed now, and where that was asked."""
        given = {"plugin": "changing", "confined": CONFINED, "package": "plugin-changing"}
        shown = {} if "version" in changes else self.described()
        asked = self.client.publish(PluginLoad(**{**given, **shown, **changes}))
        return self.until(PluginLoaded, PluginDenied, after=asked), asked

    def until(self, *kinds: type[Event], after: int, **fields: Any) -> Event:
        over_s = time.monotonic() + PATIENCE_S
        feed = self.client.follow(*((kind.topic_name(), None) for kind in kinds), after=after)
        try:
            while time.monotonic() < over_s:
                for record in feed.next(1.0):
                    event: Event = self.client.vocabulary.read(record)
                    if getattr(event, "part", ""):
                        continue  # a denial of something that it wants, not of the plugin
                    if all(getattr(event, name) == value for name, value in fields.items()):
                        return event
        finally:
            feed.close()
        raise AssertionError([record.topic for record in self.client.read(after)])

    def ask(self) -> tuple[str, int]:
        self.steps += 1
        step_id = f"s{self.steps}"
        step = StepExecute(execution_id="1", step_id=step_id, action="say")
        return step_id, self.client.publish(step)

    def answer(self, step_id: str, asked: int) -> dict[str, Any]:
        found = self.until(StepCompleted, after=asked, step_id=step_id)
        assert isinstance(found, StepCompleted)
        return found.result

    def said(self) -> dict[str, Any]:
        return self.answer(*self.ask())

    def of(self, kind: type[Event], after: int) -> list[Event]:
        found = (self.client.vocabulary.read(record) for record in self.client.read(after))
        return [event for event in found if isinstance(event, kind)]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    site = tmp_path / "site"
    install(site, "plugin-changing", plugins="changing = plugin_changing:PLUGIN")
    home = Home.create(tmp_path / ".cortex")
    sys.path.insert(0, str(site))
    try:
        with Runtime(home, components=[PluginManager]) as runtime:
            world = World(runtime, site, home)
            world.write("1.0.0")
            loaded, _ = world.load()
            assert isinstance(loaded, PluginLoaded)
            yield world
    finally:
        sys.path.remove(str(site))


def test_a_newer_one_takes_its_place_and_nothing_is_withdrawn_meanwhile(world: World) -> None:
    before = world.said()
    world.write("2.0.0")
    waiting = world.ask()

    loaded, asked = world.load()
    after = world.said()

    assert isinstance(loaded, PluginLoaded)
    assert (before["text"], after["text"]) == ("1.0.0", "2.0.0")
    assert world.answer(*waiting)["text"] in ("1.0.0", "2.0.0")
    assert after["pid"] != before["pid"] or CONFINED  # each sandbox counts its own
    assert not world.of(ComponentWithdrawn, asked)
    if not CONFINED:  # it is ended once the new one was announced
        until(lambda: not Path(f"/proc/{before['pid']}").exists())
    world.client.publish(PluginUnload(plugin="changing"))
    world.until(PluginUnloaded, after=asked)
    assert not [s for s in world.log.state().standings if s.name == "Say"]


@pytest.mark.parametrize(
    ("start", "code", "why"),
    [
        ("pass", "import nothing_like_it", "nothing_like_it"),
        ('raise ValueError("no luck")', CODE, "no luck"),
        ("os._exit(3)", CODE, "ended by itself, with exit code 3|process ended"),
    ],
    ids=["import", "start", "exit"],
)
def test_one_that_does_not_stand_changes_nothing_and_says_why(
    world: World, start: str, code: str, why: str
) -> None:
    before, standing = world.said(), world.described()
    world.write("2.0.0", start=start, code=code)

    given = world.described() if code is CODE else standing
    refused, asked = world.load(**given)  # as if it had been shown
    after = world.said()

    assert isinstance(refused, PluginDenied)
    assert refused.kept
    assert any(each in refused.reason for each in why.split("|")), refused.reason
    assert after == before  # the same process, with the code that it had
    assert not world.of(ComponentWithdrawn, asked)
    assert not world.of(PluginCrashed, asked)
    world.write("3.0.0")
    loaded, _ = world.load()
    assert isinstance(loaded, PluginLoaded)
    assert world.said()["text"] == "3.0.0"


def test_one_that_lacks_a_grant_changes_nothing(world: World) -> None:
    before = world.said()
    world.write("2.0.0")

    refused, _ = world.load(granted=("publish:step.completed",))

    assert isinstance(refused, PluginDenied)
    assert refused.kept
    assert world.said() == before


def test_what_nobody_confirmed_changes_nothing(world: World) -> None:
    before = world.said()

    refused, _ = world.load(digest="0" * 64)

    assert isinstance(refused, PluginDenied)
    assert refused.kept
    assert "asks for other things than the one" in refused.reason
    assert world.said() == before


def test_one_that_is_to_begin_beyond_the_log_changes_nothing(world: World) -> None:
    before = world.said()

    refused, asked = world.load(start="999999")

    assert isinstance(refused, PluginDenied)
    assert refused.kept
    assert refused.reason == f"it begins at 999999; the log has 1 to {asked}"
    assert world.said() == before
