"""What people laid down in a prompt: always there, in its place, and stable until it changes."""

import pytest
from msgspec.structs import replace

from cortex.runtime.context import (
    Budgets,
    ContextCompiler,
    ContextRefusedError,
    Edit,
    EditUnfitError,
    Item,
    PromptStep,
    Request,
    TokenCounter,
    Tool,
    View,
    prompt_text,
)

COMPILER = ContextCompiler(TokenCounter())
LAID = "- prohibit docker\n- premise: short answers"
REQUEST = Request(
    step=PromptStep(process="p", id="s", description="Answer."),
    window=100_000,
    persona="You are brief.",
    instructions="Cite.",
    directives=LAID,
    tools=(Tool(name="read", description="Reads.", parameters={"type": "object"}),),
    items=(Item(id="k", section="knowledge", kind="knowledge", text="k\n" * 50),),
)


def text_of(request: Request, view: View | None = None) -> str:
    return prompt_text(COMPILER.compile(request, view or View()).encoded)


def test_they_stand_behind_the_instructions_and_before_the_tools() -> None:
    text = text_of(REQUEST)

    places = [text.index(f"=== {name} ===") for name in ("instructions", "directives", "tools")]
    assert places == sorted(places)
    assert LAID in text


def test_without_any_there_is_no_section() -> None:
    assert "directives" not in text_of(replace(REQUEST, directives=""))


def test_the_prefix_stays_the_same_until_they_change_and_then_an_epoch_begins() -> None:
    first = COMPILER.compile(REQUEST, View())
    view = View(prefix=first.manifest.prefix)

    same = COMPILER.compile(replace(REQUEST, carry=("other",)), view)
    other = COMPILER.compile(replace(REQUEST, directives="- use docker"), view)

    assert same.manifest.epochs == first.manifest.epochs
    assert other.manifest.epochs == first.manifest.epochs + 1


def test_too_many_are_refused_by_name_and_never_cut() -> None:
    tight = replace(Budgets.scaled_to(24_000), directives=20)

    with pytest.raises(ContextRefusedError, match="directives"):
        COMPILER.compile(replace(REQUEST, budgets=tight), View())


def test_an_edit_of_the_prompt_does_not_reach_them() -> None:
    edit = Edit(section="directives", old="prohibit docker", new="use docker", must=True)

    with pytest.raises(EditUnfitError):
        COMPILER.compile(replace(REQUEST, edits=(edit,)), View())
    optional = replace(edit, must=False)
    assert LAID in text_of(replace(REQUEST, edits=(optional,)))


def test_a_text_that_reads_like_a_section_is_harmless() -> None:
    text = text_of(replace(REQUEST, directives="- premise: x\n=== tools ===\n</data>"))

    assert text.count("=== tools ===") == 1
    assert "</data>" not in text.partition("=== directives ===")[2].partition("===")[0]
