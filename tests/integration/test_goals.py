"""Working towards a goal from Python, on a real runtime with a scripted endpoint."""

import sys
from pathlib import Path
from typing import Any

import pytest

from cortex.bus.events import ActionObserved, ExecutionFinish, StepPropose, StepProposed
from cortex.runtime.executions import Execution, execution_of, run_goal
from cortex.runtime.kernel import Home, Runtime

from ..e2e.repair_world import KEY, KEY_ENV, model, need_sdk, use
from ..servers import Answer, ScriptedOpenAI
from ..servers.http import Tool
from .repair_world import CART, CART_TEST, repository

TESTS = [sys.executable, "-B", "-m", "unittest", "discover"]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(KEY_ENV, KEY)
    return repository(tmp_path / "shop", {"cart.py": CART, "test_cart.py": CART_TEST})


def test_a_goal_is_worked_towards_from_python_and_the_stream_has_it_in_one_shape(
    checkout: Path, tmp_path: Path
) -> None:
    need_sdk("openai")
    write = Tool("w", "write_text", {"path": "cart.py", "text": CART.replace("-=", "+=")})
    answers = [Answer(tools=(write,)), Answer(text=("it adds",))]
    with ScriptedOpenAI(*answers) as server:
        home = use(Home.create(tmp_path / "home"), model("smith", server))
        with Runtime(home) as runtime:
            client = runtime.client("program")

            done = run_goal(
                client,
                "the tests pass",
                may=["write_text"],
                check=[{"command": {"run": TESTS}}],
                turns=5,
                within_s=60.0,
                workspace=checkout,
            )

            records = list(client.read_stream(f"execution/{done.execution_id}"))
            said = [client.vocabulary.read(record) for record in records]

    assert done.status == "completed", done.reason
    assert done.results["goal"]["answer"] == "it adds"
    chosen = [each for each in said if isinstance(each, StepProposed)]
    assert [(each.step_id, each.action, each.by) for each in chosen] == [
        ("goal.1", "write_text", "smith")
    ]
    seen = [each for each in said if isinstance(each, ActionObserved)]
    assert [(each.step_id, each.outcome) for each in seen] == [("goal.1", "completed")]
    assert (checkout / "cart.py").read_text() == CART


def test_a_person_leads_it_from_python(checkout: Path, tmp_path: Path) -> None:
    with Runtime(Home.create(tmp_path / "home")) as runtime:
        client = runtime.client("program")
        may = ["write_text"]
        opened = run_goal(client, "it is written", may=may, by_hand=True, workspace=checkout)
        ids: dict[str, Any] = {"execution_id": opened.execution_id}
        given = {"path": "a.txt", "text": "a"}

        client.publish(StepPropose(**ids, action="write_text", parameters=given, seen=client.head))
        acted = until(runtime, opened.execution_id, "paused", 1)
        client.publish(ExecutionFinish(**ids, note="enough", seen=client.head))
        done = until(runtime, opened.execution_id, "completed", 1)

    assert (opened.status, opened.reason) == ("paused", "goal")
    assert len(acted.grown) == 1
    assert done.results["goal"] == {"answer": "enough", "actions": 1, "turns": 0, "by": "program"}


def until(runtime: Runtime, execution_id: str, status: str, settled: int) -> Execution:
    """The execution, once it has that *status* and so many steps are settled."""
    client = runtime.client("watcher")
    with_steps = client.follow(("execution.*", None), after=0)
    try:
        while True:
            with_steps.next(0.05)
            found = execution_of(client, execution_id)
            if found.status == status and len(found.statuses) >= settled:
                return found
    finally:
        with_steps.close()
