"""The events with which a provider answers a request, with everything they echo."""

from typing import Any

import msgspec

from cortex.bus import Draft
from cortex.bus.events import ModelDelta, ModelFailed, ModelInvoke, ModelResponded
from cortex.runtime.context import PromptBlock, read_prompt
from cortex.runtime.kernel import Config, Serves
from cortex.runtime.log import BlobError, Blobs
from cortex.runtime.models import ModelDescription, Usage, cost, describe

from .answer import parsed
from .failures import CallFailedError, mask_of_key

# Worth another attempt of the step, or a few more calls.
PASSING = frozenset(("rate_limited", "overloaded", "unreachable", "cut_off", "timeout", "garbage"))
LARGEST_EVENT_BYTES = 240 * 1024  # a hub takes 256 KiB; what is made of an answer may be larger
BESIDE_DATA_CHARS = 1_000  # of a text that repeats data, where an event holds one of them


def announced(config: Config, provider: str) -> tuple[Serves, ...]:
    """The models of *provider* that *config* names."""
    return tuple(
        Serves("model", each.name, traits=msgspec.to_builtins(each))
        for each in describe(config.models)
        if each.provider == provider
    )


def blocks_in(blobs: Blobs, asked: ModelInvoke) -> tuple[PromptBlock, ...]:
    """The prompt that a model is asked.

    Raises:
        CallFailedError: It cannot be read.
    """
    try:
        return read_prompt(blobs.get(asked.prompt))
    except (BlobError, msgspec.DecodeError) as error:
        problem = f"its prompt {asked.prompt[:12]} cannot be read: {type(error).__name__}"
        raise CallFailedError("missing", problem) from None


def delta(asked: ModelInvoke, number: int, text: str) -> ModelDelta:
    """A piece of the answer, counted from 0."""
    return ModelDelta(**_echo(asked), number=number, text=_sound(text))


def failed(
    asked: ModelInvoke,
    error: CallFailedError,
    model: ModelDescription | None = None,
    usage: Usage | None = None,
) -> ModelFailed:
    """There is no answer; *usage* is what the endpoint said of its part, at the *model*'s price."""
    took = usage or Usage()
    # Whoever tells of another kind names the model beside it.
    problem = f"{asked.model}: {error}" if error.kind == "failed" else str(error)
    return ModelFailed(
        **_echo(asked),
        error=_sound(problem),
        kind=error.kind,
        retry_after_s=error.retry_after_s,
        retry=error.kind in PASSING and not error.hostile,
        cost=cost(took, model.price) if model else 0.0,
        input_tokens=took.input,
        cached_read_tokens=took.cached_read,
        cached_write_tokens=took.cached_write,
        output_tokens=took.output,
    )


def responded(
    asked: ModelInvoke,
    model: ModelDescription,
    text: str,
    usage: Usage,
    *,
    calls: list[dict[str, Any]] | None = None,
    stop: str = "end",
    key: str = "",
) -> ModelResponded:
    """There is one.

    Where its text and the data in it are too much for one event, the data stay whole.
    Wherever the answer repeats the endpoint's *key*, it is masked.

    Raises:
        CallFailedError: No event holds it.
    """
    mask = mask_of_key(key)
    answer: dict[str, Any] = {"text": mask.text(_sound(text))}
    data = parsed(text) if asked.answer_schema and not calls else None
    if data is not None:
        answer["data"] = mask.value(data)
    if calls:
        answer["calls"] = mask.value(calls)
    event = _event(asked, model, answer, usage, stop)
    if data is not None and _is_too_large(event):
        answer["text"] = answer["text"][:BESIDE_DATA_CHARS] + "..."
        event = _event(asked, model, answer, usage, stop)
    if _is_too_large(event):
        problem = f"the answer takes more than the {LARGEST_EVENT_BYTES:,} bytes of an event"
        raise CallFailedError("garbage", problem)
    return event


def _event(
    asked: ModelInvoke, model: ModelDescription, answer: dict[str, Any], usage: Usage, stop: str
) -> ModelResponded:
    return ModelResponded(
        **_echo(asked),
        prompt=asked.prompt,
        answer=answer,
        stop=stop,
        cost=cost(usage, model.price),
        input_tokens=usage.input,
        cached_read_tokens=usage.cached_read,
        cached_write_tokens=usage.cached_write,
        output_tokens=usage.output,
    )


def _is_too_large(event: ModelResponded) -> bool:
    return len(Draft.of(event).body) > LARGEST_EVENT_BYTES


def _echo(asked: ModelInvoke) -> dict[str, Any]:
    return {
        "execution_id": asked.execution_id,
        "step_id": asked.step_id,
        "attempt": asked.attempt,
        "turn": asked.turn,
        "call": asked.call,
        "model": asked.model,
    }


def _sound(text: str) -> str:
    # Half of a surrogate pair is no text that an event can hold.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
