"""Handing sources to the compiler of a runtime, and what it says of them."""

import time
from collections.abc import Callable, Iterable

import msgspec

from cortex.bus import Client, Recorded
from cortex.bus.events import ComponentFailed, ProcessCompiled, ProcessRejected, ProcessSubmit
from cortex.runtime.log import Blobs
from cortex.runtime.processes import Diagnostic

from ..errors import RefusedError, RejectedError

COMPILE_S = 60.0


class Submitted(msgspec.Struct):
    """What became of sources."""

    compiled: list[ProcessCompiled] = []
    rejected: list[RejectedError] = []


def submit(
    client: Client, blobs: Blobs, texts: dict[str, str], removed: Iterable[str] = ()
) -> Submitted:
    """Submit *texts*, by the names of their files, and wait until all of them were compiled.

    Raises:
        RefusedError: The compiler failed, or said nothing in time.
    """
    sources = {file: blobs.put(text.encode()) for file, text in texts.items()}
    gone = tuple(removed)
    found = Submitted()
    if not sources and not gone:
        return found
    feed = client.follow(("process.*", None), ("component.failed", None))
    try:
        asked = client.publish(ProcessSubmit(sources=sources, removed=gone))
        for record in _answers(client, feed.next, asked):
            event = client.vocabulary.read(record)
            if isinstance(event, ProcessCompiled):
                found.compiled.append(event)
            elif isinstance(event, ProcessRejected):
                found.rejected.append(_first_problem(event))
    finally:
        feed.close()
    return found


def _answers(client: Client, more: Callable[[float], list[Recorded]], asked: int) -> list[Recorded]:
    deadline = time.monotonic() + COMPILE_S
    while time.monotonic() < deadline:
        for record in more(0.5):
            event = client.vocabulary.read(record)
            if isinstance(event, ComponentFailed) and event.position == asked:
                raise RefusedError(f"the sources could not be compiled: {event.reason}")
            if record.causation == asked:
                # All that is said about one event is recorded together.
                return [r for r in client.read(asked) if r.causation == asked]
    raise RefusedError(f"the sources were not compiled within {COMPILE_S:g} s: try again")


def _first_problem(event: ProcessRejected) -> RejectedError:
    found = [msgspec.convert(each, Diagnostic, strict=False) for each in event.diagnostics]
    first = next((each for each in found if each.severity == "error"), None)
    return RejectedError(event.file, str(first or f"{event.file} was rejected"), len(found))
