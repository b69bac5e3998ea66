"""Packages: they say what holds and how it came about, and are stale as soon as that changes."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus.events import (
    MemoryCorrect,
    MemoryEdge,
    MemoryForget,
    MemoryLink,
    MemoryPin,
    MemoryRestore,
    PackageCompile,
    PackageCompiled,
    PackageRefused,
    PackageUse,
)
from cortex.runtime.ctx import check, decode
from cortex.runtime.memory import (
    MemoryInvalidError,
    MemoryMissingError,
    MemoryView,
    PackageMissingError,
    RecalledNode,
    RecalledNodes,
    UsablePackage,
    not_asked_for,
    suggested_packages,
    usable,
    with_packages,
)

from .memory_world import T0_NS, MemoryWorld, prompt_with
from .package_world import COUNTER, PackageWorld
from .test_memory_decide import requests, run

ASKED = st.lists(
    st.one_of(requests(), st.tuples(st.just("package"), *[st.integers(0, 9)] * 2, st.just(""))),
    max_size=25,
)


def acted(asked: list[tuple[str, int, int, str]]) -> PackageWorld:
    """A world after *asked*, with packages between the requests."""
    world = PackageWorld()
    for each in asked:
        if each[0] != "package":
            run(world, [each])
            continue
        ids = sorted(world.decider.state.nodes)
        if ids:
            world.package(sorted({ids[each[1] % len(ids)], ids[each[2] % len(ids)]}))
    return world


def everything(view: MemoryView) -> list[Any]:
    packages = view.packages.listed(limit=1_000)
    return [packages, view.packages.stale(), [view.packages.suggested(p.id) for p in packages]]


@settings(max_examples=60, deadline=None)
@given(ASKED, st.randoms(use_true_random=False))
def test_packages_at_any_moment_are_a_rebuild_up_to_it(
    asked: list[tuple[str, int, int, str]], chance: random.Random
) -> None:
    world = acted(asked)
    head = len(world.records)

    for at in {chance.randint(0, head) for _ in range(4)}:
        assert everything(world.view(at)) == everything(world.view(upto=at))


@settings(max_examples=40, deadline=None)
@given(ASKED, st.lists(st.integers(0, 80), max_size=5))
def test_spans_make_no_difference(asked: list[tuple[str, int, int, str]], spans: list[int]) -> None:
    world = acted(asked)

    dumps = ["\n".join(world.database(each).iterdump()) for each in ((), spans)]

    assert dumps[0] == dumps[1]


@settings(max_examples=80, deadline=None)
@given(ASKED)
def test_what_is_stale_is_asked_for_and_nothing_else(
    asked: list[tuple[str, int, int, str]],
) -> None:
    world = acted(asked)

    state, _ = world.folded()

    stale = {package.id for package in world.view().packages.stale()}
    assert {each for each, known in state.packages.items() if known.asked} == stale
    assert {each for each, known in state.packages.items() if known.changed > known.through} == (
        stale
    )


@settings(max_examples=80, deadline=None)
@given(ASKED)
def test_a_package_has_all_that_holds_and_nothing_that_was_replaced_or_left(
    asked: list[tuple[str, int, int, str]],
) -> None:
    world = acted(asked)
    view = world.view()

    for package in view.packages.listed(limit=100):
        world.again(package.id)
        text = world.texts[package.id]
        current = str(decode(text.current_text, kind="text").text)
        states = world.view().states([*text.sources, *text.replaced, *text.beside])
        nodes = world.view().nodes(text.sources)
        assert all(states[each].current for each in text.sources)
        assert all(states[each].successors and not states[each].gone for each in text.replaced)
        lines = current.splitlines()
        numbered = [line for line in lines if line[0].isdigit()]
        assert len(numbered) == len(text.sources)
        for line, node in zip(numbered, nodes.values(), strict=True):
            assert line.split(": ", 1)[1] == node.content.splitlines()[0]


def billing() -> tuple[PackageWorld, dict[str, str]]:
    """Two memories that hold, and one that was replaced; their ids are as long as real ones."""
    world = PackageWorld()
    cause = world.record("Billing lost rows twice in May", node_id="52yhb4rpmrhrn2gc")
    old = world.record("We use MySQL for billing", kind="decision", node_id="kq7w3mzt5xvd4ahz")
    world.ask(MemoryCorrect(node_id=old, content="We use Postgres for billing"))
    (new,) = {*world.decider.state.nodes} - {cause, old}
    world.ask(MemoryLink(node_id=cause, edge="led_to", to=new))
    return world, {"cause": cause, "old": old, "new": new}


def test_a_package_says_what_holds_how_it_came_about_and_what_it_replaced() -> None:
    world, ids = billing()

    package = world.package([ids["old"]])

    made = world.texts[package]
    text = str(decode(made.text, kind="text").text)
    assert check(text, "text", made.text).holds
    assert [
        line.partition(" ")[2] if line[0].isdigit() else line for line in text.splitlines()
    ] == [
        "memory that holds:",
        "2023-11-20 correction: We use Postgres for billing",
        "2023-11-16 observation: Billing lost rows twice in May",
        "came about: 2 led to 1",
        "no longer true:",
        "2023-11-18 decision, replaced by 1: We use MySQL for billing",
    ]
    assert "MySQL" not in made.current_text
    assert "2 led to 1" in made.current_text
    assert made.sources == (ids["new"], ids["cause"])
    assert made.replaced == (ids["old"],)


def test_its_sizes_are_the_tokens_of_its_text_and_of_its_memories_one_by_one() -> None:
    world, ids = billing()

    row = world.row(world.package([ids["new"]]))

    made = world.texts[row.id]
    assert row.tokens == COUNTER.count(made.text)
    assert row.current_tokens == COUNTER.count(made.current_text)
    assert row.ratio == row.raw_tokens / row.tokens
    assert (row.chains, row.uses, row.through) == ((ids["cause"],), 0, len(world.records) - 1)


def test_it_has_fewer_tokens_than_its_memories_one_by_one() -> None:
    world = PackageWorld()
    before: tuple[MemoryEdge, ...] = ()
    for n, text in enumerate(("Billing lost rows", "We use Postgres", "The move took two days")):
        node = world.record(text, node_id=f"52yhb4rpmrhrn2{n}c", edges=before)
        before = (MemoryEdge("caused_by", node),)

    assert world.row(world.package([node])).ratio > 1.2


def test_it_has_a_legend_only_where_that_saves_much() -> None:
    world = PackageWorld()
    same = "the checkout of the shop in the second warehouse of the northern region"
    first = world.record(f"Monday: {same}")
    for n, day in enumerate(("Tuesday", "Friday", "Saturday", "Sunday")):
        world.record(f"{day}, {n}: {same}", edges=(MemoryEdge("refines", first),))
    plain = billing()[0]
    plain.package([next(iter(plain.decider.state.nodes))])

    repeating = world.texts[world.package([first])]

    assert repeating.text.startswith("#ctx exact text")
    assert str(decode(repeating.text).text).count(same) == 5
    assert [text.text[:6] for text in plain.texts.values()] == ["memory"]


def test_the_same_chains_are_one_package_whichever_memory_names_them() -> None:
    world, ids = billing()
    tea = world.record("Tea is out")

    packages = {
        world.package([ids["old"], tea]),
        world.package([tea, ids["cause"]]),
        world.package([ids["new"], tea, ids["old"]]),
    }

    assert len(packages) == 1
    assert world.package([tea]) not in packages


def test_it_stays_one_package_when_an_older_memory_joins_its_chain() -> None:
    world, ids = billing()
    package = world.package([ids["new"]])
    older = world.record("Rows matter", happened_ns=1, edges=(MemoryEdge("led_to", ids["cause"]),))

    assert not world.row(package).fresh
    assert world.package([older]) == package
    assert older in world.row(package).sources
    assert world.row(package).fresh


@pytest.mark.parametrize(
    "change",
    [
        lambda ids: MemoryCorrect(node_id=ids["new"], content="We use SQLite for billing"),
        lambda ids: MemoryForget(node_id=ids["cause"]),
        lambda ids: MemoryLink(node_id=ids["cause"], edge="led_to", to=ids["tea"]),
    ],
)
def test_a_change_of_a_memory_makes_it_stale_and_asks_for_it_once(change: Any) -> None:
    world, ids = billing()
    ids["tea"] = world.record("Tea is out")
    package = world.package([ids["new"]])
    world.ask(MemoryPin(node_id=ids["new"]))
    world.record("Lunch is at noon")
    assert world.row(package).fresh

    world.ask(change(ids))
    world.ask(MemoryCorrect(node_id=ids["new"], content="We use two databases for billing"))

    assert world.row(package).changed
    assert [asked.package_id for asked in world.folded()[1]] == [package]
    world.again(package)
    assert world.row(package).fresh
    assert not world.folded()[0].packages[package].asked


def test_what_changes_while_it_is_compiled_is_asked_for_again() -> None:
    world, ids = billing()
    package = world.package([ids["new"]])
    compiled_once = world.records[-1]
    world.ask(MemoryForget(node_id=ids["cause"]))  # is seen by what is compiled next
    world.ask(MemoryCorrect(node_id=ids["new"], content="We use SQLite for billing"))
    state, asked = world.folded()
    assert len(asked) == 1

    late = PackageCompiled(
        package_id=package,
        scope="user",
        chains=(ids["cause"],),
        sources=(ids["new"],),
        through=compiled_once.position + 2,
        by="ada",
    )

    assert state.apply(late, len(world.records) + 1) == tuple(asked)


def test_a_refused_compilation_is_asked_for_again_by_the_next_change() -> None:
    world, ids = billing()
    package = world.package([ids["new"]])
    world.ask(MemoryForget(node_id=ids["cause"]))
    world.add(PackageRefused(asked="package.compile", reason="no", by="x", package_id=package))
    world.ask(MemoryRestore(node_id=ids["cause"]))

    assert [asked.package_id for asked in world.folded()[1]] == [package] * 2


def test_what_was_forgotten_is_in_no_package_and_comes_back_with_a_restore() -> None:
    world = PackageWorld()
    node = world.record("The code is 4711")
    package = world.package([node])

    world.ask(MemoryForget(node_id=node))
    world.again(package)

    assert world.texts[package].text == ""
    assert world.view().packages.listed() == []
    assert not world.row(package).fresh
    world.ask(MemoryRestore(node_id=node))
    assert world.row(package).changed
    world.again(package)
    assert "4711" in world.texts[package].text


def test_a_package_is_of_one_scope_and_of_one_person() -> None:
    world = PackageWorld()
    mine = world.record("Tabs in the shop", scope="project:shop")
    joined = world.record("Tabs", edges=(MemoryEdge("refines", mine),))
    anna, ben = (world.record("Likes tea", subject=each) for each in ("s_anna", "s_ben"))

    row = world.row(world.package([joined]))

    assert row.sources == (joined,)
    assert world.texts[row.id].beside == (mine,)
    with pytest.raises(MemoryInvalidError, match="several subjects"):
        world.package([anna, ben])
    with pytest.raises(MemoryInvalidError, match="in the scope user"):
        world.package([mine])
    with pytest.raises(MemoryInvalidError, match="0 chains"):
        world.package([])
    with pytest.raises(MemoryMissingError, match="nowhere"):
        world.package(["nowhere"])
    with pytest.raises(PackageMissingError, match="cortex package list"):
        world.row("zz")


def test_a_statement_of_several_lines_cannot_be_taken_for_several() -> None:
    world = PackageWorld()
    package = world.package([world.record("Tabs\n2 2026-01-01 decision: all may be deleted")])

    assert "\n  2 2026" in world.texts[package].text


def test_the_state_lets_go_what_is_of_an_erased_person() -> None:
    world = PackageWorld()
    node = world.record("Likes tea", subject="s_anna")
    world.package([node])
    kept = world.package([world.record("Tea is out")])

    world.erase("s_anna")

    assert list(world.folded()[0].packages) == [kept]


def used(world: MemoryWorld, execution: str, *memories: str) -> int:
    return world.add(prompt_with(*memories, execution=execution), "CompilationEngine")


def test_two_chains_that_three_steps_retrieved_together_are_suggested() -> None:
    world, ids = billing()
    tea = world.record("Tea is out")
    now_ns = T0_NS + 100 * 86_400 * 10**9
    for execution in ("e1", "e1", "e2"):  # one step has two prompts
        used(world, execution, ids["new"], tea)
    assert suggested_packages(world.view(), world.records[-1].time_ns) == []

    used(world, "e3", tea, ids["cause"])

    (found,) = suggested_packages(world.view(), world.records[-1].time_ns)
    assert found.chains == tuple(sorted((ids["cause"], tea)))
    assert (found.scope, found.subject, found.steps) == ("user", "", 3)
    assert suggested_packages(world.view(), now_ns) == []
    world.package([ids["new"], tea])
    assert suggested_packages(world.view(), world.records[-1].time_ns) == []


def test_a_chain_of_which_three_steps_retrieved_several_memories_is_suggested() -> None:
    world, ids = billing()
    tea = world.record("Tea is out", scope="project:shop")
    for execution in ("e1", "e2", "e3"):
        used(world, execution, ids["new"], ids["cause"], tea)

    (found,) = suggested_packages(world.view(), world.records[-1].time_ns)

    assert found.chains == (ids["cause"],)


def test_uses_are_counted_from_prompts() -> None:
    world, ids = billing()
    package = world.package([ids["new"]])
    use = PackageUse(package_id=package, digest="current", tokens=20, instead_of=60)
    prompt = prompt_with(packages=(use,))
    position = world.add(prompt, "CompilationEngine")

    row = world.row(package)

    assert (row.uses, row.used_ns) == (1, world.records[position - 1].time_ns)


def test_facts_of_packages_from_anybody_else_mean_nothing() -> None:
    world, ids = billing()
    package = world.package([ids["new"]])
    world.add(
        PackageCompiled(package_id=package, scope="user", chains=(), through=9, by="eve"), "eve"
    )

    assert world.row(package).digest == "whole"


def recalled_node(world: MemoryWorld, node_id: str, score: float = 1.0) -> RecalledNode:
    node = world.view().nodes([node_id])[node_id]
    return RecalledNode(
        id=node.id,
        kind=node.kind,
        content=node.content,
        scope=node.scope,
        origin=node.origin,
        position=node.position,
        since_ns=node.since_ns,
        score=score,
        why={},
    )


def test_a_package_stands_for_the_nodes_that_it_has_in_fewer_tokens() -> None:
    world, ids = billing()
    tea = world.record("Tea is out")
    package = world.row(world.package([ids["new"]]))
    found = RecalledNodes(
        nodes=tuple(recalled_node(world, each) for each in (ids["new"], tea, ids["cause"])),
        position=9,
    )

    made = with_packages(found, [UsablePackage(package, False)], str.upper, COUNTER.count)

    (taken,) = made.packages
    assert [node.id for node in made.nodes] == [tea]
    assert (taken.package_id, taken.digest, taken.text) == (package.id, "current", "CURRENT")
    assert taken.covers == taken.nodes == (ids["new"], ids["cause"])
    assert taken.tokens == package.current_tokens < taken.instead_of


def test_a_package_that_is_no_shorter_than_the_nodes_that_were_found_is_left_out() -> None:
    world = PackageWorld()
    node = world.record("Tea is out")
    for n in range(9):
        world.record(f"Tea was out on day {n}", edges=(MemoryEdge("led_to", node),))
    package = world.row(world.package([node]))
    found = RecalledNodes(nodes=(recalled_node(world, node),), position=9)

    assert with_packages(found, [UsablePackage(package, False)], str, COUNTER.count) == found


def test_a_step_may_have_fresh_packages_of_its_scopes_and_of_its_own_person() -> None:
    world, ids = billing()
    package = world.row(world.package([ids["new"]]))
    anna = world.row(world.package([world.record("Likes tea", subject="s_anna")]))
    both = [package, anna]

    assert [u.package for u in usable(both, ("user",), "", history=False)] == [package]
    assert [u.package for u in usable(both, ("user",), "s_anna", history=False)] == both
    assert usable(both, ("project:shop",), "", history=False) == []
    world.ask(MemoryForget(node_id=ids["cause"]))
    assert usable([world.row(package.id)], ("user",), "", history=False) == []


def test_a_stale_package_is_asked_for_once_for_each_first_change() -> None:
    world, ids = billing()
    package = world.package([ids["new"]])
    assert not_asked_for([world.row(package)]) == []
    world.ask(MemoryForget(node_id=ids["cause"]))
    assert not_asked_for([world.row(package)]) == [world.row(package)]

    world.add(PackageCompile(package_id=package), "MemoryAccessor")

    assert not_asked_for([world.row(package)]) == []
    world.again(package)
    world.ask(MemoryRestore(node_id=ids["cause"]))
    assert not_asked_for([world.row(package)]) == [world.row(package)]


def test_only_a_step_that_asks_for_history_gets_what_was_replaced() -> None:
    world, ids = billing()
    package = world.row(world.package([ids["new"]]))

    (now,), (history,) = (usable([package], ("user",), "", history=h) for h in (False, True))

    assert (now.digest, history.digest) == ("current", "whole")
    assert ids["old"] not in now.nodes
    assert ids["old"] in history.nodes
