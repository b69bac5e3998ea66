"""The accessor of process definitions: reads and compiles sources, and keeps them linked."""

from collections.abc import Iterator, Mapping, Set

import msgspec

from cortex.bus import Event
from cortex.bus.events import (
    ComponentAnnounced,
    ComponentWithdrawn,
    KnowledgeIndex,
    ProcessAnswer,
    ProcessCompiled,
    ProcessList,
    ProcessRejected,
    ProcessRetired,
    ProcessSubmit,
    ProcessUnchanged,
    ProcessUnlinked,
    ToolListed,
)
from cortex.runtime.kernel import Component, Config, Delivery, Home, Output, on
from cortex.runtime.knowledge import Root, TopicIndex, roots_of_home
from cortex.runtime.log import BlobError, Blobs
from cortex.runtime.processes import (
    RULES,
    Compilation,
    Diagnostic,
    KnowledgeTopics,
    SourceSpan,
    compile_sources,
    errors_of,
)
from cortex.runtime.registry import ACTION, GATE, TOOL, Registry, evolve
from cortex.runtime.tools import find_skills

from ..library import library_knowledge
from . import definitions
from .definitions import Definitions, plain

LARGEST_BYTES = 1 << 20  # the compiler reads no larger file


# To submissions, and about what changed: it has folded them once it says them.
ANSWERS = (ProcessCompiled, ProcessRejected, ProcessUnchanged, ProcessUnlinked, ProcessRetired)


class AccessorSnapshot(msgspec.Struct, frozen=True):
    """The contents of a snapshot."""

    registry: Registry
    definitions: definitions.DefinitionsSnapshot
    submitted: dict[int, ProcessSubmit]
    answered: tuple[int, ProcessSubmit]
    position: int
    handled: int  # all answers to events up to here are in it
    read_through: int  # all answers that stand in the log up to here are in it


class ProcessDefinitionAccessor(Component):
    """Compiles sources against the announcements of components, and reports on each file."""

    recalls = 4
    folds_results = ANSWERS

    def __init__(self, blobs: Blobs, home: Home | None, config: Config | None = None) -> None:
        self._blobs = blobs
        self._home = home
        roots = [*(roots_of_home(home.path) if home else ())]
        roots.append(Root(str(library_knowledge()), "library"))
        self._topics = KnowledgeTopics(TopicIndex(roots))
        servers = config.tools.mcp if config is not None else ()
        self._servers = tuple(server.name for server in servers)
        self._registry = Registry()
        self._definitions = Definitions(blobs)
        self._compilation: Compilation | None = None
        self._submitted: dict[int, ProcessSubmit] = {}  # recalled, and not applied yet, by position
        self._answered = 0, ProcessSubmit(sources={})  # the last one that was applied
        self._position = 0
        self._handled = 0  # position of the newest event that was not only recalled
        self._read_through = 0  # position of the newest answer that was recalled

    def recall(self, event: Event, delivery: Delivery) -> None:
        """Fold events before this start, without compiling."""
        self._position = delivery.position
        if isinstance(event, ComponentAnnounced | ComponentWithdrawn | ToolListed):
            self._learn(event, delivery.source)
        elif isinstance(event, ProcessSubmit):
            self._submitted[delivery.position] = event
        elif not isinstance(event, KnowledgeIndex):  # its answers are its changes
            self._fold_answer(event, delivery)

    def snapshot(self) -> bytes:
        """Announcements, definitions, and recalled events that are not applied yet."""
        kept = AccessorSnapshot(
            self._registry,
            self._definitions.kept(),
            self._submitted,
            self._answered,
            self._position,
            self._handled,
            self._read_through,
        )
        return msgspec.msgpack.encode(kept)

    def restore(self, snapshot: bytes) -> None:
        """Restore all of it."""
        kept = _KEPT(snapshot)
        self._registry = kept.registry
        self._definitions.restore(kept.definitions)
        self._submitted, self._answered = dict(kept.submitted), kept.answered
        self._position, self._handled, self._read_through = (
            kept.position,
            kept.handled,
            kept.read_through,
        )

    @on(ComponentAnnounced)
    @on(ComponentWithdrawn)
    def announced(
        self, event: ComponentAnnounced | ComponentWithdrawn, delivery: Delivery
    ) -> Iterator[Output]:
        """Link again what the announcement may affect."""
        self._begin(delivery)
        again = delivery.attempt > 1  # folded by an attempt that did not finish
        if (self._learn(event, delivery.source) or again) and self._has_sources():
            yield from self._relinked()

    @on(ToolListed)
    def tools_listed(self, event: ToolListed, delivery: Delivery) -> Iterator[Output]:
        """Link processes that name tools again, if a server's tools have changed."""
        self._begin(delivery)
        if (
            self._learn(event, delivery.source) or delivery.attempt > 1
        ) and self._definitions.sources:
            yield from self._relinked()

    @on(ProcessSubmit)
    def submit(self, event: ProcessSubmit, delivery: Delivery) -> Iterator[Output]:
        """Compile the files together with all accepted ones."""
        self._begin(delivery)
        # Every submission must be answered: requests for executions wait for earlier submissions.
        yield from list(self._submit(event)) or [ProcessUnchanged(files=())]

    def _submit(self, event: ProcessSubmit) -> Iterator[Output]:
        kept = self._definitions
        changed = {f: d for f, d in event.sources.items() if kept.sources.get(f) != d}
        same = tuple(sorted(event.sources.keys() - changed.keys()))
        if same:
            yield self._folded(ProcessUnchanged(files=same))
        gone = [file for file in _removed(event) if file in kept.sources]
        kept.rejections.fold(event, kept.sources)
        if not changed and not gone:
            yield from self._relinked()  # the things that the sources name may have changed
            return
        sources = {f: d for f, d in kept.sources.items() if f not in gone}
        sources |= kept.rejections.waiting() | changed
        tried = changed.keys() | kept.rejections.waiting().keys()
        wrong = self._sort_out(sources, tried, strict=event.strict)
        for file in sorted(wrong.keys() & changed.keys()):
            yield self._folded(
                ProcessRejected(
                    file=file,
                    diagnostics=plain(wrong[file]),
                    source=changed[file],
                    strict=event.strict,
                )
            )
        yield from self._entered(sources)
        empty = changed.keys() - wrong.keys() - self._definitions.sources.keys()
        if empty:
            yield self._folded(ProcessUnchanged(files=tuple(sorted(empty))))

    def _folded(self, event: Event) -> Event:
        self._definitions.fold(event)
        return event

    @on(KnowledgeIndex)
    def looked(self, event: KnowledgeIndex, delivery: Delivery) -> Iterator[Output]:
        """Link processes again that name a changed or removed topic.

        The watcher of the files asks for this; the index of knowledge need not exist.
        """
        self._begin(delivery)
        if self._has_sources():
            yield from self._relinked()

    @on(ProcessCompiled)
    @on(ProcessRejected)
    @on(ProcessUnchanged)
    @on(ProcessUnlinked)
    @on(ProcessRetired)
    def settled(self, event: Event, delivery: Delivery) -> None:
        """Do nothing: the answers are its own; a recall finds them by this route.

        But a report by another client about a file that could not be submitted is folded.
        """
        self._position = self._handled = delivery.position
        if not delivery.causation:
            self._definitions.fold(event)

    @on(ProcessList)
    def listed(self, event: ProcessList, delivery: Delivery) -> Iterator[Event]:
        """Every process, or the versions of one."""
        self._catch_up()
        kept = self._definitions
        found = () if event.sources else tuple(kept.listed(event.name, event.text))
        yield ProcessAnswer(
            processes=found,
            position=self._position,
            sources=dict(kept.sources),
            rejected={f: each.source for f, each in kept.rejections.by_file.items()},
        )

    def _sort_out(
        self, sources: dict[str, str], changed: Set[str], *, strict: bool
    ) -> dict[str, list[Diagnostic]]:
        """Revert each changed file in *sources* that has errors; returns the errors.

        In rounds: a file may be valid only together with another one that was reverted.
        """
        wrong: dict[str, list[Diagnostic]] = {}
        while True:
            texts, unreadable = self._texts(sources)
            compilation = self._compile(texts, strict=strict)
            found = [*unreadable, *compilation.diagnostics]
            blocking = found if strict else errors_of(found)
            files = {each.file for each in blocking} & changed - wrong.keys()
            if not files:
                return wrong
            for file in files:
                wrong[file] = [each for each in found if each.file == file]
                sources.pop(file)
                if file in self._definitions.sources:
                    sources[file] = self._definitions.sources[file]

    def _texts(self, sources: Mapping[str, str]) -> tuple[dict[str, str], list[Diagnostic]]:
        texts: dict[str, str] = {}
        unreadable: list[Diagnostic] = []
        for file, digest in sources.items():
            text = read_blob(self._blobs, digest, file)
            if isinstance(text, str):
                texts[file] = text
            else:
                unreadable.append(text)
        return texts, unreadable

    def _compile(self, texts: dict[str, str], *, strict: bool = False) -> Compilation:
        skills = find_skills(self._home.path) if self._home else ()
        compilation = compile_sources(
            texts,
            self._registry.symbols({each.name: each.digest for each in skills}, self._servers),
            self._topics,
            known=self._definitions.known(),
            strict=strict,
            previous=self._compilation,
        )
        if not strict:
            self._compilation = compilation
        return compilation

    def _relinked(self) -> Iterator[Output]:
        """Compile again, including rejected files, whose missing parts may exist now."""
        waiting = self._definitions.rejections.waiting()
        sources = self._definitions.sources | waiting
        if waiting:
            self._sort_out(sources, waiting.keys(), strict=False)
        yield from self._entered(sources)

    def _entered(self, sources: Mapping[str, str]) -> Iterator[Output]:
        compilation = self._compile(self._texts(sources)[0])
        held = {file for file, _ in compilation.units}
        sources = {file: digest for file, digest in sources.items() if file in held}
        # Everything is computed before anything is folded: a failure leaves no half of a change.
        changes = list(self._definitions.changes(compilation, sources))
        for event in changes:
            self._definitions.fold(event)
        self._definitions.sources = sources
        yield from changes

    def _has_sources(self) -> bool:
        return bool(self._definitions.sources or self._definitions.rejections.waiting())

    def _learn(self, event: Event, source: str) -> bool:
        """Update the registry; return whether anything changed that a process may name."""
        before, self._registry = self._registry, evolve(self._registry, event, source)
        about_models = isinstance(event, ComponentAnnounced | ComponentWithdrawn) and (
            event.kind not in (ACTION, GATE, TOOL)
        )
        return self._registry is not before and not about_models

    def _follow(self, position: int, answer: Event | None = None) -> None:
        """While recalling, fold the parts of submissions up to *position* that their answers lack.

        Answers follow all submissions of a page, so that a submission counts only after the
        first event that it or a later one caused.
        """
        for at in [at for at in self._submitted if at <= position]:
            self._answered = at, self._submitted.pop(at)
            self._definitions.drop(_removed(self._answered[1]))
        if isinstance(answer, ProcessUnchanged) and self._answered[0] == position:
            submitted, kept = self._answered[1].sources, self._definitions.sources
            self._definitions.drop([f for f in answer.files if submitted[f] != kept.get(f)])

    def _fold_answer(self, event: Event, delivery: Delivery) -> None:
        """While recalling, fold an answer, unless a snapshot contains it."""
        cause = delivery.causation or 0
        if not cause:
            self._definitions.fold(event)
        elif cause > self._handled and delivery.position > self._read_through:
            self._follow(cause, event)
            self._definitions.fold(event)
            self._read_through = delivery.position

    def _begin(self, delivery: Delivery) -> None:
        """Fold the rest of the past; from here on events are handled."""
        self._position = self._handled = delivery.position
        self._catch_up()

    def _catch_up(self) -> None:
        if self._submitted:
            self._follow(max(self._submitted))


_KEPT = msgspec.msgpack.Decoder(AccessorSnapshot).decode


def _removed(event: ProcessSubmit) -> tuple[str, ...]:
    return tuple(file for file in event.removed if file not in event.sources)


def read_blob(blobs: Blobs, digest: str, file: str) -> str | Diagnostic:
    """The text in the blob *digest*, which was submitted as *file*."""
    try:
        data = blobs.get(digest)
    except BlobError as error:
        return _finding("P014", f"the file cannot be read: {error}", file)
    if len(data) > LARGEST_BYTES:
        return _finding("P001", f"the file has more than {LARGEST_BYTES:,} bytes", file)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _finding("P003", f"byte {error.start:,} is not UTF-8", file, line)


def _finding(code: str, message: str, file: str, line: int = 1) -> Diagnostic:
    rule, span = RULES[code], SourceSpan(line, 1, line, 1)
    return Diagnostic(
        code=code,
        severity=rule.severity,
        message=message,
        file=file,
        span=span,
        remedy=rule.remedy,
    )
