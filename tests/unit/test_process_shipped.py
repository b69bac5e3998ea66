"""What comes with Cortex gives way to a user's processes, and goes on working beside them."""

import pytest

from cortex.runtime.processes import (
    Compilation,
    Match,
    ProcessTable,
    Tie,
    TopicTable,
    compile_sources,
)
from cortex.runtime.registry import ActionSpec, Symbols

REGISTRY = Symbols([ActionSpec(name=name, component="W") for name in ("work", "other")])
EVENT = "trigger: {type: event, match: {source: ci}}\n"
FIX = "library/fix.yaml"
FIXING = f"process: fix\nversion: 1\n{EVENT}steps: [{{id: a, action: work}}]\n"
SHIPPED = {
    FIX: FIXING,
    "library/tell.yaml": "process: tell\nversion: 1\nextends: fix\n"
    "steps: [{id: b, action: work, with: {x: '${steps.a.found}'}}]\n",
    "library/run.yaml": "process: run\nversion: 1\nsteps:\n"
    "  - {id: a, process: fix, on_failure: {process: tell}}\n",
}
OWN = f"process: fix\nversion: V\n{EVENT}steps: [{{id: mine, action: other}}]\n"


def compiled(previous: Compilation | None = None, **own: str) -> Compilation:
    sources = {**SHIPPED, **{f"{name}.yaml": text for name, text in own.items()}}
    return compile_sources(sources, REGISTRY, TopicTable({}), previous=previous)


@pytest.mark.parametrize("version", [1, 3])
def test_a_users_process_may_share_name_and_version_with_a_shipped_one(version: int) -> None:
    child = "process: child\nversion: 1\nextends: fix\nsteps: [{id: more, action: work}]\n"

    compilation = compiled(fix=OWN.replace("V", str(version)), child=child)

    assert compilation.diagnostics == ()
    assert [step.id for step in compilation.processes["fix"].steps] == ["mine"]
    assert [step.id for step in compilation.processes["child"].steps] == ["mine", "more"]
    assert [step.id for step in compilation.processes["library/fix"].steps] == ["a"]


def test_shipped_processes_mean_each_other_whatever_the_user_calls_theirs() -> None:
    alone, beside = compiled(), compiled(fix=OWN.replace("V", "3"))

    tell = beside.processes["tell"]
    assert tell.chain == ("tell", "library/fix")
    assert [step.id for step in tell.steps] == ["a", "b"]
    child = beside.processes["run"].step("a").child
    assert child is not None
    assert child.process == "library/fix"
    assert alone.processes["tell"].chain == ("tell", "fix")


def test_a_users_process_may_extend_the_shipped_one_whose_name_it_takes() -> None:
    text = "process: fix\nversion: 1\nextends: library/fix\nsteps: [{id: more, action: other}]\n"

    compilation = compiled(fix=text)

    assert compilation.diagnostics == ()
    assert [step.id for step in compilation.processes["fix"].steps] == ["a", "more"]


def test_when_the_users_goes_the_shipped_one_has_its_name_back() -> None:
    first = compiled()
    beside = compiled(first, fix=OWN.replace("V", "1"))
    again = compiled(beside)

    assert again.processes == first.processes
    assert compiled(again).compiled == ()
    assert compiled(beside, fix=OWN.replace("V", "1")).compiled == ()


def test_a_shipped_process_that_changed_with_cortex_is_no_other_source_of_its_version() -> None:
    known = {("fix", 1): "0" * 64}

    compilation = compile_sources(SHIPPED, REGISTRY, TopicTable({}), known=known)

    assert compilation.diagnostics == ()


def table() -> ProcessTable:
    def triggered(name: str, match: str) -> str:
        trigger = f"trigger: {{type: event, match: {match}}}\n"
        return f"process: {name}\nversion: 1\n{trigger}steps: [{{id: a, action: work}}]\n"

    sources = {
        "a": triggered("mine", "{source: ci}"),
        "b": triggered("triage", "{source: ci}"),
        "c": triggered("repair", "{source: ci, repair: wanted}"),
    }
    return ProcessTable().add(compile_sources(sources, REGISTRY, TopicTable({})).processes.values())


def test_a_shipped_process_competes_for_a_trigger_only_where_no_users_process_fits() -> None:
    shipped = {"triage", "repair"}
    fields = {"source": "ci", "repair": "wanted"}

    found = table().match(fields, shipped=shipped)

    assert isinstance(found, Match)
    assert (found.chosen.name, found.by) == ("mine", "ownership")
    assert [each.name for each in found.runners_up] == ["repair", "triage"]
    alone = table().without("mine").match(fields, shipped=shipped)
    assert isinstance(alone, Match)
    assert (alone.chosen.name, alone.by) == ("repair", "specificity")


def test_a_shipped_process_that_is_preferred_competes_as_any_other() -> None:
    found = table().match({"source": "ci"}, ["triage"], {"triage", "repair"})

    assert isinstance(found, Match)
    assert (found.chosen.name, found.by) == ("triage", "preference")
    assert isinstance(table().match({"source": "ci"}), Tie)
