"""Process definitions in a running system: submitted, rejected, unlinked, retired, remembered."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortex.actors.handlers import Shell
from cortex.bus.events import (
    ExecutionDeferred,
    ExecutionFailed,
    ExecutionRequest,
    ExecutionStarted,
    KnowledgeIndex,
    ProcessAnswer,
    ProcessCompiled,
    ProcessList,
    ProcessRejected,
    ProcessRetired,
    ProcessUnchanged,
    ProcessUnlinked,
)
from cortex.runtime.kernel import Home, Runtime

from ..staff_world import QUICK, World
from .repair_world import git

DEFAULT = Path(__file__).parents[3] / "shared" / "seeds" / "processes"
SEEDS = Path(os.environ.get("CORTEX_SEEDS", DEFAULT))
FULFILS = (  # what code_change_interface.yaml requires, done by programs
    "process: fix\nversion: 1\ndescription: F\nimplements: code_change\n"
    "gates: [execution_context_exists, branch_clean]\n"
    "knowledge: [engineering.pull_request]\nsteps:\n"
    + "".join(
        f"  - id: {step}\n    description: Do it\n    action: shell\n    with: {{run: 'true'}}\n"
        for step in ("analyze", "implement", "verify")
    )
)
CHILD = "process: child\nversion: 1\ndescription: C\nextends: base\nsteps:\n  - inherit: all\n"


def process(name: str, version: int = 1, *, run: str = "'true'", top: str = "") -> str:
    return (
        f"process: {name}\nversion: {version}\ndescription: About {name}\n{top}steps:\n"
        f"  - id: first\n    description: Do it\n    action: shell\n    with: {{run: {run}}}\n"
    )


@pytest.fixture(params=["memory", "home"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    home = Home.create(tmp_path / ".cortex") if request.param == "home" else None
    with Runtime(home, components=QUICK) as runtime:
        yield World(runtime)


def listed(world: World) -> dict[str, ProcessAnswer]:
    answer = world.client.ask(ProcessList())
    assert isinstance(answer, ProcessAnswer)
    assert answer.position <= world.client.head
    return {each["name"]: each for each in answer.processes}  # type: ignore[misc]


def test_files_that_need_each_other_are_compiled_together_and_run(world: World) -> None:
    said = world.submit(a=CHILD, b=process("base", top="abstract: true\n"))

    assert {e.name for e in said if isinstance(e, ProcessCompiled)} == {"base", "child"}
    assert world.run("child").outcome == "completed"


def test_a_wrong_file_is_rejected_with_all_that_is_wrong_and_the_others_run(world: World) -> None:
    wrong = process("wrong", top="gaets: [x]\ngates: [nope]\n").replace("shell", "nope")

    said = world.submit(good=process("good"), wrong=wrong)

    (rejected,) = [e for e in said if isinstance(e, ProcessRejected)]
    assert rejected.file == "wrong"
    assert [d["code"] for d in rejected.diagnostics] == ["P101", "P402", "P401"]
    assert world.run("good").outcome == "completed"
    refused = world.run("wrong")
    assert refused.outcome == "failed"
    assert "there is no process or interface wrong" in refused.last(ExecutionFailed).reason


def test_a_version_whose_file_is_removed_is_not_run_any_more_and_stays_in_the_list(
    world: World,
) -> None:
    world.submit(old=process("two"), new=process("two", 2))

    (retired,) = world.submit_files({}, ["new"])
    started = world.run("two").last(ExecutionStarted)
    versions = world.client.ask(ProcessList(name="two"))
    (back,) = world.submit(new=process("two", 2))

    assert isinstance(retired, ProcessRetired)
    assert (retired.process_version, retired.files) == (2, ("new",))
    assert started.process_version == 1
    assert isinstance(versions, ProcessAnswer)
    assert [(p["version"], bool(p["retired"])) for p in versions.processes] == [
        (1, False),
        (2, True),
    ]
    assert isinstance(back, ProcessCompiled)
    assert world.run("two").last(ExecutionStarted).process_version == 2


def test_a_submission_that_changes_nothing_is_answered(world: World) -> None:
    (said,) = world.submit_files({}, ["never-there"])

    assert said == ProcessUnchanged(files=())


def test_what_is_there_already_is_unchanged_and_what_is_removed_is_retired(world: World) -> None:
    kept, gone = process("kept"), process("gone")
    world.submit(kept=kept, gone=gone)

    (unchanged,) = world.submit(kept=kept)
    (retired,) = world.submit_files({}, ["gone"])

    assert unchanged == ProcessUnchanged(files=("kept",))
    assert isinstance(retired, ProcessRetired)
    assert world.run("kept").outcome == "completed"
    assert world.run("gone").outcome == "failed"


def test_the_same_version_with_another_source_is_rejected_with_the_next_one_offered(
    world: World,
) -> None:
    world.submit(a=process("p"))

    (rejected,) = world.submit(a=process("p", run="'echo other'"))
    (compiled,) = world.submit(a=process("p", 2, run="'echo other'"))

    assert isinstance(rejected, ProcessRejected)
    assert rejected.diagnostics[0]["remedy"] == "write `version: 2`"
    assert isinstance(compiled, ProcessCompiled)
    assert world.run("p").last(ExecutionStarted).process_version == 2


def test_a_parent_that_changes_gives_its_child_a_new_digest_which_executions_name(
    world: World,
) -> None:
    world.submit(child=CHILD, base=process("base", top="abstract: true\n"))
    before = world.run("child").last(ExecutionStarted)

    said = world.submit(base=process("base", 2, run="'echo x'", top="abstract: true\n"))

    (compiled,) = [e for e in said if isinstance(e, ProcessCompiled) and e.name == "child"]
    after = world.run("child").last(ExecutionStarted)
    assert before.digest != after.digest == compiled.digest
    assert before.process_version == after.process_version == 1


def test_a_component_that_leaves_unlinks_what_needs_it_until_it_is_back(world: World) -> None:
    (compiled,) = world.submit(a=process("p"))
    assert isinstance(compiled, ProcessCompiled)

    head = world.client.head
    world.runtime.remove("Shell")
    unlinked = world.wait(lambda said: isinstance(said.event, ProcessUnlinked), head).event
    after = world.client.publish(ExecutionRequest(execution_id="waits", process="p"))
    deferred = world.wait(lambda said: isinstance(said.event, ExecutionDeferred), after).event
    head = world.client.head
    world.runtime.add(Shell)
    again = world.wait(lambda said: isinstance(said.event, ProcessCompiled), head).event

    assert unlinked == ProcessUnlinked(name="p", digest=compiled.digest, missing=("action shell",))
    assert isinstance(deferred, ExecutionDeferred)
    assert deferred.missing == ("action shell",)
    assert world.stopped("waits", after).outcome == "completed"
    assert again == compiled
    assert world.run("p").outcome == "completed"


def test_every_answer_of_a_submission_names_the_submission_as_its_cause(world: World) -> None:
    after = world.client.head

    world.submit(a=process("p"), b=process("q"), c="# nothing\n")

    submitted, *answers = world.said(after)
    assert {each.record.causation for each in answers} == {submitted.record.position}
    assert {each.record.source for each in answers} == {"ProcessDefinitionAccessor"}


def test_a_restart_compiles_nothing_that_has_not_changed(home: Home) -> None:
    sources = {"a": CHILD, "b": process("base", top="abstract: true\ngates: [approved]\n")}
    with Runtime(home, components=QUICK) as runtime:
        world = World(runtime)
        world.submit_files(sources)
        before = listed(world)
        head = world.client.head

    with Runtime(home, components=QUICK) as runtime:
        world = World(runtime)
        remembered = listed(world)
        (unchanged,) = world.submit_files(sources)
        (compiled,) = world.submit(c=process("new"))
        topics = [each.record.topic for each in world.said(head)]

    assert remembered == before
    assert unchanged == ProcessUnchanged(files=("a", "b"))
    assert isinstance(compiled, ProcessCompiled)
    assert topics.count("process.compiled") == 1
    assert "component.announced" not in topics
    assert "component.failed" not in topics


def test_a_restart_without_a_component_still_runs_what_does_not_need_it(home: Home) -> None:
    with Runtime(home, components=QUICK) as runtime:
        World(runtime).submit(a=process("p"))

    with Runtime(home, components=[*QUICK]) as runtime:
        assert World(runtime).run("p").outcome == "completed"


@pytest.mark.skipif(not SEEDS.is_dir(), reason=f"no seeds at {SEEDS} (CORTEX_SEEDS)")
def test_the_papers_interface_runs_before_and_after_another_file_is_submitted(
    tmp_path: Path,
) -> None:
    home = Home.create(tmp_path / ".cortex")
    git(tmp_path, "init", "--quiet")
    (tmp_path / ".gitignore").write_text(".cortex\n.gitignore\n")
    topic = home.knowledge / "engineering" / "pull_request.md"
    topic.parent.mkdir(parents=True)
    topic.write_text("# Pull requests\n\nOne change each.\n")
    contract = (SEEDS / "code_change_interface.yaml").read_text()

    with Runtime(home, components=QUICK) as runtime:
        world = World(runtime)
        world.submit(contract=contract, fix=FULFILS)
        first = world.run("code_change", workspace=str(tmp_path))
        said = world.submit(other=process("other"))
        second = world.run("code_change", workspace=str(tmp_path))
    with Runtime(home, components=QUICK) as runtime:
        world = World(runtime)
        later = world.submit(another=process("another"))
        third = world.run("code_change", workspace=str(tmp_path))

    assert [run.outcome for run in (first, second, third)] == ["completed"] * 3
    assert [type(event) for event in (*said, *later)] == [ProcessCompiled, ProcessCompiled]


def test_what_runs_keeps_the_digest_that_it_began_with(home: Home) -> None:
    page = home.knowledge / "team" / "rota.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text("Ada, then Grace\n")
    text = process("p", top="knowledge: [team.rota]\ngates: [approved]\n")

    with Runtime(home, components=QUICK) as runtime:
        world = World(runtime)
        (first,) = [e for e in world.submit(a=text) if isinstance(e, ProcessCompiled)]
        paused = world.run("p")
        page.write_text("Grace, then Ada\n")
        (edited,) = world.settled(world.client.publish(KnowledgeIndex()))
        page.unlink()
        (gone,) = world.settled(world.client.publish(KnowledgeIndex()))
        ended = world.resume(paused, "approved")

    assert isinstance(edited, ProcessCompiled)
    assert edited.digest != first.digest
    assert isinstance(gone, ProcessUnlinked)
    assert ended.outcome == "completed"
    assert ended.last(ExecutionStarted).digest == first.digest
