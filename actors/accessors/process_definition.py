"""The accessor of process definitions: compiles what is submitted, and keeps it linked."""

from collections.abc import Iterator
from typing import Any

import msgspec

from cortex.bus import Event
from cortex.bus.events import (
    ComponentAnnounced,
    ComponentWithdrawn,
    ProcessAnswer,
    ProcessCompiled,
    ProcessList,
    ProcessRejected,
    ProcessRetired,
    ProcessSubmit,
    ProcessUnchanged,
    ProcessUnlinked,
)
from cortex.runtime.kernel import Component, Delivery, Home, Output, on
from cortex.runtime.knowledge import Root, TopicIndex, roots_of_home
from cortex.runtime.log import Blobs
from cortex.runtime.processes import Compilation, Diagnostic, compile_sources

from ..library import library_knowledge
from .announced import Announced, KnownTopics
from .definitions import Definitions


class ProcessDefinitionAccessor(Component):
    """Compiles sources against what components announced, and says what became of each file."""

    recalls = 1

    def __init__(self, blobs: Blobs, home: Home | None) -> None:
        self._blobs = blobs
        roots = [*(roots_of_home(home.path) if home else ())]
        roots.append(Root(str(library_knowledge()), "library"))
        self._topics = KnownTopics(TopicIndex(roots))
        self._announced = Announced()
        self._definitions = Definitions(blobs)
        self._compilation: Compilation | None = None
        self._position = 0

    def recall(self, event: Event, delivery: Delivery) -> None:
        """Fold what happened before this start; nothing is compiled for that."""
        self._position = delivery.position
        if isinstance(event, ComponentAnnounced | ComponentWithdrawn):
            self._announced.fold(event)
        else:
            self._definitions.fold(event)

    @on(ComponentAnnounced)
    @on(ComponentWithdrawn)
    def announced(
        self, event: ComponentAnnounced | ComponentWithdrawn, delivery: Delivery
    ) -> Iterator[Output]:
        """Link again what may be touched by it."""
        self._position = delivery.position
        if self._announced.fold(event) and self._definitions.sources:
            yield from self._relinked()

    @on(ProcessSubmit)
    def submit(self, event: ProcessSubmit, delivery: Delivery) -> Iterator[Output]:
        """Compile the files together with all that were accepted before."""
        self._position = delivery.position
        kept = self._definitions
        changed = {f: d for f, d in event.sources.items() if kept.sources.get(f) != d}
        same = tuple(sorted(event.sources.keys() - changed.keys()))
        if same:
            yield ProcessUnchanged(files=same)
        gone = [file for file in event.removed if file in kept.sources]
        if not changed and not gone:
            return
        sources = {f: d for f, d in kept.sources.items() if f not in gone} | changed
        compilation = self._compile(sources, strict=event.strict)
        wrong = self._wrong(compilation, changed)
        for file, found in wrong.items():
            yield ProcessRejected(file=file, diagnostics=_plain(found))
        if wrong:
            sources = {f: kept.sources.get(f, d) if f in wrong else d for f, d in sources.items()}
            sources = {f: d for f, d in sources.items() if f not in wrong or f in kept.sources}
            compilation = self._compile(sources)
        yield from self._entered(compilation, sources)
        empty = changed.keys() - wrong.keys() - {key[0] for key in compilation.units}
        if empty:
            yield ProcessUnchanged(files=tuple(sorted(empty)))

    @on(ProcessCompiled)
    @on(ProcessUnlinked)
    @on(ProcessRetired)
    def settled(self, event: Event, delivery: Delivery) -> None:
        """Take note; the answers are its own, and a recall finds them by this route."""
        self._position = delivery.position

    @on(ProcessList)
    def listed(self, event: ProcessList, delivery: Delivery) -> Iterator[Event]:
        """Every process, or the versions of one."""
        found = self._definitions.listed(event.name, event.text)
        yield ProcessAnswer(
            processes=tuple(found), position=self._position, sources=dict(self._definitions.sources)
        )

    def _compile(self, sources: dict[str, str], *, strict: bool = False) -> Compilation:
        texts = {file: self._blobs.get(digest).decode() for file, digest in sources.items()}
        compilation = compile_sources(
            texts,
            self._announced.registry(),
            self._topics,
            known=self._definitions.known(),
            strict=strict,
            previous=self._compilation,
        )
        self._compilation = None if strict else compilation
        return compilation

    def _wrong(
        self, compilation: Compilation, changed: dict[str, str]
    ) -> dict[str, list[Diagnostic]]:
        blocking = compilation.diagnostics if compilation.strict else compilation.errors
        files = {found.file for found in blocking} & changed.keys()
        return {
            file: [found for found in compilation.diagnostics if found.file == file]
            for file in sorted(files)
        }

    def _entered(self, compilation: Compilation, sources: dict[str, str]) -> Iterator[Output]:
        for event in self._definitions.changes(compilation, sources):
            self._definitions.fold(event)
            yield event
        self._definitions.sources = sources

    def _relinked(self) -> Iterator[Output]:
        compilation = self._compile(self._definitions.sources)
        yield from self._entered(compilation, self._definitions.sources)


def _plain(diagnostics: list[Diagnostic]) -> tuple[dict[str, Any], ...]:
    return tuple(msgspec.to_builtins(found) for found in diagnostics)
