"""Earlier failures: kept while they may help a later attempt of a step.

A failure is shown to the steps that are tried again because of it: to its own step, and to the
earlier steps to which the execution went back. When its step is done, it is no longer shown.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from cortex.bus.events import GateEvaluated, StepFailed

KEPT: Final = 6  # the newest ones
EXCERPT_CHARS: Final = 4_000
ERROR_CHARS: Final = 2_000
EVIDENCE_BYTES: Final = 4_000

Failure = dict[str, Any]
Failures = tuple[Failure, ...]


def with_step(failures: Failures, event: StepFailed, model: str = "") -> Failures:
    """*failures* and an attempt that failed; *model* is the model that it asked."""
    failure: Failure = {
        "step": event.step_id,
        "attempt": event.attempt,
        "kind": event.kind,
        "error": event.error[:ERROR_CHARS],
    }
    if model:
        failure["model"] = model
    return _kept(failures, failure, event.excerpt)


def with_gate(failures: Failures, event: GateEvaluated) -> Failures:
    """*failures* and a gate that did not pass."""
    evidence = dict(event.evidence)
    excerpt = evidence.pop("excerpt", "")
    failure: Failure = {
        "step": event.step_id,
        "attempt": event.attempt,
        "kind": "gate",
        "gate": event.gate,
        "error": event.reason[:ERROR_CHARS],
    }
    if evidence and len(msgspec.msgpack.encode(evidence)) <= EVIDENCE_BYTES:
        failure["evidence"] = evidence
    return _kept(failures, failure, excerpt)


def with_result(failures: Failures, step: str, attempt: int, result: dict[str, Any]) -> Failures:
    """*failures* and the failure in a dropped result, such as that of tests."""
    excerpt = result.get("excerpt")
    told = any(failure.get("excerpt") for failure in failures if failure["step"] == step)
    if not excerpt or not isinstance(excerpt, str) or result.get("passed") is True or told:
        return failures
    error = str(result.get("summary") or "its result was not good enough")[:ERROR_CHARS]
    failure = {"step": step, "attempt": attempt, "kind": "result", "error": error}
    return _kept(failures, failure, excerpt)


def without_step(failures: Failures, step: str) -> Failures:
    """*failures* once *step* is done."""
    if not failures or all(failure["step"] != step for failure in failures):
        return failures
    return tuple(failure for failure in failures if failure["step"] != step)


def without_gate(failures: Failures, step: str, gate: str) -> Failures:
    """*failures* once *gate* of *step* has passed."""
    return tuple(each for each in failures if (each["step"], each.get("gate")) != (step, gate))


def told_to(failures: Failures, step: str, order: Sequence[str]) -> Failures:
    """Those that led to another try of *step*."""
    later = set(order[order.index(step) :]) if step in order else {step}
    return tuple(failure for failure in failures if failure["step"] in later)


def _kept(failures: Iterable[Failure], failure: Failure, excerpt: Any) -> Failures:
    if isinstance(excerpt, str) and excerpt:
        failure = {**failure, "excerpt": excerpt[:EXCERPT_CHARS]}
    return (*failures, failure)[-KEPT:]
