"""Memories that contradict a directive, on cases that were labelled before there was a rule."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from cortex.runtime.ctx import encode
from cortex.runtime.directives import InForce, LaidDown, overruled_by, package_with_overruled
from cortex.runtime.memory import numbered_in

from .package_world import COUNTER, PackageWorld

CASES = Path(__file__).parents[1] / "fixtures" / "directives" / "overruled.jsonl"


def laid_down(text: str) -> InForce:
    kind, name, value = "policy", *reversed(text.split(" ", 1))
    if text.startswith("premise: "):
        kind, name, value = "fact", "premise", text.partition(": ")[2]
    each = LaidDown(kind=kind, name=name, value=value, scope="user", position=7)
    return InForce(directives=(each,))


def test_every_label_is_met() -> None:
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]

    wrong = [
        case
        for case in cases
        if bool(overruled_by(case["memory"], laid_down(case["laid_down"]))) != case["overruled"]
    ]

    assert len(cases) >= 90
    assert not wrong, "\n".join(map(json.dumps, wrong))


def test_the_directive_is_quoted_with_its_origin() -> None:
    found = overruled_by("We use docker", laid_down("prohibit docker"))

    assert found == "`prohibit docker` of the scope user (event 7)"


def test_a_package_says_which_of_its_memories_are_overruled() -> None:
    world = PackageWorld()
    nodes = [
        world.record("We use docker"),
        world.record("Billing runs\nWe use docker here"),
        world.record("We use podman"),
    ]
    text = world.texts[world.package(nodes)].text
    found = laid_down("prohibit docker")
    # As it may also be: unchanged, or with names for what it repeats.
    encoded = encode(text, "text", counter=COUNTER).text

    marked = package_with_overruled(text, lambda each: overruled_by(each, found))

    assert dict(numbered_in(text)) == dict(numbered_in(encoded))
    assert sorted(dict(numbered_in(text)).values()) == sorted(
        ("We use docker", "Billing runs\nWe use docker here", "We use podman")
    )
    assert marked.startswith(text)
    assert marked.count("is overruled by `prohibit docker`") == 2
    assert package_with_overruled(text, lambda _: "") == text


def test_a_long_directive_is_quoted_by_its_beginning() -> None:
    found = overruled_by("The premise is long answers", laid_down(f"premise: {'short ' * 2_000}"))

    assert found.startswith("`premise: short short")
    assert found.endswith(" ...` of the scope user (event 7)")
    assert len(found) < 300


def test_nothing_is_overruled_where_nothing_is_laid_down() -> None:
    assert overruled_by("We use docker", InForce()) == ""


@given(st.text(max_size=300))
def test_no_memory_raises(content: str) -> None:
    overruled_by(content, laid_down("prohibit docker"))
    overruled_by(f"use {content}", laid_down("prohibit docker"))


def test_a_long_memory_costs_no_more_than_its_length() -> None:
    for part in ("we always use ", "use a, and ", "premise ", "- ", "do not use a or "):
        overruled_by(part * 1_200, laid_down("prohibit docker"))
