"""The events that an execution publishes in one delivery; each is folded when it is added."""

from typing import Any

from msgspec.structs import replace

from cortex.bus import Event
from cortex.bus.events import (
    ContextCompile,
    EffectSettle,
    ExecutionCancel,
    ExecutionEdited,
    ExecutionIgnored,
    ExecutionPause,
    ExecutionPaused,
    ExecutionRefused,
    ExecutionResume,
    ExecutionResumed,
    MemoryRequest,
    StepDelegated,
    StepFailed,
    StepReopened,
    StepSkipped,
)
from cortex.runtime.directives import InForce
from cortex.runtime.kernel import Delivery, Output
from cortex.runtime.processes import LinkedChild, LinkedStep

from ..state.asked import Serving, addressed, asker, nobody
from ..state.evolve import evolve
from ..state.recorded_calls import RecordedCalls
from ..state.state import AGREEMENT, Execution, Ignored
from ..state.values import clipped, too_large
from .deadlines import bounds_of, forget_gate, forget_wake, gate_wake, model_wake, tools_wake, wake
from .laid_down import Directives, nothing_laid_down, too_long, with_directives
from .outcomes import cancelled, completed, failed, halted
from .recalling import inherited, recalled
from .requests import child_request
from .steered import with_packages_laid_down

UNSEEN = "it stopped after the position that the request has seen: look at it, then resume"


class Outbox:
    """Collects the outputs of one execution, and its state after each of them."""

    def __init__(
        self,
        state: Execution,
        delivery: Delivery,
        serves: Serving = nobody,
        recorded: RecordedCalls | None = None,
        directives: Directives = nothing_laid_down,
    ) -> None:
        self.state = state
        self.outputs: list[Output] = []
        self._delivery = delivery
        self._serves = serves
        self._directives = directives
        self.recorded = recorded  # the record that it uses, if it is a fork or a what-if

    def say(self, event: Event) -> None:
        """Publish *event* and fold it into the state of the execution."""
        self.outputs.append(event)
        self.state = evolve(self.state, event, self._delivery.time_ns, own=True)

    @property
    def now_ns(self) -> int:
        """When what is answered was recorded."""
        return self._delivery.time_ns

    @property
    def source(self) -> str:
        """The client that published what is answered, as the hub authenticated it."""
        return self._delivery.source

    def was_seen(self, seen: int) -> bool:
        """Whether a reader of the log up to *seen* saw the current state."""
        state = self.state
        return not state.unrecorded and state.stood <= min(seen, self._delivery.position)

    def refuse(self, asked: Event | type[Event], reason: str, by: str = "") -> None:
        """Record that a request is not followed: that which is answered, or an earlier one *by*."""
        self.say(
            ExecutionRefused(
                execution_id=self.state.execution_id,
                asked=asked.topic_name(),
                reason=clipped(reason),
                by=by or self.source,
            )
        )

    def ignore(self, said: Ignored, asked: str) -> None:
        """Record that somebody answered who was not *asked*."""
        by, answer, step_id, attempt = said
        self.say(
            ExecutionIgnored(
                execution_id=self.state.execution_id,
                answer=answer,
                by=by,
                asked=asked,
                step_id=step_id,
                attempt=attempt,
            )
        )

    @property
    def directives(self) -> InForce:
        """What people laid down that is in force for the execution."""
        return self._directives(self.state)

    def ask(self, request: Event, effect: str = "") -> str | None:
        """Say *request* to who serves it; what is wrong comes back where it does not fit."""
        request = addressed(request, self._serves)
        if isinstance(request, ContextCompile):
            request = with_directives(request, self.directives)
        elif isinstance(request, MemoryRequest):
            request = with_packages_laid_down(request, self.directives)
        if self.recorded is not None:
            request = recalled(self.state, request, self.recorded, effect)
        problem = too_long(request)
        if problem is None:
            self.say(request)
        return problem

    def ask_person(self, question: str, step_id: str, *, prompt: str = "") -> None:
        """Pause until a person agrees to what is not on record."""
        gate = f"{self.state.begun().process}/{AGREEMENT}"
        self.pause(AGREEMENT, step_id, question=question, prompt=prompt, gate=gate)

    def pause_for_answer(self, step_id: str) -> None:
        """Wait until a person has answered the question of a directive."""
        found = self.directives
        scope = found.waits[0]
        how = f"`cortex directive step --scope {scope} yes` or no answers it"
        self.say(
            ExecutionPaused(
                execution_id=self.state.execution_id,
                reason=clipped(
                    f"no model is asked before this is answered: {found.question} {how}"
                ),
                step_id=step_id,
                waits_for=found.waits,
            )
        )

    def pause(
        self, reason: str, step_id: str, *, question: str = "", prompt: str = "", gate: str = ""
    ) -> None:
        """Wait for a resume, before *step_id*; with *gate*, for an answer to that one."""
        self.say(
            ExecutionPaused(
                execution_id=self.state.execution_id,
                reason=reason,
                step_id=step_id,
                question=question,
                prompt=prompt,
                gate=gate,
            )
        )

    def halt(
        self, reason: str, step_id: str, *, gate: str = "", evidence: dict[str, Any] | None = None
    ) -> None:
        """Stop until a resume tries it again."""
        self.say(halted(self.state, reason, step_id, gate, evidence or {}))

    def complete(self, outputs: dict[str, Any]) -> None:
        """Record the outcome."""
        event = completed(self.state, outputs, self._delivery.time_ns)
        if problem := too_large(event):
            self.fail(problem)
        else:
            self.say(event)

    def fail(self, reason: str, step_id: str = "") -> None:
        """Record that it cannot continue."""
        self.say(failed(self.state, reason, step_id))

    def cancel(self, reason: str) -> None:
        """Record that it ended because somebody asked for it."""
        self.say(cancelled(self.state, reason))

    def resume(
        self,
        answer: str = "",
        by: str = "",
        note: str = "",
        from_step: str = "",
        *,
        stepping: bool = False,
    ) -> None:
        """Record that it continues; *stepping*, as far as the next step."""
        self.say(
            ExecutionResumed(
                execution_id=self.state.execution_id,
                step_id=self.state.step_id,
                answer=answer,
                by=by,
                note=note,
                from_step=from_step,
                stepping=stepping,
            )
        )

    def edit(
        self, inputs: dict[str, Any], changed: tuple[str, ...], max_cost: float | None, note: str
    ) -> None:
        """Record what a person changed."""
        self.say(
            ExecutionEdited(
                execution_id=self.state.execution_id,
                inputs=inputs,
                changed=changed,
                max_cost=max_cost,
                by=asker(self.source, ""),
                note=note,
            )
        )

    def skip(self, step_id: str, reason: str) -> None:
        """Pass over a step."""
        state = self.state
        self.say(StepSkipped(execution_id=state.execution_id, step_id=step_id, reason=reason))

    def reopen(
        self,
        step_id: str,
        dropped: tuple[str, ...],
        by: str,
        reason: str,
        leaving: tuple[str, ...] = (),
    ) -> None:
        """Go back to a step, once the executions *leaving* have ended."""
        state = self.state
        self.say(
            StepReopened(
                execution_id=state.execution_id,
                step_id=step_id,
                dropped=dropped,
                by=by,
                times=state.went_back.get(by, 0) + 1 if by else 0,
                reason=clipped(reason),
                leaving=leaving,
            )
        )

    def fail_step(
        self, step_id: str, attempt: int, error: str, kind: str, *, retry: bool
    ) -> StepFailed:
        """Record that an attempt failed."""
        event = StepFailed(
            execution_id=self.state.execution_id,
            step_id=step_id,
            attempt=attempt,
            error=clipped(error),
            kind=kind,
            retry=retry,
        )
        self.say(event)
        return event

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
        variation = inherited(self.state, step_id, attempt, purpose)
        request = child_request(self.state, step_id, child, child_id, inputs, variation)
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
        self.outputs.append(request)  # of the child's stream: folded there, when it comes
        return None

    def new_execution(self) -> str:
        """The id of an execution that is to be begun."""
        return self._delivery.new_id(len(self.outputs) + 1)

    def cancel_item(self, child: str, reason: str) -> None:
        """Ask the execution of one item to end."""
        self.outputs.append(ExecutionCancel(execution_id=child, reason=clipped(reason)))

    def cancel_child(self, reason: str) -> None:
        """Ask the child execution, or each of them, to end."""
        for child in self.state.alive:
            self.cancel_item(child, reason)

    def pause_child(self, reason: str) -> None:
        """Ask the child execution, or each of them, to pause."""
        for child in self.state.alive:
            self.outputs.append(ExecutionPause(execution_id=child, reason=clipped(reason)))

    def resume_child(self, event: ExecutionResume, child: str = "") -> None:
        """Hand a resume on to the child execution, in the name of who asked for it."""
        by = self.asked_by(event)
        self.outputs.append(replace(event, execution_id=child or self.state.child, by=by))

    def asked_by(self, event: ExecutionResume) -> str:
        """Who asked for *event*, which is being handled, as the hub authenticated them."""
        return asker(self._delivery.source, event.by)

    def settle_child(self, event: EffectSettle, child: str) -> None:
        """Hand an answer on to the child execution."""
        self.outputs.append(replace(event, execution_id=child))

    def look_at_timeout(self, what: str, wait_s: float) -> None:
        """Come back to an attempt whose time is over, once more."""
        state = self.state
        at_ns = self._delivery.time_ns
        self.outputs.append(wake(state, state.step_id, state.attempt, what, wait_s, at_ns, index=1))

    def retry_after(self, wait_s: float) -> None:
        """Come back for the next attempt of the step that failed."""
        state = self.state
        self.outputs.append(
            wake(state, state.step_id, state.attempt, "retry", wait_s, self._delivery.time_ns)
        )

    def drop_retry(self) -> None:
        """Forget the next attempt of the step that failed."""
        self.outputs.append(forget_wake(self.state, "retry"))

    def ask_model_after(self, wait_s: float) -> None:
        """Come back to send the prompt again."""
        self.outputs.append(model_wake(self.state, wait_s, self._delivery.time_ns))

    def look_again(self, step_id: str, attempt: int, looks: int, wait_s: float) -> None:
        """Come back to see whether the servers of tools have answered that a step names."""
        place, at_ns = (step_id, attempt, "offers"), self._delivery.time_ns
        self.outputs.append(wake(self.state, *place, wait_s, at_ns, index=looks))

    def set_tools_timeout(self) -> None:
        """Bound the time of the tools that are at work, from now on."""
        self.outputs.append(tools_wake(self.state, self._delivery.time_ns))

    def drop(self, what: str) -> None:
        """Forget a deadline of the attempt that is under way."""
        self.outputs.append(forget_wake(self.state, what))

    def fraction(self) -> float:
        """A number from 0 to 1 that is this delivery's own, the same at every replay."""
        return int(self._delivery.new_id(len(self.outputs)), 36) / 36**16

    def set_gate_timeout(self) -> None:
        """Bound the time of the gate that has just been asked."""
        self.outputs.append(gate_wake(self.state, self._delivery.time_ns))

    def drop_gate_timeout(self, step_id: str, index: int, attempt: int) -> None:
        """Forget the bound of a gate that was asked."""
        self.outputs.append(forget_gate(self.state.execution_id, step_id, index, attempt))

    def set_timeout(self, step: LinkedStep) -> None:
        """Bound the attempt that has just begun."""
        state = self.state
        for what, after_s in bounds_of(step):
            at_ns = self._delivery.time_ns
            self.outputs.append(wake(state, step.id, state.attempt, what, after_s, at_ns))

    def drop_timeout(self, step: LinkedStep) -> None:
        """Forget the bound of the attempt that is over."""
        for what, _ in bounds_of(step):
            self.drop(what)
