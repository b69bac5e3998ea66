"""What an execution says in one delivery; each thing is folded as it is said."""

from typing import Any

from msgspec.structs import replace

from cortex.bus import Event
from cortex.bus.events import (
    ExecutionCancel,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionPaused,
    StepDelegated,
    StepFailed,
    StepSkipped,
)
from cortex.runtime.kernel import Delivery, Output

from ..linked import LinkedChild, LinkedStep
from .asking import child_request, forget_wake, wake
from .evolve import evolve
from .room import clipped, too_large
from .state import Execution


class Voice:
    """Collects the outputs of one execution, and where each of them takes it."""

    def __init__(self, state: Execution, delivery: Delivery) -> None:
        self.state = state
        self.said: list[Output] = []
        self._delivery = delivery

    def say(self, event: Event) -> None:
        """Publish *event* and go on from what it makes of the execution."""
        self.said.append(event)
        self.state = evolve(self.state, event, self._delivery.time_ns, own=True)

    def ask(self, request: Event) -> str | None:
        """Say *request* if it fits; what is wrong comes back where it does not."""
        problem = too_large(request)
        if problem is None:
            self.say(request)
        return problem

    def pause(self, reason: str, step_id: str, *, question: str = "", prompt: str = "") -> None:
        """Wait for a resume, before *step_id*."""
        self.say(
            ExecutionPaused(
                execution_id=self.state.execution_id,
                reason=reason,
                step_id=step_id,
                question=question,
                prompt=prompt,
            )
        )

    def halt(
        self, reason: str, step_id: str, *, gate: str = "", evidence: dict[str, Any] | None = None
    ) -> None:
        """Stop until a resume tries it again."""
        halted = ExecutionHalted(
            execution_id=self.state.execution_id,
            reason=clipped(reason),
            step_id=step_id,
            gate=gate,
            evidence=evidence or {},
        )
        if too_large(halted):  # it stands in `gate.evaluated`, too
            halted = replace(halted, evidence={})
        self.say(halted)

    def complete(self, outputs: dict[str, Any]) -> None:
        """Record the outcome."""
        state = self.state
        completed = ExecutionCompleted(
            execution_id=state.execution_id,
            outputs=outputs,
            tokens=state.tokens,
            duration_s=(self._delivery.time_ns - state.started_ns) / 1e9,
        )
        problem = too_large(completed)
        if problem:
            self.fail(problem)
        else:
            self.say(completed)

    def fail(self, reason: str, step_id: str = "") -> None:
        """Record that it cannot go on."""
        execution_id = self.state.execution_id
        self.say(
            ExecutionFailed(execution_id=execution_id, reason=clipped(reason), step_id=step_id)
        )

    def skip(self, step_id: str, reason: str) -> None:
        """Pass over a step."""
        state = self.state
        self.say(StepSkipped(execution_id=state.execution_id, step_id=step_id, reason=reason))

    def fail_step(
        self, step_id: str, attempt: int, error: str, kind: str, *, retry: bool
    ) -> StepFailed:
        """Record that an attempt failed."""
        failed = StepFailed(
            execution_id=self.state.execution_id,
            step_id=step_id,
            attempt=attempt,
            error=clipped(error),
            kind=kind,
            retry=retry,
        )
        self.say(failed)
        return failed

    def delegate(
        self,
        step_id: str,
        attempt: int,
        child: LinkedChild,
        inputs: dict[str, Any],
        *,
        purpose: str = "step",
    ) -> str | None:
        """Have a child execution carry out a step, or clean up after it.

        What is wrong comes back, and nothing was said then; None where all is well.
        """
        child_id = self._delivery.new_id()
        request = child_request(self.state, step_id, child, child_id, inputs)
        problem = too_large(request)
        if problem:
            return problem
        self.say(
            StepDelegated(
                execution_id=self.state.execution_id,
                step_id=step_id,
                attempt=attempt,
                child=child_id,
                purpose=purpose,
            )
        )
        self.said.append(request)  # of the child's stream: folded there, when it comes
        return None

    def cancel_child(self, reason: str) -> None:
        """Ask the child execution to end."""
        self.said.append(ExecutionCancel(execution_id=self.state.child, reason=reason))

    def retry_after(self, wait_s: float) -> None:
        """Come back for the next attempt of the step that failed."""
        state = self.state
        self.said.append(
            wake(state, state.step_id, state.attempt, "retry", wait_s, self._delivery.time_ns)
        )

    def drop_retry(self) -> None:
        """Forget the next attempt of the step that failed."""
        self.said.append(forget_wake(self.state, "retry"))

    def set_timeout(self, step: LinkedStep) -> None:
        """Bound the attempt that has just begun."""
        state = self.state
        if step.timeout_s is not None:
            at_ns = self._delivery.time_ns
            self.said.append(wake(state, step.id, state.attempt, "timeout", step.timeout_s, at_ns))

    def drop_timeout(self, step: LinkedStep) -> None:
        """Forget the bound of the attempt that is over."""
        if step.timeout_s is not None:
            self.said.append(forget_wake(self.state, "timeout"))
