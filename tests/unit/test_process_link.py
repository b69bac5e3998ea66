"""Linking: every name stands for something, and every value fits what it is handed to."""

from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from cortex.runtime.processes import (
    Ambiguous,
    Compilation,
    Diagnostic,
    LinkedProcess,
    Resolved,
    RunProcess,
    TopicTable,
    apply_edits,
    compile_sources,
)
from cortex.runtime.registry import ActionSpec, GateSpec, Symbols


class Place(Struct):
    file: str
    line: int = 1


class Find(Struct):
    path: str
    limit: int = 10
    mode: "str | None" = None
    near: Place | None = None
    tags: list[str] = []


class Found(Struct):
    matches: list[str]
    count: int
    best: Place
    note: str | None = None


class Exists(Struct):
    path: str


class Told(Struct):
    run: str | list[str]


def schema(of: type) -> dict[str, object]:
    return msgspec.json.schema(of)


REGISTRY = Symbols(
    [
        ActionSpec(
            name="find",
            component="Finder",
            parameters=schema(Find),
            result=schema(Found),
            effect="read",
        ),
        ActionSpec(name="tell", component="Teller", parameters=schema(Told), result={}),
        ActionSpec(name="say", component="Speaker", parameters={}, result={}),
    ],
    [
        GateSpec(name="ready", component="Judge", parameters={"type": "object", "properties": {}}),
        GateSpec(name="told", component="Teller", parameters=schema(Told)),
        GateSpec(name="file_exists", component="Files", parameters=schema(Exists)),
    ],
)


class SomeTopics(TopicTable):
    def problem(self, topic: str) -> str:
        return ""

    def resolve(self, topic: str) -> Resolved | Ambiguous | None:
        if topic == "double":
            return Ambiguous(paths=("team/double.md", "org/double.md"))
        return super().resolve(topic)


TOPICS = SomeTopics({"engineering.testing": "engineering/testing.md"})


def compiled(text: str) -> Compilation:
    return compile_sources({"p.yaml": text}, REGISTRY, TOPICS)


def process(steps: str, head: str = "") -> str:
    return f"process: p\nversion: 1\n{head}steps:\n{steps}"


def found(steps: str, head: str = "") -> list[Diagnostic]:
    return list(compiled(process(steps, head)).diagnostics)


def codes(steps: str, head: str = "") -> list[str]:
    return [each.code for each in found(steps, head)]


def linked(steps: str, head: str = "") -> LinkedProcess:
    compilation = compiled(process(steps, head))
    assert compilation.errors == ()
    return compilation.processes["p"]


FIND = '  - {id: a, action: find, with: {path: "."}}\n'


@pytest.mark.parametrize(
    ("steps", "head", "code", "nearest"),
    [
        ("  - {id: a, action: fnid}\n", "", "P401", "find"),
        ("  - {id: a, action: say}\n", "gates: [raedy]\n", "P402", "ready"),
        (
            "  - {id: a, action: say}\n",
            "knowledge: [engineering.tests]\n",
            "P403",
            "engineering.testing",
        ),
        ('  - {id: a, action: find, with: {path: "", limt: 1}}\n', "", "P405", "limit"),
    ],
)
def test_an_unknown_name_offers_the_nearest_and_the_fix_compiles(
    steps: str, head: str, code: str, nearest: str
) -> None:
    (finding,) = found(steps, head)

    assert finding.code == code
    assert finding.remedy == f"did you mean `{nearest}`?"
    assert finding.fix
    fixed = compiled(apply_edits(process(steps, head), finding.fix))
    assert [each.code for each in fixed.diagnostics if each.code == code] == []


def test_a_name_that_may_be_that_of_something_else_is_told_how_that_comes_as_well() -> None:
    symbols = Symbols([ActionSpec(name="write_text", component="C")])

    remedies = [
        compile_sources(
            {"p": f"process: p\nversion: 1\nsteps: [{{id: a, action: {name}}}]\n"},
            symbols,
            TopicTable({}),
        )
        .diagnostics[0]
        .remedy
        for name in ("wirte_text", "write_fix")
    ]

    assert remedies == [
        "did you mean `write_text`?",
        "did you mean `write_text`? If not, start the worker or load the plugin that serves it",
    ]


def test_a_topic_that_fits_twice_names_both() -> None:
    (finding,) = found("  - {id: a, action: say}\n", "knowledge: [double]\n")

    assert finding.code == "P404"
    assert "team/double.md, org/double.md" in finding.message


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("", ["P406"]),
        ("limit: 3", ["P406"]),
        ("path: 3", ["P407"]),
        ("path: [a]", ["P407"]),
        ("path: a, limit: many", ["P407"]),
        ("path: a, limit: 1.5", ["P407"]),
        ("path: a, limit: true", ["P407"]),
        ("path: a, mode: null", []),
        ("path: a, mode: {x: 1}", ["P407"]),
        ("path: a, near: {file: b, line: 3}", []),
        ("path: a, near: {line: 3}", ["P406"]),
        ("path: a, near: {file: b, lien: 3}", ["P405"]),
        ("path: a, tags: [x, y]", []),
        ("path: a, tags: [x, 1]", ["P407"]),
        ("path: a, tags: x", ["P407"]),
    ],
)
def test_literal_parameters_are_checked_against_the_announcement(
    parameters: str, expected: list[str]
) -> None:
    assert codes(f"  - {{id: a, action: find, with: {{{parameters}}}}}\n") == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("path: ${steps.a.best.file}", []),
        ("path: ${steps.a.count}", ["P407"]),
        ("path: ${steps.a.matches}", ["P407"]),
        ("path: 'line ${steps.a.count} of ${inputs.name}'", []),
        ("path: x, limit: ${steps.a.count}", []),
        ("path: x, limit: 'n${steps.a.count}'", ["P407"]),
        ("path: x, tags: ${steps.a.matches}", []),
        ("path: x, tags: ['${inputs.name}']", []),
        ("path: ${steps.a.note}", ["P210"]),
        ("path: x, mode: ${steps.a.note}", []),
        ("path: ${steps.a.cuont}", ["P204"]),
        ("path: ${steps.a.best.fiel}", ["P204"]),
        ("path: ${steps.a}", ["P204"]),
        ("path: ${steps.b.best.file}", ["P205"]),
        ("path: ${steps.z.x}", ["P204"]),
        ("path: ${inputs.nam}", ["P204"]),
        ("path: ${input.name}", ["P204"]),
        ("path: ${inputs.perhaps}", ["P210"]),
        ("path: ${execution.id}", []),
        ("path: ${execution.attempt}", ["P407"]),
        ("path: ${steps.a.status}", []),
    ],
)
def test_references_are_checked_against_what_they_stand_for(
    value: str, expected: list[str]
) -> None:
    head = "inputs: {name: string, perhaps: {type: string, required: false}}\n"

    lines = "".join(f"      {each}\n" for each in value.split(", "))

    assert codes(f"{FIND}  - id: b\n    action: find\n    with:\n{lines}", head) == expected


def test_a_reference_is_pointed_at_and_nothing_around_it() -> None:
    text = FIND + "  - id: b\n    action: find\n    with:\n      path: x/${steps.a.cuont}\n"

    (finding,) = found(text)

    assert finding.remedy == "did you mean `count`?"
    assert finding.span.end_column - finding.span.column == len("steps.a.cuont")


def test_a_step_that_may_be_skipped_hands_over_null_unless_it_is_asked_for() -> None:
    first = "  - {id: a, action: find, when: inputs.x, with: {path: x}}\n"
    head = "inputs: {x: boolean}\n"
    second = "  - {id: b, action: find, with: {path: '${steps.a.best.file}'}}\n"
    asking = second.replace("with", 'when: steps.a.status == "completed", with')

    assert codes(first + second, head) == ["P210"]
    assert codes(first + asking, head) == []


def test_after_a_jump_the_steps_left_out_may_be_missing() -> None:
    steps = (
        "  - {id: a, action: find, on_failure: {step: c}, with: {path: x}}\n"
        "  - {id: b, action: find, with: {path: '${steps.a.best.file}'}}\n"
        "  - {id: c, action: find, with: {path: '${steps.b.best.file}'}}\n"
    )

    findings = found(steps)

    assert [(each.code, each.span.line) for each in findings] == [("P210", 6)]


@pytest.mark.parametrize(
    ("target", "expected"),
    [("c", []), ("b", ["P206"]), ("a", ["P206"]), ("d", ["P204"])],
)
def test_a_jump_goes_forward(target: str, expected: list[str]) -> None:
    steps = (
        "  - {id: a, action: say}\n"
        f"  - {{id: b, action: say, on_failure: {{step: {target}}}}}\n"
        "  - {id: c, action: say}\n"
    )

    assert codes(steps) == expected


def test_what_a_step_carries_comes_from_an_earlier_one() -> None:
    steps = FIND + "  - {id: b, action: say, carry: [a.best, a, c, a.x, b]}\n"

    assert codes(steps + "  - {id: c, action: say}\n") == ["P205", "P204", "P205"]


def test_gates_take_parameters_in_three_ways() -> None:
    head = "inputs: {name: path}\n"
    steps = (
        "  - id: a\n    action: say\n    gates:\n"
        "      - ready\n"
        "      - file_exists: {path: one}\n"
        "      - {gate: file_exists, with: {path: '${inputs.name}'}}\n"
    )

    gates = linked(steps, head).steps[0].gates

    assert [(gate.name, gate.component) for gate in gates] == [
        ("ready", "Judge"),
        ("file_exists", "Files"),
        ("file_exists", "Files"),
    ]
    assert codes("  - {id: a, action: say, gates: [file_exists]}\n") == ["P406"]
    assert codes("  - {id: a, action: say, gates: [{ready: {x: 1}}]}\n") == ["P405"]


def test_outputs_come_from_the_last_step_that_has_them_or_from_where_they_say() -> None:
    head = (
        "outputs:\n  count: integer\n  where: {type: map, value: '${steps.a.best}'}\n"
        "  text: {type: string, value: '${steps.a.count} found', required: false}\n"
    )

    process = linked(FIND + "  - {id: b, action: say}\n", head)

    assert msgspec.to_builtins(process.outputs[0].value)["path"] == ("steps", "a", "count")
    assert codes(FIND, "outputs: {cost: number}\n") == ["P209"]
    assert codes(FIND, "outputs: {count: string}\n") == ["P407"]
    assert codes(FIND, "outputs: {n: {type: integer, value: '${steps.a.best}'}}\n") == ["P407"]


def test_a_default_fits_its_type() -> None:
    head = (
        "inputs:\n  a: {type: integer, default: x}\n  b: {type: string, enum: [x, 1]}\n"
        "  c: {type: string, enum: [x], default: y}\n  d: {type: list, default: []}\n"
    )

    assert codes(FIND, head) == ["P207", "P207", "P207"]


CHILD = "---\nprocess: child\nversion: 1\ninputs: {n: integer}\noutputs: {count: integer}\nsteps:\n"


def with_child(step: str, child: str = CHILD + FIND) -> list[str]:
    return [each.code for each in compiled(process(step) + child).diagnostics]


def test_a_child_process_takes_its_inputs_and_gives_its_outputs() -> None:
    good = "  - {id: a, process: child, with: {n: 1}}\n"
    use = "  - {id: b, action: find, with: {path: x, limit: '${steps.a.count}'}}\n"

    assert with_child(good + use) == []
    assert with_child("  - {id: a, process: child}\n") == ["P406"]
    assert with_child("  - {id: a, process: child, with: {n: x}}\n") == ["P407"]
    assert with_child("  - {id: a, process: child, with: {n: 1, m: 2}}\n") == ["P405"]
    assert with_child("  - {id: a, process: chidl}\n") == ["P408"]
    assert with_child(good + use.replace("count", "cost")) == ["P204"]


def test_an_abstract_process_cannot_be_a_child() -> None:
    abstract = "---\nprocess: child\nversion: 1\nabstract: true\n"

    assert with_child("  - {id: a, process: child}\n", abstract) == ["P410"]


def test_the_digest_of_a_child_is_in_the_digest_of_its_parent() -> None:
    text = process("  - {id: a, process: child, with: {n: 1}}\n") + CHILD + FIND

    before = compiled(text).processes
    after = compiled(text.replace('path: "."', "path: x")).processes

    child = before["p"].steps[0].child
    assert child
    assert child.digest == before["child"].digest
    assert before["p"].source_digest == after["p"].source_digest
    assert before["p"].digest != after["p"].digest


@pytest.mark.parametrize(
    "edges",
    [["pp"], ["pq", "qp"], ["pq", "qr", "rp"]],
)
def test_processes_that_run_each_other_are_told(edges: list[str]) -> None:
    text = "---\n".join(
        f"process: {edge[0]}\nversion: 1\nsteps: [{{id: a, process: {edge[1]}}}]\n"
        for edge in edges
    )

    findings = compiled(text).diagnostics

    assert [each.code for each in findings] == ["P409"] * len(edges)
    assert findings[0].message.startswith("`p` runs `")
    assert findings[0].message.endswith("runs `p`")


def test_a_process_cannot_run_an_interface_that_it_implements() -> None:
    text = (
        "interface: i\nversion: 1\n---\n"
        "process: p\nversion: 1\nimplements: i\nsteps: [{id: a, process: i}]\n"
    )

    (finding,) = compiled(text).diagnostics

    assert finding.code == "P409"
    assert finding.message == "`p` runs `i` runs `p`"


def test_a_process_may_run_a_child_that_extends_it() -> None:
    text = (
        "process: base\nversion: 1\nsteps: [{id: a, process: child}]\n---\n"
        "process: child\nversion: 1\nextends: base\nsteps: [{id: a, action: say}]\n"
    )

    compilation = compiled(text)

    assert compilation.diagnostics == ()
    child = compilation.processes["base"].steps[0].child
    assert child
    assert child.digest == compilation.processes["child"].digest


def test_an_interface_that_is_run_needs_somebody_to_implement_it() -> None:
    text = "interface: i\nversion: 1\n---\n" + process("  - {id: a, process: i}\n")
    greedy = "---\nprocess: q\nversion: 1\nimplements: i\ninputs: {n: integer}\nsteps:\n" + FIND

    assert [each.code for each in compiled(text).diagnostics] == ["P411"]
    assert compiled(text).errors == ()
    assert [each.code for each in compiled(text + greedy).diagnostics] == ["P406"]


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("git tag v1", []),
        ("[git, tag, '${inputs.tag}']", []),
        ("[git, '--message=${inputs.tag}']", []),
        ("'${inputs.words}'", []),
        ("'git tag ${inputs.tag}'", ["P412"]),
        ("'git tag ${inputs.words}'", ["P412"]),
        ("'${inputs.tag}'", ["P412"]),
        ("'${inputs.any.run}'", ["P412"]),
    ],
)
def test_a_text_that_is_split_into_words_takes_no_references(run: str, expected: list[str]) -> None:
    inputs = "inputs: {tag: string, words: list, any: map}\n"

    as_step = codes(f"  - id: a\n    action: tell\n    with: {{run: {run}}}\n", inputs)
    as_gate = codes("  - {id: a, action: say}\n", f"{inputs}gates: [{{told: {{run: {run}}}}}]\n")

    assert (as_step, as_gate) == (expected, expected)


def test_a_linked_process_survives_the_trip_through_a_blob() -> None:
    steps = (
        "  - id: a\n    action: find\n    with: {path: '${inputs.n} x', tags: ['${inputs.n}']}\n"
        "    when: inputs.n in ['a', 'b'] and not (inputs.n == 'c' or inputs.n starts_with 'd')\n"
        "    on_failure: continue\n    retry: {attempts: 2}\n    needs: {reasoning: high}\n"
    )
    process = linked(steps, "inputs: {n: string}\ntriggers: [{type: event, match: {a: [1, x]}}]\n")

    assert msgspec.msgpack.decode(msgspec.msgpack.encode(process), type=LinkedProcess) == process
    assert msgspec.json.decode(msgspec.json.encode(process), type=LinkedProcess) == process


class Text(Struct):
    text: str


class Search(Struct):
    query: str
    limit: int = 5


class Sources(Struct):
    found: list[str]


class Draft(Struct):
    topic: str
    length: int
    sources: list[str] | None = None


class Address(Struct):
    address: str


class Message(Struct):
    message: str


class Approval(Struct):
    by: str = "anyone"


OFFICE = Symbols(
    [
        ActionSpec(
            name=name, component="Office", parameters=schema(parameters), result=schema(result)
        )
        for name, parameters, result in [
            ("proofread", Text, Text),
            ("search", Search, Sources),
            ("publish", Text, Address),
            ("send", Message, Text),
        ]
    ]
    + [ActionSpec(name="write_text", component="Office", parameters=schema(Draft))],
    [
        GateSpec(name="execution_context_exists", component="Office"),
        GateSpec(name="approved", component="Office", parameters=schema(Approval)),
        GateSpec(name="file_exists", component="Files", parameters=schema(Exists)),
    ],
)
SHELF = TopicTable({name: name for name in ("org.house_style", "team.newsletter", "team.readers")})


def test_a_process_that_uses_every_key_links_completely() -> None:
    text = (Path(__file__).parents[1] / "fixtures" / "processes" / "release.yaml").read_text()

    compilation = compile_sources({"release.yaml": text}, OFFICE, SHELF)

    assert [(each.code, each.span.line) for each in compilation.diagnostics] == [
        ("P210", 55),
        ("P210", 130),
    ]
    letter = compilation.processes["newsletter"]
    assert [step.id for step in letter.steps] == ["research", "draft", "check", "publish"]
    assert [gate.name for gate in letter.gates] == ["execution_context_exists", "approved"]
    assert [topic.topic for topic in letter.step("draft").knowledge] == [
        "org.house_style",
        "team.newsletter",
        "team.readers",
    ]
    rescue = letter.step("publish").on_failure
    assert isinstance(rescue, RunProcess)
    assert rescue.child.digest == compilation.processes["tell_editor"].digest
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(letter), type=LinkedProcess) == letter


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("{matches: list, count: integer, note: string}", []),
        ("{total: number}", ["action `find` never gives `total`"]),
        ("{cuont: integer}", ["action `find` never gives `cuont`"]),
        ("{count: {type: string, required: false}}", ["`count` as an integer, never as a string"]),
        ("{schema: {type: object, properties: {total: {}, best: {type: object}}}}", ["`total`"]),
        ("{schema: {type: object, properties: {best: {type: string}}}}", ["`best` as a map"]),
    ],
)
def test_a_declared_output_that_the_action_can_never_give_is_an_error(
    output: str, said: list[str]
) -> None:
    step = f'  - {{id: a, action: find, with: {{path: "."}}, output: {output}}}\n'

    diagnostics = found(step)

    assert [each.code for each in diagnostics] == ["P416"] * len(said)
    for each, words in zip(diagnostics, said, strict=True):
        assert words in each.message


def test_a_misspelt_output_is_named_where_it_stands_with_the_fix() -> None:
    text = process(
        '  - id: a\n    action: find\n    with: {path: "."}\n    output: {cuont: integer}\n'
    )

    (finding,) = compiled(text).diagnostics

    assert (finding.span.line, finding.span.column, finding.remedy) == (
        7,
        14,
        "did you mean `count`?",
    )
    assert finding.fix is not None
    assert compiled(apply_edits(text, finding.fix)).diagnostics == ()


def test_an_output_of_what_promises_nothing_is_checked_when_it_ran() -> None:
    assert codes("  - {id: a, action: say, output: {anything: string}}\n") == []


def test_a_declared_output_that_a_child_process_can_never_give_is_an_error() -> None:
    child = '  - {id: a, action: find, with: {path: "."}}\n'

    def of(output: str) -> list[str]:
        parent = process(f"  - {{id: b, process: child, with: {{n: 1}}, output: {output}}}\n")
        return [each.code for each in compiled(f"{parent}{CHILD}{child}").diagnostics]

    assert of("{count: integer}") == []
    assert of("{total: integer}") == ["P416"]
    assert of("{count: string}") == ["P416"]
