"""What the drawing of real failures takes for a change, and whether their list is complete."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
pytestmark = pytest.mark.skipif(
    not BENCHMARKS.is_dir(), reason="benchmarks/ is not beside these tests"
)

OLD = '''\
"""Prices."""
RATE = 2


def price(amount):
    """What it costs."""
    return amount * RATE


class Cart:
    def total(self):
        return 1

    def count(self):
        return 2
'''


@pytest.fixture(scope="module")
def draw() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("draw_real_failures")


@pytest.fixture(scope="module")
def real(draw: Any) -> Any:
    return importlib.import_module("real_failures")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""What it costs."""', '"""What one pays."""'),
        ("    return 2", "    # two\n    return 2"),
        ("RATE = 2", 'RATE = 2\n__version__ = "3"'),
    ],
)
def test_what_does_the_same_as_before_has_not_changed(draw: Any, old: str, new: str) -> None:
    assert draw.changed_in("shop.py", OLD, OLD.replace(old, new)) is None


def test_a_changed_function_is_named_with_its_lines(draw: Any) -> None:
    changed = draw.changed_in("shop.py", OLD, OLD.replace("return 2", "return 3"))

    assert changed.functions == (("Cart.count", 14, 15),)
    assert changed.lines == ()


def test_a_changed_line_outside_of_functions_stands_alone(draw: Any) -> None:
    changed = draw.changed_in("shop.py", OLD, OLD.replace("RATE = 2", "RATE = 3"))

    assert changed.functions == ()
    assert changed.lines == ((2, 2),)


def test_a_new_method_belongs_between_the_lines_where_it_was_put(draw: Any) -> None:
    new = "    def empty(self):\n        return True\n\n    def count"

    changed = draw.changed_in("shop.py", OLD, OLD.replace("    def count", new))

    assert changed.functions == ()
    ((first, last),) = changed.lines
    assert 11 <= first <= last <= 15


def test_a_test_that_fails_for_one_of_its_parameters_has_failed(draw: Any) -> None:
    said = (
        "PASSED tests/test_a.py::test_one[1]\n"
        "FAILED tests/test_a.py::test_one[2] - assert 1 == 2\n"
        "PASSED tests/test_a.py::TestB::test_two\n"
    )

    assert draw.outcomes(said, "FAILED") == {"tests/test_a.py::test_one"}
    assert draw.outcomes(said, "PASSED") == {"tests/test_a.py::TestB::test_two"}


def test_the_drawn_failures_are_of_many_projects_and_each_changed_few_files(
    real: Any, draw: Any
) -> None:
    cases = real.read_cases()

    assert len(cases) >= 15
    assert len({case.project for case in cases}) >= 8
    assert all(1 <= len(case.changed) <= draw.FILES for case in cases)
    assert all(each.functions or each.lines for case in cases for each in case.changed)


def test_no_project_is_both_visible_and_unseen(real: Any) -> None:
    halves = {(case.project, case.visible) for case in real.read_cases()}

    assert len(halves) == len(dict(halves))
    assert {visible for _, visible in halves} == {True, False}
