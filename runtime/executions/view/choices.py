"""Why a step asked its models, and what the prompts cost."""

from typing import Any, TypeAlias

import msgspec

from cortex.bus.events import (
    ContextRefused,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    ModelSelected,
    ModelUnclaimed,
)
from cortex.runtime.kernel import NotFoundError
from cortex.runtime.projections import STREAM

from .history import History

Answer: TypeAlias = ModelResponded | ModelFailed | ModelUnclaimed

_ASKING = (ModelSelected, ModelInvoke, ModelResponded, ModelFailed, ModelUnclaimed, ContextRefused)


class ModelCall(msgspec.Struct):
    """A prompt that was sent, and its answer."""

    call: int  # how often that prompt was sent
    status: str = "open"  # or "answered", "failed", "unclaimed"
    took_s: float | None = None
    cost: float = 0.0  # US dollars
    input_tokens: int = 0
    cached_read_tokens: int = 0
    cached_write_tokens: int = 0
    output_tokens: int = 0
    kind: str = ""  # of a failure
    error: str = ""

    @property
    def tokens(self) -> int:
        """Tokens of all classes."""
        read, written = self.cached_read_tokens, self.cached_write_tokens
        return self.input_tokens + read + written + self.output_tokens


class ModelChoice(msgspec.Struct):
    """A model that was selected for an attempt or a turn, and what it did."""

    attempt: int
    turn: int
    model: str
    provider: str
    because: str
    needs: dict[str, Any]
    runners_up: tuple[str, ...]
    rejected: tuple[str, ...]
    reckoned_cost: float  # US dollars, before it was asked
    calls: list[ModelCall] = []
    inferred: dict[str, Any] = {}  # what the work asks for beyond its needs
    inferred_from: dict[str, str] = {}  # why, by need
    unfit: tuple[str, ...] = ()  # models whose answers before did not fit


class WhyDocument(msgspec.Struct):
    """Which models a step asked, why, and what the calls cost."""

    execution: str
    step: str
    choices: list[ModelChoice] = []
    refused: list[str] = []  # why no context was compiled, or no model selected
    cost: float = 0.0  # US dollars
    tokens: int = 0


def why_of(history: History, execution_id: str, step: str) -> WhyDocument:
    """Which models the step *step* of an execution asked, and why.

    Raises:
        NotFoundError: It asked none.
    """
    chosen = _StepChoices()
    asking: set[str] = set()
    for record in history.stream(STREAM + execution_id):
        event = history.event(record)
        if isinstance(event, _ASKING):
            asking.add(event.step_id)
            if event.step_id == step:
                chosen.fold(event, record.time_ns)
    if step not in asking:
        others = f"{', '.join(sorted(asking))} did" if asking else "no step did"
        raise NotFoundError("step", step, f"asked no model in execution {execution_id}: {others}")
    calls = [call for choice in chosen.choices for call in choice.calls]
    return WhyDocument(
        execution_id,
        step,
        chosen.choices,
        chosen.refused,
        sum(call.cost for call in calls),
        sum(call.tokens for call in calls),
    )


class _StepChoices:
    """The model choices in the events of one step, in order."""

    def __init__(self) -> None:
        self.choices: list[ModelChoice] = []
        self.refused: list[str] = []
        self._asked_ns: dict[int, int] = {}  # by the id of a call that is open

    def fold(self, event: Any, time_ns: int) -> None:
        if isinstance(event, ModelSelected):
            self.choices.append(_choice(event))
        elif isinstance(event, ContextRefused):
            self.refused.append(event.reason)
        elif isinstance(event, ModelInvoke):
            call = ModelCall(event.call)
            self._asked_ns[id(call)] = time_ns
            self._choice_of(event).calls.append(call)
        else:
            self._answer(event, time_ns)

    def _answer(self, event: Answer, time_ns: int) -> None:
        calls = self._choice_of(event).calls
        for call in calls:
            if call.call == event.call and call.status == "open":
                call.took_s = (time_ns - self._asked_ns[id(call)]) / 1e9
                _close(call, event)

    def _choice_of(self, event: ModelInvoke | Answer) -> ModelChoice:
        of_turn = [c for c in self.choices if (c.attempt, c.turn) == (event.attempt, event.turn)]
        if not of_turn:  # an older log, whose choices do not say which attempt they are for
            of_turn = [c for c in self.choices if c.model == event.model]
        if not of_turn:
            of_turn = [_unexplained(event)]
            self.choices += of_turn
        return of_turn[-1]


def _choice(event: ModelSelected) -> ModelChoice:
    return ModelChoice(
        attempt=event.attempt,
        turn=event.turn,
        model=event.model,
        provider=event.provider,
        because=event.because,
        needs={name: need for name, need in event.needs.items() if need is not None},
        runners_up=event.runners_up,
        rejected=event.rejected,
        reckoned_cost=event.cost,
        inferred=event.inferred,
        inferred_from=event.inferred_from,
        unfit=event.unfit,
    )


def _unexplained(event: ModelInvoke | Answer) -> ModelChoice:
    return ModelChoice(event.attempt, event.turn, event.model, "", "", {}, (), (), 0.0)


def _close(call: ModelCall, event: Answer) -> None:
    if isinstance(event, ModelFailed):
        call.status, call.kind, call.error = "failed", event.kind, event.error
    elif isinstance(event, ModelUnclaimed):
        call.status, call.error = "unclaimed", event.reason
    else:
        call.status, call.cost = "answered", event.cost
        call.input_tokens, call.output_tokens = event.input_tokens, event.output_tokens
        call.cached_read_tokens = event.cached_read_tokens
        call.cached_write_tokens = event.cached_write_tokens
