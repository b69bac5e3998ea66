"""The texts of lines about executions: what they say of one event or state, and what they cut."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from cortex.bus.events import (
    ExecutionDeferred,
    ExecutionStarted,
    StepUnclaimed,
    ToolCall,
    Variation,
)
from cortex.runtime.kernel import duration
from cortex.runtime.processes import absence

from .. import Execution

SHORT = 60  # characters of a tool's arguments
LINE = 200  # characters of what a tool or a failed step printed
# Said by a command that leaves what it followed.
LEAVING = "leaving execution {} in the middle of a step; to continue it, run"
UNTAKEN = "no component runs {} now: the step waits for one"
LEFT_TO_PAUSE = "execution {} pauses on the hub when its running work is done; to continue it, run"
# After what a request waits for, and how that comes back.
HOW_LONG = (
    "`cortex run --wait SECONDS`, or `wait_s` in [processes], sets how long Cortex waits for it"
)
LEFT_WAITING = "execution {} waits on the hub; to look at it, or to cancel it, run"
LEFT_TO_HUB = "execution {} continues on the hub; to look at it, or to pause it, run"
DIGEST: Final = 12  # characters shown of one
TEXT: Final = 80  # characters shown of a persona, or of instructions


class FinishedLine(NamedTuple):
    """One finished line."""

    lead: str
    text: str = ""
    style: str = ""  # of the leading word


def what_is_missing(event: ExecutionDeferred) -> str:
    """What a request waits for, and for how long."""
    missing = ", ".join(map(absence, event.missing)) or "it lacks something"
    return f"{event.process}: {missing}; it waits {duration(event.waits_s)} for it to come"


def nobody(event: StepUnclaimed) -> str:
    """What a step waits for that no worker takes."""
    return f"no component runs {event.action}"


def used_tool(call: ToolCall) -> str:
    """A tool with its shortened arguments."""
    values = [v if isinstance(v, str) else json.dumps(v) for v in call.arguments.values()]
    return f"{one_line(call.tool)} {one_line(' '.join(values), SHORT)}".rstrip()


def one_line(text: str, most: int = LINE) -> str:
    """The first non-empty line of *text*, cut if it is too long."""
    line = next((" ".join(each.split()) for each in text.splitlines() if each.strip()), "")
    return line if len(line) <= most else f"{line[: most - 1]}…"


def what_pausing_does(state: Execution) -> str:
    """The line for a requested pause."""
    if state.stage == "model":
        return (
            "pausing when the model has finished its answer, which is kept; Ctrl-C again ends the "
            "command at once: the call is cancelled, and made again on resume"
        )
    if state.stage == "waiting":
        return "pausing before the model is asked again; Ctrl-C again ends the command at once"
    if state.stage == "tools":
        return "pausing when the running tools are done; Ctrl-C again ends the command at once"
    return "pausing when the current step is done; Ctrl-C again ends the command at once"


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
