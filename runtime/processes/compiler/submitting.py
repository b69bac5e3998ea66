"""Submits sources to the compiler of a running runtime, from Python."""

from collections.abc import Iterable, Mapping

import msgspec

from cortex.bus import AskTimeoutError, Client, CortexError, steady_s
from cortex.bus.events import ComponentFailed, ProcessCompiled, ProcessRejected, ProcessSubmit
from cortex.runtime.log import Blobs

from ..diagnostics.diagnostics import Diagnostic, errors_of
from ..diagnostics.errors import ProcessLoadError

COMPILE_S = 60.0


def submit(
    client: Client,
    blobs: Blobs,
    sources: Mapping[str, str],
    *,
    removed: Iterable[str] = (),
    strict: bool = False,
    timeout_s: float = COMPILE_S,
) -> list[ProcessCompiled]:
    """Compile *sources*, a text by file name, and enter them in the process table.

    Args:
        client: A client of the compiling runtime.
        blobs: Of the same runtime.
        sources: Compiled together; a child may come before its parent.
        removed: Deleted files; their processes are retired.
        strict: Warnings count as errors.
        timeout_s: How long to wait for the compiler.

    Returns:
        The compiled processes; nothing for unchanged files.

    Raises:
        ProcessLoadError: Some files were rejected; it has all diagnostics. The others are valid.
        AskTimeoutError: The compiler did not answer in time.
    """
    digests = {file: blobs.put(text.encode()) for file, text in sources.items()}
    feed = client.follow(("process.*", None), ("component.failed", None))
    try:
        asked = client.publish(
            ProcessSubmit(sources=digests, removed=tuple(removed), strict=strict)
        )
        until = steady_s() + timeout_s
        while steady_s() < until:
            for record in feed.next(0.5):
                if record.causation == asked:
                    # All that is said about one event is recorded together.
                    return _read(client, asked)
    finally:
        feed.close()
    raise AskTimeoutError(ProcessSubmit.topic_name(), timeout_s)


def _read(client: Client, asked: int) -> list[ProcessCompiled]:
    compiled: list[ProcessCompiled] = []
    wrong: list[Diagnostic] = []
    for record in client.read(asked):
        if record.causation != asked:
            continue
        event = client.vocabulary.read(record)
        if isinstance(event, ProcessCompiled):
            compiled.append(event)
        elif isinstance(event, ProcessRejected):
            wrong += [msgspec.convert(found, Diagnostic) for found in event.diagnostics]
        elif isinstance(event, ComponentFailed):
            raise CortexError(f"the sources could not be compiled: {event.reason}")
    if wrong:
        raise ProcessLoadError(errors_of(wrong) or wrong)
    return compiled
