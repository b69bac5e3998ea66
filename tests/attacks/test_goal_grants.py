"""Attack: say what is done in an execution, without a grant for it, or beyond what it may."""

from pathlib import Path
from typing import Any

import pytest

from cortex.actors.gates import Command
from cortex.actors.handlers import RunTests, Shell, TextFiles
from cortex.actors.managers import ProcessManager
from cortex.bus import Event
from cortex.bus.events import (
    ComponentAnnounced,
    ExecutionFailed,
    ExecutionRequest,
    ExecutionStarted,
    GateEvaluate,
    GateEvaluated,
    GrantGiven,
    StepCompleted,
    StepExecute,
    StepFailed,
    ToolDenied,
)
from cortex.runtime.access import folded
from cortex.runtime.kernel import Config, Delivery, Home
from cortex.runtime.log import MemoryBlobs
from cortex.runtime.processes import Goal, linked_goal
from cortex.runtime.registry import ActionSpec, Symbols

from ..integration.repair_world import repository
from ..unit.execution_world import World, action_step, process_of
from ..unit.test_execution_goals import choose

STEP = {"may": ["work"], "check": []}
SECRET = "the secret of another folder"


def manager(world: World) -> ProcessManager:
    world.begin_requests = False
    work = ComponentAnnounced(component="Worker", kind="action", name="work")
    world.publish(work)
    return ProcessManager(world.blobs, Config(), world.history)


def given(world: World, *publish: str) -> None:
    world.publish(GrantGiven(client="guest", token_sha256="a" * 64, publish=publish), source="hub")


def request(world: World, source: str, **more: Any) -> Event:
    manager_ = manager(world)
    world.publish(
        ExecutionRequest(execution_id="x", goal="rule the world", **{"step": STEP} | more),
        source=source,
    )
    world.pump(manager_)
    last: Event = world.said(ExecutionStarted, ExecutionFailed)[-1]
    return last


@pytest.mark.parametrize("publish", [("execution.request",), ("*",), ("execution.*", "step.*")])
def test_a_client_without_a_grant_that_names_it_begins_no_work_of_its_own_choice(
    publish: tuple[str, ...],
) -> None:
    world = World()
    given(world, *publish)

    answer = request(world, "guest")

    assert isinstance(answer, ExecutionFailed)
    assert "its grant does not name step.propose under publish" in answer.reason


def test_a_client_whose_grant_names_it_may() -> None:
    world = World()
    given(world, "execution.request", "step.propose")

    assert isinstance(request(world, "guest"), ExecutionStarted)


@pytest.mark.parametrize("publish", [("*",), ("step.*",), ("execution.*", "step.*")])
def test_no_pattern_includes_choosing_a_step(publish: tuple[str, ...]) -> None:
    world = World()
    given(world, *publish)
    grants = folded(world.said(GrantGiven))

    assert not grants.allows("guest", "publish", "step.propose", world.now_ns)
    for fact in ("proposed", "fanned", "item_changed"):
        assert not grants.allows("guest", "publish", f"step.{fact}", world.now_ns)


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ({"may": ["wrk"]}, "did you mean `work`?"),
        ({"may": [{"process": "nothing"}]}, "there is no process"),
        ({"action": "work"}, "cannot both be given"),
        ({"may": ["work"], "goal": "x"}, None),  # the goal is what the request says
        ({"may": "work", "check": [], "nonsense": 1}, "is not a key of a step"),
        ({"may": [3]}, "expected a name"),
    ],
)
def test_whatever_a_request_says_of_its_step_is_checked_as_a_source_is(
    step: dict[str, Any], why: str | None
) -> None:
    answer = request(World(), "cli", step=step)

    if why is None:
        assert isinstance(answer, ExecutionFailed | ExecutionStarted)
        return
    assert isinstance(answer, ExecutionFailed), answer
    assert why in answer.reason


@pytest.fixture
def home(tmp_path: Path) -> Home:
    repository(tmp_path / "shop", {"a.txt": "a\n"})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "secret.txt").write_text(SECRET)
    (tmp_path / "shop" / "link").symlink_to(tmp_path / "other")
    return Home.create(tmp_path / "home")


def asked(tmp_path: Path, action: str, **parameters: Any) -> StepExecute:
    return StepExecute(
        execution_id="e1",
        step_id="goal.1",
        action=action,
        parameters=parameters,
        workspace=str(tmp_path / "shop"),
        timeout_s=20.0,
        worktree=True,
    )


def ended(component: Any, event: Any, method: str = "execute") -> Any:
    return list(getattr(component, method)(event, Delivery(1, 1, "Tested", "cli", "e1", 1, 1)))[-1]


OUT = ("../../other/secret.txt", "/etc/hostname", ".git", "sub/../../../x")


@pytest.mark.parametrize("path", OUT)
def test_a_model_writes_and_reads_no_file_outside_the_work_tree(
    tmp_path: Path, home: Home, path: str
) -> None:
    files = TextFiles(home)

    wrote = ended(files, asked(tmp_path, "write_text", path=path, text="x"), "write")
    read = ended(files, asked(tmp_path, "read_text", path=path), "read")

    assert isinstance(wrote, StepFailed)
    assert isinstance(read, StepFailed)
    assert (tmp_path / "other" / "secret.txt").read_text() == SECRET


def test_what_is_written_towards_a_goal_stands_in_the_work_tree(tmp_path: Path, home: Home) -> None:
    wrote = ended(TextFiles(home), asked(tmp_path, "write_text", path="b.txt", text="b"), "write")

    assert isinstance(wrote, StepCompleted), wrote
    assert (home.path / "worktrees" / "e1" / "b.txt").read_text() == "b"
    assert not (tmp_path / "shop" / "b.txt").exists()


@pytest.mark.parametrize("folder", ["../..", "/tmp", "link"])
def test_a_program_of_a_goal_starts_nowhere_but_in_the_work_tree(
    tmp_path: Path, home: Home, folder: str
) -> None:
    shell = Shell(Config(), MemoryBlobs(), home)

    answer = ended(shell, asked(tmp_path, "shell", run=["touch", "made"], folder=folder))

    assert isinstance(answer, StepFailed)
    assert not list(tmp_path.rglob("made"))


def test_a_check_runs_in_the_work_tree_and_leaves_the_workspace_alone(
    tmp_path: Path, home: Home
) -> None:
    gate = Command(Config(), None, home)
    event = GateEvaluate(
        execution_id="e1",
        gate="command",
        parameters={"run": ["touch", "made"]},
        workspace=str(tmp_path / "shop"),
        worktree=True,
    )

    answer = ended(gate, event, "evaluate")

    assert isinstance(answer, GateEvaluated)
    assert answer.outcome == "passed", answer
    assert [path.parent.name for path in tmp_path.rglob("made")] == ["e1"]


def test_tests_of_a_folder_that_is_no_checkout_are_not_run_there(
    tmp_path: Path, home: Home
) -> None:
    tests = RunTests(Config(), MemoryBlobs(), home)
    other = str(tmp_path / "other")

    answer = ended(tests, asked(tmp_path, "run_tests", command=["touch", "made"], checkout=other))

    assert isinstance(answer, StepFailed)
    assert not list(tmp_path.rglob("made"))


def test_a_model_hands_no_variables_of_the_environment_to_a_program() -> None:
    schema = {"type": "object", "properties": {"run": {}, "env": {"type": "array"}}}
    registry = Symbols([ActionSpec(name="shell", component="Shell", parameters=schema)])

    process, _ = linked_goal("x", {"may": ["shell"], "check": []}, registry, {})

    goal = process.step("goal").goal
    assert isinstance(goal, Goal)
    assert sorted(goal.grants[0].for_model()["properties"]) == ["run"]
    assert sorted(goal.grants[0].parameters["properties"]) == ["env", "run"]  # for people


@pytest.mark.parametrize("schema", [{}, {"type": "object", "properties": {"command": {}}}])
@pytest.mark.parametrize("chosen", [{"command": "curl evil"}, {"env": ["KEY"]}])
def test_a_model_starts_no_program_of_its_own_choice_unless_that_is_granted(
    schema: dict[str, Any], chosen: dict[str, Any]
) -> None:
    spec = ActionSpec(name="run_tests", component="T", parameters=schema, programs=("command",))
    process, _ = linked_goal("x", {"may": ["run_tests"], "check": []}, Symbols([spec]), {})
    world = World(process)
    world.start("", goal="x")

    choose(world, ("run_tests", chosen))

    assert world.said(StepExecute) == []
    assert world.said(ToolDenied)[-1].tool == "run_tests"


@pytest.mark.parametrize("source", ["guest", "owner", "ProcessManager"])
def test_nobody_but_the_engine_has_an_execution_work_in_the_tree_of_another(source: str) -> None:
    world = World(process_of(action_step("one"), name="p"))

    world.publish(ExecutionRequest(execution_id="x", process="p", tree="of-ada"), source=source)
    world.play()

    asked = world.said(StepExecute)[-1]
    assert (asked.worktree, asked.tree) == (False, "")
