"""The sequence of an execution: from its state, what it asks next and how it ends."""

from msgspec import UNSET

from cortex.bus.events import StepFailed
from cortex.runtime.processes import (
    LinkedGate,
    LinkedProcess,
    LinkedStep,
    MissingValueError,
    evaluate,
    fill,
)

from . import fanning, pursuing, recovery
from .dialogue import Dialogue, Offers, Ways
from .growing import widened
from .outbox import Outbox
from .people import say_settled, show_edited, show_unedited
from .promises import missing_tools, waits_for_tools
from .requests import (
    GATE_DEADLINE_S,
    context_compile,
    gate_evaluate,
    knowledge_request,
    model_invoke,
    step_execute,
)
from .spending import more_to_spend, spent_by_execution
from .state import Execution, Grown
from .values import not_as_declared, outputs_of


class StepSequencer:
    """Leads one execution through its process, in one delivery."""

    def __init__(self, process: LinkedProcess, voice: Outbox, offers: Offers) -> None:
        self._compiled = process
        self._voice = voice
        self._offers = offers
        self._widened: tuple[tuple[Grown, ...], LinkedProcess] = ((), process)

    @property
    def process(self) -> LinkedProcess:
        """The process, with the steps that were chosen towards its goals so far."""
        state = self._voice.state
        if state.grown is not self._widened[0]:
            self._widened = state.grown, widened(self._compiled, state)
        return self._widened[1]

    @property
    def dialogue(self) -> Dialogue:
        """The part of the attempt that talks with a model."""
        ways = Ways(self.fail, self.go_on, lambda: pursuing.check(self, self._voice))
        return Dialogue(self.process, self._step(), self._voice, self._offers, ways)

    def go_on(self, looks: int = 0) -> None:
        """Ask for whatever comes next; nothing is asked at the moment.

        Args:
            looks: How often a step that comes next waited for its tools.
        """
        if self._voice.state.leaving:
            return
        if self._at_process_gates():
            self._arrive("", self.process.gates, None)
            return
        while (step := self._next_step()) is not None:
            if step.when is None or evaluate(step.when, self._voice.state.scope()):
                if step.fan is not UNSET:
                    fanning.begin(self, self._voice, step, step.fan)
                else:
                    self._arrive(step.id, step.gates, step, looks)
                return
            self._skip(step, "its condition `when` is false")
        self._complete()

    def found(self, problem: str) -> None:
        """The knowledge store answered: compile the prompt with what it found."""
        state, step = self._voice.state, self._step()
        if problem:
            self.fail(problem, "failed")
            return
        parameters = fill(step.parameters, state.scope(state.attempt))  # as when it was asked
        asked = context_compile(state, self.process, step, state.attempt, parameters)
        too_much = self._voice.ask(asked)
        if too_much:
            self.fail(too_much, "refused", retry=False)

    def take_settled(self, step: LinkedStep) -> None:
        """Go on with what a person said that *step* comes to; its gates have passed."""
        if self._voice.state.fan is not None:
            self._voice.drop_timeout(step)
            self._voice.cancel_child(f"{step.id} of its parent was skipped")
        if say_settled(self._voice, step.id):
            self.settle()
        else:
            self._skip_branches(step, f"{step.id} was skipped")
            self.go_on()

    def show_prompt(self) -> None:
        """Send the prompt that was compiled, or stop and show it first."""
        state, step = self._voice.state, self._step()
        if state.editing is not None:
            show_edited(self._voice)
        elif state.compiled is not None and self._stops_at(step):
            self._voice.pause("breakpoint", step.id, prompt=state.compiled.prompt)
        else:
            self.ask_model()

    def not_compiled(self, reason: str, *, dear: bool = False) -> None:
        """There is no prompt; towards a goal a person may do what no model can be asked.

        Where it is too *dear*, it is said how more may be spent.
        """
        if dear and (more := more_to_spend(self._voice.state, self._step())):
            reason = f"{reason}: {more}"
        if self._voice.state.editing is not None:
            show_unedited(self._voice, reason)
        elif self._step().goal is UNSET:
            self.fail(reason, "refused", retry=False)
        else:
            self._voice.drop_timeout(self._step())
            pursuing.hold(self._voice, self._step(), reason)

    def ask_model(self) -> None:
        """Send the prompt that was compiled."""
        state, step = self._voice.state, self._step()
        if state.compiled is None:
            return
        problem = self._voice.ask(model_invoke(state, step, state.compiled))
        if problem:
            self.fail(problem, "refused", retry=False)

    def go_on_attempting(self) -> None:
        """Go on with an attempt that stood still; its time did not count."""
        self._voice.set_timeout(self._step())
        if self._voice.state.stage == "tools":
            self.dialogue.next_turn()
        else:
            self.ask_model()

    def answered(self) -> None:
        """The model answered: go on with the dialogue, or hand the answer to the handler."""
        answer = self.dialogue.answered()
        if answer is None:
            return
        state = self._voice.state
        asked = step_execute(state, self._step(), state.attempt, state.parameters, answer)
        problem = self._voice.ask(asked)
        if problem:
            self.fail(problem, "refused", retry=False)

    def settle(self) -> None:
        """A step was carried out: look at what it gave, and go on."""
        step = self._step()
        self._voice.drop_timeout(step)
        wrong = not_as_declared(step, self._voice.state.results.get(step.id, {}))
        if wrong:
            self.fail(wrong, "refused")
        else:
            pursuing.observe(self._voice, step.id, "completed")
            self.go_on()

    def fail(self, error: str, kind: str, *, retry: bool = True) -> None:
        """The attempt that is under way failed."""
        self._drop_waits()
        attempt = self._voice.state.attempt
        failed = self._voice.fail_step(self._step().id, attempt, error, kind, retry=retry)
        self.recover(failed)

    def recover(self, failed: StepFailed) -> None:
        """An attempt failed: try again, or do what the step says about failures."""
        recovery.recover(self, self._voice, failed)

    def try_again(self) -> None:
        """Begin the next attempt of the step that failed."""
        self._begin(self._step())

    def restart_timeout(self) -> None:
        """Bound the attempt anew, after it stood still."""
        if self._voice.state.stage in ("child", "model", "handler", "fan"):
            self._voice.set_timeout(self._step())

    def gate_ran_out(self) -> None:
        """The gate that was asked did not answer: stop, and ask it again on a resume."""
        state = self._voice.state
        gates = pursuing.gates_of(self._step()) if state.step_id else self.process.gates
        name = gates[state.gates_passed].name
        reason = (
            f"gate {name} did not answer within {GATE_DEADLINE_S:g} s: "
            "look whether what evaluates it is at work, then resume"
        )
        self._voice.halt(reason, state.step_id, gate=name)

    def drop_deadlines(self) -> None:
        """Forget what was to happen later."""
        state = self._voice.state
        if state.stage == "failed":
            self._voice.drop_retry()
        elif state.stage == "gate":
            self._voice.drop_gate_timeout(state.step_id, state.gates_passed, state.gate_attempt)
        elif state.attempt:
            self._drop_waits()
            self._voice.drop_timeout(self._step())

    def do_again(self) -> None:
        """Hand the step to its handler once more, as it was handed over before."""
        voice, state, step = self._voice, self._voice.state, self._step()
        attempt = state.attempts.get(step.id, 0) + 1
        asked = step_execute(state, step, attempt, state.parameters, state.answer)
        problem = voice.ask(asked)
        if problem:
            self.fail(problem, "refused", retry=False)
        else:
            voice.set_timeout(step)

    def reached(self) -> tuple[str, ...]:
        """The steps that the execution may go back to, that at which it stands among them."""
        return reached(self.process, self._voice.state)

    def go_back(
        self, step_id: str, reason: str, by: str = "", leaving: tuple[str, ...] = ()
    ) -> None:
        """Drop what *step_id* and the steps after it gave, and go on there.

        What the executions *leaving* took is known once they have ended: until then nothing is
        begun that could spend it again.
        """
        ids = [step.id for step in self.process.steps]
        state = self._voice.state
        dropped = [each for each in ids[ids.index(step_id) :] if each in state.statuses]
        self._voice.reopen(step_id, tuple(dropped), by, reason, leaving)
        self.go_on()

    def _drop_waits(self) -> None:
        if self._voice.state.stage == "waiting":
            self._voice.drop("model")
        elif self._voice.state.stage == "tools":
            self._voice.drop("tools")

    @property
    def step(self) -> LinkedStep:
        """The step at which it is."""
        return self._step()

    def _step(self) -> LinkedStep:
        return self.process.step(self._voice.state.step_id)

    def _at_process_gates(self) -> bool:
        state = self._voice.state
        return not state.step_id and state.gates_passed < len(self.process.gates)

    def _next_step(self) -> LinkedStep | None:
        settled = self._voice.state.statuses
        return next(
            (s for s in self.process.steps if s.id not in settled and s.within is UNSET), None
        )

    def _skip(self, step: LinkedStep, reason: str) -> None:
        self._voice.skip(step.id, reason)
        self._skip_branches(step, reason)

    def _skip_branches(self, step: LinkedStep, reason: str) -> None:
        for branch in step.fan.branches if step.fan is not UNSET else ():
            self._voice.skip(branch, reason)

    def _stops_at(self, step: LinkedStep) -> bool:
        state = self._voice.state
        breaks = step.breakpoint or step.id in state.begun().breakpoints
        return breaks and step.id not in (state.shown if step.asks_model else state.stopped)

    def _arrive(
        self,
        step_id: str,
        gates: tuple[LinkedGate, ...],
        step: LinkedStep | None,
        looks: int = 0,
    ) -> None:
        state = self._voice.state
        of_goal = step is not None and step.goal is not UNSET
        if of_goal and step is not None and pursuing.goes_on(self, self._voice, step):
            return
        passed = state.gates_passed if state.step_id == step_id else 0
        if state.pausing is not None:
            self._voice.pause(state.pausing, step_id)
        elif passed < len(gates):
            self.ask_gate(step_id, passed, gates[passed])
        elif step is not None and not waits_for_tools(self._voice, step, self._offers, looks):
            self._begin(step)

    def ask_gate(self, step_id: str, index: int, gate: LinkedGate) -> None:
        """Ask the gate at *index* of the process (step "") or of a step."""
        state = self._voice.state
        problem: str | None
        try:
            parameters = pursuing.about(state, gate, index, fill(gate.parameters, state.scope()))
            problem = self._voice.ask(gate_evaluate(state, step_id, index, gate, parameters))
        except MissingValueError as error:
            problem = str(error)
        if problem:
            reason = f"gate {gate.name} cannot be asked: {problem}"
            self._voice.halt(reason, step_id, gate=gate.name)
        else:
            self._voice.set_gate_timeout()

    def _begin(self, step: LinkedStep) -> None:
        """A new attempt of *step*; its gates have passed."""
        voice, state = self._voice, self._voice.state
        if step.id in state.settled:
            self.take_settled(step)
            return
        asks_model = step.asks_model
        stops = self._stops_at(step)
        if stops and not asks_model:
            voice.pause("breakpoint", step.id)
            return
        if step.goal is not UNSET and step.goal.by_hand:
            pursuing.hold(voice, step)
            return
        attempt = state.attempts.get(step.id, 0) + 1
        too_much = spent_by_execution(state) if asks_model else None
        missing = None if too_much else missing_tools(step, self._offers)
        problem = too_much or missing or self._ask_for(step, attempt)
        if problem:
            kind = "budget" if too_much else "missing" if missing else "refused"
            retry = missing is not None
            self.recover(voice.fail_step(step.id, attempt, problem, kind, retry=retry))
        elif not stops:
            voice.set_timeout(step)

    def _ask_for(self, step: LinkedStep, attempt: int) -> str | None:
        """Ask for the first thing that *attempt* needs; what is wrong comes back, if anything."""
        voice, state = self._voice, self._voice.state
        try:
            parameters = fill(step.parameters, state.scope(attempt))
            wanted = knowledge_request(state, step, attempt)
        except MissingValueError as error:
            return str(error)
        if step.child is not None:
            return voice.delegate(step.id, attempt, step.child, parameters)
        if step.asks_model:
            if wanted is not None:
                return voice.ask(wanted)
            return voice.ask(context_compile(state, self.process, step, attempt, parameters))
        return voice.ask(step_execute(state, step, attempt, parameters))

    def _complete(self) -> None:
        if self.process.part is not UNSET:
            self._voice.complete(self._voice.state.results.get(self.process.part, {}))
            return
        outputs, wrong = outputs_of(self.process.outputs, self._voice.state.scope())
        if wrong:
            self._voice.fail(f"the outputs are not as declared: {'; '.join(wrong)}")
        else:
            self._voice.complete(outputs)


def reached(process: LinkedProcess, state: Execution) -> tuple[str, ...]:
    """The steps from which *state*, paused or halted, may be resumed."""
    chosen = {each.step_id for each in state.grown}
    ids = [s.id for s in process.steps if s.id not in chosen and s.within is UNSET]
    if state.status not in ("paused", "halted") or state.stage == "cleanup":
        return ()
    return tuple(each for each in ids if each in state.statuses or each == state.step_id)
