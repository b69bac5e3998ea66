"""Plugins in processes of their own: what they see, what they may do, and how they end."""

import hashlib
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import (
    Client,
    Event,
    HubServer,
    Recorded,
    UnansweredError,
    as_map,
    connect,
)
from cortex.bus.events import (
    ComponentAnnounced,
    ComponentWithdrawn,
    EffectUnknown,
    GrantGiven,
    GrantRevoked,
    PluginCrashed,
    PluginDenied,
    PluginLoad,
    PluginLoaded,
    PluginUnload,
    PluginUnloaded,
    StepCompleted,
    StepExecute,
)
from cortex.plugins.host import PluginManager, lines_of, unavailable
from cortex.runtime.kernel import Home, Runtime

from ..installed_packages import install
from ..waiting import until
from . import plugin_probe

pytestmark = pytest.mark.wheel  # it is about the Pythons that Cortex starts

PATIENCE_S = 120.0  # on a machine that is ten times slower, and has more to do
SECRET = "a secret of the test"
TOKEN = hashlib.sha256(SECRET.encode()).hexdigest()
POINTS = """\
probe = plugin_probe:PLUGIN
fragile = plugin_probe:FRAGILE
sturdy = plugin_probe:STURDY
sleeper = plugin_probe:SLEEPER
odd = plugin_probe:ODD
"""
CONFINED = not unavailable()
REQUIRED = bool(os.environ.get("CORTEX_REQUIRE_SANDBOX"))  # CI says so where it can be installed
needs_walls = pytest.mark.skipif(not CONFINED, reason=unavailable() or "bubblewrap works")


@pytest.mark.skipif(not REQUIRED, reason="CORTEX_REQUIRE_SANDBOX is not set")
def test_plugins_are_confined_where_the_sandbox_is_required() -> None:
    assert unavailable() == ""


class World:
    """A runtime with nothing in it but plugins."""

    def __init__(self, runtime: Runtime, folder: Path, port: int) -> None:
        self.runtime, self.folder, self.port = runtime, folder, port
        self.client: Client = runtime.client("test")

    def load(self, name: str, **changes: Any) -> int:
        manifest = getattr(plugin_probe, "PLUGIN" if name == "probe" else name.upper())
        given = {
            "plugin": name,
            "version": manifest.version,
            "digest": manifest.digest(),
            "granted": tuple(part for part in manifest.parts() if part != "network"),
            "confined": CONFINED,
            "package": "plugin-probe",
            "limits": {"memory_mb": 1_024},
        }
        return self.client.publish(PluginLoad(**{**given, **changes}))

    def unload(self, name: str) -> int:
        """Unload a plugin; where that was recorded."""
        asked = self.client.publish(PluginUnload(plugin=name))
        self.until(PluginUnloaded, asked, plugin=name)
        return asked

    def until(self, kind: type[Event], after: int, **fields: Any) -> tuple[Any, Recorded]:
        """The first event of its kind after a position, with these fields."""
        until = time.monotonic() + PATIENCE_S
        feed = self.client.follow(("*", None), after=after)
        try:
            while time.monotonic() < until:
                for record in feed.next(1.0):
                    if record.topic != kind.topic_name():
                        continue
                    event = self.client.vocabulary.read(record)
                    if all(getattr(event, name) == value for name, value in fields.items()):
                        return event, record
        finally:
            feed.close()
        told = [(r.topic, as_map(r)) for r in self.client.read(after)]
        raise AssertionError(f"no {kind.__name__} with {fields} after {after}: {told}")

    def step(self, action: str, **parameters: Any) -> dict[str, Any]:
        """What an action gives."""
        step = StepExecute(execution_id="1", step_id=action, action=action, parameters=parameters)
        asked = self.client.publish(step)
        answer, _ = self.until(StepCompleted, asked, step_id=action)
        result: dict[str, Any] = answer.result
        return result


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The probe, installed in a folder of its own, and loaded without the network."""
    folder = tmp_path_factory.mktemp("plugins")
    site = folder / "site"
    install(site, "plugin-probe", plugins=POINTS)
    shutil.copy(plugin_probe.__file__, site)
    (folder / "given").mkdir()
    (folder / "private").mkdir()
    (folder / "private" / "diary").write_text("dear diary")
    home = Home.create(folder / ".cortex")
    listener = socket.create_server(("127.0.0.1", 0))
    sys.path.insert(0, str(site))
    os.environ["PROBE_TOKEN"] = SECRET
    try:
        with Runtime(home, components=[PluginManager]) as runtime:
            world = World(runtime, folder, listener.getsockname()[1])
            world.until(PluginLoaded, world.load("probe"))
            yield world
    finally:
        del os.environ["PROBE_TOKEN"]
        sys.path.remove(str(site))
        listener.close()


def look(world: World) -> dict[str, Any]:
    paths = [world.folder / "private" / "diary", world.folder / ".cortex", Path("/etc/shadow")]
    places = [world.folder / "given", world.folder / "private", "/usr/lib", "/tmp"]
    names = {"paths": [str(p) for p in paths], "write": [str(p) for p in places]}
    return world.step("look", **names, port=world.port)


def test_it_answers_the_queries_of_its_own_until_it_is_unloaded(world: World) -> None:
    runtime = world.runtime
    folder = Path(tempfile.mkdtemp(prefix="cx"))  # short: a socket's path has a bound
    server = HubServer(runtime.hub, runtime.log, runtime.blobs)
    url = server.listen(f"ipc://{folder}/bus.sock")
    words = (plugin_probe.ProbeCount, plugin_probe.ProbeCounted)
    with connect(url, name="asker", events=words) as asker:
        answer = asker.ask(plugin_probe.ProbeCount(number=6), PATIENCE_S)

        world.unload("probe")
        with pytest.raises(UnansweredError):
            asker.ask(plugin_probe.ProbeCount(number=6), PATIENCE_S)
        world.until(PluginLoaded, world.load("probe"))
        again = asker.ask(plugin_probe.ProbeCount(number=7), PATIENCE_S)

    server.close()
    shutil.rmtree(folder)
    numbers = [each.number for each in (answer, again) if hasattr(each, "number")]
    assert numbers == [7, 8]


def test_it_gets_the_secrets_it_was_granted_and_nothing_of_the_environment(world: World) -> None:
    seen = look(world)

    assert seen["token"] == TOKEN
    assert set(seen["environment"]) - {"PWD", "LC_CTYPE"} == {"HOME", "LANG", "PATH", "PROBE_TOKEN"}


@needs_walls
def test_confined_it_sees_no_home_no_network_and_no_other_process(world: World) -> None:
    seen = look(world)

    assert seen["there"] == []
    assert seen["written"] == [str(world.folder / "given"), "/tmp"]
    assert (world.folder / "given" / "probe").read_text() == "x"
    assert not seen["network"]
    assert seen["processes"] <= 3


@needs_walls
def test_what_it_may_use_is_bounded_before_its_own_code_runs(world: World) -> None:
    seen = look(world)

    assert seen["bounds"] == {"DATA": 1_024 << 20, "NOFILE": 256, "NPROC": 512, "CORE": 0}
    assert [blocks * os.sysconf("SC_PAGE_SIZE") for blocks in seen["scratch"]] == 2 * [256 << 20]
    assert not seen["devices"]


def test_what_it_was_not_granted_is_refused_and_recorded(world: World) -> None:
    before = world.client.head

    reached = world.step("act")

    assert reached["trigger"] == "NotGrantedError"
    assert reached["own"].isdecimal()
    assert reached["registry"] in ("0", "NotGrantedError")
    denied, _ = world.until(PluginDenied, before, plugin="probe")
    assert denied.part == "publish:trigger.received"


def test_what_it_publishes_bears_its_name(world: World) -> None:
    before = world.client.head

    world.step("act")

    said = [r for r in world.client.read(before) if r.topic == "x.probe.said"]
    done = [r for r in world.client.read(before) if r.topic == "step.completed"]
    assert [record.source for record in said] == ["plugin.probe"]
    assert [record.source for record in done] == ["Act"]


def test_its_log_holds_what_it_prints_without_its_secrets(world: World) -> None:
    world.step("act")
    home = world.folder / ".cortex"

    until(lambda: any("the token is [PROBE_TOKEN]" in x for x in lines_of(home, "probe", 100)))

    for path in home.rglob("*"):
        if path.is_file() and path.suffix != ".sock":
            assert SECRET.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("name", "how", "reason"),
    [
        ("fragile", "flood", "it floods the bus"),
        ("fragile", "hang", "one of its handlers hangs"),
        ("sleeper", "stop", "it hangs: it was not heard of for 5 s"),
    ],
)
def test_one_that_floods_or_hangs_is_ended_and_recorded(
    world: World, name: str, how: str, reason: str
) -> None:
    _, record = world.until(PluginLoaded, world.load(name), plugin=name)
    step: dict[str, Any] = {"execution_id": "1", "step_id": "end", "action": "fragile"}

    world.client.publish(StepExecute(**step, parameters={"how": how}, timeout_s=0.1))

    crashed, _ = world.until(PluginCrashed, record.position, plugin=name)
    assert crashed.reason.startswith(reason)
    assert crashed.given_up  # after 0 restarts
    world.until(ComponentWithdrawn, record.position, component="Fragile")
    world.until(GrantRevoked, record.position, client=f"plugin.{name}")
    assert look(world)["token"] == TOKEN  # nobody else notices
    world.unload(name)  # or the next one of these would get the same work again


def test_one_that_crashes_is_started_again_and_takes_up_its_work(world: World) -> None:
    before = world.client.head

    reached = world.step("act", die=True)

    assert reached["own"].isdecimal()
    crashed, record = world.until(PluginCrashed, before, plugin="probe")
    assert (crashed.reason, crashed.given_up) == ("it ended by itself, with exit code 4", False)
    world.until(PluginLoaded, record.position, plugin="probe")


def test_an_action_of_one_that_crashed_in_it_is_not_begun_again(world: World) -> None:
    loaded = world.load("fragile")
    world.until(PluginLoaded, loaded, plugin="fragile")
    step = StepExecute(execution_id="2", step_id="s", action="fragile", parameters={"how": "die"})

    asked = world.client.publish(step)
    world.until(PluginCrashed, asked, plugin="fragile")
    world.load("fragile")
    unknown, record = world.until(EffectUnknown, asked, component="Fragile")

    assert (unknown.name, unknown.parameters) == ("fragile", {"how": "die"})
    intended = [r for r in world.client.read(asked) if r.topic == "effect.intended"]
    assert [r.source for r in intended] == [record.source]
    world.unload("fragile")


def test_what_its_manifest_says_may_be_repeated_is_done_again_and_nobody_is_asked(
    world: World,
) -> None:
    loaded = world.load("sturdy")
    world.until(PluginLoaded, loaded, plugin="sturdy")
    said, _ = world.until(ComponentAnnounced, loaded, component="Fragile")
    step = StepExecute(execution_id="3", step_id="s", action="fragile", parameters={"how": "die"})

    asked = world.client.publish(step)
    _, crashed = world.until(PluginCrashed, asked, plugin="sturdy")
    world.load("sturdy")
    world.until(PluginCrashed, crashed.position, plugin="sturdy")  # so that it was begun again

    assert said.traits["effect"] == "idempotent"
    assert not [r for r in world.client.read(asked) if r.topic.startswith("effect.")]
    world.unload("sturdy")


def test_unloaded_nothing_of_it_is_left(world: World) -> None:
    loaded = world.load("fragile")
    world.until(PluginLoaded, loaded, plugin="fragile")

    asked = world.unload("fragile")

    world.until(ComponentWithdrawn, asked, component="Fragile")
    world.until(GrantRevoked, asked, client="plugin.fragile")
    names = {standing.name for standing in world.runtime.log.state().standings}
    assert "Fragile" not in names
    assert "Look" in names
    threads = [thread.name for thread in threading.enumerate()]
    assert "cortex-plugin-fragile" not in threads
    assert "cortex-plugin-probe" in threads


def test_a_manifest_that_nobody_confirmed_is_denied(world: World) -> None:
    asked = world.load("fragile", digest=64 * "0")

    denied, _ = world.until(PluginDenied, asked, plugin="fragile")

    assert "asks for other things than the one (1.0.0) that was confirmed" in denied.reason


def test_one_that_is_to_begin_beyond_the_log_is_denied_and_not_tried(world: World) -> None:
    asked = world.load("fragile", start="999999")

    denied, _ = world.until(PluginDenied, asked, plugin="fragile")

    assert denied.reason == f"it begins at 999999; the log has 1 to {asked}"


def test_another_package_under_the_name_of_a_loaded_plugin_is_denied(world: World) -> None:
    given: dict[str, Any] = {"package": "plugin-other", "place": "runtime", "confined": False}
    asked = world.load("fragile", **given)

    denied, _ = world.until(PluginDenied, asked, plugin="fragile")

    assert denied.reason.startswith("fragile of the package plugin-probe is installed, and the one")


def test_one_whose_own_code_is_not_what_it_says_is_denied(world: World) -> None:
    asked = world.load("odd")

    denied, _ = world.until(PluginDenied, asked, plugin="odd")

    assert "Look handles 'step.execute=look': name it in subscribes" in denied.reason
    assert "plugin_probe:Nobody: cannot be imported" in denied.reason
    assert "it works with Cortex >=99, and this is " in denied.reason


def test_one_that_lacks_a_grant_it_cannot_start_without_is_not_started_again(world: World) -> None:
    asked = world.load("sleeper", granted=("publish:step.completed",))

    denied, record = world.until(PluginDenied, asked, plugin="sleeper", part="")

    assert "may not work step.execute" in denied.reason
    told = [world.client.vocabulary.read(r) for r in world.client.read(asked)]
    assert not any(isinstance(event, PluginCrashed) for event in told), record
    world.until(GrantRevoked, asked, client="plugin.sleeper")


def test_a_plugin_that_is_not_installed_is_denied(world: World) -> None:
    asked = world.load("fragile", plugin="nobody")

    denied, _ = world.until(PluginDenied, asked, plugin="nobody")

    assert denied.reason.startswith("no plugin 'nobody' is installed")


def test_no_token_is_recorded_with_a_grant(world: World) -> None:
    given = [
        world.client.vocabulary.read(r) for r in world.client.read() if r.topic == "grant.given"
    ]

    assert given
    assert {event.token_sha256 for event in given if isinstance(event, GrantGiven)} == {""}
