"""The compiled prompts, the newest first, and one of them with its manifest."""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from cortex.bus import CortexError
from cortex.bus.events import ContextCompiled
from cortex.runtime.kernel import NotFoundError, iso
from cortex.runtime.log import BlobCorruptError, BlobError, BlobMissingError
from cortex.runtime.projections import HomeLog, Selection

from .. import Manifest, PromptBlock, read_prompt, text_of

SHOWN: Final = 12  # characters of a digest, in a table
_TOPIC: Final = ContextCompiled.topic_name()
_DIGEST = re.compile(r"(?:[a-z0-9]+:)?[0-9a-f]{4,64}")
_SEEK: Final = "`cortex prompt list` lists the prompts"


class Compiled(NamedTuple):
    """A prompt in the log."""

    position: int
    time_ns: int
    event: ContextCompiled


class PromptRow(msgspec.Struct):
    """One prompt in a list."""

    prompt: str  # digest
    time: str
    execution: str
    step: str
    attempt: int
    turn: int
    model: str
    tokens: int
    window: int  # V_e
    utilisation: float  # of the window, headroom included
    considered: int
    included: int
    eligible: int  # tokens that a later prompt may read from a cache
    epochs: int
    strategy: str

    @property
    def share(self) -> float:
        """The prompt's share of the window."""
        return self.tokens / max(self.window, 1)


class PromptDocument(msgspec.Struct):
    """One prompt with its manifest."""

    about: PromptRow
    text: str  # a view of its blocks
    manifest: Manifest
    actions: tuple[str, ...]
    notes: tuple[str, ...] = ()  # what the step asks for and was missing, or changed since
    rebuilt: bool = False  # rebuilt from its inputs, with these bytes
    blocks: tuple[PromptBlock, ...] = ()  # as they were sent


def newest_prompts(history: HomeLog, execution: str = "") -> Iterator[Compiled]:
    """The prompts of a home or of one execution, the newest first."""
    for record in history.newest(Selection(topics=(_TOPIC,), execution=execution)):
        event = history.event(record)
        if isinstance(event, ContextCompiled):
            yield Compiled(record.position, record.time_ns, event)


def prompts_of_one(history: HomeLog, execution: str) -> list[Compiled]:
    """The prompts of *execution*, or of the last one with a prompt; the newest first."""
    first = next(newest_prompts(history, execution), None)
    return list(newest_prompts(history, first.event.execution_id)) if first else []


def find_prompt(history: HomeLog, name: str) -> Compiled:
    """The newest prompt that *name* names: a digest, or EXECUTION, EXECUTION/STEP or .../STEP/TURN.

    A digest or an id may be shortened as long as it is unique.

    Raises:
        NotFoundError: There is none, or the name matches several.
    """
    found = {c.event.prompt: c for c in reversed([*_digested(history, name)])}
    if len(found) > 1:
        some = ", ".join(digest[-64:][:16] for digest in list(found)[:4])
        raise NotFoundError("prompt", name, f"could be {some}: give more of the digest")
    if found:
        return next(iter(found.values()))
    execution, _, rest = name.partition("/")
    step, _, turn = rest.partition("/")
    try:
        known = history.execution_id(execution)
    except NotFoundError as missing:
        raise NotFoundError("prompt", name, f"is not in this home: {_SEEK}") from missing
    for compiled in newest_prompts(history, known):
        event = compiled.event
        if step in ("", event.step_id) and turn in ("", str(event.turn)):
            return compiled
    where = "/".join(part for part in (known, step, turn) if part)
    raise NotFoundError("prompt", name, f"does not exist: {where} sent no prompt; {_SEEK}")


def _digested(history: HomeLog, name: str) -> Iterator[Compiled]:
    if _DIGEST.fullmatch(name):
        for compiled in newest_prompts(history):
            digest = compiled.event.prompt
            if digest.startswith(name) or digest.rpartition(":")[2].startswith(name):
                yield compiled


def row_of(compiled: Compiled) -> PromptRow:
    """A prompt as a list shows it."""
    event = compiled.event
    return PromptRow(
        prompt=event.prompt,
        time=iso(compiled.time_ns),
        execution=event.execution_id,
        step=event.step_id,
        attempt=event.attempt,
        turn=event.turn,
        model=event.model,
        tokens=event.tokens,
        window=event.window,
        utilisation=round((event.tokens + event.headroom) / max(event.window, 1), 4),
        considered=event.considered,
        included=event.included,
        eligible=event.eligible,
        epochs=event.epochs,
        strategy=event.strategy,
    )


def manifest_of(history: HomeLog, compiled: Compiled) -> Manifest:
    """The manifest of a prompt.

    Raises:
        BlobError: It is missing or damaged.
    """
    digest = compiled.event.manifest
    try:
        return msgspec.json.decode(history.blobs.get(digest), type=Manifest)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BlobCorruptError(digest, f"it is not a manifest of a prompt: {error}") from error


def readable_manifests(
    history: HomeLog, prompts: Iterable[Compiled], unread: list[str] | None
) -> Iterator[tuple[Compiled, Manifest]]:
    """Each of *prompts* with its manifest; those without are named in *unread*, with the reason.

    Raises:
        BlobError: A manifest is missing or damaged, and *unread* is None.
    """
    for compiled in prompts:
        try:
            manifest = manifest_of(history, compiled)
        except BlobError as error:
            if unread is None:
                raise
            unread.append(f"prompt {compiled.event.prompt} is left out: {error}")
        else:
            yield compiled, manifest


def document_of(history: HomeLog, compiled: Compiled) -> PromptDocument:
    """A prompt with its bytes and its manifest.

    Raises:
        PromptGoneError: Its bytes are missing, but may be compiled again.
        BlobError: The bytes or the manifest are missing or damaged.
    """
    try:
        blocks = read_prompt(history.blobs.get(compiled.event.prompt))
    except BlobMissingError as error:
        if compiled.event.inputs:
            raise PromptGoneError(compiled.event.prompt) from error
        raise
    except msgspec.DecodeError as error:
        problem = f"it is not a prompt: {error}"
        raise BlobCorruptError(compiled.event.prompt, problem) from error
    return PromptDocument(
        about=row_of(compiled),
        text=text_of(blocks),
        manifest=manifest_of(history, compiled),
        actions=compiled.event.actions,
        notes=compiled.event.notes,
        blocks=blocks,
    )


class PromptGoneError(CortexError):
    """A prompt's bytes are missing; its event names its inputs."""

    exit_code = 4  # the command line's for a home that cannot be used

    def __init__(self, prompt: str) -> None:
        super().__init__(prompt)
        self.prompt = prompt

    def __str__(self) -> str:
        return (
            f"the bytes of prompt {self.prompt} are not in this home any more: --rebuild compiles "
            "them again from what they were compiled from"
        )
