"""The processes of the paper compile as they stand, or fail exactly where it says they must."""

import os
from pathlib import Path

import pytest

from cortex.runtime.processes import TopicTable, apply_edits, compile_sources
from cortex.runtime.registry import ActionSpec, GateSpec, Symbols

from ..compiled_folder import compile_folder

DEFAULT = Path(__file__).parents[3] / "shared" / "seeds" / "processes"
SEEDS = Path(os.environ.get("CORTEX_SEEDS", DEFAULT))
UNMET = "fix_bug_implements_code_change.yaml"

pytestmark = pytest.mark.skipif(not SEEDS.is_dir(), reason=f"no seeds at {SEEDS} (CORTEX_SEEDS)")

ACTIONS = [
    "read_ci_log",
    "find_relevant_code",
    "analyze_failure",
    "write_code",
    "run_tests",
    "commit_and_push",
    "send_notification",
    "analyze_requirements",
    "read_bug_report",
    "write_fix",
    "read_feature_spec",
    "write_feature",
]
GATES = ["execution_context_exists", "branch_clean", "tests_pass"]
KNOWLEDGE = [
    "engineering.testing",
    "project.ci_pipeline",
    "engineering.pull_request",
    "project.code_conventions",
    "engineering.design_review",
    "team.notification_preferences",
]

REGISTRY = Symbols(
    [ActionSpec(name=name, component="Worker") for name in ACTIONS],
    [GateSpec(name=name, component="Judge") for name in GATES],
)
TOPICS = TopicTable({topic: f"{topic.replace('.', '/')}.md" for topic in KNOWLEDGE})


def test_all_files_together_compile_but_for_the_one_that_must_not() -> None:
    compilation = compile_folder(SEEDS, REGISTRY, TOPICS)

    assert {each.file for each in compilation.diagnostics} == {UNMET}
    assert set(compilation.processes) == {
        "fix_bug",
        "add_feature",
        "fix_ci_failure",
        "fix_ci_failure_with_notification",
        "standard_code_change",
    }
    assert set(compilation.interfaces) == {"code_change"}


def test_the_unmet_interface_names_what_is_missing_and_the_fix_compiles() -> None:
    files = {name: (SEEDS / name).read_text() for name in (UNMET, "code_change_interface.yaml")}

    compilation = compile_sources(files, REGISTRY, TOPICS)

    assert [each.code for each in compilation.diagnostics] == ["P307", "P309"]
    gates, knowledge = compilation.diagnostics
    assert "`branch_clean`, `execution_context_exists`" in gates.message
    assert "`engineering.pull_request`" in knowledge.message
    edits = [edit for each in compilation.diagnostics for edit in each.fix or ()]
    files[UNMET] = apply_edits(files[UNMET], edits)
    fixed = compile_sources(files, REGISTRY, TOPICS)
    assert fixed.diagnostics == ()
    assert fixed.processes["fix_bug"].implements[0][0] == "code_change"


def test_inheritance_comes_out_as_the_paper_describes_it() -> None:
    processes = compile_folder(SEEDS, REGISTRY, TOPICS).processes

    notified = processes["fix_ci_failure_with_notification"]
    assert [step.id for step in notified.steps][-2:] == ["commit", "notify"]
    assert [gate.name for gate in notified.gates] == ["execution_context_exists", "branch_clean"]
    assert notified.knowledge[-1].topic == "team.notification_preferences"
    fix = processes["fix_bug"]
    assert [step.origin.process for step in fix.steps] == [
        "fix_bug",
        "fix_bug",
        "standard_code_change",
        "standard_code_change",
    ]
    assert [gate.name for gate in fix.step("commit").gates] == ["tests_pass"]
    assert processes["standard_code_change"].abstract
