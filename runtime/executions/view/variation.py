"""What a what-if changes, in words."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cortex.bus.events import ExecutionStarted, Variation

DIGEST: Final = 12  # characters shown of one
TEXT: Final = 80  # characters shown of a persona, or of instructions


def changed_words(variation: Variation, process: str = "") -> tuple[str, ...]:
    """What *variation* changes; nothing for a fork.

    Args:
        variation: Of a what-if.
        process: The version that runs in place of the recorded one, as `process_words` has it.
    """
    return tuple(_words(variation, process))


def changed_of(started: ExecutionStarted) -> tuple[str, ...]:
    """What the what-if that *started* changes; nothing if it is none."""
    variation = started.variation
    if variation is None or not variation.what_if:
        return ()
    is_other = variation.linked and not variation.path  # a child runs its own process
    process = process_words(started.process, started.process_version, started.digest)
    return changed_words(variation, process if is_other else "")


def process_words(name: str, version: int, digest: str) -> str:
    """A version of a process; two sources may have the same number."""
    return f"{name} {version} ({digest[:DIGEST]})"


def _words(variation: Variation, process: str) -> Iterator[str]:
    if process:
        yield f"process {process}"
    for topic, other in variation.knowledge.items():
        yield f"topic {topic} from {Path(other.get('path', '')).name}"
    for step_id, model in variation.models.items():
        yield f"model {model} for {step_id or 'all steps'}"
    for name, value in variation.policy.items():
        if name == "tokens":
            yield f"prompts with a window of {value:,} tokens"
        elif name == "sections":
            yield from (f"section {each} with {most:,} tokens" for each, most in value.items())
        else:
            text = " ".join(str(value).split())
            text = text if len(text) <= TEXT else f"{text[: TEXT - 1]}…"
            yield f"prompts with {name} {text}" if text else f"prompts with empty {name}"
