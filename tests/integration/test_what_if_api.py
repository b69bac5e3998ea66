"""What-ifs from Python, and without the handlers that the record stands in for."""

import sys
from pathlib import Path

import pytest

from cortex.actors.accessors import RecordedCallAccessor
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, Home, RefusedError, Runtime
from cortex.runtime.what_if import Changes, Plan, compared, plan_of, prepared, what_if

from ..staff_world import ANSWERING, World

STAFF = (*ANSWERING, RecordedCallAccessor)
RULES = '''
import cortex


@cortex.action("ring", effect="once")
def ring(bell: str = "door") -> str:
    """Ring."""
    with open(PLACE, "a") as file:
        file.write(f"{bell}\\n")
    return bell
'''
PROCESS = """
process: ringing
version: 1
steps:
  - id: ask
    action: answer_question
    with: { question: Which bell? }
  - id: ring
    action: ring
outputs:
  bell: { type: string, value: "${steps.ring.value}" }
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home in which `ringing` ran, and nothing rings any more."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.delitem(sys.modules, "ringing_rules", raising=False)  # of another test's folder
    (tmp_path / "site").mkdir()
    rules = RULES.replace("PLACE", repr(str(tmp_path / "rung")))
    (tmp_path / "site" / "ringing_rules.py").write_text(rules)
    home = Home.create(tmp_path / ".cortex")
    with Runtime(home, components=[*STAFF, "ringing_rules:ring"]) as runtime:
        world = World(runtime)
        world.compiled(PROCESS)
        assert world.run("ringing").outcome == "completed"
        runtime.remove("Ring")
    assert (tmp_path / "rung").read_text() == "door\n"
    return home


def test_a_what_if_from_python_asks_before_it_sends_and_needs_no_handler(home: Home) -> None:
    plans: list[Plan] = []

    with Runtime(home, components=STAFF) as runtime, History.open(home) as history:
        brief = Changes(policy={"persona": "Be brief."})

        def no(plan: Plan) -> bool:
            plans.append(plan)
            return False

        with runtime.client("owner") as client:
            config, ran = Config.shown(home), history.newest_execution_id()
            with pytest.raises(RefusedError, match="nothing was sent"):
                what_if(client, history, config, ran, brief, agree=no)
            done = what_if(client, history, config, ran, brief, agree=lambda _: True)
        found = compared(history, done.execution_id)

    (prompt,) = plans[0].prompts
    assert (prompt.step, prompt.most) == ("ask", 0.0)
    assert done.status == "completed"
    assert found.what_if is not None
    assert (found.what_if.sent, found.what_if.done, found.what_if.outputs) == (
        1, 0, found.recorded.outputs,
    )  # fmt: skip
    assert (home.path.parent / "rung").read_text() == "door\n"


def test_what_is_not_on_record_and_not_served_is_one_clear_error(home: Home) -> None:
    other = home.path.parent / "ringing.yaml"
    other.write_text(PROCESS.replace("action: ring\n", "action: ring\n    with: {bell: back}\n"))
    with Runtime(home, components=STAFF) as runtime, runtime.client("owner") as client:
        head = client.head
        with History.open(home) as history:
            asked = prepared(history, history.newest_execution_id(), Changes(process=other))
            with pytest.raises(RefusedError, match="needs the action ring, which the record"):
                plan_of(history, Config.shown(home), asked)

        assert client.head == head
    assert (home.path.parent / "rung").read_text() == "door\n"
