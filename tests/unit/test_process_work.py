"""What the steps of a process ask of their models, as far as it can be inferred from it."""

from msgspec import UNSET

from cortex.runtime.processes import (
    Carry,
    LinkedAction,
    LinkedStep,
    MapOf,
    Needs,
    inferred_needs,
)

from .execution_world import ORIGIN, action_step, process_of, text

LOCAL = Needs(sensitivity="local")


def reading(step_id: str, *carry: str, needs: Needs | None = None) -> LinkedStep:
    carried = tuple(Carry(step=each) for each in carry)
    return action_step(step_id, asks_model=True, carry=carried, needs=needs or Needs())


def test_what_came_of_a_local_step_stays_local_however_far_it_is_passed_on() -> None:
    given = MapOf((("log", text({"type": "ref", "path": ["steps", "copy", "text"]})),))
    process = process_of(
        reading("notes", needs=LOCAL),
        action_step("copy", carry=(Carry(step="notes"),)),
        action_step("ask", asks_model=True, parameters=given),
        reading("other"),
    )

    found = {step.id: inferred_needs(process, step) for step in process.steps}

    assert found["ask"].needs["sensitivity"] == "local"
    assert "the step notes" in found["ask"].reasons["sensitivity"]
    assert "sensitivity" not in found["other"].needs
    assert found["copy"].needs == {}  # it asks no model


def test_a_step_that_says_so_lets_what_it_makes_of_it_go() -> None:
    process = process_of(
        reading("notes", needs=LOCAL),
        reading("summary", "notes", needs=Needs(sensitivity="internal")),
        reading("ask", "summary"),
    )

    found = [inferred_needs(process, step).needs.get("sensitivity") for step in process.steps]

    assert found == [None, None, None]


def test_the_announcement_of_an_action_states_what_it_takes() -> None:
    action = LinkedAction(
        name="write_code",
        component="W",
        effect="idempotent",
        asks_model=True,
        needs={"code": "high"},
        spec="s",
    )
    step = LinkedStep(id="one", action=action, tools=("read_file",), origin=ORIGIN)

    found = inferred_needs(process_of(step), step)

    assert found.needs == {"reasoning": "medium", "code": "high"}
    assert step.needs.extractive is UNSET
