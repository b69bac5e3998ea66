"""How much there is to show for a step, before its model is chosen."""

from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from cortex.bus.events import ContextCompile
from cortex.runtime.kernel import Config
from cortex.runtime.log import BlobError, Blobs
from cortex.runtime.models import window_for

from .contexts import DEFAULT_WINDOW

BYTES_A_TOKEN: Final = 4  # an estimate: which tokens they are, only the model chosen decides


def with_window(asked: ContextCompile, config: Config, blobs: Blobs) -> ContextCompile:
    """*asked*, which wants a window that its material goes into as far as a prompt may be long."""
    longest = asked.budget.get("tokens") or config.context.window or DEFAULT_WINDOW
    material = material_tokens(asked, blobs)
    window = window_for(min(material, longest), asked.needs)
    if not window:
        return asked
    reason = f"there are some {material:,} tokens of material"
    return replace(
        asked,
        inferred={**asked.inferred, "context_tokens": window},
        inferred_from={**asked.inferred_from, "context_tokens": reason},
    )


def material_tokens(asked: ContextCompile, blobs: Blobs) -> int:
    """Tokens of topics, passages, results and parameters that the prompt of *asked* may hold."""
    size = len(msgspec.msgpack.encode((asked.carry, asked.parameters, asked.failures)))
    for topic in asked.knowledge:
        with suppress(OSError):  # the compiler says that it cannot be read
            size += Path(str(topic["path"])).stat().st_size
    if asked.found:
        with suppress(BlobError):  # likewise
            size += len(blobs.get(asked.found))
    return size // BYTES_A_TOKEN
