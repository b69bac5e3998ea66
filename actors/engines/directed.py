"""What people laid down, as it steers a prompt: its lines, its tools and its model."""

from collections.abc import Iterable, Sequence

import msgspec

from cortex.bus.events import ContextCompile
from cortex.runtime.directives import InForce, LaidDown, directive_about, same_thing
from cortex.runtime.models import ModelDescription
from cortex.runtime.registry import ToolSpec


def laid_down_for(asked: ContextCompile) -> InForce:
    """What is in force for the prompt."""
    return InForce(directives=tuple(msgspec.convert(each, LaidDown) for each in asked.directives))


def lines_of(asked: ContextCompile) -> str:
    """The section of the prompt; "" if nothing is laid down."""
    return "\n".join(f"- {each.text}" for each in laid_down_for(asked).directives)


def offered(
    asked: ContextCompile, specs: Sequence[ToolSpec]
) -> tuple[tuple[ToolSpec, ...], tuple[str, ...], tuple[str, ...]]:
    """The tools that may be offered, the entries of `tools:` that may, and notes on the others."""
    prohibited = laid_down_for(asked).prohibited
    by_name = {spec.name: directive_about(spec.name, prohibited, spec.pack) for spec in specs}
    may = tuple(spec for spec in specs if by_name[spec.name] is None)
    by_entry = {
        each: directive_about(each, prohibited) or by_name.get(each) for each in asked.tools
    }
    entries = tuple(each for each, found in by_entry.items() if found is None)
    notes = tuple(
        f"the tool {each} is not offered: {found.quoted}"
        for each, found in by_entry.items()
        if found is not None
    )
    return may, entries, notes


def allowed_models(
    asked: ContextCompile, models: Iterable[ModelDescription]
) -> tuple[list[ModelDescription], list[str]]:
    """The models that are not prohibited, and a note on each of the others."""
    prohibited = laid_down_for(asked).prohibited
    may: list[ModelDescription] = []
    notes: list[str] = []
    for model in models:
        about = (directive_about(name, prohibited) for name in _names_of(model))
        if (found := next(filter(None, about), None)) is None:
            may.append(model)
        else:
            notes.append(f"{model.name} is prohibited: {found.quoted}")
    return may, notes


def wanted_model(asked: ContextCompile, models: Sequence[ModelDescription]) -> tuple[str, str]:
    """The first model that is to be used, and the directive that says so; "" if none is named."""
    for wanted in laid_down_for(asked).wanted:
        for model in models:
            if any(same_thing(wanted.name, name) for name in _names_of(model)):
                return model.name, wanted.quoted
    return "", ""


def _names_of(model: ModelDescription) -> tuple[str, ...]:
    """What a person may mean *model* by: its own name, and that at its endpoint."""
    return tuple(filter(None, (model.name, model.model)))
