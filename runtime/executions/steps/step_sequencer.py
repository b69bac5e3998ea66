"""The sequence of an execution: its next request, or its end, decided from its state."""

from msgspec import UNSET

from cortex.bus.events import MemoryRequest, StepFailed
from cortex.runtime.processes import (
    LinkedGate,
    LinkedProcess,
    LinkedStep,
    MissingValueError,
    evaluate,
    fill,
)

from ..state.spending import more_to_spend, spent_by_execution
from ..state.state import Grown
from ..state.values import not_as_declared, outputs_of
from . import fanning, pursuing, recovery
from .breakpoints import stops_at
from .dialogue import Dialogue, Offers, Ways
from .growing import widened
from .outbox import Outbox
from .people import say_settled, show_edited, show_unedited
from .promises import missing_tools, waits_for_tools
from .recalling import effect_question, prompt_question
from .requests import (
    context_compile,
    gate_evaluate,
    knowledge_request,
    memory_request,
    model_invoke,
    step_execute,
)


class StepSequencer:
    """Leads one execution through its process, in one delivery."""

    def __init__(self, process: LinkedProcess, outbox: Outbox, offers: Offers) -> None:
        self.compiled = process  # without the steps that were chosen
        self._outbox = outbox
        self._offers = offers
        self._widened: tuple[tuple[Grown, ...], LinkedProcess] = ((), process)

    @property
    def process(self) -> LinkedProcess:
        """The process, with the steps that were chosen towards its goals so far."""
        state = self._outbox.state
        if state.grown is not self._widened[0]:
            self._widened = state.grown, widened(self.compiled, state)
        return self._widened[1]

    @property
    def dialogue(self) -> Dialogue:
        """The part of the attempt that talks with a model."""
        ways = Ways(self.fail, self.go_on, lambda: pursuing.check(self, self._outbox))
        return Dialogue(self.process, self._step(), self._outbox, self._offers, ways)

    def go_on(self, looks: int = 0) -> None:
        """Make the next request; none is open at the moment.

        Args:
            looks: How often the next step has already waited for its tools.
        """
        if self._outbox.state.leaving:
            return
        if self._at_process_gates():
            self._arrive("", self.process.gates, None)
            return
        while (step := self._next_step()) is not None:
            if step.when is None or evaluate(step.when, self._outbox.state.scope()):
                if step.fan is not UNSET:
                    fanning.begin(self, self._outbox, step, step.fan)
                else:
                    self._arrive(step.id, step.gates, step, looks)
                return
            self._skip(step, "its condition `when` is false")
        self._complete()

    def found(self, problem: str) -> None:
        """The knowledge store answered: ask memory, or compile the prompt with what it found."""
        if problem:
            self.fail(problem, "failed")
        elif (wanted := self._wanted_memories()) is not None:
            self._outbox.ask(wanted)
        else:
            self._compile()

    def remembered(self, problem: str) -> None:
        """Memory answered: compile the prompt with what it found."""
        if problem:
            self.fail(problem, "failed")
        else:
            self._compile()

    def _wanted_memories(self) -> MemoryRequest | None:
        state = self._outbox.state
        return memory_request(state, self._step(), state.attempt)  # values are as before

    def _repeats(self) -> bool:
        """Whether it repeats what is on record, prompts included."""
        return self._outbox.recorded is not None

    def _compile(self, turn: int = 0) -> None:
        state, step = self._outbox.state, self._step()
        parameters = state.parameters
        if not turn:
            parameters = fill(step.parameters, state.scope(state.attempt))  # as when it was asked
        asked = context_compile(state, self.process, step, state.attempt, parameters, turn)
        too_much = self._outbox.ask(asked)
        if too_much:
            self.fail(too_much, "refused", retry=False)

    def take_settled(self, step: LinkedStep) -> None:
        """Continue with the result that a person gave to *step*; its gates have passed."""
        if self._outbox.state.fan is not None:
            self._outbox.drop_timeout(step)
            self._outbox.cancel_child(f"{step.id} of its parent was skipped")
        if say_settled(self._outbox, step.id):
            self.settle(fits=True)
        else:
            self._skip_branches(step, f"{step.id} was skipped")
            self.go_on()

    def show_prompt(self) -> None:
        """Send the prompt that was compiled, or stop and show it first."""
        state, step = self._outbox.state, self._step()
        if state.editing is not None:
            show_edited(self._outbox)
        elif state.compiled is not None and stops_at(step, state):
            self._outbox.pause("breakpoint", step.id, prompt=state.compiled.prompt)
        else:
            self.ask_model()

    def not_compiled(self, reason: str, *, dear: bool = False) -> None:
        """There is no prompt; towards a goal a person may do what no model can be asked.

        Where it is too *dear*, it is said how more may be spent.
        """
        if dear and (more := more_to_spend(self._outbox.state, self._step())):
            reason = f"{reason}: {more}"
        if self._outbox.state.editing is not None:
            show_unedited(self._outbox, reason)
        elif self._step().goal is UNSET:
            self.fail(reason, "refused", retry=False)
        else:
            self._outbox.drop_timeout(self._step())
            pursuing.hold(self._outbox, self._step(), reason)

    def ask_model(self) -> None:
        """Send the prompt that was compiled."""
        state, step = self._outbox.state, self._step()
        if state.compiled is None:
            return
        found = self._outbox.directives
        if found.waits:
            self.drop_deadlines()
            self._outbox.pause_for_answer(step.id)
            return
        if found.digest != state.compiled.directives and not self._repeats():
            self._compile(state.turn)  # they changed since: the model is told what holds now
            return
        request = model_invoke(state, step, state.compiled)
        if question := prompt_question(state, self._outbox.recorded, request):
            self.drop_deadlines()
            self._outbox.ask_person(question, step.id, prompt=state.compiled.prompt)
            return
        problem = self._outbox.ask(request)
        if problem:
            self.fail(problem, "refused", retry=False)

    def go_on_attempting(self) -> None:
        """Continue a stopped attempt; the time meanwhile does not count."""
        self._outbox.set_timeout(self._step())
        if self._outbox.state.stage == "answered":
            self.answered()
        elif self._outbox.state.stage == "tools":
            self.dialogue.next_turn()
        else:
            self.ask_model()

    def answered(self) -> None:
        """The model answered: continue the dialogue, or pass the answer to the handler."""
        answer = self.dialogue.answered()
        if answer is None:
            return
        state = self._outbox.state
        asked = step_execute(state, self._step(), state.attempt, state.parameters, answer)
        if question := effect_question(state, self._outbox.recorded, asked, self._effect()):
            self.drop_deadlines()
            self._outbox.ask_person(question, self._step().id)
            return
        problem = self._outbox.ask(asked, self._effect())
        if problem:
            self.fail(problem, "refused", retry=False)

    def settle(self, *, fits: bool = False) -> None:
        """A step was carried out: check its output, and continue.

        Args:
            fits: The output was checked when a person gave it.
        """
        step = self._step()
        self._outbox.drop_timeout(step)
        output = self._outbox.state.results.get(step.id, {})
        wrong = "" if fits else not_as_declared(step, output)
        if wrong:
            self.fail(wrong, "refused")
        else:
            pursuing.observe(self._outbox, step.id, "completed")
            self.go_on()

    def fail(self, error: str, kind: str, *, retry: bool = True) -> None:
        """The attempt that is under way failed."""
        self._drop_waits()
        attempt = self._outbox.state.attempt
        failed = self._outbox.fail_step(self._step().id, attempt, error, kind, retry=retry)
        self.recover(failed)

    def recover(self, failed: StepFailed) -> None:
        """An attempt failed: try again, or follow the step's `on_failure`."""
        recovery.recover(self, self._outbox, failed)

    def try_again(self) -> None:
        """Begin the next attempt of the step that failed."""
        self._begin(self._step())

    def restart_timeout(self) -> None:
        """Set the attempt's timeout again after a stop."""
        if self._outbox.state.stage in ("child", "model", "handler", "fan"):
            self._outbox.set_timeout(self._step())

    def drop_deadlines(self) -> None:
        """Forget what was to happen later."""
        state = self._outbox.state
        if state.stage == "failed":
            self._outbox.drop_retry()
        elif state.stage == "gate":
            self._outbox.drop_gate_timeout(state.step_id, state.gates_passed, state.gate_attempt)
        elif state.attempt:
            self._drop_waits()
            self._outbox.drop_timeout(self._step())

    def do_again(self) -> None:
        """Hand the step to its handler once more, as it was handed over before."""
        outbox, state, step = self._outbox, self._outbox.state, self._step()
        attempt = state.attempts.get(step.id, 0) + 1
        asked = step_execute(state, step, attempt, state.parameters, state.answer)
        problem = outbox.ask(asked, self._effect())
        if problem:
            self.fail(problem, "refused", retry=False)
        else:
            outbox.set_timeout(step)

    def reached(self) -> tuple[str, ...]:
        """The steps that the execution may go back to, including the current one."""
        return recovery.reached(self.process, self._outbox.state)

    def go_back(
        self, step_id: str, reason: str, by: str = "", leaving: tuple[str, ...] = ()
    ) -> None:
        """Drop the results of *step_id* and of later steps, and continue at *step_id*.

        The cost of the executions *leaving* is known once they have ended: until then nothing
        begins that could spend it twice.
        """
        ids = [step.id for step in self.process.steps]
        state = self._outbox.state
        dropped = [each for each in ids[ids.index(step_id) :] if each in state.statuses]
        self._outbox.reopen(step_id, tuple(dropped), by, reason, leaving)
        self.go_on()

    def _drop_waits(self) -> None:
        if self._outbox.state.stage == "waiting":
            self._outbox.drop("model")
        elif self._outbox.state.stage == "tools":
            self._outbox.drop("tools")

    @property
    def step(self) -> LinkedStep:
        """The step at which it is."""
        return self._step()

    def _step(self) -> LinkedStep:
        return self.process.step(self._outbox.state.step_id)

    def _effect(self, step: LinkedStep | None = None) -> str:
        action = (step or self._step()).action
        return action.effect if action is not None else ""

    def _at_process_gates(self) -> bool:
        state = self._outbox.state
        return not state.step_id and state.gates_passed < len(self.process.gates)

    def _next_step(self) -> LinkedStep | None:
        settled = self._outbox.state.statuses
        return next(
            (s for s in self.process.steps if s.id not in settled and s.within is UNSET), None
        )

    def _skip(self, step: LinkedStep, reason: str) -> None:
        self._outbox.skip(step.id, reason)
        self._skip_branches(step, reason)

    def _skip_branches(self, step: LinkedStep, reason: str) -> None:
        for branch in step.fan.branches if step.fan is not UNSET else ():
            self._outbox.skip(branch, reason)

    def _arrive(
        self,
        step_id: str,
        gates: tuple[LinkedGate, ...],
        step: LinkedStep | None,
        looks: int = 0,
    ) -> None:
        state = self._outbox.state
        of_goal = step is not None and step.goal is not UNSET
        if of_goal and step is not None and pursuing.goes_on(self, self._outbox, step):
            return
        passed = state.gates_passed if state.step_id == step_id else 0
        if state.pausing is not None:
            self._outbox.pause(state.pausing, step_id)
        elif passed < len(gates):
            self.ask_gate(step_id, passed, gates[passed])
        elif step is not None and not waits_for_tools(self._outbox, step, self._offers, looks):
            self._begin(step)

    def ask_gate(self, step_id: str, index: int, gate: LinkedGate) -> None:
        """Ask the gate at *index* of the process (step "") or of a step."""
        state = self._outbox.state
        problem: str | None
        try:
            parameters = pursuing.about(state, gate, index, fill(gate.parameters, state.scope()))
            problem = self._outbox.ask(gate_evaluate(state, step_id, index, gate, parameters))
        except MissingValueError as error:
            problem = str(error)
        if problem:
            reason = f"gate {gate.name} cannot be asked: {problem}"
            self._outbox.halt(reason, step_id, gate=gate.name)
        else:
            self._outbox.set_gate_timeout()

    def _begin(self, step: LinkedStep) -> None:
        """A new attempt of *step*; its gates have passed."""
        outbox, state = self._outbox, self._outbox.state
        if step.id in state.settled:
            self.take_settled(step)
            return
        asks_model = step.asks_model
        stops = stops_at(step, state)
        if stops and not asks_model:
            outbox.pause("breakpoint", step.id)
            return
        if step.goal is not UNSET and step.goal.by_hand:
            pursuing.hold(outbox, step)
            return
        attempt = state.attempts.get(step.id, 0) + 1
        too_much = spent_by_execution(state) if asks_model else None
        missing = None if too_much else missing_tools(step, self._offers)
        problem = too_much or missing or self._ask_for(step, attempt)
        if problem:
            kind = "budget" if too_much else "missing" if missing else "refused"
            retry = missing is not None
            self.recover(outbox.fail_step(step.id, attempt, problem, kind, retry=retry))
        elif not stops and outbox.state.status == "running":
            outbox.set_timeout(step)

    def _ask_for(self, step: LinkedStep, attempt: int) -> str | None:
        """Ask for the first thing that *attempt* needs; what is wrong comes back, if anything."""
        outbox, state = self._outbox, self._outbox.state
        try:
            parameters = fill(step.parameters, state.scope(attempt))
            wanted = knowledge_request(state, step, attempt) or memory_request(state, step, attempt)
        except MissingValueError as error:
            return str(error)
        if step.child is not None:
            return outbox.delegate(step.id, attempt, step.child, parameters)
        if step.asks_model:
            if wanted is not None:
                return outbox.ask(wanted)
            return outbox.ask(context_compile(state, self.process, step, attempt, parameters))
        asked = step_execute(state, step, attempt, parameters)
        if question := effect_question(state, outbox.recorded, asked, self._effect(step)):
            outbox.ask_person(question, step.id)
            return None
        return outbox.ask(asked, self._effect(step))

    def _complete(self) -> None:
        if self.process.part is not UNSET:
            self._outbox.complete(self._outbox.state.results.get(self.process.part, {}))
            return
        outputs, wrong = outputs_of(self.process.outputs, self._outbox.state.scope())
        if wrong:
            self._outbox.fail(f"the outputs are not as declared: {'; '.join(wrong)}")
        else:
            self._outbox.complete(outputs)
