"""The engine that compiles the context of a step: P = f(H, G), stored with its manifest."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from cortex.bus import Event, Vocabulary, whom_it_serves
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
from cortex.runtime.cache import Cache, preloading
from cortex.runtime.context import (
    COMPILER,
    ContextRefusedError,
    EditNote,
    EditUnfitError,
    Inputs,
    Item,
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
from cortex.runtime.log import BlobError, Blobs
from cortex.runtime.memory import MemoryStoreError, RecalledPackage
from cortex.runtime.models import ModelDescription, Selected, announced_models
from cortex.runtime.processes import LinkedProcess
from cortex.runtime.registry import Registry, ToolSpec, evolve
from cortex.runtime.secrets import Mask

from .carried import OF_RESULTS, carried_items, results_in
from .choosing import OF_CALLS, choose, most_of, too_dear, unfit_for, unreached
from .contexts import OF_PREFIXES, History, Streams, prefix_before, request_of, with_window
from .directed import laid_down_for, offered
from .memories import memories_in, memory_items
from .offered import show_tools
from .passages import found_items
from .private import Private, users_folder
from .turns import OF_TURNS, AttemptOutcome, turns_of

if TYPE_CHECKING:
    from cortex.runtime.context import ContextCompiler

# Errors of the request itself: compiling again would give the same result.
REFUSALS = (
    ContextRefusedError,
    EditUnfitError,
    ItemLinesError,
    ItemRepeatedError,
    KnowledgeError,
    MemoryStoreError,
)

CHOICES = 3  # of models whose prompt turns out to be too expensive
DEAR = "every model that fits may take more than is left of its budget"


class _Made(NamedTuple):
    """A prompt with its notes and inputs."""

    prompt: Prompt
    notes: tuple[str, ...]
    inputs: Inputs
    packages: tuple[RecalledPackage, ...]  # of memory, that it may contain


class CompilationEngine(Component):
    """Gathers what a step declares, compiles it for the selected model, and stores the result.

    It runs in its own process, because it computes. It folds the models and tools from
    the announcements of providers and servers. Earlier turns are in the execution's stream.
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
        cache: Cache | None = None,
    ) -> None:
        self._blobs = blobs
        self._mask = mask or Mask()
        self._config = config
        self._home = home
        self._cache = cache or Cache(None, config.cache)
        self._preloading = preloading(self._cache)
        self._streams = Streams(history, vocabulary)
        # Not above: a runtime that runs this in another process needs no numpy.
        from cortex.runtime.context import ContextCompiler

        self._new_compiler = ContextCompiler
        self._compilers: dict[str, ContextCompiler] = {}  # by encoding
        self._registry = Registry()

    def on_start(self) -> None:
        """Load what was used of late, beside the first prompts."""
        self._preloading.start()

    def on_stop(self) -> None:
        """Record what was used."""
        self._preloading.end()
        self._cache.flush()

    def recall(self, event: Event, delivery: Delivery) -> None:
        """Fold announcements before this start."""
        self._registry = evolve(self._registry, event, delivery.source)

    def snapshot(self) -> bytes:
        """The known models and tools."""
        return msgspec.msgpack.encode(self._registry)

    def restore(self, snapshot: bytes) -> None:
        """Restore them."""
        self._registry = _REGISTRY(snapshot)

    @on(ComponentAnnounced, where={"kind": "model"})
    @on(ComponentAnnounced, where={"kind": "tool"})
    def announced(self, event: ComponentAnnounced, delivery: Delivery) -> None:
        """Add a model or a tool."""
        self._registry = evolve(self._registry, event, delivery.source)

    @on(ComponentWithdrawn, where={"kind": "model"})
    @on(ComponentWithdrawn, where={"kind": "tool"})
    def withdrawn(self, event: ComponentWithdrawn, delivery: Delivery) -> None:
        """Remove a model or a tool."""
        self._registry = evolve(self._registry, event, delivery.source)

    @on(ToolListed)
    def listed(self, event: ToolListed, delivery: Delivery) -> None:
        """Update the tools of a server."""
        self._registry = evolve(self._registry, event, delivery.source)

    @on(ContextCompile)
    def compile(self, event: ContextCompile, delivery: Delivery) -> Iterator[Output]:
        """Compile the prompt of one step, or report why that is not possible."""
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
        """An affordable model and its prompt, or the reason why there is none.

        Raises:
            One of REFUSALS: Required material is missing or does not fit.
        """
        failed = self._failed(event, delivery)
        models = announced_models(self._registry)
        selected = choose(event, models, self._config, failed)
        for _ in range(CHOICES):
            if isinstance(selected, str):
                return selected
            made = self._made(event, selected.model, delivery)
            call = too_dear(event, made.prompt, selected.model)
            if call is None:
                return selected, made
            # The maximum of the call is known only now: another model may be cheaper.
            selected = choose(event, models, self._config, failed, call)
        return selected if isinstance(selected, str) else DEAR

    def _is_dear(self, event: ContextCompile, delivery: Delivery) -> bool:
        """Whether a model would be asked with a higher budget."""
        if event.left is None:
            return False
        unbounded, failed = msgspec.structs.replace(event, left=None), self._failed(event, delivery)
        return isinstance(
            choose(
                unbounded,
                announced_models(self._registry),
                self._config,
                failed,
            ),
            Selected,
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
        specs, entries, of_tools = offered(event, (*self._registry.tools, *chosen))
        asked = (*entries, *(each.name for each in chosen if each in specs))
        tools = show_tools(asked, specs, told.enabled, home, laid_down_for(event))
        found, of_found = found_items(event, self._blobs, counter_for(model.encoding).count)
        remembered = memory_items(event, self._blobs, counter_for(model.encoding).count)
        carried = self._carried(event, delivery)
        material = (tools, told.turns, (*found, *remembered.items), self._blobs, carried)
        request, notes = request_of(event, model, self._config, *material)
        private = Private(self._home, event.execution_id, users_folder(), self._mask, event.tree)
        inputs = Inputs(
            encoding=model.encoding,
            request=private.hide_in(request),
            view=View(position=delivery.position, prefix=self._prefix(event, model.name, delivery)),
            program=VERSION,
            compiler=COMPILER,
        )
        prompt = self._compiler(model.encoding).compile(inputs.request, inputs.view)
        all_notes = (*notes, *of_tools, *of_found, *remembered.notes)
        return _Made(prompt, all_notes, inputs, remembered.packages)

    def _choices(self, event: ContextCompile) -> tuple[ToolSpec, ...]:
        """The actions that the model of a step with a goal may choose, from its linked process."""
        if not event.linked:
            return ()
        process = _READ(self._blobs.get(event.linked))
        return choices(process.step(event.step_id))

    def _carried(self, event: ContextCompile, delivery: Delivery) -> list[Item]:
        """The carried results, with what the log knows of them."""
        if not event.carry:
            return []
        before = self._streams.recorded(event.stream(), OF_RESULTS, delivery.position)
        results = results_in(before)
        process = None
        with suppress(BlobError):  # without it, only the positions are known
            process = _READ(self._blobs.get(results.linked)) if results.linked else None
        return carried_items(event.carry, results, process)

    def _prefix(self, event: ContextCompile, model: str, delivery: Delivery) -> Prefix:
        if event.turn == 0 and event.attempt == 1:
            return Prefix()
        before = self._streams.read(event.stream(), OF_PREFIXES, delivery.position)
        return prefix_before(before, event, model, self._blobs)

    def _compiled(self, event: ContextCompile, made: _Made, selected: Selected) -> ContextCompiled:
        prompt, manifest, model = made.prompt, made.prompt.manifest, selected.model
        memories, packages = memories_in(prompt, made.packages)
        return ContextCompiled(
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            turn=event.turn,
            prompt=self._blobs.put(prompt.encoded),
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
            most=most_of(prompt, model) if event.priced else None,
            better=selected.better,
            unedited=tuple(
                f"{_edited(edit)}, by {edit.by}: {edit.why}"
                for edit in manifest.edits
                if not edit.applied
            ),
            memories=memories,
            packages=packages,
            directives=laid_down_for(event).digest,
        )

    def _keep(self, data: bytes) -> str:
        # Most of it exists from earlier turns, and is not read again for a check.
        digest = sha256(data).hexdigest()
        known = whom_it_serves() is None and self._blobs.has(digest)
        return digest if known else self._blobs.put(data)

    def _compiler(self, encoding: str) -> "ContextCompiler":
        if encoding not in self._compilers:
            self._compilers[encoding] = self._new_compiler(
                counter_for(encoding), artefacts=self._cache
            )
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
