"""The page on collection says what the code does, and its example runs as it stands there."""

import re
from pathlib import Path

import pytest

from cortex.runtime.gc import HeapPolicy, RetentionRules

PAGE = Path(__file__).parents[2] / "docs" / "gc.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason=f"no page at {PAGE}")


def test_the_example_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    found = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found

    exec(compile(found[1], str(PAGE), "exec"), {})

    assert capsys.readouterr().out == found[2]


@pytest.mark.parametrize("rules", [HeapPolicy(), RetentionRules()])
def test_each_number_of_a_rule_stands_on_the_page(rules: HeapPolicy | RetentionRules) -> None:
    said = dict(re.findall(r"`(\w+)` = `?([\w,.]*\w)", PAGE.read_text()))
    numbers = {
        name: f"{value:,g}" if isinstance(value, int | float) else value[0]
        for name in rules.__struct_fields__
        if name not in ("keeps", "survived", "uses")
        for value in (getattr(rules, name),)
    }

    assert {name: said.get(name) for name in numbers} == numbers


def test_each_kind_of_reference_that_keeps_otherwise_is_on_the_page() -> None:
    rows = re.findall(
        r"^\| `(\w+)`[^|]*\| (its target, while|its \w+|nothing)", PAGE.read_text(), re.MULTILINE
    )
    keeps = {"its target, while": "while_pinned", "its source": "source", "nothing": "nothing"}

    assert {kind: keeps[said] for kind, said in rows if said in keeps} == HeapPolicy().keeps
