"""What the compiler makes of files: every trap of YAML is one clear finding, never a traceback."""

import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.processes import (
    Diagnostic,
    TopicTable,
    apply_edits,
    compile_sources,
    parse,
)
from cortex.runtime.registry import Symbols

from ..compiled_folder import compile_folder

FIXTURES = Path(__file__).parents[1] / "fixtures" / "processes"
RELEASE = (FIXTURES / "release.yaml").read_text()
MINIMAL = "process: p\nversion: 1\nsteps:\n  - id: a\n    action: act\n"


def found(text: str) -> list[Diagnostic]:
    return list(parse(textwrap.dedent(text), "p.yaml").diagnostics)


def codes(text: str) -> list[str]:
    return [each.code for each in found(text)]


def with_step(lines: str) -> str:
    return MINIMAL + textwrap.indent(textwrap.dedent(lines), "    ")


def test_a_file_that_uses_every_key_parses_without_a_word() -> None:
    parsed = parse(RELEASE, "release.yaml")

    assert parsed.diagnostics == ()
    assert [each.name for each in parsed.definitions] == [
        "publication",
        "text_work",
        "newsletter",
        "tell_editor",
    ]


def test_everything_that_is_wrong_is_reported_in_one_go() -> None:
    text = """\
        process: p
        verison: 1
        gates: [branch clean]
        knowledge: 3
        trigger: {type: evnt}
        steps:
          - id: a
            action: act
            retry: {attempts: 0}
            timeout: soon
          - action: act
            unknown: 1
        """

    places = [(each.code, each.span.line) for each in found(text)]

    assert places == [
        ("P102", 1),
        ("P101", 2),
        ("P105", 3),
        ("P103", 4),
        ("P104", 5),
        ("P106", 9),
        ("P108", 10),
        ("P102", 11),
        ("P101", 12),
    ]


def test_an_unknown_key_names_the_nearest_known_one_and_its_fix_corrects_it() -> None:
    text = MINIMAL.replace("steps:", "stpes:")

    (finding,) = found(text)

    assert finding.code == "P101"
    assert "did you mean `steps`?" in finding.remedy
    assert finding.fix
    assert apply_edits(text, finding.fix) == MINIMAL


def test_places_count_from_one_and_end_after_the_last_character() -> None:
    (finding,) = found("process: p\nversion: 1.10\n")

    assert (finding.span.line, finding.span.column) == (2, 10)
    assert (finding.span.end_line, finding.span.end_column) == (2, 14)


def test_an_error_inside_an_expression_is_pointed_at() -> None:
    (finding,) = found(with_step("when: inputs.n = 3\n"))

    assert finding.code == "P202"
    assert (finding.span.line, finding.span.column) == (6, 20)
    assert "write `==`" in finding.message


@pytest.mark.parametrize(
    ("value", "instead"),
    [("yes", "true"), ("on", "true"), ("no", "false"), ("Off", "false")],
)
def test_a_boolean_of_older_yaml_is_refused_with_the_word_that_is_meant(
    value: str, instead: str
) -> None:
    text = f"process: p\nversion: 1\nabstract: {value}\nsteps: []\n"

    (finding,) = found(text)

    assert finding.code == "P008"
    assert finding.fix
    assert f"abstract: {instead}\n" in apply_edits(text, finding.fix)


@pytest.mark.parametrize(
    "value",
    ["yes", "on", "0755", "0x1F", "1_000", "12:30:00", "2024-01-01", ".inf", "0o17", "9" * 5000],
)
def test_a_value_that_readers_disagree_on_has_to_be_quoted(value: str) -> None:
    text = with_step(f"with:\n  value: {value}\n")

    (finding,) = found(text)

    assert finding.code == "P008"
    assert finding.fix
    assert codes(apply_edits(text, finding.fix)) == []


@pytest.mark.parametrize("version", ["1.10", '"1"', "0", "-1", "true", "v2", "[1]", ""])
def test_a_version_is_a_whole_number_from_one(version: str) -> None:
    assert codes(f"process: p\nversion: {version}\nsteps: []\n") == ["P107"]


def test_the_key_on_of_a_retry_needs_no_quotes_but_a_parameter_does() -> None:
    retry = with_step("retry: {attempts: 2, on: timeout}\n")
    parameter = with_step("with: {on: push}\n")

    assert codes(retry) == []
    assert codes(parameter) == ["P008"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "P012"),
        ("# nothing here\n", "P012"),
        ("- a\n- b\n", "P011"),
        ("just text", "P011"),
        ("proces: p\nversion: 1\n", "P011"),
        ("process: p\ninterface: p\nversion: 1\n", "P011"),
        ("process: p\n\tversion: 1\n", "P013"),
        ("process: [p\n", "P002"),
        ("process: p\nprocess: q\nversion: 1\nsteps: []\n", "P009"),
        ("process: p\nversion: 1\n1: x\nsteps: []\n", "P010"),
        ("process: p\nversion: 1\n? [a]\n: b\nsteps: []\n", "P010"),
        ("process: p\0\n", "P003"),
        ("process: p\ud800\n", "P003"),
        ("process: p\nversion: 1\ndescription: ⟦secret*****⟧\nsteps: []\n", "P015"),
        ("process: &name p\n", "P006"),
        ("process: !!python/object:os.system p\n", "P007"),
        ("process: p\nversion: 1\n<<: {a: 1}\nsteps: []\n", "P006"),
    ],
)
def test_each_trap_is_one_finding(text: str, code: str) -> None:
    assert [each.code for each in parse(text, "p.yaml").diagnostics][:1] == [code]
    assert len(found(text)) <= 2


BOMBS = {
    "billion laughs": "a: &a [x]\n"
    + "".join(f"{n}: &{n} [*{p},*{p}]\n" for p, n in zip("abcdefgh", "bcdefghi", strict=True)),
    "an alias to itself": "a: &a [*a]\n",
    "ten thousand lists": "[" * 10_000,
    "ten thousand maps": "{a: " * 10_000,
    "ten thousand blocks": "- " * 10_000,
    "ten megabytes": "a: b\n" * 2_000_000,
    "a million values": "[" + "[]," * 340_000 + "]",
    "many broken documents": "---\n{\n" * 150_000,
    "one long scalar": "process: " + "x" * 1_000_000,
    "deep condition": with_step(f"when: {'(' * 900}true{')' * 900}\n"),
    "long negation": with_step(f"when: {'not ' * 400}true\n"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_with_few_findings(name: str) -> None:
    findings = parse(BOMBS[name], "bomb.yaml").diagnostics

    assert 1 <= len(findings) <= 20


def test_a_reference_in_flow_style_without_quotes_says_so() -> None:
    (finding,) = found(with_step("with: {path: ${inputs.x}}\n"))

    assert finding.code == "P002"
    assert "put `${...}` in quotes" in finding.remedy


def test_a_broken_document_does_not_hide_the_next_one() -> None:
    parsed = parse(f"process: [\n---\n{MINIMAL}---\n{MINIMAL.replace(': p', ': q')}", "p.yaml")

    assert [each.code for each in parsed.diagnostics] == ["P002"]
    assert [each.name for each in parsed.definitions] == ["p", "q"]


@pytest.mark.parametrize("word", ["model: gpt-5", "provider: anthropic", "reasoning: claude"])
def test_a_need_never_names_a_vendor_or_a_model(word: str) -> None:
    assert codes(with_step(f"needs: {{{word}}}\n")) == ["P110"]


def test_a_strategy_that_nobody_knows_is_named_with_those_that_there_are() -> None:
    (finding,) = found(with_step("strategy: just-in-tim\n"))

    assert (finding.code, finding.fix[0].text if finding.fix else "") == ("P104", "just-in-time")
    assert "expected one of `just-in-time`, `pre-assembled`" in finding.message
    assert codes(with_step("strategy: just-in-time\n")) == []


def test_a_step_never_names_a_model() -> None:
    assert codes(with_step("model: some-model\n")) == ["P110"]


@pytest.mark.parametrize(
    ("written", "seconds"), [("90", 90), ("1.5", 1.5), ("90s", 90), ("5m", 300), ("250ms", 0.25)]
)
def test_a_timeout_is_seconds_or_has_a_unit(written: str, seconds: float) -> None:
    definition = parse(with_step(f"timeout: {written}\n"), "p.yaml").definitions[0]

    assert definition.steps[0].timeout_s == seconds  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "trigger",
    ['cron: "* * *"', 'cron: "99 * * * *"', 'cron: "* * * * *"\n  timezone: Mars/Olympus'],
)
def test_a_schedule_is_five_fields_and_a_known_time_zone(trigger: str) -> None:
    assert codes(MINIMAL + f"trigger:\n  type: schedule\n  {trigger}\n") == ["P109"]


@given(st.text(max_size=300))
@settings(max_examples=300, deadline=None)
def test_no_text_whatever_raises(text: str) -> None:
    parse(text, "any.yaml")


@given(
    st.lists(
        st.tuples(
            st.integers(0, len(RELEASE)),
            st.integers(0, 30),
            st.sampled_from(
                [
                    "",
                    "\n",
                    "  ",
                    ":",
                    "- ",
                    "[",
                    "}",
                    '"',
                    "${",
                    "&a ",
                    "*a",
                    "yes",
                    "1.10",
                    "---\n",
                ]
            ),
        ),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=200, deadline=None)
def test_a_damaged_file_is_findings_and_never_an_exception(
    damage: list[tuple[int, int, str]],
) -> None:
    text = RELEASE
    for place, length, instead in damage:
        text = text[:place] + instead + text[place + length :]

    compilation = compile_sources({"damaged.yaml": text}, Symbols(), TopicTable({}))

    assert compilation.diagnostics
    assert all(each.span.line >= 1 and each.span.column >= 1 for each in compilation.diagnostics)


def test_a_file_that_cannot_be_read_is_a_finding_beside_the_others(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(MINIMAL)
    (tmp_path / "latin.yaml").write_bytes(b"process: caf\xe9\n")
    (tmp_path / "large.yml").write_bytes(b"#" * (1 << 21))
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    (tmp_path / ".hidden.yaml").write_text("{")

    compilation = compile_folder(tmp_path, Symbols(), TopicTable({}))

    by_file = [(each.file, each.code) for each in compilation.diagnostics]
    assert by_file == [
        ("gone.yaml", "P014"),
        ("good.yaml", "P401"),
        ("large.yml", "P001"),
        ("latin.yaml", "P003"),
    ]
