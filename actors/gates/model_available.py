"""The gate `model_available`: some model meets what the work needs."""

from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from cortex.bus import Recorded, Vocabulary
from cortex.runtime.functions import GateStep, Verdict, gate
from cortex.runtime.kernel import Component, Config
from cortex.runtime.models import Level, announced_models, select
from cortex.runtime.registry import MODEL, STREAM, registry_of


class ModelNeeds(msgspec.Struct, frozen=True, omit_defaults=True):
    """The requirements of a step for its model, as written under `needs:`."""

    reasoning: Level | None = None
    code: Level | None = None
    speed: Level | None = None
    sensitivity: Literal["public", "internal", "local"] | None = None
    context_tokens: int | None = None


class ModelAvailableParameters(msgspec.Struct, frozen=True):
    """What `model_available` takes."""

    needs: ModelNeeds = ModelNeeds()


class ModelAvailable(Component):
    """Passes when Cortex would select an announced model for the needs."""

    rests = True

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
        records = (each for each in self._history(STREAM) if each.key == MODEL)
        models = announced_models(registry_of(records, self._vocabulary.read))
        needs = msgspec.to_builtins(asked.needs)
        selected = select(models, needs, self._config.models.default)
        if isinstance(selected, str):
            return Verdict.failed(f"{selected}: add a model to config.toml", needs=needs)
        model, others = selected.model.name, list(selected.runners_up)
        return Verdict.passed(model=model, because=selected.because, runners_up=others)
