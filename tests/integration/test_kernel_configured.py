"""Components that a home's config.toml adds, and what becomes of them when it no longer does."""

from pathlib import Path

import pytest

from cortex.bus.events import ComponentAnnounced, ComponentWithdrawn
from cortex.runtime.kernel import Config, Home, ManifestError, Runtime

MODULE = """
from cortex.bus.events import StepCompleted, StepExecute
from cortex.runtime.kernel import Component, Serves, on


class Whistle(Component):
    workers = 1
    serves = (Serves("action", "whistle"),)

    @on(StepExecute, where={"action": "whistle"})
    def whistle(self, event, delivery):
        yield StepCompleted(execution_id=event.execution_id, step_id=event.step_id)
"""
ADDED = '[[components]]\nuse = "whistling:Whistle"\n'


def said(home: Home, kind: type) -> set[str]:
    with Runtime(home, components=[]) as runtime:
        client = runtime.client("reader")
        events = [client.vocabulary.read(r) for r in client.read_stream("registry")]
    return {getattr(event, "name", "") for event in events if isinstance(event, kind)}


def test_a_component_in_the_homes_plugins_folder_is_started(tmp_path: Path) -> None:
    home = Home.create(tmp_path / "home")
    (home.plugins / "whistling.py").write_text(MODULE)

    with Runtime(home, config=Config.parse(ADDED)):
        pass

    assert "whistle" in said(home, ComponentAnnounced)


def test_what_is_no_longer_started_is_withdrawn(tmp_path: Path) -> None:
    home = Home.create(tmp_path / "home")
    (home.plugins / "whistling.py").write_text(MODULE)
    with Runtime(home, config=Config.parse(ADDED)):
        pass

    with Runtime(home, config=Config()):
        pass

    assert said(home, ComponentWithdrawn) >= {"whistle"}


def test_a_component_that_is_not_there_says_where_it_may_stand(tmp_path: Path) -> None:
    home = Home.create(tmp_path / "home")

    with pytest.raises(ManifestError, match="put the module into the home's plugins folder"):
        Runtime(home, config=Config.parse('[[components]]\nuse = "nowhere_at_all:Thing"\n'))
