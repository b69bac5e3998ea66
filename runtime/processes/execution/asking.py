"""The requests that an execution makes, built from where it stands and what its process says."""

from typing import Any

import msgspec

from cortex.bus.events import (
    ContextCompile,
    ContextCompiled,
    ExecutionRequest,
    GateEvaluate,
    ModelInvoke,
    StepExecute,
    StepWake,
)
from cortex.runtime.kernel import Forget, Later

from ..linked import Carry, LinkedChild, LinkedGate, LinkedProcess, LinkedStep
from .state import Execution

STEP_TIMEOUT_S = 600.0  # bounds a handler where the step lays down nothing
MODEL_TIMEOUT_S = 300.0
ANSWER_TOKENS = 1_500  # where the compiler set no headroom apart


def gate_evaluate(
    state: Execution, step_id: str, index: int, gate: LinkedGate, parameters: dict[str, Any]
) -> GateEvaluate:
    """Ask the gate at *index* of the process (step "") or of a step."""
    begun = state.begun()
    again = state.step_id == step_id and state.gates_passed == index
    answer, by = state.gate_answer if again else ("", "")
    return GateEvaluate(
        execution_id=state.execution_id,
        gate=gate.name,
        index=index,
        step_id=step_id,
        attempt=state.gate_attempt + 1 if again else 1,
        parameters=parameters,
        workspace=begun.workspace,
        goal=begun.goal,
        trigger=begun.trigger,
        answer=answer,
        by=by,
    )


def context_compile(
    state: Execution,
    process: LinkedProcess,
    step: LinkedStep,
    attempt: int,
    parameters: dict[str, Any],
) -> ContextCompile:
    """Ask for the prompt of *step*."""
    return ContextCompile(
        execution_id=state.execution_id,
        step_id=step.id,
        attempt=attempt,
        process=process.name,
        description=step.description,
        goal=state.begun().goal,
        parameters=parameters,
        knowledge=tuple(
            {"topic": t.topic, "path": t.path, "digest": t.digest, "root": t.root}
            for t in step.knowledge
        ),
        carry=_carried(state, step.carry),
        needs=_laid_down(step.needs),
        budget=_laid_down(step.budget),
        tools=step.tools,
    )


def model_invoke(state: Execution, step: LinkedStep, compiled: ContextCompiled) -> ModelInvoke:
    """Ask the model that *compiled* was made for, with that very prompt."""
    return ModelInvoke(
        execution_id=state.execution_id,
        step_id=step.id,
        attempt=state.attempt,
        model=compiled.model,
        prompt=compiled.prompt,
        max_tokens=compiled.headroom or ANSWER_TOKENS,
        timeout_s=step.timeout_s or MODEL_TIMEOUT_S,
    )


def step_execute(
    state: Execution, step: LinkedStep, attempt: int, parameters: dict[str, Any]
) -> StepExecute:
    """Ask the handler of *step*, with what the model answered if one was asked."""
    begun = state.begun()
    return StepExecute(
        execution_id=state.execution_id,
        step_id=step.id,
        action=step.action.name if step.action else "",
        attempt=attempt,
        parameters=parameters,
        workspace=begun.workspace,
        goal=begun.goal,
        description=step.description,
        answer=state.answer if state.stage == "answered" else {},
        timeout_s=step.timeout_s or STEP_TIMEOUT_S,
    )


def child_request(
    state: Execution, step_id: str, child: LinkedChild, child_id: str, inputs: dict[str, Any]
) -> ExecutionRequest:
    """Ask for the execution that carries out a step, or cleans up after it."""
    begun = state.begun()
    return ExecutionRequest(
        execution_id=child_id,
        process=child.process or child.interface or "",
        inputs={name: value for name, value in inputs.items() if value is not None},
        goal=begun.goal,
        workspace=begun.workspace,
        trigger=begun.trigger,
        parent=state.execution_id,
        parent_step=step_id,
    )


def wake(
    state: Execution, step_id: str, attempt: int, what: str, after_s: float, now_ns: int
) -> Later:
    """A deadline *after_s* from now for one attempt of a step."""
    return Later(
        _deadline(state, step_id, attempt, what),
        now_ns + round(after_s * 1e9),
        StepWake(execution_id=state.execution_id, step_id=step_id, attempt=attempt, what=what),
    )


def forget_wake(state: Execution, what: str) -> Forget:
    """Drop the deadline of the attempt that *state* stands at."""
    return Forget(_deadline(state, state.step_id, state.attempt, what))


def _deadline(state: Execution, step_id: str, attempt: int, what: str) -> str:
    return f"execution/{state.execution_id}/{step_id}/{attempt}/{what}"


def _carried(state: Execution, carry: tuple[Carry, ...]) -> dict[str, Any]:
    """Results of earlier steps that a step declares to see, by step id; skipped ones are absent."""
    carried: dict[str, Any] = {}
    for item in carry:
        result = state.results.get(item.step)
        if result is None:
            continue
        if item.field is None:
            carried[item.step] = result
        elif item.field in result:
            carried.setdefault(item.step, {})
            carried[item.step] = {**carried[item.step], item.field: result[item.field]}
    return carried


def _laid_down(struct: msgspec.Struct) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(struct)
    return {name: value for name, value in plain.items() if value not in (None, [], ())}
