"""Which models people prohibited, and which one they want."""

from collections.abc import Iterable, Sequence

from cortex.runtime.models import ModelDescription

from .in_force import InForce
from .naming import directive_about, same_thing


def allowed_models(
    in_force: InForce, models: Iterable[ModelDescription]
) -> tuple[list[ModelDescription], list[str]]:
    """The models that are not prohibited, and a note on each of the others."""
    may: list[ModelDescription] = []
    notes: list[str] = []
    for model in models:
        about = (directive_about(name, in_force.prohibited) for name in _names_of(model))
        if (found := next(filter(None, about), None)) is None:
            may.append(model)
        else:
            notes.append(f"{model.name} is prohibited: {found.quoted}")
    return may, notes


def wanted_model(in_force: InForce, models: Sequence[ModelDescription]) -> tuple[str, str]:
    """The first model that is to be used, and the directive that says so; "" if none is named."""
    for wanted in in_force.wanted:
        for model in models:
            if any(same_thing(wanted.name, name) for name in _names_of(model)):
                return model.name, wanted.quoted
    return "", ""


def _names_of(model: ModelDescription) -> tuple[str, ...]:
    """What a person may mean *model* by: its own name, and that at its endpoint."""
    return tuple(filter(None, (model.name, model.model)))
