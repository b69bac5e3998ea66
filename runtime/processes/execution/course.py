"""The course of an execution: given where it stands, what it asks next and how it ends."""

from cortex.bus.events import StepFailed

from ..errors import MissingValueError
from ..evaluate import evaluate, fill
from ..linked import Continue, GoTo, Halt, LinkedGate, LinkedProcess, LinkedStep, RunProcess
from .asking import context_compile, gate_evaluate, model_invoke, step_execute
from .retrying import wait_before_retry
from .values import outputs_of, wrong_result
from .voice import Voice


class Course:
    """Leads one execution through its process, in one delivery."""

    def __init__(self, process: LinkedProcess, voice: Voice) -> None:
        self._process = process
        self._voice = voice

    def go_on(self) -> None:
        """Ask for whatever comes next; nothing is asked at the moment."""
        if self._at_process_gates():
            self._arrive("", self._process.gates, None)
            return
        while (step := self._next_step()) is not None:
            if step.when is None or evaluate(step.when, self._voice.state.scope()):
                self._arrive(step.id, step.gates, step)
                return
            self._voice.skip(step.id, "its condition `when` does not hold")
        self._complete()

    def show_prompt(self) -> None:
        """Send the prompt that was compiled, or stop and show it first."""
        state, step = self._voice.state, self._step()
        if state.compiled is not None and self._stops_at(step):
            self._voice.pause("breakpoint", step.id, prompt=state.compiled.prompt)
        else:
            self.ask_model()

    def ask_model(self) -> None:
        """Send the prompt that was compiled."""
        state, step = self._voice.state, self._step()
        if state.compiled is None:
            return
        if step.id in state.stopped:  # its time does not count while a person looks at the prompt
            self._voice.set_timeout(step)
        self._voice.say(model_invoke(state, step, state.compiled))

    def ask_handler(self) -> None:
        """Hand the model's answer to the handler of the step."""
        state = self._voice.state
        asked = step_execute(state, self._step(), state.attempt, state.parameters)
        problem = self._voice.ask(asked)
        if problem:
            self.fail(problem, "refused", retry=False)

    def settle(self) -> None:
        """A step was carried out: look at what it gave, and go on."""
        step = self._step()
        self._voice.drop_timeout(step)
        wrong = wrong_result(step.output, self._voice.state.results.get(step.id, {}))
        if wrong:
            self.fail(f"the result of {step.id} is not as declared: {'; '.join(wrong)}", "refused")
        else:
            self.go_on()

    def fail(self, error: str, kind: str, *, retry: bool = True) -> None:
        """The attempt that is under way failed."""
        attempt = self._voice.state.attempt
        failed = self._voice.fail_step(self._step().id, attempt, error, kind, retry=retry)
        self.recover(failed)

    def recover(self, failed: StepFailed) -> None:
        """An attempt failed: try again, or do what the step says about failures."""
        voice, step = self._voice, self._step()
        voice.drop_timeout(step)
        tries = failed.attempt - voice.state.first_attempt + 1
        wait_s = wait_before_retry(step.retry, tries, failed)
        if wait_s is None:
            self._give_up(step, failed)
        elif voice.state.pausing is not None:
            voice.pause(voice.state.pausing, step.id)
        elif wait_s > 0:
            voice.retry_after(wait_s)
        else:
            self.try_again()

    def try_again(self) -> None:
        """Begin the next attempt of the step that failed."""
        self._begin(self._step())

    def drop_deadlines(self) -> None:
        """Forget what was to happen later."""
        state = self._voice.state
        if state.stage == "failed":
            self._voice.drop_retry()
        elif state.attempt:
            self._voice.drop_timeout(self._step())

    def _step(self) -> LinkedStep:
        return self._process.step(self._voice.state.step_id)

    def _at_process_gates(self) -> bool:
        state = self._voice.state
        return not state.step_id and state.gates_passed < len(self._process.gates)

    def _next_step(self) -> LinkedStep | None:
        settled = self._voice.state.statuses
        return next((step for step in self._process.steps if step.id not in settled), None)

    def _stops_at(self, step: LinkedStep) -> bool:
        state = self._voice.state
        breaks = step.breakpoint or step.id in state.begun().breakpoints
        return breaks and step.id not in state.stopped

    def _arrive(self, step_id: str, gates: tuple[LinkedGate, ...], step: LinkedStep | None) -> None:
        state = self._voice.state
        passed = state.gates_passed if state.step_id == step_id else 0
        if state.pausing is not None:
            self._voice.pause(state.pausing, step_id)
        elif passed < len(gates):
            self._ask_gate(step_id, passed, gates[passed])
        elif step is not None:
            self._begin(step)

    def _ask_gate(self, step_id: str, index: int, gate: LinkedGate) -> None:
        state = self._voice.state
        problem: str | None
        try:
            parameters = fill(gate.parameters, state.scope())
            problem = self._voice.ask(gate_evaluate(state, step_id, index, gate, parameters))
        except MissingValueError as error:
            problem = str(error)
        if problem:
            reason = f"gate {gate.name} cannot be asked: {problem}"
            self._voice.halt(reason, step_id, gate=gate.name)

    def _begin(self, step: LinkedStep) -> None:
        """A new attempt of *step*; its gates have passed."""
        voice, state = self._voice, self._voice.state
        asks_model = step.action is not None and step.action.asks_model
        stops = self._stops_at(step)
        if stops and not asks_model:
            voice.pause("breakpoint", step.id)
            return
        attempt = state.attempt + 1 if state.step_id == step.id else 1
        problem = self._ask_for(step, attempt)
        if problem:
            self.recover(voice.fail_step(step.id, attempt, problem, "refused", retry=False))
        elif not stops:
            voice.set_timeout(step)

    def _ask_for(self, step: LinkedStep, attempt: int) -> str | None:
        """Ask for the first thing that *attempt* needs; what is wrong comes back, if anything."""
        voice, state = self._voice, self._voice.state
        try:
            parameters = fill(step.parameters, state.scope(attempt))
        except MissingValueError as error:
            return str(error)
        if step.child is not None:
            return voice.delegate(step.id, attempt, step.child, parameters)
        if step.action is not None and step.action.asks_model:
            return voice.ask(context_compile(state, self._process, step, attempt, parameters))
        return voice.ask(step_execute(state, step, attempt, parameters))

    def _give_up(self, step: LinkedStep, failed: StepFailed) -> None:
        match step.on_failure:
            case Halt():
                evidence = {"kind": failed.kind, "attempt": failed.attempt}
                self._voice.halt(failed.error, step.id, evidence=evidence)
            case Continue():
                self.go_on()
            case GoTo(target):
                self._skip_to(target, step.id)
                self.go_on()
            case RunProcess() as cleanup:
                self._clean_up(step, failed, cleanup)

    def _skip_to(self, target: str, failed_id: str) -> None:
        for step in self._process.steps:
            if step.id == target:
                return
            if step.id not in self._voice.state.statuses:
                self._voice.skip(step.id, f"{failed_id} failed, and goes on at {target}")

    def _clean_up(self, step: LinkedStep, failed: StepFailed, cleanup: RunProcess) -> None:
        voice = self._voice
        problem: str | None
        try:
            inputs = fill(cleanup.parameters, voice.state.scope(failed.attempt))
            child = cleanup.child
            problem = voice.delegate(step.id, failed.attempt, child, inputs, purpose="cleanup")
        except MissingValueError as error:
            problem = str(error)
        if problem:
            voice.fail(f"{failed.error}; cleaning up was not possible: {problem}", step.id)

    def _complete(self) -> None:
        outputs, wrong = outputs_of(self._process.outputs, self._voice.state.scope())
        if wrong:
            self._voice.fail(f"the outputs are not as declared: {'; '.join(wrong)}")
        else:
            self._voice.complete(outputs)
