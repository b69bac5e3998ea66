"""Errors are their fields: by place or by name, in the message, across processes, and no others."""

import pickle

import pytest

from cortex.bus import ConflictError, CortexError, TopicUnknownError, with_fields


def test_fields_come_by_place_or_by_name_and_stand_in_the_message() -> None:
    error = ConflictError("planner/1", 2, actual=3)

    assert error.args == ("planner/1", 2, 3)
    assert str(error) == "planner/1 is at version 3, not 2: read it again, then retry"


def test_a_field_has_the_default_of_its_class() -> None:
    assert TopicUnknownError("x").args == ("x", None)


def test_an_error_survives_the_trip_between_processes() -> None:
    error = pickle.loads(pickle.dumps(ConflictError("planner/1", 2, 3)))

    assert (error.stream, error.expected, error.actual) == ("planner/1", 2, 3)


@pytest.mark.parametrize(("values", "named"), [((), {}), (("a", "b"), {}), (("a",), {"more": 1})])
def test_fields_that_the_class_does_not_list_are_refused(
    values: tuple[str, ...], named: dict[str, int]
) -> None:
    @with_fields
    class OneError(CortexError):
        one: str

        says = "{one}"

    with pytest.raises(TypeError, match="OneError has the fields one"):
        OneError(*values, **named)  # type: ignore[arg-type]  # what is wrong is the point


def test_a_brace_in_a_value_is_no_field() -> None:
    assert str(ConflictError("{expected}", 2, 3)).startswith("{expected} is at version 3")
