"""Models as their providers announce them."""

import msgspec

from cortex.bus.events import ComponentAnnounced
from cortex.runtime.registry import MODEL, Registry

from .description import ModelDescription


def description_in(said: ComponentAnnounced) -> ModelDescription | None:
    """The description in an announcement; None in one that does not describe its model."""
    try:
        return msgspec.convert(said.traits, ModelDescription, strict=False)
    except msgspec.ValidationError:
        return None


def announced_models(registry: Registry) -> list[ModelDescription]:
    """The models that can be selected; one that does not describe itself cannot."""
    found = map(description_in, registry.of_kind(MODEL))
    return [description for description in found if description is not None]
