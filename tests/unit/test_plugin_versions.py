"""Which version of a plugin runs next: the wanted one, or the one before if that never worked."""

from importlib import import_module
from typing import Any

import pytest

_versions: Any = import_module("cortex.plugins.host.versions")

ONE, TWO, THREE = (_versions.Version(number, number) for number in "123")  # opaque here


@pytest.fixture
def versions() -> Any:
    return _versions.Versions(ONE)


def test_the_version_that_is_wanted_last_is_taken_up(versions: Any) -> None:
    assert versions.want(TWO)
    assert versions.want(THREE)

    assert versions.follow()
    assert versions.present == THREE
    assert not versions.is_another_wanted


def test_after_the_last_version_none_is_taken_up(versions: Any) -> None:
    assert not versions.follow()

    assert not versions.want(TWO)


def test_before_a_start_there_may_be_none_without_an_end(versions: Any) -> None:
    assert not versions.follow(last=False)

    assert versions.want(TWO)


def test_one_that_never_worked_gives_way_to_the_one_before_once(versions: Any) -> None:
    versions.want(TWO)
    versions.follow()

    assert versions.go_back()
    assert versions.follow()
    assert versions.present == ONE
    assert not versions.go_back()


def test_one_that_works_does_not_go_back(versions: Any) -> None:
    versions.want(TWO)
    versions.follow()
    versions.works()

    assert not versions.go_back()
    assert versions.present == TWO


def test_a_newer_version_is_taken_up_rather_than_the_one_before(versions: Any) -> None:
    versions.want(TWO)
    versions.follow()
    versions.want(THREE)

    assert versions.go_back()
    assert versions.follow()
    assert versions.present == THREE


def test_what_is_given_up_is_replaced_only_by_what_was_wanted_before(versions: Any) -> None:
    versions.want(TWO)

    assert versions.give_up()
    assert versions.follow()
    assert not versions.give_up()
    assert not versions.want(THREE)
