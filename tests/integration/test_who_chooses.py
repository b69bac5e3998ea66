"""Who can choose what is done towards a goal: one rule, for the command line and for the engine."""

from pathlib import Path

import pytest

from cortex.actors.engines import NOBODY_CHOOSES, choose
from cortex.bus.events import ContextCompile
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, Home, Runtime
from cortex.runtime.models import ModelDescription
from cortex.runtime.processes.catalog import Catalog
from cortex.runtime.sessions import GoalOptions, goal_step

MODULE = """
from cortex.runtime.kernel import Component, Serves
from cortex.bus.events import ModelInvoke
from cortex.runtime.kernel import on


class Quoting(Component):
    serves = (
        Serves(
            "model",
            "quoter",
            traits={
                "name": "quoter",
                "provider": "quoting",
                "window": 8000,
                "local": True,
                "stand_in": STAND_IN,
            },
        ),
    )

    @on(ModelInvoke, where={"provider": "quoting"})
    def invoke(self, event, delivery):
        return ()
"""


@pytest.mark.parametrize("stands_in", [True, False])
def test_a_stand_in_of_a_plugin_chooses_nothing_for_the_command_line_nor_for_the_engine(
    tmp_path: Path, stands_in: bool
) -> None:
    home = Home.create(tmp_path / "home")
    module = f"quoting_{stands_in}".lower()  # a module is imported once in a process
    (home.plugins / f"{module}.py").write_text(MODULE.replace("STAND_IN", str(stands_in)))
    with Runtime(home, config=Config.parse(f'[[components]]\nuse = "{module}:Quoting"\n')):
        pass
    quoter = ModelDescription(
        name="quoter", provider="quoting", window=8_000, local=True, stand_in=stands_in
    )
    asked = ContextCompile(
        execution_id="e1",
        step_id="goal",
        process="p",
        description="All is well",
        linked="digest",
    )

    with History.open(home) as history:
        step = goal_step(home, Catalog(history), "all is well", tmp_path, GoalOptions())
    chosen = choose(asked, [quoter], Config())

    assert step["by_hand"] is stands_in
    assert (chosen == NOBODY_CHOOSES) is stands_in
