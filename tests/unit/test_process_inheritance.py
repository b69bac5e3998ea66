"""What a process inherits: order, overrides, gates and knowledge, on chains of any shape."""

from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.processes import Compilation, TopicTable, apply_edits, compile_sources
from cortex.runtime.registry import ActionSpec, GateSpec, Symbols

REGISTRY = Symbols(
    [ActionSpec(name=name, component="Worker") for name in ("work", "other")],
    [GateSpec(name=name, component="Judge") for name in ("g0", "g1", "g2", "g3")],
)
TOPICS = TopicTable({f"t{number}": f"t{number}.md" for number in range(4)})

BASE = """\
process: base
version: 1
gates: [g0]
knowledge: [t0]
steps:
  - {id: a, action: work, gates: [g1]}
  - {id: b, action: work}
  - {id: c, action: work}
---
"""


def compiled(*sources: str) -> Compilation:
    files = {f"{number}.yaml": text for number, text in enumerate(sources)}
    return compile_sources(files, REGISTRY, TOPICS)


def codes(compilation: Compilation) -> list[str]:
    return [each.code for each in compilation.diagnostics]


def order(child_steps: str) -> list[str]:
    text = f"process: child\nversion: 1\nextends: base\nsteps:\n{child_steps}"
    compilation = compiled(BASE + text)
    assert codes(compilation) == []
    return [step.id for step in compilation.processes["child"].steps]


def test_without_the_marker_new_steps_follow_the_inherited_ones() -> None:
    assert order("  - {id: x, action: work}\n  - {id: y, action: work}\n") == list("abcxy")


def test_the_marker_stands_for_the_inherited_steps_where_it_stands() -> None:
    steps = "  - {id: x, action: work}\n  - inherit: all\n  - {id: y, action: work}\n"

    assert order(steps) == list("xabcy")


def test_steps_after_the_same_one_keep_the_order_they_were_written_in() -> None:
    steps = (
        "  - {id: x, action: work, after: a}\n"
        "  - {id: z, action: work, after: x}\n"
        "  - {id: y, action: work, after: a}\n"
    )

    assert order(steps) == list("axzybc")


def test_steps_before_the_same_one_keep_the_order_they_were_written_in() -> None:
    steps = "  - {id: x, action: work, before: c}\n  - {id: y, action: work, before: c}\n"

    assert order(steps) == list("abxyc")


def test_an_override_stands_in_place_and_keeps_the_gates_of_the_step_it_replaces() -> None:
    text = (
        "process: child\nversion: 1\nextends: base\n"
        "steps:\n  - {id: a, action: other, gates: [g2]}\n"
    )

    child = compiled(BASE + text).processes["child"]

    assert [step.id for step in child.steps] == ["a", "b", "c"]
    step = child.steps[0]
    assert step.action
    assert step.action.name == "other"
    assert [(gate.name, gate.origin.process) for gate in step.gates] == [
        ("g1", "base"),
        ("g2", "child"),
    ]
    assert step.origin.overrides == ("base",)


def test_an_override_without_its_action_is_refused_and_the_fix_repeats_it() -> None:
    text = BASE + "process: child\nversion: 1\nextends: base\nsteps:\n  - id: b\n    timeout: 5\n"

    compilation = compiled(text)

    assert codes(compilation) == ["P213"]
    fix = compilation.diagnostics[0].fix
    assert fix
    assert codes(compiled(apply_edits(text, fix))) == []


def test_a_step_that_names_its_own_knowledge_sees_that_and_no_more() -> None:
    text = (
        "process: p\nversion: 1\nknowledge: [t0, t1]\nsteps:\n"
        "  - {id: a, action: work}\n"
        "  - {id: b, action: work, knowledge: [t2]}\n"
        "  - {id: c, action: work, knowledge: [inherit: all, t2]}\n"
        "  - {id: d, action: work, knowledge: []}\n"
    )

    steps = compiled(text).processes["p"].steps

    assert [[topic.topic for topic in step.knowledge] for step in steps] == [
        ["t0", "t1"],
        ["t2"],
        ["t0", "t1", "t2"],
        [],
    ]


def test_an_abstract_step_has_to_be_overridden_in_a_concrete_child() -> None:
    base = "process: base\nversion: 1\nabstract: true\nsteps: [{id: a, abstract: true}]\n---\n"
    child = "process: child\nversion: 1\nextends: base\n"

    assert codes(compiled(base + child)) == ["P303"]
    assert codes(compiled(base + child + "abstract: true\n")) == []
    assert codes(compiled(base + child + "steps: [{id: a, action: work}]\n")) == []


def test_an_abstract_step_in_a_concrete_process_is_an_error() -> None:
    text = "process: p\nversion: 1\nsteps: [{id: a, abstract: true}]\n"

    assert codes(compiled(text)) == ["P211"]


def test_what_is_wrong_with_a_parent_is_told_there_and_once() -> None:
    parent = "process: base\nversion: 1\nsteps: [{id: a, action: wrok}]\n"
    child = "process: child\nversion: 1\nextends: base\n"

    compilation = compiled(parent, child)

    assert [(each.file, each.code) for each in compilation.diagnostics] == [
        ("0.yaml", "P401"),
        ("1.yaml", "P315"),
    ]
    assert "did you mean `work`?" in compilation.diagnostics[0].remedy


def test_a_missing_parent_names_the_nearest() -> None:
    compilation = compiled(BASE + "process: child\nversion: 1\nextends: bsae\nsteps: []\n")

    assert "P301" in codes(compilation)
    assert any("did you mean `base`?" in each.remedy for each in compilation.diagnostics)


def test_every_member_of_an_inheritance_circle_is_told_and_nobody_else() -> None:
    text = "---\n".join(
        f"process: {name}\nversion: 1\nextends: {parent}\nsteps: [{{id: a, action: work}}]\n"
        for name, parent in [("p", "q"), ("q", "r"), ("r", "p"), ("s", "p"), ("t", "t")]
    )

    found = [(each.code, each.message) for each in compiled(text).diagnostics]

    assert found[:3] == [
        ("P302", "`p` extends `q` extends `r` extends `p`"),
        ("P302", "`q` extends `r` extends `p` extends `q`"),
        ("P302", "`r` extends `p` extends `q` extends `r`"),
    ]
    assert [code for code, _ in found[3:]] == ["P315", "P302"]


def test_a_circle_of_thousands_is_told_to_each_in_one_line() -> None:
    count = 3_000
    text = "---\n".join(
        f"process: p{number}\nversion: 1\nextends: p{(number + 1) % count}\n"
        f"steps: [{{id: a, process: p{(number + 1) % count}}}]\n"
        for number in range(count)
    )

    compilation = compiled(text)

    assert set(codes(compilation)) == {"P302", "P409"}
    assert max(len(each.message) for each in compilation.diagnostics) < 200


def test_a_chain_of_parents_has_a_longest_length() -> None:
    def parent(number: int) -> str:
        return f"p{number + 1}" if number < 1_999 else "base"

    text = BASE + "---\n".join(
        f"process: p{number}\nversion: 1\nextends: {parent(number)}\n" for number in range(2_000)
    )

    compilation = compiled(text)

    assert {each.code for each in compilation.diagnostics} == {"P315", "P316"}
    assert len(compilation.processes["p1940"].chain) == 61


def test_many_children_of_a_long_parent_are_refused_before_they_take_hours() -> None:
    steps = "".join(f"  - {{id: s{number}, action: work}}\n" for number in range(1_000))
    parent = f"process: base\nversion: 1\nsteps:\n{steps}"
    text = parent + "".join(
        f"---\nprocess: p{number}\nversion: 1\nextends: base\n" for number in range(200)
    )

    compilation = compiled(text)

    assert set(codes(compilation)) == {"P005"}
    assert len(compilation.processes) == 50


def test_a_step_cannot_be_put_beside_one_that_is_not_there() -> None:
    text = (
        BASE + "process: child\nversion: 1\nextends: base\n"
        "steps: [{id: x, action: work, after: d}, {id: a, action: work, before: b}]\n"
    )

    assert codes(compiled(text)) == ["P304", "P305"]


def test_insertion_and_the_marker_need_a_parent() -> None:
    text = (
        "process: p\nversion: 1\nknowledge: [inherit: all]\n"
        "steps: [inherit: all, {id: a, action: work, after: b}]\n"
    )

    assert codes(compiled(text)) == ["P314", "P314", "P305"]


def test_an_inherited_input_keeps_its_type() -> None:
    base = "process: base\nversion: 1\ninputs: {n: integer}\nsteps: [{id: a, action: work}]\n---\n"

    text = base + "process: child\nversion: 1\nextends: base\ninputs: {n: string}\n"

    assert codes(compiled(text)) == ["P312"]


SEEN = [
    *("", ", knowledge: []", ", knowledge: [t2]", ", knowledge: [t0, t3]"),
    ", knowledge: [inherit: all, t3]",
]


def gates_of_child(gates: str, step_gates: str = "[]") -> tuple[list[str], list[str]]:
    """Gates of a child of BASE, and of its step `a`."""
    compilation = compiled(
        f"{BASE}process: child\nversion: 1\nextends: base\ngates: {gates}\nsteps:\n"
        f"  - {{id: a, action: other, gates: {step_gates}}}\n"
    )
    assert codes(compilation) == []
    child = compilation.processes["child"]
    return [gate.name for gate in child.gates], [gate.name for gate in child.step("a").gates]


def test_the_marker_among_gates_stands_for_the_inherited_ones_where_it_stands() -> None:
    assert gates_of_child("[inherit: all, g2]") == (["g0", "g2"], ["g1"])
    assert gates_of_child("[g2, inherit: all, g3]") == (["g2", "g0", "g3"], ["g1"])
    assert gates_of_child("[g2]", "[g3, inherit: all]") == (["g0", "g2"], ["g3", "g1"])


def test_a_gate_that_is_inherited_and_asked_for_again_stands_once_as_its_first_owner_asked() -> (
    None
):
    compilation = compiled(
        f"{BASE}process: child\nversion: 1\nextends: base\ngates: [g2, g0, inherit: all]\n"
    )

    gates = compilation.processes["child"].gates
    assert [(gate.name, gate.origin.process) for gate in gates] == [("g2", "child"), ("g0", "base")]


def test_the_marker_among_gates_needs_something_to_inherit() -> None:
    alone = "process: p\nversion: 1\ngates: [inherit: all]\nsteps: [{id: a, action: work}]\n"
    new = "process: p\nversion: 1\nextends: base\nsteps:\n  - {id: x, action: work, gates: [{}]}\n"

    assert codes(compiled(alone)) == ["P314"]
    assert codes(compiled(BASE + new.replace("{}", "inherit: all"))) == ["P314"]
    assert "P104" in codes(compiled(BASE + new.replace("{}", "inherit: some")))
    twice = "process: p\nversion: 1\nextends: base\ngates: [inherit: all, inherit: all]\n"
    assert codes(compiled(BASE + twice)) == ["P208"]


def seen_by(parent_step: str, child_step: str) -> list[tuple[str, str]]:
    """Topic and origin of what step `a` sees in a child whose process adds t1."""
    compilation = compiled(
        "process: base\nversion: 1\nknowledge: [t0]\nsteps:\n"
        f"  - {{id: a, action: work{parent_step}}}\n---\n"
        "process: child\nversion: 1\nextends: base\nknowledge: [t1]\nsteps:\n"
        f"  - {{id: a, action: other{child_step}}}\n"
    )
    assert codes(compilation) == []
    step = compilation.processes["child"].step("a")
    return [(topic.topic, topic.origin.process) for topic in step.knowledge]


def test_an_override_takes_no_topic_away_and_chooses_among_the_rest() -> None:
    base, added = ("t0", "base"), ("t1", "child")

    # The parent's step saw all of its process: of what the child adds, the override takes its pick.
    assert seen_by("", "") == [base, added]
    assert seen_by("", ", knowledge: []") == [base]
    assert seen_by("", ", knowledge: [t2]") == [base, ("t2", "child")]
    assert seen_by("", ", knowledge: [inherit: all]") == [base, added]
    # The parent's step chose: what it chose stays, and the rest is the override's to choose.
    assert seen_by(", knowledge: []", "") == []
    assert seen_by(", knowledge: []", ", knowledge: []") == []
    assert seen_by(", knowledge: [t2]", ", knowledge: []") == [("t2", "base")]
    assert seen_by(", knowledge: [t2]", ", knowledge: [t0]") == [
        ("t2", "base"),
        ("t0", "child"),
    ]


STEP_IDS = st.sampled_from([f"s{number}" for number in range(8)])


@st.composite
def chains(draw: st.DrawFn) -> str:
    """Return a chain of one to four processes that is valid whatever was drawn."""
    documents: list[str] = []
    inherited: list[str] = []
    for level in range(draw(st.integers(1, 4))):
        lines = [f"process: p{level}", "version: 1"]
        if level:
            lines.append(f"extends: p{level - 1}")
        lines.append(f"gates: {draw(st.lists(st.sampled_from(['g0', 'g1']), unique=True))}")
        lines.append(f"knowledge: {draw(st.lists(st.sampled_from(['t0', 't1']), unique=True))}")
        lines.append("steps:")
        ids = draw(st.lists(STEP_IDS, unique=True, min_size=0 if level else 1))
        for step_id in ids:
            gates = draw(st.lists(st.sampled_from(["g2", "g3"]), unique=True))
            place = ""
            if inherited and step_id not in inherited and draw(st.booleans()):
                key = draw(st.sampled_from(["before", "after"]))
                place = f", {key}: {draw(st.sampled_from(inherited))}"
            seen = draw(st.sampled_from(SEEN))
            lines.append(f"  - {{id: {step_id}, action: work, gates: {gates}{place}{seen}}}")
        if level and draw(st.booleans()):
            lines.append("  - inherit: all")
        if lines[-1] == "steps:":
            lines.pop()
        documents.append("\n".join(lines) + "\n")
        inherited += [step_id for step_id in ids if step_id not in inherited]
    return "---\n".join(documents)


@given(chains())
@settings(max_examples=200, deadline=None)
def test_on_every_chain_a_child_is_as_constrained_as_its_parent_and_sees_as_much_in_each_step(
    text: str,
) -> None:
    compilation = compiled(text)

    assert compilation.errors == ()
    for child in compilation.processes.values():
        for parent in (compilation.processes[name] for name in child.chain[1:]):
            ids = [step.id for step in child.steps]
            assert {gate.name for gate in parent.gates} <= {gate.name for gate in child.gates}
            assert {t.topic for t in parent.knowledge} <= {t.topic for t in child.knowledge}
            for step in parent.steps:
                gates = {gate.name for gate in step.gates}
                assert gates <= {gate.name for gate in child.step(step.id).gates}
                topics = {topic.topic for topic in step.knowledge}
                assert topics <= {topic.topic for topic in child.step(step.id).knowledge}
            kept = [step.id for step in parent.steps]
            assert [step_id for step_id in ids if step_id in kept] == kept


@given(chains())
@settings(max_examples=100, deadline=None)
def test_compiling_twice_gives_the_same_bytes(text: str) -> None:
    once, twice = compiled(text), compiled(text)

    assert once.processes == twice.processes
    assert [each.digest for each in once.processes.values()] == [
        each.digest for each in twice.processes.values()
    ]
