"""Asking a model: which one was selected, what it was asked, what it answered."""

from typing import Any

from ..event import Ephemeral, Event


class ModelSelected(Event, frozen=True, kw_only=True, tag="model.selected"):
    """A model was chosen for a step by what the step needs."""

    belongs = ("execution", "execution_id")
    routing = "model"

    execution_id: str
    step_id: str
    model: str
    because: str
    runners_up: tuple[str, ...] = ()


class ModelInvoke(Event, frozen=True, kw_only=True, tag="model.invoke"):
    """Ask a model; the prompt was compiled before, and is named by digest."""

    belongs = ("execution", "execution_id")
    routing = "model"

    execution_id: str
    step_id: str
    attempt: int = 1
    model: str
    prompt: str  # digest of a blob that a `context.compiled` named
    max_tokens: int = 1500
    timeout_s: float = 300.0


class ModelUnclaimed(Event, frozen=True, kw_only=True, tag="model.unclaimed"):
    """No provider can take this request at the moment."""

    belongs = ("execution", "execution_id")
    routing = "model"

    execution_id: str
    step_id: str
    attempt: int = 1
    model: str
    reason: str


class ModelResponded(Event, frozen=True, kw_only=True, tag="model.responded"):
    """A model answered."""

    belongs = ("execution", "execution_id")
    routing = "model"

    execution_id: str
    step_id: str
    attempt: int = 1
    model: str
    prompt: str
    answer: dict[str, Any]  # "text", and what else the provider vouches for ("spans")
    input_tokens: int = 0
    cached_read_tokens: int = 0
    cached_write_tokens: int = 0
    output_tokens: int = 0


class ModelFailed(Event, frozen=True, kw_only=True, tag="model.failed"):
    """A model did not answer."""

    belongs = ("execution", "execution_id")
    routing = "model"

    execution_id: str
    step_id: str
    attempt: int = 1
    model: str
    error: str
    retry: bool = True


class ModelDelta(Ephemeral, frozen=True, kw_only=True, tag="model.delta"):
    """A piece of an answer as it comes; not in the log."""

    belongs = ("execution", "execution_id")
    routing = "model"

    execution_id: str
    step_id: str
    model: str
    text: str
