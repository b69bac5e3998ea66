"""The answers of gates."""

from typing import Any, TypeVar

import msgspec

from cortex.bus.events import GateEvaluate, GateEvaluated

from ..parameters import read_parameters

Parameters = TypeVar("Parameters", bound=msgspec.Struct)


def parameters_of(asked: GateEvaluate, kind: type[Parameters]) -> Parameters | GateEvaluated:
    """The gate's parameters, or the failure that says what is wrong with them."""
    found = read_parameters(asked.parameters, kind)
    return failed(asked, f"{asked.gate}: {found}") if isinstance(found, str) else found


def passed(asked: GateEvaluate, **evidence: Any) -> GateEvaluated:
    """The gate passes, because of *evidence*."""
    return _answer(asked, "passed", "", evidence)


def failed(asked: GateEvaluate, reason: str, **evidence: Any) -> GateEvaluated:
    """The gate does not pass; *reason* says what to do about it."""
    return _answer(asked, "failed", reason, evidence)


def waiting(asked: GateEvaluate, question: str) -> GateEvaluated:
    """A person must answer *question* first."""
    return _answer(asked, "waiting", question, {})


def _answer(
    asked: GateEvaluate, outcome: str, reason: str, evidence: dict[str, Any]
) -> GateEvaluated:
    return GateEvaluated(
        execution_id=asked.execution_id,
        gate=asked.gate,
        outcome=outcome,
        index=asked.index,
        step_id=asked.step_id,
        attempt=asked.attempt,
        reason=reason,
        evidence=evidence,
    )
