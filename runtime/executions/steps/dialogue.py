"""What an execution does about a model's answer: use tools, ask again, or continue with it."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from msgspec import UNSET, Struct
from msgspec.structs import replace

from cortex.bus import UNDECLARED
from cortex.bus.events import (
    EffectUnknown,
    ModelFailed,
    ToolCall,
    ToolDenied,
    ToolEnabled,
    ToolFailed,
)
from cortex.runtime.models import EMBEDDED_MODEL
from cortex.runtime.processes import EMPTY, LinkedProcess, LinkedStep, is_empty, typed_answer
from cortex.runtime.registry import Registry, ToolSpec
from cortex.runtime.tools import (
    ENABLE_PACK,
    WAIT_S,
    Allowed,
    Skill,
    allowed,
    check_call,
)

from ..state.goals import pending
from ..state.spending import spent
from ..state.turns import MODEL_CALLS, PASSING
from ..state.values import clipped
from .choices import ALONE, GIVE_UP, ONE_A_TURN, REACHED, choices, given_up
from .deadlines import wait_before_call
from .growing import propose
from .laid_down import denied
from .outbox import Outbox
from .recalling import effect_question, waited
from .requests import TOOL_TIMEOUT_S, answer_schema, context_compile, tool_call
from .steered import steered, without_prohibited

CALLS: Final = 32  # of one turn that are looked at
NAME_CHARS: Final = 200

_ID = re.compile(r"[\w.:-]{1,100}", re.ASCII)  # of a call; any other is replaced


class Offers(Struct, frozen=True):
    """Looks up what there is of the tools that a step lists."""

    look: Callable[[Sequence[str]], Registry]
    wait_s: float = WAIT_S  # that a step waits for those that it declares and that are not there

    def __call__(self, entries: Sequence[str]) -> Registry:
        """The registry of the tools that *entries* may be about."""
        return self.look(entries)


class Ways(NamedTuple):
    """How other parts continue an attempt."""

    fail: Callable[..., None]  # (error, kind, *, retry): it ends
    go_on: Callable[[], None]  # the action that was chosen towards its goal is done
    check: Callable[[], None]  # its goal is reported as reached


class Dialogue:
    """Leads one attempt through its turns with a model, in one delivery."""

    def __init__(
        self, process: LinkedProcess, step: LinkedStep, outbox: Outbox, offers: Offers, ways: Ways
    ) -> None:
        self._process = process
        self._step = step
        self._outbox = outbox
        self._offers = offers
        self._fail = ways.fail
        self._ways = ways
        self._chooses = step.goal is not UNSET  # its model may choose what is done

    def answered(self) -> dict[str, Any] | None:
        """The answer that the handler is given; None where something else comes first."""
        state, step = self._outbox.state, self._step
        calls = state.answer.get("calls") if step.tools or self._chooses else None
        if calls and isinstance(calls, list):
            self._use_tools(calls)
            return None
        if state.stop == "refused":
            said = str(state.answer.get("text") or "it gives no reason")
            self._fail(f"{self._model()} refused to answer: {said[:300]}", "refused", retry=False)
            return None
        schema = answer_schema(step)
        if not schema and is_empty(state.answer):
            self._correct(EMPTY)
            return None
        if self._chooses:
            self._ways.check()
            return None
        if not schema:
            return state.answer
        data, problem = typed_answer(state.answer, schema, state.stop)
        if problem is not None:
            self._correct(problem)
            return None
        return {**state.answer, "data": data}

    def model_failed(self, failed: ModelFailed) -> None:
        """Ask again in a while, or give the attempt up."""
        outbox = self._outbox
        if outbox.state.stage != "waiting":
            again = failed.kind in PASSING and failed.call >= MODEL_CALLS
            who = f"{failed.model} was asked {failed.call} times" if again else failed.model
            plain = failed.kind == "failed"
            error = failed.error if plain else f"{who}: {failed.kind}: {failed.error}"
            kind = "timeout" if failed.kind == "timeout" else "failed"
            self._fail(error, kind, retry=failed.retry)
        elif outbox.state.pausing is not None:
            self.stand_still(outbox.state.pausing)
        else:
            asked_s = failed.retry_after_s
            wait_s = wait_before_call(failed.call, asked_s, outbox.fraction())
            outbox.ask_model_after(waited(outbox.state, wait_s))

    def stand_still(self, reason: str) -> None:
        """Pause between two questions of the attempt; its time does not count then."""
        self._outbox.drop_timeout(self._step)
        self._outbox.pause(reason, self._step.id)

    def tool_told(self) -> None:
        """A tool answered: wait for the others, or show the model all results."""
        if self._outbox.state.open_calls:
            self._outbox.set_tools_timeout()
        else:
            self._outbox.drop("tools")
            self.next_turn()

    def tools_ran_out(self, open_calls: int) -> None:
        """Too many calls were open, so none was answered: tell the model, which continues."""
        if len(self._outbox.state.open_calls) != open_calls:
            return
        reason = f"it did not answer within {TOOL_TIMEOUT_S:g} s"
        begun = {effect.call_id for effect in self._outbox.state.effects.values()}
        for call_id in tuple(self._outbox.state.open_calls):
            if call_id not in begun:  # else a person is asked: the model would do it again
                self._give_up(call_id, reason, "timeout")
        if not begun:
            self.next_turn()

    def tool_parked(self, asked: ToolCall, reason: str) -> None:
        """Whoever was asked could not even say that it failed."""
        self._give_up(asked.call_id, reason, "failed")
        self.tool_told()

    def call_again(self, effect: EffectUnknown) -> None:
        """Use a tool once more, as it was used before."""
        outbox, step = self._outbox, self._step
        specs = {spec.name: spec for spec in self._offers(step.tools).tools}
        spec = specs.get(effect.name)
        if spec is None:
            self._give_up(effect.call_id, f"there is no tool {effect.name} any more", "missing")
        elif why := denied(effect.name, outbox.directives, spec.pack):
            self._give_up(effect.call_id, why, "denied")
        else:
            asked = tool_call(outbox.state, effect.call_id, spec, effect.parameters)
            too_large = outbox.ask(asked, asked.effect or UNDECLARED)
            if too_large:
                self._give_up(effect.call_id, too_large, "failed")

    def next_turn(self, problem: str = "", unfit: tuple[str, ...] = ()) -> None:
        """Ask for the next prompt of the attempt."""
        outbox, state, step = self._outbox, self._outbox.state, self._step
        if self._chooses and pending(state) is not None:
            outbox.drop_timeout(step)  # its time continues with its next turn
            self._ways.go_on()
            return
        if state.pausing is not None and not problem:
            self.stand_still(state.pausing)
            return
        asked = context_compile(
            state,
            self._process,
            step,
            state.attempt,
            state.parameters,
            state.turn + 1,
            problem,
            unfit,
        )
        too_large = outbox.ask(asked)
        if too_large:
            self._fail(too_large, "refused", retry=False)

    def _correct(self, problem: str) -> None:
        """Ask again: the next better model, or the same one if there is none, and once only."""
        state, step = self._outbox.state, self._step
        compiled = state.compiled
        better = compiled.better if compiled is not None else ()
        # Each model that gave way to a better one had one answer; the last of them has two.
        if not better and state.problems > len(state.unfit):
            self._fail(self._unfit_answers(problem), "wrong_answer")
            return
        too_much = spent(state, step, correcting=True)
        if too_much:
            self._fail(f"{too_much}; its last answer did not fit: {problem}", "budget", retry=False)
            return
        gave_it = (compiled.model,) if compiled is not None and better else ()
        self.next_turn(clipped(problem), tuple(dict.fromkeys((*state.unfit, *gave_it))))

    def _unfit_answers(self, problem: str) -> str:
        state, step = self._outbox.state, self._step
        if self._model() == EMBEDDED_MODEL:
            return (
                f"no model was asked, and quotations are no answer to {step.id} ({problem}): name "
                "a model under [models] in config.toml, then resume"
            )
        if not state.unfit:
            return f"{self._model()} answered {step.id} twice in a wrong form: {problem}"
        before = ", ".join(state.unfit)
        return f"{self._model()} answered {step.id} in a wrong form, and so did {before}: {problem}"

    def _use_tools(self, calls: list[Any]) -> None:
        state, step = self._outbox.state, self._step
        calls = [call if isinstance(call, dict) else {} for call in calls]
        if self._ends(calls):
            return
        too_much = spent(state, step)
        if too_much:
            self._fail(too_much, "budget", retry=False)
            return
        specs = self._offers(step.tools).tools
        chosen = choices(step) if step.goal is not UNSET else ()
        may = allowed((*step.tools, *(c.name for c in chosen)), (*specs, *chosen))
        # Nobody here looks at the disk: what is no tool may be a skill, if the model was shown it.
        may = replace(may, skills=tuple(Skill(name, "", "") for name in may.unknown))
        by_name = {each: tool for tool in may.tools for each in (tool.wire, tool.name)}
        may = steered(may, self._outbox.directives)
        may = without_prohibited(may, self._outbox.directives)
        if question := self._unrecorded(may, calls[:CALLS]):
            self._outbox.drop_timeout(step)
            self._outbox.ask_person(question, step.id)
            return
        for number, call in enumerate(calls[:CALLS], 1):
            meant = by_name.get(str(call.get("tool", "")))
            self._use(may, state.enabled, meant, number, call)
        for number, _ in enumerate(calls[CALLS:], CALLS + 1):
            self._deny(
                self._id(number, {}), "", f"at most {CALLS} calls of one turn are carried out"
            )
            break
        if self._outbox.state.open_calls:
            self._outbox.set_tools_timeout()
        else:
            self.next_turn()

    def _unrecorded(self, may: Allowed, calls: list[dict[str, Any]]) -> str:
        """What a person is asked before these calls, if one has an effect that is not on record."""
        outbox = self._outbox
        for call in calls:
            arguments = call.get("arguments")
            found = check_call(str(call.get("tool", "")), arguments, may, outbox.state.enabled)
            if isinstance(found, str) or found is ENABLE_PACK or not found.provider:
                continue
            asked = tool_call(outbox.state, "", found, arguments or {})
            effect = asked.effect or UNDECLARED
            if question := effect_question(outbox.state, outbox.recorded, asked, effect):
                return question
        return ""

    def _use(
        self,
        may: Allowed,
        enabled: tuple[str, ...],
        meant: ToolSpec | None,
        number: int,
        call: dict[str, Any],
    ) -> None:
        """Carry out one call; *enabled* are the packs before this turn, *meant* what it names."""
        outbox = self._outbox
        name, arguments = str(call.get("tool", "")), call.get("arguments")
        call_id = self._id(number, call)
        found = check_call(name, arguments, may, enabled)
        given = arguments if isinstance(arguments, dict) else {}
        pack = str(given.get("pack", "")) if name == ENABLE_PACK.name else ""
        if why := self._prohibited(meant, pack or name):
            self._deny(call_id, name, why)
        elif isinstance(found, str):
            self._deny(call_id, name, found)
        elif found is ENABLE_PACK:
            self._enable(pack)
        elif not found.provider and self._chooses:
            self._choose(call_id, found, arguments or {})
        else:
            asked = tool_call(outbox.state, call_id, found, arguments or {})
            problem = outbox.ask(asked, asked.effect or UNDECLARED)
            if problem:
                self._deny(call_id, name, problem)

    def _prohibited(self, meant: ToolSpec | None, name: str) -> str:
        """Why what a model calls *name* must not be used; by its own name, if it is a tool."""
        if meant is None:
            return denied(name, self._outbox.directives)
        return denied(meant.name, self._outbox.directives, meant.pack)

    def _choose(self, call_id: str, chosen: ToolSpec, parameters: dict[str, Any]) -> None:
        """Let a step grow of what the model chose, if it is the first in this turn that fits."""
        outbox, grant = self._outbox, None
        if self._step.goal is not UNSET:
            grant = self._step.goal.grant(chosen.name)
        if grant is None:
            problem: str | None = ALONE
        elif pending(outbox.state) is not None:
            problem = ONE_A_TURN
        else:
            by = self._model()
            problem = propose(outbox, self._step, grant, parameters, by=by, call_id=call_id)
        if problem:
            self._deny(call_id, chosen.name, problem)

    def _ends(self, calls: list[dict[str, Any]]) -> bool:
        """Whether the model reports, in its only call, that the goal is reached or given up."""
        name = str(calls[0].get("tool", "")) if len(calls) == 1 and self._chooses else ""
        if name not in (REACHED.name, GIVE_UP.name):
            return False
        if name == REACHED.name:
            self._ways.check()
        else:
            said = given_up(self._outbox.state.answer)
            self._fail(
                clipped(f"{self._model()} gave the goal up: {said}"), "given_up", retry=False
            )
        return True

    def _enable(self, pack: str) -> None:
        state = self._outbox.state
        self._outbox.say(
            ToolEnabled(
                execution_id=state.execution_id,
                step_id=state.step_id,
                attempt=state.attempt,
                turn=state.turn,
                pack=pack,
            )
        )

    def _deny(self, call_id: str, tool: str, reason: str) -> None:
        state = self._outbox.state
        self._outbox.say(
            ToolDenied(
                execution_id=state.execution_id,
                step_id=state.step_id,
                attempt=state.attempt,
                turn=state.turn,
                call_id=call_id,
                tool=tool[:NAME_CHARS],
                reason=clipped(reason),
            )
        )

    def _give_up(self, call_id: str, reason: str, kind: str) -> None:
        state = self._outbox.state
        self._outbox.say(
            ToolFailed(
                execution_id=state.execution_id,
                step_id=state.step_id,
                attempt=state.attempt,
                turn=state.turn,
                call_id=call_id,
                tool=state.open_calls.get(call_id, ""),
                error=clipped(reason),
                kind=kind,
            )
        )

    def _id(self, number: int, call: dict[str, Any]) -> str:
        """The model's own id of a call, unless it used it before: one id, one call."""
        state, said = self._outbox.state, call.get("id")
        if isinstance(said, str) and _ID.fullmatch(said) and said not in state.call_ids:
            return said
        made = f"{state.step_id}/{state.attempt}/{state.turn}/{number}"
        while made in state.call_ids:
            made += "+"
        return made

    def _model(self) -> str:
        compiled = self._outbox.state.compiled
        return compiled.model if compiled is not None else "the model"
