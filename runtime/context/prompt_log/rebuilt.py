"""Old prompts made again from all that they were compiled from, which the home keeps."""

from typing import Final

import msgspec

from cortex.bus import CortexError
from cortex.runtime.kernel import VERSION, RefusedError
from cortex.runtime.log import BlobCorruptError
from cortex.runtime.projections import HomeLog

from .. import ContextCompiler, Inputs, Trace, counter_for, read_inputs
from .recorded import SHOWN, Compiled, PromptDocument, row_of

_NOT_KEPT: Final = "was compiled before Cortex kept what a prompt is compiled from"


def inputs_of(history: HomeLog, compiled: Compiled) -> Inputs:
    """All that a prompt was compiled from.

    Raises:
        RefusedError: It is of a time when that was not kept.
        BlobError: Some of it is not kept any more, or damaged.
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
    """A prompt with its manifest, compiled again; its bytes are those that were sent.

    Raises:
        RefusedError: It comes to other bytes, or what it was compiled from was not kept.
        BlobError: Some of that is not kept any more, or damaged.
    """
    inputs = inputs_of(history, compiled)
    try:
        prompt = _compiler(inputs).compile(inputs.request, inputs.view)
    except CortexError as error:
        raise RefusedError(_differs(compiled, inputs, f"is refused now ({error})")) from error
    if prompt.digest != compiled.event.prompt:
        now = f"comes to other bytes now ({prompt.digest[:SHOWN]})"
        raise RefusedError(_differs(compiled, inputs, now))
    return PromptDocument(
        row_of(compiled),
        prompt.text,
        prompt.manifest,
        compiled.event.actions,
        compiled.event.notes,
        rebuilt=True,
    )


def traced(inputs: Inputs) -> Trace:
    """What each pass made of *inputs*."""
    return _compiler(inputs).trace(inputs.request, inputs.view)


def _compiler(inputs: Inputs) -> ContextCompiler:
    return ContextCompiler(counter_for(inputs.encoding))


def _differs(compiled: Compiled, inputs: Inputs, how: str) -> str:
    about = f"prompt {compiled.event.prompt[:SHOWN]} {how}"
    if inputs.program != VERSION:
        return f"{about}: Cortex {inputs.program} compiled it, this is {VERSION}; use that one"
    return f"{about}, by the same version of Cortex: the compiler was changed, or is at fault"
