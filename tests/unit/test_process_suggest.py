"""The name that was likely meant."""

import pytest

from cortex.runtime.processes import nearest


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("reveiw", ["review", "release"], "review"),
        ("engineering.reveiw", ["engineering.review"], "engineering.review"),
        ("enginering.review", ["engineering.review"], "engineering.review"),
        ("engineering.pull_request", ["engineering.testing"], None),
        ("engineering.testing.units", ["engineering.testing"], None),
        ("review", [], None),
    ],
)
def test_a_name_is_meant_where_what_is_its_own_is_near(
    name: str, known: list[str], meant: str | None
) -> None:
    assert nearest(name, known) == meant
