"""Carried results: how old they are, what they were made from, and what has replaced them."""

from typing import Any, TypeVar

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cortex.actors.engines import (
    MOST_LINKS,
    REPLACED,
    CompilationEngine,
    Results,
    carried_items,
    results_in,
)
from cortex.bus import Event
from cortex.bus.events import (
    VOCABULARY,
    ComponentAnnounced,
    ContextCompile,
    ContextCompiled,
    ExecutionStarted,
    Part,
    StepCompleted,
    StepInherited,
    StepSettled,
)
from cortex.runtime.context import (
    COMPILER,
    ContextCompiler,
    Inputs,
    Item,
    Link,
    PromptStep,
    Request,
    items_of,
    read_inputs,
)
from cortex.runtime.kernel import Config
from cortex.runtime.processes import Carry, LinkedProcess, LinkedStep, MapOf, Ref

from .actors_world import delivery
from .execution_fan_world import branches
from .execution_world import World, action_step, constant, process_of, text
from .test_execution_fork import fork

Kind = TypeVar("Kind", bound=Event)
MODEL = ComponentAnnounced(
    component="Models",
    kind="model",
    name="small",
    traits={"name": "small", "window": 100_000, "local": True},
)


def using(step_id: str, *of: str, action: str = "work") -> LinkedStep:
    """A step whose parameter is made from results of the steps *of*."""
    value = text(*(Ref(("steps", step, "by")) for step in of))
    return action_step(step_id, action, parameters=MapOf((("given", value),)))


def carrying(step_id: str, *steps: str, **more: Any) -> LinkedStep:
    carry = tuple(Carry(step=step) for step in steps)
    return action_step(step_id, asks_model=True, carry=carry, **more)


def result(*offers: dict[str, Any]) -> dict[str, Any]:
    return {"context": [{"kind": "code", **offer} for offer in offers]}


def known(
    carry: dict[str, dict[str, Any]], process: LinkedProcess | None = None, **positions: int
) -> dict[str, Item]:
    return {item.id: item for item in carried_items(carry, Results(positions), process)}


# Positions.


def numbered(*events: Event) -> Results:
    return results_in(enumerate(events, 10))


def done(step_id: str) -> StepCompleted:
    return StepCompleted(execution_id="e", step_id=step_id)


def taken_over(step_id: str) -> StepInherited:
    return StepInherited(
        execution_id="f", step_id=step_id, status="completed", fork_of="e", position=1
    )


STARTED = ExecutionStarted(
    execution_id="e",
    process="p",
    process_version=1,
    digest="d",
    linked="linked",
    inputs={},
    goal="",
    workspace="",
    trigger="",
)


def test_a_result_stands_where_it_was_recorded_last() -> None:
    found = numbered(STARTED, done("a"), done("b"), done("a"))

    assert found == Results({"a": 13, "b": 12}, "linked")


def test_a_result_that_a_person_gave_is_as_new_as_that() -> None:
    settled = StepSettled(execution_id="e", step_id="a", outcome="replaced", by="ada")

    assert numbered(STARTED, done("a"), done("b"), settled).positions == {"a": 13, "b": 12}


def test_what_a_fork_takes_over_counts_before_it_begins_and_not_later() -> None:
    found = numbered(taken_over("a"), taken_over("b"), STARTED, done("c"), taken_over("c"))

    assert found.positions == {"a": 10, "b": 11, "c": 13}


def test_what_an_item_was_given_is_as_old_as_its_beginning() -> None:
    part = Part(step_id="each", item=1, results={"a": {}, "b": {}})

    assert numbered(replace(STARTED, part=part)).positions == {"a": 10, "b": 10}


def test_branches_are_as_old_as_each_other_also_where_a_fork_took_them_over_one_by_one() -> None:
    process = process_of(*branches(action_step("left"), action_step("right")))
    carry: dict[str, dict[str, Any]] = {"left": {"n": 1}, "right": {"n": 2}}

    own = known(carry, process, both=9)
    inherited = known(carry, process, both=3, left=4, right=5)

    assert {item.logged for item in own.values()} == {9}
    assert {item.logged for item in inherited.values()} == {3}


# Links and confidence.


def test_a_result_is_linked_to_the_carried_results_that_its_step_refers_to() -> None:
    process = process_of(
        action_step("a"), action_step("b", "other"), using("c", "a"), carrying("d", "c", "a", "b")
    )
    carry: dict[str, dict[str, Any]] = {step: {"n": step} for step in "abcd"}

    links = {name: item.links for name, item in known(carry, process).items()}

    assert links["c"] == (Link("caused_by", "a"),)
    assert links["d"] == tuple(Link("caused_by", step) for step in "cab")
    assert links["a"] == links["b"] == ()


def test_what_is_not_carried_is_not_linked_and_many_offers_are_linked_up_to_a_bound() -> None:
    process = process_of(action_step("a"), action_step("b"), using("c", "a", "b"))
    many = result(*({"id": str(n), "text": f"t{n}"} for n in range(100)))

    found = known({"a": many, "c": {"n": 1}}, process)

    assert [link.to for link in found["c"].links] == [f"a/{n}" for n in range(MOST_LINKS)]


def test_work_that_a_later_step_did_again_counts_less() -> None:
    again = (("path", constant("tests")),)
    process = process_of(
        action_step("before", "run_tests", parameters=MapOf(again)),
        action_step("fix", "write"),
        action_step("after", "run_tests", parameters=MapOf(again)),
        action_step("other", "run_tests", parameters=MapOf((("path", constant("docs")),))),
    )
    carry: dict[str, dict[str, Any]] = {step.id: {"n": step.id} for step in process.steps}

    found = known(carry, process, before=1, fix=2, after=3, other=4)

    assert {name for name, item in found.items() if item.confidence == REPLACED} == {"before"}
    assert {item.confidence for item in found.values()} == {REPLACED, 1.0}


def test_models_that_are_asked_different_things_replace_nothing() -> None:
    process = process_of(
        carrying("one", description="Say what failed"), carrying("two", description="Say why")
    )

    found = known({"one": {"n": 1}, "two": {"n": 2}}, process, one=1, two=2)

    assert {item.confidence for item in found.values()} == {1.0}


def test_an_excerpt_counts_less_once_a_later_step_offers_the_same_lines_of_the_source() -> None:
    old = result({"id": "a.py", "source": "a.py", "text": "old"}, {"id": "b.py", "text": "b"})
    new = result(
        {"id": "a.py", "source": "a.py", "text": "new"},
        {"id": "more", "source": "a.py", "text": "other lines", "first_line": 40},
    )

    found = known({"first": old, "second": new}, None, first=1, second=2)

    assert {name for name, item in found.items() if item.confidence == REPLACED} == {"first/a.py"}


RESULTS = st.dictionaries(
    st.sampled_from("abcd"), st.dictionaries(st.sampled_from("xy"), st.integers(0, 2), max_size=2)
)


@given(RESULTS, st.dictionaries(st.sampled_from("abcd"), st.integers(1, 9)))
def test_values_change_nothing_else_and_no_link_leads_outside(
    carry: dict[str, dict[str, Any]], positions: dict[str, int]
) -> None:
    process = process_of(action_step("a"), action_step("b"), using("c", "b"), carrying("d", *"abc"))

    found = carried_items(carry, Results(positions), process)

    plain = [item for step, value in carry.items() for item in items_of(step, value)]
    assert [replace(item, logged=0, confidence=1.0, links=()) for item in found] == plain
    assert {link.to for item in found for link in item.links} <= {item.id for item in found}
    assert found == carried_items(carry, Results(positions), process)


# In the prompt.


def kept_of(items: list[Item]) -> set[str]:
    """Which of *items* are in a prompt that has room for about half of them."""
    step = PromptStep(process="p", id="s", description="Which port does the harbour use?")
    request = Request(
        step=step, window=100_000, effective_window=2_000, items=tuple(items), carry=tuple("abcd")
    )
    prompt = ContextCompiler().compile(request)
    return {entry.id for entry in prompt.manifest.items if entry.state == "in"}


def output(name: str, said: str = "") -> dict[str, Any]:
    rest = " ".join(f"{name}{n}" for n in range(150))
    return result({"kind": "output", "text": f"{said} {rest}"})


def test_of_results_that_say_as_much_the_newer_ones_stay() -> None:
    carry = {name: output(name * 3, "The harbour uses a port.") for name in "abcd"}
    by_age = Results({"a": 1, "b": 2, "c": 3, "d": 4})

    assert kept_of(carried_items(carry)) == {"a", "b"}
    assert kept_of(carried_items(carry, by_age)) == {"c", "d"}


def test_of_results_that_say_nothing_that_stays_from_which_an_answer_was_made() -> None:
    carry = {name: output(name * 3) for name in "abc"}
    carry["d"] = output("ddd", "The harbour uses a port.")
    process = process_of(action_step("a"), action_step("b", "other"), using("d", "c"))

    assert "c" not in kept_of(carried_items(carry))
    assert kept_of(carried_items(carry, process=process)) == {"c", "d"}


# The engine.

CHAIN = process_of(
    action_step("a", effect="read"), using("b", "a"), carrying("c", "b", "a"), carrying("d", "a")
)


def recorded(world: World, kind: type[Kind]) -> list[tuple[int, Kind]]:
    """The events of *kind* in *world*, each with its position."""
    read = ((record.position, VOCABULARY.read(record)) for record in world.records)
    return [(position, event) for position, event in read if isinstance(event, kind)]


def inputs_of(world: World, execution_id: str, step_id: str) -> Inputs:
    """The inputs of the prompt that the compilation engine makes for a step of *world*."""
    engine = CompilationEngine(world.blobs, Config(), history=world.history)
    engine.announced(MODEL, delivery())
    position, asked = next(
        (position, event)
        for position, event in recorded(world, ContextCompile)
        if (event.execution_id, event.step_id) == (execution_id, step_id)
    )
    said = engine.compile(asked, delivery(position))
    compiled = next(event for event in said if isinstance(event, ContextCompiled))
    return read_inputs(world.blobs.get(compiled.inputs), world.blobs.get)


def test_a_prompt_is_made_from_what_the_log_knows_of_carried_results() -> None:
    world = World(CHAIN)
    world.start()
    world.drain()

    inputs = inputs_of(world, "x", "c")

    by_step = {item.id: item for item in inputs.request.items}
    positions = {event.step_id: position for position, event in recorded(world, StepCompleted)}
    assert {name: item.logged for name, item in by_step.items()} == {
        "a": positions["a"],
        "b": positions["b"],
    }
    assert by_step["b"].links == (Link("caused_by", "a"),)
    assert inputs.compiler == COMPILER


def test_a_fork_knows_the_same_of_carried_results() -> None:
    world = World(CHAIN)
    world.start()
    world.drain()
    fork(world, "c")
    world.drain()

    own, forked = inputs_of(world, "x", "c"), inputs_of(world, "f", "c")

    def order(inputs: Inputs) -> list[tuple[str, Any]]:
        items = sorted(inputs.request.items, key=lambda item: item.logged)
        return [(item.id, item.links) for item in items]

    assert order(own) == order(forked)
    assert len({item.logged for item in forked.request.items}) == 2
