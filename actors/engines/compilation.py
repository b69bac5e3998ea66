"""The engine that compiles the context of a step: P = f(H, G), stored with its manifest."""

import contextlib
from collections.abc import Iterator

import msgspec

from cortex.bus import Event
from cortex.bus.events import (
    ComponentAnnounced,
    ComponentWithdrawn,
    ContextCompile,
    ContextCompiled,
    ContextRefused,
    ModelSelected,
)
from cortex.runtime.context import (
    ContextCompiler,
    ContextRefusedError,
    EncodingUnknownError,
    ItemLinesError,
    ItemRepeatedError,
    Prompt,
    TokenCounter,
)
from cortex.runtime.kernel import Component, Config, Delivery, Output, on
from cortex.runtime.knowledge import KnowledgeError
from cortex.runtime.log import Blobs
from cortex.runtime.models import ModelDescription, select

from .contexts import request_of

# What is wrong with the request itself: compiling it again would come to the same.
REFUSALS = (
    ContextRefusedError,
    EncodingUnknownError,
    ItemLinesError,
    ItemRepeatedError,
    KnowledgeError,
)


class CompilationEngine(Component):
    """Gathers what a step declares, compiles it for the model that its needs select, stores both.

    It computes, so it runs in a process of its own; which models there are it folds from what
    providers announce.
    """

    cpu = True
    recalls = 1

    def __init__(self, blobs: Blobs, config: Config) -> None:
        self._blobs = blobs
        self._config = config
        self._compilers: dict[str, ContextCompiler] = {}  # by encoding
        self._models: dict[str, ModelDescription] = {}

    def recall(self, event: Event, delivery: Delivery) -> None:
        """Fold what was announced before this start."""
        if isinstance(event, ComponentAnnounced | ComponentWithdrawn):
            self._fold(event)

    @on(ComponentAnnounced, where={"kind": "model"})
    def announced(self, event: ComponentAnnounced, delivery: Delivery) -> None:
        """Know a model more."""
        self._fold(event)

    @on(ComponentWithdrawn, where={"kind": "model"})
    def withdrawn(self, event: ComponentWithdrawn, delivery: Delivery) -> None:
        """Know a model less."""
        self._fold(event)

    @on(ContextCompile)
    def compile(self, event: ContextCompile, delivery: Delivery) -> Iterator[Output]:
        """Compile the prompt of one step, or say why it cannot be."""
        models = list(self._models.values())
        selected = select(models, event.needs, self._config.models.default)
        if isinstance(selected, str):
            yield _refused(event, selected)
            return
        try:
            request, notes = request_of(event, selected.model, self._config)
            prompt = self._compiler(selected.model.encoding).compile(request)
        except REFUSALS as error:
            yield _refused(event, str(error))
            return
        yield ModelSelected(
            execution_id=event.execution_id,
            step_id=event.step_id,
            model=selected.model.name,
            because=selected.because,
            runners_up=selected.runners_up,
        )
        yield self._compiled(event, prompt, selected.model.name, notes)

    def _compiled(
        self, event: ContextCompile, prompt: Prompt, model: str, notes: tuple[str, ...]
    ) -> ContextCompiled:
        manifest = prompt.manifest
        return ContextCompiled(
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            prompt=self._blobs.put(prompt.text.encode()),
            manifest=self._blobs.put(msgspec.json.encode(manifest)),
            model=model,
            tokens=prompt.tokens,
            sections=prompt.sections,
            window=manifest.effective_window,
            headroom=manifest.headroom,
            considered=len(manifest.items),
            included=sum(entry.state != "out" for entry in manifest.items),
            actions=(*notes, *_actions(prompt)),
        )

    def _compiler(self, encoding: str) -> ContextCompiler:
        if encoding not in self._compilers:
            self._compilers[encoding] = ContextCompiler(TokenCounter(encoding))
        return self._compilers[encoding]

    def _fold(self, event: ComponentAnnounced | ComponentWithdrawn) -> None:
        self._models.pop(event.name, None)
        if isinstance(event, ComponentAnnounced):
            # A model that does not describe itself cannot be selected, and must stop nobody.
            with contextlib.suppress(msgspec.ValidationError):
                description = msgspec.convert(event.traits, ModelDescription, strict=False)
                self._models[event.name] = description


def _refused(event: ContextCompile, reason: str) -> ContextRefused:
    return ContextRefused(
        execution_id=event.execution_id,
        step_id=event.step_id,
        attempt=event.attempt,
        reason=reason,
    )


def _actions(prompt: Prompt) -> Iterator[str]:
    for entry in prompt.manifest.items:
        if entry.state != "in":
            yield f"{entry.id} {entry.state}: {entry.reason}"
        for found in entry.neutralised:
            yield f"{entry.id}: {found.what} neutralised {found.count} times"
