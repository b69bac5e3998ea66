"""`find:` of a step: what may be written, what is refused, and what it is linked to."""

import msgspec
import pytest
from msgspec import UNSET

from cortex.runtime.processes import Compilation, Find, TopicTable, compile_sources
from cortex.runtime.registry import ActionSpec, Symbols

REGISTRY = Symbols(
    [
        ActionSpec(name="ask", component="Asker", asks_model=True),
        ActionSpec(name="work", component="Worker"),
    ]
)
TOPICS = TopicTable({"engineering.testing": "testing.md", "team": "team.md"})


def compiled(find: str, action: str = "ask") -> Compilation:
    source = (
        "process: p\nversion: 1\ninputs: {test: string, note: {type: string, required: false}}\n"
        f"steps:\n  - id: one\n    action: {action}\n{find}"
    )
    return compile_sources({"p.yaml": source}, REGISTRY, TOPICS)


def found(find: str) -> Find:
    compilation = compiled(f"    find: {find}\n")
    assert not compilation.diagnostics
    linked = compilation.processes["p"].steps[0].find
    assert linked is not UNSET
    return linked


def test_one_question_may_stand_alone_and_several_in_a_list() -> None:
    alone, listed = found("what about ${inputs.test}"), found('["a b", "c"]')

    assert (len(alone.texts), alone.under, alone.passages, alone.tokens) == (1, (), 100, None)
    assert len(listed.texts) == 2


def test_it_may_be_bounded_in_where_and_how_much() -> None:
    bounded = found("{text: a b, under: [engineering, team], passages: 3, tokens: 500}")

    assert (bounded.under, bounded.passages) == (("engineering", "team"), 3)
    assert bounded.tokens == 500
    assert found("{text: a b, under: team}").under == ("team",)


@pytest.mark.parametrize(
    ("find", "codes"),
    [
        ('""', ["P113"]),
        ('"  "', ["P113"]),
        ("[]", ["P112"]),
        ("[a, '']", ["P113"]),
        ("12", ["P103"]),
        ("{under: team}", ["P102"]),
        ("{text: a, top: 3}", ["P101"]),
        ("{text: a, passages: 0}", ["P106"]),
        ("{text: a, passages: 101}", ["P106"]),
        ("{text: a, tokens: 0}", ["P106"]),
        ("{text: a, under: nothing.here}", ["P415"]),
        ("{text: a, under: eng}", ["P415"]),
        ('"about {{inputs.test}}"', ["P202"]),
        ("about ${inputs.tset}", ["P204"]),
        ("about ${steps.two.text}", ["P204"]),
        ("about ${inputs.note}", ["P210"]),
        ("about ${inputs.test", ["P202"]),
    ],
)
def test_what_cannot_be_asked_is_diagnosed(find: str, codes: list[str]) -> None:
    assert [each.code for each in compiled(f"    find: {find}\n").diagnostics] == codes


def test_a_step_that_asks_no_model_is_warned() -> None:
    (finding,) = compiled("    find: a b\n", action="work").diagnostics

    assert (finding.code, finding.severity) == ("P215", "warning")


def test_a_step_without_it_is_linked_as_it_always_was() -> None:
    (step,) = msgspec.to_builtins(compiled("").processes["p"])["steps"]

    assert "find" not in step
