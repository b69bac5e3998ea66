"""The engine that compiles the context of a step: P = f(H, G), stored with its manifest."""

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from cortex.bus import Event, Vocabulary
from cortex.bus.events import (
    VOCABULARY,
    ComponentAnnounced,
    ComponentWithdrawn,
    ContextCompile,
    ContextCompiled,
    ContextRefused,
    ModelSelected,
    ToolListed,
)
from cortex.runtime.context import (
    ContextRefusedError,
    EditNote,
    EditUnfitError,
    Inputs,
    ItemLinesError,
    ItemRepeatedError,
    Prefix,
    Prompt,
    View,
    counter_for,
    keep_inputs,
)
from cortex.runtime.executions import choices
from cortex.runtime.kernel import VERSION, Component, Config, Delivery, Home, Output, on
from cortex.runtime.knowledge import KnowledgeError
from cortex.runtime.log import Blobs
from cortex.runtime.models import ModelDescription, Selected, announced_models
from cortex.runtime.processes import LinkedProcess
from cortex.runtime.registry import Registry, ToolSpec, evolve
from cortex.runtime.secrets import Mask

from .choosing import OF_CALLS, choose, too_dear, unfit_for, unreached
from .contexts import OF_PREFIXES, History, Streams, prefix_before, request_of, with_window
from .found import found_items
from .offered import show_tools
from .private import Private, users_folder
from .turns import OF_TURNS, AttemptOutcome, turns_of

if TYPE_CHECKING:
    from cortex.runtime.context import ContextCompiler

# What is wrong with the request itself: compiling it again would come to the same.
REFUSALS = (
    ContextRefusedError,
    EditUnfitError,
    ItemLinesError,
    ItemRepeatedError,
    KnowledgeError,
)

CHOICES = 3  # of models whose prompt turns out to take more than can be paid
DEAR = "every model that fits may take more than is left of its budget"


class _Made(NamedTuple):
    """A prompt, what was noted on the way, and all that it was compiled from."""

    prompt: Prompt
    notes: tuple[str, ...]
    inputs: Inputs


class CompilationEngine(Component):
    """Gathers what a step declares, compiles it for the model that its needs select, stores both.

    It computes, so it runs in a process of its own; which models and tools there are it folds from
    what providers announce and servers list. Earlier turns of a step are in the execution's stream.
    """

    cpu = True
    recalls = 4

    def __init__(
        self,
        blobs: Blobs,
        config: Config,
        home: Home | None = None,
        history: History | None = None,
        vocabulary: Vocabulary = VOCABULARY,
        mask: Mask | None = None,
    ) -> None:
        self._blobs = blobs
        self._mask = mask or Mask()
        self._config = config
        self._home = home
        self._streams = Streams(history, vocabulary)
        # Not above: a runtime that has it run in a process of its own needs no numpy.
        from cortex.runtime.context import ContextCompiler

        self._new_compiler = ContextCompiler
        self._compilers: dict[str, ContextCompiler] = {}  # by encoding
        self._registry = Registry()

    def recall(self, event: Event, delivery: Delivery) -> None:
        """Fold what was announced before this start."""
        self._registry = evolve(self._registry, event, delivery.source)

    def snapshot(self) -> bytes:
        """The models and tools that are there."""
        return msgspec.msgpack.encode(self._registry)

    def restore(self, snapshot: bytes) -> None:
        """Take them up."""
        self._registry = _REGISTRY(snapshot)

    @on(ComponentAnnounced, where={"kind": "model"})
    @on(ComponentAnnounced, where={"kind": "tool"})
    def announced(self, event: ComponentAnnounced, delivery: Delivery) -> None:
        """Know a model or a tool more."""
        self._registry = evolve(self._registry, event, delivery.source)

    @on(ComponentWithdrawn, where={"kind": "model"})
    @on(ComponentWithdrawn, where={"kind": "tool"})
    def withdrawn(self, event: ComponentWithdrawn, delivery: Delivery) -> None:
        """Know a model or a tool less."""
        self._registry = evolve(self._registry, event, delivery.source)

    @on(ToolListed)
    def listed(self, event: ToolListed, delivery: Delivery) -> None:
        """Know what a server offers now."""
        self._registry = evolve(self._registry, event, delivery.source)

    @on(ContextCompile)
    def compile(self, event: ContextCompile, delivery: Delivery) -> Iterator[Output]:
        """Compile the prompt of one step, or say why it cannot be."""
        event = with_window(event, self._config, self._blobs)
        try:
            found = self._chosen(event, delivery)
        except REFUSALS as error:
            yield _refused(event, str(error))
            return
        if isinstance(found, str):
            yield _refused(event, found, dear=self._is_dear(event, delivery))
            return
        selected, made = found
        yield _selected(event, selected)
        yield self._compiled(event, made, selected)

    def _chosen(self, event: ContextCompile, delivery: Delivery) -> tuple[Selected, _Made] | str:
        """A model that can be paid and its prompt, or why there is none.

        Raises:
            One of REFUSALS: What must be in the prompt is not there, or does not fit.
        """
        failed, models = self._failed(event, delivery), announced_models(self._registry)
        selected = choose(event, models, self._config, failed)
        for _ in range(CHOICES):
            if isinstance(selected, str):
                return selected
            made = self._made(event, selected.model, delivery)
            call = too_dear(event, made.prompt, selected.model)
            if call is None:
                return selected, made
            # Only now it is known what the call takes at most: another model may be cheaper.
            selected = choose(event, models, self._config, failed, call)
        return selected if isinstance(selected, str) else DEAR

    def _is_dear(self, event: ContextCompile, delivery: Delivery) -> bool:
        """Whether a model would be asked if there were more to spend."""
        if event.left is None:
            return False
        unbounded, failed = msgspec.structs.replace(event, left=None), self._failed(event, delivery)
        return isinstance(
            choose(unbounded, announced_models(self._registry), self._config, failed), Selected
        )

    def _failed(self, event: ContextCompile, delivery: Delivery) -> dict[str, str]:
        if not any(failure.get("step") == event.step_id for failure in event.failures):
            return {}
        before = self._streams.read(event.stream(), OF_CALLS, delivery.position)
        return unreached(before, event.step_id)

    def _made(self, event: ContextCompile, model: ModelDescription, delivery: Delivery) -> _Made:
        told = AttemptOutcome()
        if event.turn:
            before = self._streams.read(event.stream(), OF_TURNS, delivery.position)
            told = turns_of(before, event, self._blobs)
        home = self._home.path if self._home else None
        chosen = self._choices(event)
        asked = (*event.tools, *(each.name for each in chosen))
        tools = show_tools(asked, (*self._registry.tools, *chosen), told.enabled, home)
        found, of_found = found_items(event, self._blobs, counter_for(model.encoding).count)
        request, notes = request_of(event, model, self._config, tools, told.turns, found)
        private = Private(self._home, event.execution_id, users_folder(), self._mask, event.tree)
        inputs = Inputs(
            encoding=model.encoding,
            request=private.hide_in(request),
            view=View(position=delivery.position, prefix=self._prefix(event, model.name, delivery)),
            program=VERSION,
        )
        prompt = self._compiler(model.encoding).compile(inputs.request, inputs.view)
        return _Made(prompt, (*notes, *of_found), inputs)

    def _choices(self, event: ContextCompile) -> tuple[ToolSpec, ...]:
        """What the model of a step with a goal may choose, as its process was linked."""
        if not event.linked:
            return ()
        process = _READ(self._blobs.get(event.linked))
        return choices(process.step(event.step_id))

    def _prefix(self, event: ContextCompile, model: str, delivery: Delivery) -> Prefix:
        if event.turn == 0 and event.attempt == 1:
            return Prefix()
        before = self._streams.read(event.stream(), OF_PREFIXES, delivery.position)
        return prefix_before(before, event, model, self._blobs)

    def _compiled(self, event: ContextCompile, made: _Made, selected: Selected) -> ContextCompiled:
        prompt, manifest, model = made.prompt, made.prompt.manifest, selected.model
        return ContextCompiled(
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            turn=event.turn,
            prompt=self._blobs.put(prompt.text.encode()),
            manifest=self._blobs.put(msgspec.json.encode(manifest)),
            inputs=keep_inputs(made.inputs, self._keep),
            model=model.name,
            provider=model.provider,
            tokens=prompt.tokens,
            sections=prompt.sections,
            window=manifest.effective_window,
            headroom=manifest.headroom,
            considered=len(manifest.items),
            included=sum(entry.state != "out" for entry in manifest.items),
            actions=(*made.notes, *_actions(prompt)),
            notes=made.notes,
            eligible=manifest.eligible,
            epochs=manifest.epochs,
            strategy=manifest.strategy,
            better=selected.better,
            unedited=tuple(
                f"{_edited(edit)}, by {edit.by}: {edit.why}"
                for edit in manifest.edits
                if not edit.applied
            ),
        )

    def _keep(self, data: bytes) -> str:
        # Most of it is there from the turns before, and is not read again to check it.
        digest = sha256(data).hexdigest()
        return digest if self._blobs.has(digest) else self._blobs.put(data)

    def _compiler(self, encoding: str) -> "ContextCompiler":
        if encoding not in self._compilers:
            self._compilers[encoding] = self._new_compiler(counter_for(encoding))
        return self._compilers[encoding]


_REGISTRY = msgspec.msgpack.Decoder(Registry).decode
_READ = msgspec.json.Decoder(LinkedProcess).decode


def _selected(event: ContextCompile, selected: Selected) -> ModelSelected:
    return ModelSelected(
        execution_id=event.execution_id,
        step_id=event.step_id,
        attempt=event.attempt,
        turn=event.turn,
        model=selected.model.name,
        provider=selected.model.provider,
        because=selected.because,
        runners_up=selected.runners_up,
        rejected=selected.rejected,
        needs=event.needs,
        cost=selected.cost,
        inferred=event.inferred,
        inferred_from=event.inferred_from,
        unfit=unfit_for(event),
    )


def _refused(event: ContextCompile, reason: str, *, dear: bool = False) -> ContextRefused:
    return ContextRefused(
        execution_id=event.execution_id,
        step_id=event.step_id,
        attempt=event.attempt,
        turn=event.turn,
        reason=reason,
        dear=dear,
    )


def _actions(prompt: Prompt) -> Iterator[str]:
    epochs = Counter(e.reason for e in prompt.manifest.items if e.reason.startswith("epoch "))
    for reason, times in epochs.items():
        yield f"{reason}: {times} items"
    for edit in prompt.manifest.edits:
        what = _edited(edit)
        yield f"{what} edited by {edit.by}" if edit.applied else f"{what} not edited: {edit.why}"
    for over in prompt.manifest.passed_over:
        yield f"{over.count} items of {over.section} passed over: {over.reason}"
    for entry in prompt.manifest.items:
        if entry.state != "in" and entry.reason not in epochs:
            yield f"{entry.id} {entry.state}: {entry.reason}"
        if entry.form:
            yield f"{entry.id} compressed, {entry.form}: {entry.saved} tokens fewer"
        for found in entry.neutralised:
            did = "marked" if found.what == "order" else "neutralised"
            yield f"{entry.id}: {found.what} {did} {found.count} times"


def _edited(edit: EditNote) -> str:
    return edit.item or f"the {edit.section} itself"
