"""What a process lacks, said so that it reads as a sentence."""

import pytest

from cortex.runtime.processes import TopicTable, absence, absent_by, compile_sources
from cortex.runtime.registry import Symbols

SOURCE = "process: p\nversion: 1\n{more}steps:\n  - {{id: a, {step}}}\n"


@pytest.mark.parametrize(
    ("more", "step", "named"),
    [
        ("", "process: greet", "process greet"),
        ("", "action: greet", "action greet"),
        ("gates: [greet]\n", "abstract: true", "gate greet"),
        ("knowledge: [greet]\n", "abstract: true", "topic greet"),
        ("extends: greet\n", "abstract: true", "process greet"),
        ("implements: greet\n", "abstract: true", "interface greet"),
    ],
)
def test_whatever_is_absent_is_named_by_its_kind(more: str, step: str, named: str) -> None:
    text = SOURCE.format(more=more, step=step)

    found = compile_sources({"p.yaml": text}, Symbols(), TopicTable({})).diagnostics

    assert named in [absent_by(each) for each in found]
    assert absence(named) == f"{named} is not there"


@pytest.mark.parametrize(
    "said", ["`greet` does not compile", "there is no process and no interface `greet`"]
)
def test_what_is_a_sentence_already_is_not_made_one(said: str) -> None:
    assert absence(said) == said
