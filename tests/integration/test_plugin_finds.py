"""A plugin asks the knowledge store by the grant to see `knowledge.find`, and not without."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortex.actors.accessors import KnowledgeStoreAccessor
from cortex.bus.events import PluginLoad, PluginLoaded, StepCompleted, StepExecute
from cortex.plugins.host import PluginManager, unavailable
from cortex.runtime.kernel import Home, Runtime

from ..installed_packages import install
from ..staff_world import World
from . import plugin_finder

POINTS = "finder = plugin_finder:FINDER\nstranger = plugin_finder:STRANGER"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[None]:
    folder = tmp_path / "site"
    install(folder, "plugin-finder", plugins=POINTS)
    shutil.copy(plugin_finder.__file__, folder)
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))


def load(world: World, name: str) -> None:
    manifest = getattr(plugin_finder, name.upper())
    asked = world.client.publish(
        PluginLoad(
            plugin=name,
            version=manifest.version,
            digest=manifest.digest(),
            granted=manifest.parts(),
            confined=not unavailable(),
            package="plugin-finder",
        )
    )
    world.wait(lambda said: isinstance(said.event, PluginLoaded), asked)


def look(world: World, action: str) -> dict[str, Any]:
    step = StepExecute(
        execution_id="e1", step_id=action, action=action, parameters={"text": "the garage"}
    )
    asked = world.client.publish(step)
    told = world.wait(
        lambda said: isinstance(said.event, StepCompleted) and said.event.step_id == action, asked
    )
    assert isinstance(told.event, StepCompleted)
    return told.event.result


@pytest.mark.usefixtures("site")
def test_a_plugin_finds_knowledge_by_its_grant_and_not_without(tmp_path: Path) -> None:
    home = Home.create(tmp_path / ".cortex")
    (home.knowledge / "parking.md").write_text("# Parking\n\nThe garage closes at nine.\n")

    with Runtime(home, components=[PluginManager, KnowledgeStoreAccessor]) as runtime:
        world = World(runtime)
        load(world, "finder")
        load(world, "stranger")
        found, refused = look(world, "look_up"), look(world, "look_away")

    assert found == {"topics": ["parking"]}
    assert "knowledge.find" in refused["refused"][0]
