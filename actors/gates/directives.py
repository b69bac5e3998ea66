"""Gates on what people laid down: it is clarified, and what was done does not breach it."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import msgspec

from cortex.bus import Blobs, Recorded, Vocabulary
from cortex.bus.events import VOCABULARY, StepExecute, ToolCall
from cortex.runtime.directives import (
    Breach,
    InForce,
    LaidDown,
    Ledgers,
    Material,
    breaches,
    materials_of,
)
from cortex.runtime.executions import ENGINE, Execution, fold, scopes_of
from cortex.runtime.functions import GateStep, Verdict, gate
from cortex.runtime.kernel import Component

History = Callable[[str], Iterator[Recorded]]
Asked = TypeVar("Asked", StepExecute, ToolCall)
READING = ("none", "read")  # effects that leave everything as it was
SHOWN = 5  # breaches that the reason names; the evidence has all


class DirectivesHoldParameters(msgspec.Struct, frozen=True):
    """What `directives_hold` takes."""

    steps: tuple[str, ...] = ()  # whose outputs are looked at; all that are done unless given


class Directed(Component):
    """Reads what is in force for the execution whose gate is asked."""

    rests = True

    def __init__(
        self, history: History, blobs: Blobs, vocabulary: Vocabulary | None = None
    ) -> None:
        self._history, self._blobs = history, blobs
        self._vocabulary = vocabulary or VOCABULARY

    def load(self, execution_id: str) -> Execution:
        """The execution as it stands."""
        records = self._history(f"execution/{execution_id}")
        return fold(execution_id, records, self._vocabulary)

    def in_force(self, state: Execution, before: int | None = None) -> InForce:
        """What is in force for an execution, now or *before* a position."""
        scopes = scopes_of(state, self.load)
        return Ledgers(self._history, self._blobs, self._vocabulary).in_force(scopes, before)


class DirectivesHold(Directed):
    """Passes if no output or action of a step, and no call of a tool, breaches a prohibition.

    A breach is a tool, a command word, a changed path, an import or a dependency. Prose is none.
    """

    @gate("directives_hold")
    def evaluate(self, asked: DirectivesHoldParameters, step: GateStep) -> Verdict:
        """Look for breaches, and quote them."""
        state = self.load(step.event.execution_id)
        prohibited = self.in_force(state).prohibited
        steps = asked.steps or tuple(state.results)
        unknown = [each for each in asked.steps if each not in state.results]
        if unknown:
            return Verdict.failed(f"there is no output yet of {', '.join(unknown)}")
        found = [
            *self._of_results(state, steps, prohibited),
            *self._of_actions(state, steps, prohibited),
            *self._of_calls(state, prohibited),
        ]
        looked = {"steps": list(steps), "prohibited": [each.name for each in prohibited]}
        if not found:
            return Verdict.passed(**looked)
        shown = "; ".join(_said(place, each) for place, each in found[:SHOWN])
        more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        return Verdict.failed(
            f"{shown}{more}: change what was done, or the directive, then resume from that step",
            **looked,
            breaches=[_evidence(place, each) for place, each in found],
        )

    def _of_results(
        self, state: Execution, steps: tuple[str, ...], prohibited: tuple[LaidDown, ...]
    ) -> Iterator[tuple[str, Breach]]:
        for step_id in steps:
            seen: set[str] = set()
            for material in materials_of(state.results[step_id]):
                for breach in breaches(material, prohibited):
                    if breach.sentence not in seen:
                        seen.add(breach.sentence)
                        yield f"step {step_id}", breach

    def _of_actions(
        self, state: Execution, steps: tuple[str, ...], prohibited: tuple[LaidDown, ...]
    ) -> Iterator[tuple[str, Breach]]:
        """Breaches by actions that *steps* carried out since the prohibition."""
        for position, asked in self._asked(state, StepExecute):
            if asked.step_id not in steps or asked.recorded:
                continue
            done = Material(kind="tool", text=asked.action)
            # Other parameters are what a step is about, not what it does.
            commands = (each for each in materials_of(asked.parameters) if each.kind == "command")
            for breach in self._since(state, position, prohibited, (done, *commands)):
                yield f"action {asked.action} of step {asked.step_id}", breach

    def _of_calls(
        self, state: Execution, prohibited: tuple[LaidDown, ...]
    ) -> Iterator[tuple[str, Breach]]:
        """Breaches by calls of tools since the prohibition, which nothing can take back."""
        for position, call in self._asked(state, ToolCall):
            if call.recorded:
                continue
            done = Material(kind="tool", text=call.tool)
            given = materials_of(call.arguments)
            if call.effect in READING:  # it changes no path
                given = (each for each in given if each.kind == "command")
            for breach in self._since(state, position, prohibited, (done, *given)):
                yield f"tool {call.tool} of step {call.step_id}", breach

    def _since(
        self,
        state: Execution,
        position: int,
        prohibited: tuple[LaidDown, ...],
        materials: Iterable[Material],
    ) -> Iterator[Breach]:
        """Breaches by what was asked for at *position*, of what was prohibited then."""
        before = tuple(each for each in prohibited if each.position < position)
        found = [breach for each in materials for breach in breaches(each, before)]
        if found:
            # It may have been lifted then, and be in force again by an undo, or a redo.
            held = {each.name for each in self.in_force(state, position).prohibited}
            yield from (each for each in found if each.directive.name in held)

    def _asked(self, state: Execution, kind: type[Asked]) -> Iterator[tuple[int, Asked]]:
        """The requests of a kind in the execution, each with its position."""
        for record in self._history(f"execution/{state.execution_id}"):
            if record.topic == kind.topic_name() and record.source == ENGINE:
                event = self._vocabulary.read(record)
                if isinstance(event, kind):
                    yield record.position, event


class DirectivesClarified(Directed):
    """Passes if no question about a directive is open in a scope of the execution."""

    @gate("directives_clarified")
    def evaluate(self, step: GateStep) -> Verdict:
        """Name the open question, if there is one."""
        found = self.in_force(self.load(step.event.execution_id))
        if not found.waits:
            return Verdict.passed(digest=found.digest)
        scope = found.waits[0]
        return Verdict.failed(
            f"a question is open in the scope {scope}: {found.question} "
            f"`cortex directive step --scope {scope} yes` or no answers it, then resume",
            scopes=list(found.waits),
        )


def _said(place: str, breach: Breach) -> str:
    return f'{place}: "{breach.sentence}" breaches {breach.directive.quoted}'


def _evidence(place: str, breach: Breach) -> dict[str, str | int]:
    return {
        "place": place,
        "kind": breach.kind,
        "name": breach.name,
        "sentence": breach.sentence,
        "directive": breach.directive.text,
        "scope": breach.directive.scope,
        "position": breach.directive.position,
    }
