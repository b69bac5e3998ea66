"""Rebuilds old prompts from their stored inputs."""

import hashlib
from typing import Final

import msgspec

from cortex.bus import CortexError
from cortex.runtime.kernel import VERSION, RefusedError
from cortex.runtime.log import BlobCorruptError
from cortex.runtime.projections import HomeLog

from .. import COMPILER, ContextCompiler, Inputs, Prompt, Trace, counter_for, read_inputs
from .recorded import SHOWN, Compiled, PromptDocument, row_of

_NOT_KEPT: Final = "was compiled before Cortex kept what a prompt is compiled from"


def inputs_of(history: HomeLog, compiled: Compiled) -> Inputs:
    """The inputs of a prompt.

    Raises:
        RefusedError: The prompt is older than the storage of inputs.
        BlobError: Some of them are missing or damaged.
    """
    event = compiled.event
    if not event.inputs:
        raise RefusedError(f"prompt {event.prompt[:SHOWN]} {_NOT_KEPT}")
    try:
        return read_inputs(history.blobs.get(event.inputs), history.blobs.get)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = f"it is not a record of what a prompt was compiled from: {error}"
        raise BlobCorruptError(event.inputs, problem) from error


def rebuilt_document(history: HomeLog, compiled: Compiled) -> PromptDocument:
    """A prompt with its manifest, compiled again, with the bytes that were sent.

    Raises:
        RefusedError: It now has other bytes, or its inputs were not stored.
        BlobError: Some inputs are missing or damaged.
    """
    inputs = inputs_of(history, compiled)
    try:
        prompt = _compiler(inputs).compile(inputs.request, inputs.view)
    except CortexError as error:
        raise RefusedError(_differs(compiled, inputs, f"is refused now ({error})")) from error
    if compiled.event.prompt not in (prompt.digest, _digest_of_text(prompt)):
        now = f"comes to other bytes now ({prompt.digest[:SHOWN]})"
        raise RefusedError(_differs(compiled, inputs, now))
    return PromptDocument(
        row_of(compiled),
        prompt.text,
        prompt.manifest,
        compiled.event.actions,
        compiled.event.notes,
        rebuilt=True,
        blocks=prompt.blocks,
    )


def _digest_of_text(prompt: Prompt) -> str:
    """Its name under compiler 1."""
    return hashlib.sha256(prompt.text.encode()).hexdigest()


def traced(inputs: Inputs) -> Trace:
    """The trace of a compile of *inputs*."""
    return _compiler(inputs).trace(inputs.request, inputs.view)


def _compiler(inputs: Inputs) -> ContextCompiler:
    return ContextCompiler(counter_for(inputs.encoding))


def _differs(compiled: Compiled, inputs: Inputs, how: str) -> str:
    about = f"prompt {compiled.event.prompt[:SHOWN]} {how}"
    if inputs.compiler != COMPILER:
        made = f"compiler version {inputs.compiler} made it, this is {COMPILER}"
        return f"{about}: {made}; `cortex prompt show` shows it as it was sent"
    if inputs.program != VERSION:
        return f"{about}: Cortex {inputs.program} compiled it, this is {VERSION}; use that one"
    return f"{about}, by the same version of Cortex: the compiler was changed, or is at fault"
