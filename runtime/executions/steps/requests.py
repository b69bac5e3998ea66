"""Builds the requests of an execution from its state and its process."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import UNSET

from cortex.bus.events import (
    ContextCompile,
    ContextCompiled,
    ExecutionRequest,
    GateEvaluate,
    KnowledgeRequest,
    MemoryRequest,
    ModelInvoke,
    StepExecute,
    ToolCall,
    Variation,
)
from cortex.runtime.memory import seen_by
from cortex.runtime.processes import (
    Carry,
    LinkedChild,
    LinkedGate,
    LinkedProcess,
    LinkedStep,
    Template,
    fill,
    inferred_needs,
    said_needs,
)
from cortex.runtime.registry import ToolSpec

from ..state.failures import told_to
from ..state.goals import checks
from ..state.spending import left
from ..state.state import Edits, Execution, anew
from .choices import INSTRUCTIONS

STEP_TIMEOUT_S = 600.0  # bounds a handler where the step lays down nothing
MODEL_TIMEOUT_S = 300.0
GATE_TIMEOUT_S = 60.0  # bounds what evaluates a gate
CHECK_TIMEOUT_S = 600.0  # bounds what checks a goal, which may be a whole test suite
TOOL_TIMEOUT_S = 120.0  # bounds the work of a tool
ANSWER_TOKENS = 1_500  # where the compiler set no headroom apart


def gate_evaluate(
    state: Execution, step_id: str, index: int, gate: LinkedGate, parameters: dict[str, Any]
) -> GateEvaluate:
    """Ask the gate at *index* of the process (step "") or of a step; questions are counted on."""
    begun = state.begun()
    of_goal = step_id == state.step_id and checks(state, index)
    again = state.step_id == step_id and state.gates_passed == index
    answer, by = state.gate_answer if again else ("", "")
    return GateEvaluate(
        execution_id=state.execution_id,
        gate=gate.name,
        index=index,
        step_id=step_id,
        attempt=state.gate_attempts.get(f"{step_id}/{index}", 0) + 1,
        parameters=parameters,
        workspace=begun.workspace,
        goal=begun.goal,
        trigger=begun.trigger,
        answer=answer,
        by=by,
        requested_by=state.requested_by,
        component=gate.component,
        timeout_s=CHECK_TIMEOUT_S if of_goal else GATE_TIMEOUT_S,
        worktree=state.apart,
        tree=state.tree,
    )


def knowledge_request(state: Execution, step: LinkedStep, attempt: int) -> KnowledgeRequest | None:
    """Ask for the passages that the `find:` of *step* is about; None where it asks nothing.

    Raises:
        MissingValueError: A reference inside a text has no value.
    """
    find = step.find
    if find is UNSET or not (texts := _filled(find.texts, state, attempt)):
        return None
    return KnowledgeRequest(
        execution_id=state.execution_id,
        step_id=step.id,
        attempt=attempt,
        texts=texts,
        under=find.under,
        limit=find.passages,
        tokens=find.tokens,
    )


def memory_request(state: Execution, step: LinkedStep, attempt: int) -> MemoryRequest | None:
    """Ask for what *step* remembers under `memory:`; None where it asks nothing.

    Raises:
        MissingValueError: A reference inside a text has no value.
    """
    memory = step.memory
    if memory is UNSET or not (texts := _filled(memory.texts, state, attempt)):
        return None
    begun = state.begun()
    project = PurePath(begun.workspace).name
    return MemoryRequest(
        execution_id=state.execution_id,
        step_id=step.id,
        attempt=attempt,
        texts=texts,
        scopes=seen_by(state.execution_id, begun.process, project),
        history=memory.history,
        limit=memory.nodes,
        tokens=memory.tokens,
    )


def _filled(texts: Sequence[Template], state: Execution, attempt: int) -> tuple[str, ...]:
    """*texts* with their values, without empty ones."""
    values = [fill(text, state.scope(attempt)) for text in texts]
    written = [_written(value).strip() for value in values if value is not None]
    return tuple(filter(None, written))


def context_compile(
    state: Execution,
    process: LinkedProcess,
    step: LinkedStep,
    attempt: int,
    parameters: dict[str, Any],
    turn: int = 0,
    problem: str = "",
    unfit: tuple[str, ...] = (),
    verdict: str = "",
    new_edits: Edits = (),
) -> ContextCompile:
    """Ask for the prompt of *step*: the first of its *attempt*, or that of a later *turn*."""
    if turn == 0:
        state = anew(state)
    inferred = inferred_needs(process, step)
    goal = state.begun().goal
    if step.goal is not UNSET:
        goal = str(fill(step.goal.text, state.scope(attempt)))
    return ContextCompile(
        execution_id=state.execution_id,
        step_id=step.id,
        attempt=attempt,
        process=process.name,
        description=step.description,
        goal=goal,
        persona=step.persona or "",
        instructions=_instructions(step),
        parameters=parameters,
        knowledge=_topics(step),
        found=state.found,
        found_tokens=step.find.tokens if step.find is not UNSET else None,
        remembered=state.remembered,
        remembered_tokens=step.memory.tokens if step.memory is not UNSET else None,
        carry=_carried(state, step.carry),
        needs=said_needs(step),
        inferred=inferred.needs,
        inferred_from=inferred.reasons,
        unfit=unfit or state.unfit,
        budget=_laid_down(step.budget),
        tools=step.tools,
        strategy=step.strategy or "",
        turn=turn,
        answer_schema=answer_schema(step),
        problem=problem,
        failures=told_to(state.failures, step.id, [each.id for each in process.steps]),
        model=state.compiled.model if state.compiled is not None else "",
        left=left(state, step),
        spent=state.cost,
        linked=state.begun().linked if step.goal is not UNSET else "",
        verdict=verdict,
        edits=(*state.edits.get(step.id, ()), *new_edits),
        new_edits=len(new_edits),
        tree=state.tree,
    )


def _topics(step: LinkedStep) -> tuple[dict[str, str], ...]:
    return tuple(
        {"topic": t.topic, "path": t.path, "digest": t.digest, "root": t.root}
        for t in step.knowledge
    )


def _instructions(step: LinkedStep) -> str:
    of_goal = INSTRUCTIONS if step.goal is not UNSET else ""
    return "\n".join(filter(None, (of_goal, step.instructions or "")))


def answer_schema(step: LinkedStep) -> dict[str, Any]:
    """JSON Schema of what a model has to answer to *step*; empty for free text."""
    answer = step.action.answer if step.action is not None else UNSET
    return answer if answer is not UNSET else {}


def model_invoke(state: Execution, step: LinkedStep, compiled: ContextCompiled) -> ModelInvoke:
    """Ask the model that *compiled* was made for, with that very prompt."""
    return ModelInvoke(
        execution_id=state.execution_id,
        step_id=step.id,
        attempt=state.attempt,
        turn=state.turn,
        call=state.call + 1,
        model=compiled.model,
        provider=compiled.provider,
        prompt=compiled.prompt,
        answer_schema=answer_schema(step),
        max_tokens=compiled.headroom or ANSWER_TOKENS,
        timeout_s=step.timeout_s or MODEL_TIMEOUT_S,
    )


def tool_call(
    state: Execution, call_id: str, spec: ToolSpec, arguments: dict[str, Any]
) -> ToolCall:
    """Use a tool, as the model asked."""
    return ToolCall(
        execution_id=state.execution_id,
        step_id=state.step_id,
        attempt=state.attempt,
        turn=state.turn,
        call_id=call_id,
        tool=spec.name,
        provider=spec.provider,
        arguments=arguments,
        workspace=state.begun().workspace,
        timeout_s=TOOL_TIMEOUT_S,
        effect=spec.effect,
        component=spec.component,
        host=spec.host,
        worktree=state.apart,
        tree=state.tree,
    )


def step_execute(
    state: Execution,
    step: LinkedStep,
    attempt: int,
    parameters: dict[str, Any],
    answer: dict[str, Any] | None = None,
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
        answer=answer or {},
        timeout_s=step.timeout_s or STEP_TIMEOUT_S,
        component=step.action.component if step.action else "",
        worktree=state.apart,
        tree=state.tree,
    )


def child_request(
    state: Execution,
    step_id: str,
    child: LinkedChild,
    child_id: str,
    inputs: dict[str, Any],
    variation: Variation | None = None,
) -> ExecutionRequest:
    """Ask for the execution that carries out a step, or cleans up after it."""
    begun = state.begun()
    left_over = None if begun.max_cost is None else max(0.0, begun.max_cost - state.cost)
    return ExecutionRequest(
        execution_id=child_id,
        process=child.process or child.interface or "",
        inputs={name: value for name, value in inputs.items() if value is not None},
        goal=begun.goal,
        workspace=begun.workspace,
        trigger=begun.trigger,
        parent=state.execution_id,
        parent_step=step_id,
        max_cost=left_over,
        requested_by=state.requested_by,
        fork_of=begun.fork_of if variation is not None else "",
        variation=variation,
        # All actions towards a goal share one work tree, whoever chose them.
        tree=state.tree or (state.execution_id if state.apart else ""),
    )


def _written(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


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
