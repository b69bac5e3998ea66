"""Persona and instructions: what a process, its parent and a step lay down for prompts."""

import msgspec
import pytest
from msgspec import UNSET

from cortex.runtime.processes import Compilation, LinkedStep, TopicTable, compile_sources
from cortex.runtime.registry import ActionSpec, Symbols

REGISTRY = Symbols(
    [
        ActionSpec(name="ask", component="Asker", asks_model=True),
        ActionSpec(name="work", component="Worker"),
    ]
)
PARENT = """
process: parent
version: 1
persona: You are the parent.
instructions: Heed the parent.
steps:
  - { id: one, action: ask }
"""
CHILD = """
process: child
version: 1
extends: parent
instructions: |
  Heed the child.
steps:
  - id: two
    action: ask
    persona: You are an editor.
    instructions: Heed the step.
  - { id: three, action: work }
"""


def compiled(*sources: str) -> Compilation:
    named = {f"{n}.yaml": source for n, source in enumerate(sources)}
    return compile_sources(named, REGISTRY, TopicTable({}))


def steps(compilation: Compilation, name: str) -> dict[str, LinkedStep]:
    assert not compilation.diagnostics
    return {step.id: step for step in compilation.processes[name].steps}


def test_the_nearest_persona_counts_and_instructions_add_up_the_general_first() -> None:
    child = steps(compiled(PARENT, CHILD), "child")

    assert child["one"].persona == "You are the parent."
    assert child["one"].instructions == "Heed the parent.\nHeed the child."
    assert child["two"].persona == "You are an editor."
    assert child["two"].instructions == "Heed the parent.\nHeed the child.\nHeed the step."


def test_a_step_that_asks_no_model_has_neither() -> None:
    step = steps(compiled(PARENT, CHILD), "child")["three"]

    assert (step.persona, step.instructions) == (UNSET, UNSET)


@pytest.mark.parametrize("key", ["persona", "instructions"])
def test_a_step_that_asks_no_model_is_warned_of_a_key_without_effect(key: str) -> None:
    source = f"process: p\nversion: 1\nsteps:\n  - {{id: a, action: work, {key}: Be kind.}}\n"

    (finding,) = compiled(source).diagnostics

    assert (finding.code, finding.severity) == ("P221", "warning")
    assert f"`{key}:` has no effect" in finding.message


def test_a_process_without_them_is_linked_as_it_always_was() -> None:
    source = "process: p\nversion: 1\nsteps:\n  - {id: a, action: ask}\n"

    (step,) = msgspec.to_builtins(compiled(source).processes["p"])["steps"]

    assert not {"persona", "instructions"} & step.keys()


def test_another_persona_is_another_process() -> None:
    other = PARENT.replace("the parent.\ninstructions", "a parent.\ninstructions")

    digests = {compiled(source).processes["parent"].digest for source in (PARENT, other)}

    assert len(digests) == 2
