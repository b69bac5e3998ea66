"""Which models repair a checkout is for config.toml alone to say."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from cortex.actors.library import library_sources
from cortex.bus.events import (
    ContextCompiled,
    ExecutionStarted,
    ModelInvoke,
    ModelSelected,
    ProcessCompiled,
)
from cortex.runtime.context import (
    prompt_text,
)
from cortex.runtime.kernel import Home, Runtime

from ..servers import ScriptedAnthropic, ScriptedOpenAI
from ..staff_world import Run, World
from .repair_world import (
    KEY,
    KEY_ENV,
    PYTHON,
    assert_green,
    checkout_of,
    diagnosis,
    model,
    patch,
    use,
)

REPLAY = """\
[[models.use]]
name = "scripted"
provider = "replay"
log = {log}
window = 100000
reasoning = "high"
code = "high"
"""
DECISION = "Decision 7: keep total() a loop, and add each price."


class Repair(NamedTuple):
    """A repair, and what the log holds when it is over."""

    run: Run
    last_prompt: str
    compiled: set[str]  # linked forms of fix_ci_failure since the home began


def repaired(home: Home, checkout: Path) -> Repair:
    """A repair in a runtime of its own, as each `cortex run` has one."""
    with Runtime(home) as runtime:
        world = World(runtime)
        world.submit_files(library_sources())
        run = world.run(
            "fix_ci_failure",
            {"log": str(checkout.parent / "ci.log")},
            workspace=str(checkout),
            goal="make main green",
        )
        linked = {
            said.event.linked
            for said in world.said()
            if isinstance(said.event, ProcessCompiled) and said.event.name == "fix_ci_failure"
        }
        prompt = prompt_text(world.blobs.get(run.last(ContextCompiled).prompt))
        return Repair(run, prompt, linked)


def test_what_one_model_decided_stands_before_the_next_and_a_swap_changes_no_process(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_ENV, KEY)
    checkout = checkout_of(PYTHON, tmp_path)
    with (
        ScriptedOpenAI(diagnosis(DECISION), patch(PYTHON.fix)) as near,
        ScriptedAnthropic(patch(PYTHON.fix), diagnosis()) as far,
    ):
        thinker = model("thinker", near, code="low")
        coder = model("coder", far, price_input=9.0, price_output=9.0)
        before = repaired(use(home, thinker, coder), checkout)
        # The other way round: nothing but config.toml is another.
        thinker, coder = model("claude", far, code="low"), model("gpt", near, price_input=9.0)
        near.script.answers[:], far.script.answers[:] = [patch(PYTHON.fix)], [diagnosis()]
        after = repaired(use(home, thinker, coder), checkout)

    first, second = before.run, after.run
    assert first.outcome == second.outcome == "completed"
    assert [each.model for each in first.all(ModelInvoke)] == ["thinker", "coder"]
    assert [each.provider for each in first.all(ModelInvoke)] == ["openai", "anthropic"]
    assert DECISION in before.last_prompt
    assert DECISION in far.asked[0].raw.decode()
    assert [each.model for each in second.all(ModelInvoke)] == ["claude", "gpt"]
    assert [each.provider for each in second.all(ModelInvoke)] == ["anthropic", "openai"]
    assert "thinker lacks code medium" in first.all(ModelSelected)[-1].rejected
    linked = {each.linked for run in (first, second) for each in run.all(ExecutionStarted)}
    assert linked == before.compiled == after.compiled
    assert len(linked) == 1
    for run, folder in ((first, tmp_path / "first"), (second, tmp_path / "second")):
        folder.mkdir()
        assert_green(PYTHON, checkout, f"cortex/{run.execution_id}", folder)


def test_a_recorded_repair_is_made_again_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_ENV, KEY)
    checkout = checkout_of(PYTHON, tmp_path)
    recorded, again = Home.create(tmp_path / "recorded"), Home.create(tmp_path / "again")
    with ScriptedOpenAI(diagnosis(), patch(PYTHON.fix)) as server:
        first = repaired(use(recorded, model("scripted", server)), checkout).run
    replay = REPLAY.format(log=json.dumps(str(recorded.path)))

    second = repaired(use(again, replay), checkout).run

    assert second.outcome == "completed", second.end
    assert first.execution_id != second.execution_id
    assert [e.prompt for e in first.all(ModelInvoke)] == [e.prompt for e in second.all(ModelInvoke)]
    assert_green(PYTHON, checkout, f"cortex/{second.execution_id}", tmp_path)
    assert len(server.asked) == 2
