"""Models: what each says of itself, how it is configured, and which one a step gets."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .address import Address, address_of
    from .catalogue import (
        CacheEntry,
        Catalogue,
        KnownModel,
        Vendor,
        announced_models,
        catalogue,
        description_in,
    )
    from .configured import EMBEDDED_MODEL, ModelConfig, ModelConfigError, ModelsConfig
    from .description import (
        PERSON,
        Caching,
        Level,
        ModelDescription,
        Price,
        Usage,
        cost,
        counted,
        dollars,
        plus,
    )
    from .endpoint import ASSUMED_WINDOW, Endpoint, describe, endpoint_of, endpoints
    from .inference import Inferred, WorkProfile, infer, window_for
    from .selection import AS_DEFAULT, TYPICAL, Selected, select, that_choose, without_stand_ins
else:
    lazily(__name__)

__all__ = [
    "ASSUMED_WINDOW",
    "AS_DEFAULT",
    "EMBEDDED_MODEL",
    "PERSON",
    "TYPICAL",
    "Address",
    "CacheEntry",
    "Caching",
    "Catalogue",
    "Endpoint",
    "Inferred",
    "KnownModel",
    "Level",
    "ModelConfig",
    "ModelConfigError",
    "ModelDescription",
    "ModelsConfig",
    "Price",
    "Selected",
    "Usage",
    "Vendor",
    "WorkProfile",
    "address_of",
    "announced_models",
    "catalogue",
    "cost",
    "counted",
    "describe",
    "description_in",
    "dollars",
    "endpoint_of",
    "endpoints",
    "infer",
    "plus",
    "select",
    "that_choose",
    "window_for",
    "without_stand_ins",
]
