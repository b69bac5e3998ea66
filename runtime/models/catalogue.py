"""The catalogue of known models: fills in what a user's configuration leaves out."""

import datetime
import re
import tomllib
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

from cortex.bus.events import ComponentAnnounced
from cortex.runtime.registry import MODEL, Registry

from .description import Caching, Level, ModelDescription, Price

# What may follow a known model's id: a snapshot of it costs the same. Anything else, "-pro" or a
# later version, is another model, with an unknown price.
_SNAPSHOT = re.compile(r"(?:[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|latest))?")


class Vendor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a provider's models are, unless base_url says otherwise."""

    provider: str
    base_url: str
    key_env: str  # name of the variable that holds the key for that endpoint, and for no other
    path: str  # what requests through a unix socket start with


class KnownModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of one model, or of all models of an embedded provider."""

    provider: str
    window: int
    model: str = ""  # its id; a snapshot of it may have a date after that
    reasoning: Level | None = None
    code: Level | None = None
    speed: Level | None = None
    price: Price = Price()
    seen: Literal["vendor", "reported", ""] = ""  # who said so; empty for what we made


class CacheEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of the prompt cache of one model, or of all others of a provider."""

    provider: str
    caching: Caching
    model: str = ""  # its id; empty for all that are not named


class Catalogue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that is known."""

    looked_up: datetime.date  # when prices and windows were
    vendors: tuple[Vendor, ...] = ()
    embedded: tuple[KnownModel, ...] = ()
    models: tuple[KnownModel, ...] = ()
    caches: tuple[CacheEntry, ...] = ()

    @property
    def providers(self) -> tuple[str, ...]:
        """The providers that come with Cortex."""
        return (*(each.provider for each in self.vendors), *(e.provider for e in self.embedded))

    def vendor(self, provider: str) -> Vendor | None:
        """The vendor whose endpoint *provider* speaks to, where it has one."""
        return next((v for v in self.vendors if v.provider == provider), None)

    def is_embedded(self, provider: str) -> bool:
        """Whether *provider* answers on this host, without an endpoint."""
        return any(known.provider == provider for known in self.embedded)

    def find(self, provider: str, model: str) -> KnownModel | None:
        """What is known of *model*: the longest known id that it is, or is a snapshot of."""
        for known in self.embedded:
            if known.provider == provider:
                return known
        fitting = [k for k in self.models if k.provider == provider and _is(model, k.model)]
        return max(fitting, key=lambda known: len(known.model), default=None)

    def caching(self, provider: str, model: str) -> Caching:
        """How *provider* keeps prefixes for *model*: by the longest known id, else as it does."""
        fitting = [
            kept
            for kept in self.caches
            if kept.provider == provider and (not kept.model or _is(model, kept.model))
        ]
        best = max(fitting, key=lambda kept: len(kept.model), default=None)
        return best.caching if best else Caching()


@cache
def catalogue() -> Catalogue:
    """The catalogue that comes with Cortex."""
    text = resources.files(__package__).joinpath("catalogue.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), Catalogue)


def _is(model: str, known: str) -> bool:
    return model.startswith(known) and _SNAPSHOT.fullmatch(model, len(known)) is not None


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
