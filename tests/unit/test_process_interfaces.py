"""Interfaces: what an implementing process has to have, and what offers to add it."""

import pytest

from cortex.runtime.processes import Compilation, TopicTable, apply_edits, compile_sources
from cortex.runtime.registry import ActionSpec, GateSpec, Symbols

REGISTRY = Symbols(
    [ActionSpec(name=name, component="Worker") for name in ("work", "review", "ship")],
    [GateSpec(name=name, component="Judge") for name in ("approved", "clean", "tested")],
)
TOPICS = TopicTable({name: f"{name}.md" for name in ("style", "law")})

CONTRACT = """\
interface: change
version: 1
required_gates: [approved, clean]
required_steps:
  - {id: review, description: "Look at it: twice"}
  - ship
required_knowledge: [style, law]
"""


def compiled(text: str, contract: str = CONTRACT) -> Compilation:
    return compile_sources({"contract.yaml": contract, "p.yaml": text}, REGISTRY, TOPICS)


def codes(compilation: Compilation) -> list[str]:
    return [each.code for each in compilation.diagnostics]


SOURCES = {
    "nothing there": (
        "process: p\nversion: 1\nimplements: change\nsteps:\n  - {id: a, action: work}\n"
    ),
    "block lists": (
        "process: p\nversion: 1\nimplements: change\n"
        "gates:\n    - approved   # by whom?\nknowledge:\n- law\n"
        "steps:\n  - id: a\n    action: work"
    ),
    "flow lists": (
        "process: p\nversion: 1\nimplements: [change]\ngates: [clean]\nknowledge: [style]\n"
        "steps: [{id: a, action: work}]\n"
    ),
    "no steps last": (
        "process: p\nsteps:\n  - id: a\n    action: work\n    with:\n      x: y\n"
        "version: 1\nimplements: change\n"
    ),
}


@pytest.mark.parametrize("name", SOURCES)
def test_each_finding_names_all_that_is_missing_and_its_fix_adds_it(name: str) -> None:
    text = SOURCES[name]
    if name == "flow lists":  # a skeleton of a step is a block
        text = text.replace("steps: [{id: a, action: work}]", "steps:\n  - {id: a, action: work}")

    compilation = compiled(text)

    assert codes(compilation) == ["P307", "P308", "P309"]
    assert "`review`, `ship`" in compilation.diagnostics[1].message
    edits = [edit for each in compilation.diagnostics for edit in each.fix or ()]
    fixed = compiled(apply_edits(text, edits))
    assert codes(fixed) == []
    process = fixed.processes["p"]
    assert {gate.name for gate in process.gates} == {"approved", "clean"}
    assert [step.id for step in process.steps] == ["a", "review", "ship"]


def test_inherited_items_count() -> None:
    text = """\
process: base
version: 1
abstract: true
gates: [approved, clean]
knowledge: [style, law]
steps:
  - {id: review, action: review}
  - {id: ship, abstract: true}
---
process: p
version: 1
extends: base
implements: change
steps:
  - {id: ship, action: ship}
"""

    compilation = compiled(text)

    assert codes(compilation) == []
    assert [name for name, _ in compilation.processes["p"].implements] == ["change"]


def test_an_abstract_process_may_leave_its_contract_to_its_children() -> None:
    base = "process: base\nversion: 1\nabstract: true\nimplements: change\n"
    child = "---\nprocess: p\nversion: 1\nextends: base\nsteps: [{id: a, action: work}]\n"

    assert codes(compiled(base)) == []
    assert codes(compiled(base + child)) == ["P307", "P308", "P309"]


def test_several_interfaces_are_all_checked() -> None:
    contract = CONTRACT + "---\ninterface: audit\nversion: 1\nrequired_gates: [tested]\n"
    text = "process: p\nversion: 1\nimplements: [audit, change]\nsteps: [{id: a, action: work}]\n"

    assert codes(compiled(text, contract)) == ["P307", "P307", "P308", "P309"]


def test_an_interface_includes_what_it_extends() -> None:
    contract = CONTRACT + (
        "---\ninterface: safe_change\nversion: 1\nextends: change\nrequired_gates: [tested]\n"
    )
    text = "process: p\nversion: 1\nimplements: safe_change\nsteps: [{id: a, action: work}]\n"

    compilation = compiled(text, contract)

    assert compilation.interfaces["safe_change"].required_gates == ("approved", "clean", "tested")
    assert codes(compilation) == ["P307", "P308", "P309"]


def test_interfaces_that_extend_each_other_are_told() -> None:
    contract = "---\n".join(
        f"interface: {name}\nversion: 1\nextends: {other}\n" for name, other in ("ab", "ba")
    )

    assert codes(
        compiled("process: p\nversion: 1\nsteps: [{id: a, action: work}]\n", contract)
    ) == [
        "P311",
        "P311",
    ]


def test_an_unknown_interface_names_the_nearest() -> None:
    text = "process: p\nversion: 1\nimplements: chnage\nsteps: [{id: a, action: work}]\n"

    (finding,) = compiled(text).diagnostics

    assert finding.code == "P306"
    assert finding.remedy == "did you mean `change`?"


def test_what_an_interface_requires_has_to_be_there() -> None:
    contract = "interface: i\nversion: 1\nrequired_gates: [aproved]\nrequired_knowledge: [laws]\n"

    assert codes(
        compiled("process: p\nversion: 1\nsteps: [{id: a, action: work}]\n", contract)
    ) == [
        "P402",
        "P403",
    ]


def test_the_inputs_and_outputs_of_an_interface_are_part_of_the_contract() -> None:
    contract = (
        "interface: i\nversion: 1\ninputs: {n: integer, m: {type: string, required: false}}\n"
        "outputs: {done: boolean}\n"
    )
    text = (
        "process: p\nversion: 1\nimplements: i\ninputs: {n: string, m: string, more: string}\n"
        "steps: [{id: a, action: work}]\n"
    )

    messages = [each.message.partition(": ")[2] for each in compiled(text, contract).diagnostics]

    assert messages == [
        "input `n` of type integer is missing",
        "input `m` has to be optional",
        "input `more` is required beyond the interface",
        "output `done` of type boolean is missing",
    ]


def test_one_name_cannot_be_a_process_and_an_interface() -> None:
    text = "process: change\nversion: 1\nsteps: [{id: a, action: work}]\n"

    assert codes(compiled(text)) == ["P313"]
