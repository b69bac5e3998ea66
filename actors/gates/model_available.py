"""The gate `model_available`: some model meets what the work needs."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import msgspec

from cortex.bus import Event, Recorded, Vocabulary
from cortex.bus.events import ComponentAnnounced, ComponentWithdrawn
from cortex.runtime.functions import GateStep, Verdict, gate
from cortex.runtime.kernel import Component, Config
from cortex.runtime.models import Level, ModelDescription, select


class ModelNeeds(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is asked of a model, as a step says it under `needs:`."""

    reasoning: Level | None = None
    code: Level | None = None
    speed: Level | None = None
    sensitivity: Literal["public", "internal", "local"] | None = None
    context_tokens: int | None = None


class ModelAvailableParameters(msgspec.Struct, frozen=True):
    """What `model_available` takes."""

    needs: ModelNeeds = ModelNeeds()


class ModelAvailable(Component):
    """Passes when a model that was announced would be selected for the needs."""

    def __init__(
        self,
        config: Config,
        history: Callable[[str], Iterator[Recorded]],
        vocabulary: Vocabulary,
    ) -> None:
        self._config = config
        self._history = history
        self._vocabulary = vocabulary

    @gate("model_available")
    def evaluate(self, asked: ModelAvailableParameters, step: GateStep) -> Verdict:
        """Select one, as the step would."""
        told = (each for each in self._history("registry") if each.key == "model")
        models = announced(self._vocabulary.read(each) for each in told)
        needs = msgspec.to_builtins(asked.needs)
        selected = select(models, needs, self._config.models.default)
        if isinstance(selected, str):
            return Verdict.failed(f"{selected}: add a model to config.toml", needs=needs)
        model, others = selected.model.name, list(selected.runners_up)
        return Verdict.passed(model=model, because=selected.because, runners_up=others)


def announced(events: Iterable[Event]) -> list[ModelDescription]:
    """The models that are announced and were not withdrawn."""
    models: dict[str, ModelDescription] = {}
    for event in events:
        if isinstance(event, ComponentWithdrawn):
            models.pop(event.name, None)
        elif isinstance(event, ComponentAnnounced):
            models.pop(event.name, None)
            # A model that does not describe itself cannot be selected, and must stop nobody.
            with contextlib.suppress(msgspec.ValidationError):
                models[event.name] = msgspec.convert(event.traits, ModelDescription, strict=False)
    return list(models.values())
