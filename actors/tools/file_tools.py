"""The tools that read and patch the files of an execution, and results of other tools."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, cast

import msgspec
from msgspec import Meta

from cortex.bus import Event, Recorded, as_map
from cortex.bus.events import VOCABULARY, ModelResponded, ToolCall, ToolReturned
from cortex.runtime.executions import AskedSoFar
from cortex.runtime.functions import ToolStep
from cortex.runtime.kernel import Component, Delivery, Home, many, on
from cortex.runtime.log import BlobError, Blobs

from ..handlers.plain_file import open_plain
from .answers import window
from .carrying import carry_out
from .declaring import tool
from .errors import ToolError
from .patches import apply_patch, is_applied
from .places import Places, ToolFolder
from .search import MOST, SearchOutput, Wanted, search

PROVIDER = "files"
LARGEST_BYTES = 16 << 20  # of a file that is read
BINARY_BYTES = 8_000  # searched for a zero byte
ENTRIES = 40  # of a folder in a list
SHORTEST_HANDLE = 8  # characters of a digest that identify it
RETURNED = ToolReturned.topic_name()
# A digest that only a model has named does not belong to its execution.
SAID_BY_MODEL = frozenset(kind.topic_name() for kind in (ModelResponded, ToolCall))
_DIGEST = re.compile(r"[0-9a-f]{64}")

Line = Annotated[int, Meta(ge=1)]
History = Callable[[str], Iterator[Recorded]]


class ReadFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `read_file` takes."""

    path: Annotated[str, Meta(description="relative to the workspace, with /")]
    first_line: Annotated[Line, Meta(description="counted from 1")] = 1
    last_line: Annotated[Line | None, Meta(description="included; as many as fit unless set")] = (
        None
    )


class SearchCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `search_code` takes."""

    pattern: Annotated[str, Meta(description="regular expression of Python, for one line")]
    glob: Annotated[str, Meta(description="only files like these, as `*.py` or `src/**`")] = ""
    path: Annotated[str, Meta(description="only below this folder, or in this file")] = ""
    literal: Annotated[bool, Meta(description="the pattern is a plain text")] = False
    ignore_case: bool = False


class ReadResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `read_result` takes."""

    handle: Annotated[str, Meta(description="id of the call, or digest of what is to be read")]
    first_line: Annotated[Line, Meta(description="counted from 1")] = 1
    last_line: Annotated[Line | None, Meta(description="included; as many as fit unless set")] = (
        None
    )


class ApplyPatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `apply_patch` takes."""

    patch: Annotated[
        str,
        Meta(
            description="unified diff with `--- a/PATH`, `+++ b/PATH` and `@@` lines, paths "
            "relative to the workspace; `/dev/null` stands for a file that is not there"
        ),
    ]


class FileTools(Component):
    """Reads, searches and patches the files of an execution; the user's own are never changed."""

    rests = True
    workers = 2

    def __init__(self, home: Home | None, blobs: Blobs, history: History | None = None) -> None:
        self._places = Places(home, history)
        self._blobs = blobs
        self._history = history

    @on(ToolCall, where={"provider": PROVIDER})
    def call(self, event: ToolCall, delivery: Delivery) -> Iterator[Event]:
        """Use one of them."""
        yield from carry_out(self, event, delivery, self._blobs)

    @tool("read_file", provider=PROVIDER, effect="read")
    def read_file(self, asked: ReadFile, step: ToolStep) -> str:
        """Read lines of a text file; each comes after its number and a tab."""
        place = self._places.find(step.event)
        path = place.file(asked.path)
        if path.is_dir():
            raise ToolError(f"{asked.path!r} is a folder; {_entries(place, path)}")
        with open_plain(path) as file:
            data = file.read(LARGEST_BYTES + 1)
        if b"\0" in data[:BINARY_BYTES] and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
            raise ToolError(f"{asked.path!r} is binary, {many(path.stat().st_size, 'byte')}")
        whole = len(data) <= LARGEST_BYTES
        text = _text(data if whole else data[:LARGEST_BYTES])
        shown = window(text, asked.first_line, asked.last_line, again="read_file")
        if not whole:
            size = many(path.stat().st_size, "byte")
            shown += f"… of {size} only the first {LARGEST_BYTES:,} are read\n"
        step.summary = f"read {asked.path}"
        return shown

    @tool("search_code", provider=PROVIDER, effect="read")
    def search_code(self, asked: SearchCode, step: ToolStep) -> str:
        """Find lines of the source files; gives `path:line: text`."""
        place = self._places.find(step.event)
        wanted = Wanted(asked.pattern, asked.glob, asked.path, asked.literal, asked.ignore_case)
        found = search(place, wanted, step.timeout_s)
        match = many(len(found.found), "line matches", "lines match")
        if found.more:
            match = f"{len(found.found)}+ lines match"
        step.summary = f"{match} {asked.pattern}"
        return _listed(found)

    @tool("read_result", provider=PROVIDER, effect="read")
    def read_result(self, asked: ReadResult, step: ToolStep) -> str:
        """Read more of what an earlier call or step gave, by its handle."""
        digest = self._named(asked.handle.strip(), step.event)
        try:
            data = self._blobs.get(digest)
        except BlobError:
            raise ToolError(f"what {asked.handle[:80]!r} names is not kept any more") from None
        if b"\0" in data[:BINARY_BYTES]:
            raise ToolError(
                f"what {asked.handle[:80]!r} names is binary, {many(len(data), 'byte')}"
            )
        text = data.decode(errors="replace")
        step.summary = f"read {asked.handle[:16]}"
        return window(text, asked.first_line, asked.last_line, again="read_result")

    @tool("apply_patch", provider=PROVIDER, effect="idempotent")
    def apply_patch(self, asked: ApplyPatch, step: ToolStep) -> str:
        """Change files by a unified diff; it is applied whole or not at all."""
        event = step.event
        with self._places.locked(event):
            prefix = self._places.sources(event).prefix
            tree = self._places.worktree(event)
            # It began before: it may be applied already, without a record of that.
            if step.delivery.attempt > 1 and is_applied(tree, prefix, asked.patch):
                step.summary = "the patch is applied"
                return "the patch is applied\n"
            paths = apply_patch(tree, prefix, asked.patch)
        step.summary = f"changed {', '.join(paths)}"
        changed = "".join(f"{path}\n" for path in paths)
        noun = "file" if len(paths) == 1 else "files"
        return f"changed {len(paths)} {noun}:\n{changed}"

    def _named(self, handle: str, event: ToolCall) -> str:
        """The digest for *handle*, if an event of the execution names it."""
        if self._history is None:
            raise ToolError("results cannot be read here: this component has no log")
        named: set[str] = set()
        claimed: set[str] = set()  # named by a model before anything was stored under it
        asked = AskedSoFar()
        for record in self._history(event.stream()):
            said = VOCABULARY.read(record) if record.topic in VOCABULARY else None
            if said is not None and not asked.counts(said, record.source):
                continue  # its source was not asked
            body = as_map(record)
            if record.topic == RETURNED and body.get("call_id") == handle:
                return str(body["result"])
            if record.topic in SAID_BY_MODEL:
                claimed.update(set(_digests(body)) - named)
            else:
                given = {body["result"]} if record.topic == RETURNED else set[str]()
                named.update(given, set(_digests(body)) - claimed)
        fits = {d for d in named if d.startswith(handle)} if len(handle) >= SHORTEST_HANDLE else ()
        if len(fits) == 1:
            return next(iter(fits))
        problem = "fits several results: give more of the id" if fits else "names no result here"
        raise ToolError(f"{handle[:80]!r} {problem}", "wrong_arguments")


def _entries(place: ToolFolder, folder: Path) -> str:
    """The contents of a folder, so that the next call can name a file."""
    there = [p for p in sorted(folder.iterdir()) if p.name != ".git" and not place.hides(p)]
    names = [f"{p.name}/" if p.is_dir() else p.name for p in there[:ENTRIES]]
    more = f" and {len(there) - ENTRIES} more" if len(there) > ENTRIES else ""
    return f"it holds {', '.join(names)}{more}" if names else "it is empty"


def _digests(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if _DIGEST.fullmatch(value):
            yield value
    elif isinstance(value, dict):
        for each in cast("dict[str, object]", value).values():
            yield from _digests(each)
    elif isinstance(value, list | tuple):
        for each in cast("Sequence[object]", value):
            yield from _digests(each)


def _text(data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8-sig", errors="replace")


def _listed(found: SearchOutput) -> str:
    lines = [f"{path}:{line}: {text}\n" for path, line, text in found.found]
    if not lines:
        lines.append("nothing matches\n")
    if found.more:
        lines.append(f"… more than {MOST} lines match: name a path or a glob\n")
    if found.left_out:
        files = many(found.left_out, "file is", "files are")
        lines.append(f"({files} binary or too large, and left out)\n")
    return "".join(lines)
