"""A dry run: gates that only read, and each step's exact prompt, without a model or a record.

It runs in a temporary home with the settings, processes and knowledge of the real one; requests to
components are answered there.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from cortex.bus import Client, Event, steady_s
from cortex.bus.events import (
    ContextCompiled,
    ContextRefused,
    ExecutionStarted,
    GateEvaluated,
    KnowledgeRequested,
    MemoryRequested,
    ModelSelected,
    Part,
)
from cortex.runtime.context import read_prompt, text_of, tools_of
from cortex.runtime.directives import HomeDirectives, InForce
from cortex.runtime.executions import (
    DECIDER,
    Execution,
    context_compile,
    gate_evaluate,
    knowledge_request,
    memory_request,
    scopes_of,
    with_directives,
)
from cortex.runtime.executions.view import History
from cortex.runtime.memory import HomeMemory, MemoryStoreError
from cortex.runtime.processes import (
    EvaluationScope,
    LinkedGate,
    LinkedProcess,
    LinkedStep,
    MapOf,
    MissingValueError,
    evaluate,
    fill,
    goal_line,
    items_of,
    may_of,
)
from cortex.runtime.projections import Selection
from cortex.runtime.registry import registry_of
from cortex.runtime.retrieval import RetrievalError
from cortex.runtime.tools import allowed

OFFERS = Selection(topics=("component.*", "tool.listed"))
ANSWER_S = 60.0
HEARD_S = 0.1  # Ctrl-C is heard at least this often
ID = "dryrun"


class GateReport(msgspec.Struct, kw_only=True):
    """The present answer of a gate."""

    gate: str
    outcome: str  # passed, failed, or not asked
    reason: str
    evidence: dict[str, Any] = {}


class StepReport(msgspec.Struct, kw_only=True):
    """A step as Cortex would ask for it."""

    step: str
    runs: str  # the action or the process
    items: str = ""  # what makes it one of several things at once
    when: str  # runs, skipped, or unknown: it depends on an earlier step
    gates: list[GateReport]
    parameters: dict[str, Any]
    later: list[str]  # what only earlier steps can give
    prompt: str = ""  # exactly as a model would get it, but for what earlier steps give
    tokens: int = 0
    sections: dict[str, int] = {}
    model: str = ""
    provider: str = ""
    because: str = ""  # why that model
    inferred: dict[str, Any] = {}  # what the work asks for beyond its needs
    inferred_from: dict[str, str] = {}  # why, by need
    runners_up: list[str] = []  # the others that would do, cheapest first
    rejected: list[str] = []  # "NAME lacks ..."
    cost: float = 0.0  # US dollars estimated for the prompt and its answer
    tools: list[str] = []  # offered to the model
    missing: dict[str, str] = {}  # declared tools that are not offered now, and why
    refused: str = ""  # why there is no prompt
    may: list[str] = []  # what may be done towards its goal
    check: list[str] = []  # gates that decide whether its goal is reached


class DryRunDocument(msgspec.Struct, kw_only=True):
    """A process as it would run now."""

    process: str
    version: int
    abstract: bool = False  # a template, which cannot be run
    gates: list[GateReport]
    steps: list[StepReport]


class Stage(Protocol):
    """The runtime of a rehearsal, for the one who opened it."""

    @property
    def client(self) -> Client:
        """Follows what is said."""

    @property
    def history(self) -> History:
        """What was recorded."""

    def publish(self, *events: Event) -> int:
        """Record *events*; the position of the last one comes back."""

    def check(self) -> None:
        """Raise where the rehearsal is to end early."""


class Rehearsal:
    """Asks what an execution would ask, of the runtime of a stage."""

    def __init__(
        self,
        stage: Stage,
        process: LinkedProcess,
        inputs: dict[str, Any],
        goal: str,
        workspace: str,
        elsewhere: frozenset[str] = frozenset(),
        blob: str = "",
    ) -> None:
        """Rehearse *process*; the gates *elsewhere* cannot be evaluated here.

        Its *blob* tells the prompt compiler the allowed actions towards a goal.
        """
        self._stage = stage
        self._process = process
        declared = {f.name: f.default for f in process.inputs if f.default is not None}
        given = {**declared, **inputs}
        self._elsewhere = elsewhere
        self._scope = EvaluationScope(inputs=given, execution={"id": ID, "attempt": 1})
        self._state = _begun(process, given, goal, workspace, blob)

    def report(self) -> DryRunDocument:
        """Everything that the process would ask."""
        process = self._process
        return DryRunDocument(
            process=process.name,
            version=process.version,
            abstract=process.abstract,
            gates=[self._gate(gate, "", index) for index, gate in enumerate(process.gates)],
            steps=[self._step(step) for step in process.steps],
        )

    def _step(self, step: LinkedStep) -> StepReport:
        items = items_of(step)
        if step.fan is not UNSET and step.fan.over is not UNSET:
            over = fill(step.fan.over, self._scope)
            if isinstance(over, list) and over:
                items += f"; {len(over)} of them, the first is shown"
                report = self._with_item(step, step.fan.name, over[0])
                report.items = items
                return report
        report = self._report(step)
        report.items = items
        return report

    def _with_item(self, step: LinkedStep, name: str, value: Any) -> StepReport:
        """What *step* would be asked with for one item of its list."""
        scope, state, started = self._scope, self._state, self._state.begun()
        part = Part(step_id=step.id, item=1, named={name: value})
        self._scope = replace(scope, named=part.named)
        self._state = replace(state, started=replace(started, part=part))
        try:
            return self._report(step)
        finally:
            self._scope, self._state = scope, state

    def _report(self, step: LinkedStep) -> StepReport:
        parameters, later = self._filled(step.parameters)
        later += [f"{each.step}.{each.field}" if each.field else each.step for each in step.carry]
        child = step.child
        named = (
            step.action.name if step.action else (child.process or child.interface) if child else ""
        )
        if step.goal is not UNSET:
            named = goal_line(step.goal)
        report = StepReport(
            step=step.id,
            runs=named or ("branches" if step.fan is not UNSET else "abstract"),
            when=self._when(step),
            gates=[
                self._gate(gate, step.id, index, self._acting_before(step))
                for index, gate in enumerate(step.gates)
            ],
            parameters=parameters,
            later=sorted(set(later)),
        )
        if step.goal is not UNSET:
            report.may = list(may_of(step.goal))
            report.check = [gate.name for gate in step.goal.check]
        if step.asks_model:
            self._compile(step, parameters, report)
            report.missing = self._missing(step)
        return report

    def _acting_before(self, step: LinkedStep) -> list[str]:
        """The earlier steps that change something which a gate of *step* would check."""
        ids = [each.id for each in self._process.steps]
        before = self._process.steps[: ids.index(step.id)]
        return [
            each.id
            for each in before
            if each.child
            or each.goal is not UNSET
            or (each.action and each.action.effect not in ("none", "read"))
        ]

    def _gate(
        self, gate: LinkedGate, step_id: str, index: int, acting: Sequence[str] = ()
    ) -> GateReport:
        parameters, later = self._filled(gate.parameters)
        if not gate.read_only:
            why = "it asks a person or changes something"
        elif gate.component in self._elsewhere:
            why = f"{gate.component} is a worker's or a plugin's, and none is at work in a dry run"
        elif acting:
            why = f"it depends on what {', '.join(acting)} will have done"
        elif later:
            why = f"it depends on {', '.join(later)}"
        else:
            asked = gate_evaluate(self._state, step_id, index, gate, parameters)
            answer = next(iter(self._said(asked, "gate.evaluated")), None)
            if isinstance(answer, GateEvaluated):
                return GateReport(
                    gate=gate.name,
                    outcome=answer.outcome,
                    reason=answer.reason,
                    evidence=answer.evidence,
                )
            why = f"it did not answer within {ANSWER_S:g} s"
        return GateReport(gate=gate.name, outcome="not asked", reason=why)

    def _compile(self, step: LinkedStep, parameters: dict[str, Any], report: StepReport) -> None:
        found = self._found(step, report)
        remembered = "" if report.refused else self._remembered(step, report)
        if report.refused:
            return
        state = replace(self._state, found=found, remembered=remembered)
        asked = context_compile(state, self._process, step, 1, parameters)
        asked = with_directives(asked, self._in_force())
        said = self._said(asked, "model.selected", "context.compiled", "context.refused")
        answer = said[-1] if said else None
        for event in said:
            if isinstance(event, ModelSelected):
                _explain(report, event)
        if isinstance(answer, ContextCompiled):
            blocks = read_prompt(self._stage.history.blobs.get(answer.prompt))
            report.prompt = text_of(blocks)
            report.tokens, report.sections = answer.tokens, answer.sections
            report.model, report.provider = answer.model, answer.provider
            report.tools = [str(tool["name"]) for tool in tools_of(blocks)]
        elif isinstance(answer, ContextRefused):
            report.refused = answer.reason
        else:
            report.refused = f"it was not compiled within {ANSWER_S:g} s"

    def _missing(self, step: LinkedStep) -> dict[str, str]:
        """The tools for which the step would be held, and why they are not there."""
        history = self._stage.history
        registry = registry_of(history.select(OFFERS), history.event)
        promised = () if step.promised is UNSET else step.promised
        return {name: registry.why_not(name) for name in allowed(promised, registry.tools).unknown}

    def _in_force(self) -> InForce:
        """What people have laid down for the execution."""
        home = self._stage.history.home.own
        with HomeDirectives.open(home) as directives:
            return directives.in_force(scopes_of(self._state, lambda _: self._state))

    def _found(self, step: LinkedStep, report: StepReport) -> str:
        """The digest of what the step's `find:` brings now; "" where it asks nothing."""
        try:
            asked = knowledge_request(self._state, step, 1)
        except MissingValueError as error:
            report.later = sorted({*report.later, error.reference})
            return ""
        return "" if asked is None else self._brought(asked, "knowledge.requested", report)

    def _remembered(self, step: LinkedStep, report: StepReport) -> str:
        """The same for its `memory:`."""
        try:
            asked = memory_request(self._state, step, 1)
        except MissingValueError as error:
            report.later = sorted({*report.later, error.reference})
            return ""
        if asked is None:
            return ""
        home, blobs = self._stage.history.home.own, self._stage.history.blobs
        try:
            with HomeMemory.open(home) as memory:
                return blobs.put(msgspec.json.encode(memory.recall(asked)))
        except (MemoryStoreError, RetrievalError) as error:
            report.refused = str(error)
            return ""

    def _brought(self, asked: Event, answered: str, report: StepReport) -> str:
        answer = next(iter(self._said(asked, answered)), None)
        if not isinstance(answer, KnowledgeRequested | MemoryRequested):
            report.refused = f"nothing was found within {ANSWER_S:g} s"
            return ""
        report.refused = answer.problem
        return answer.found

    def _said(self, asked: Event, *topics: str) -> list[Event]:
        """The events after *asked*, up to its answer; empty if there is no answer."""
        feed = self._stage.client.follow(*((topic, None) for topic in topics))
        said: list[Event] = []
        try:
            position = self._stage.publish(asked)
            deadline = steady_s() + ANSWER_S
            while steady_s() < deadline:
                self._stage.check()
                for record in feed.next(HEARD_S):
                    if record.causation != position:
                        continue
                    said.append(self._stage.client.vocabulary.read(record))
                    if not isinstance(said[-1], ModelSelected):
                        return said
            return []
        finally:
            feed.close()

    def _when(self, step: LinkedStep) -> str:
        if step.when is None:
            return "runs"
        if "steps" in msgspec.json.encode(step.when).decode():
            return "unknown"
        return "runs" if evaluate(step.when, self._scope) else "skipped"

    def _filled(self, parameters: MapOf) -> tuple[dict[str, Any], list[str]]:
        """Values that are known now, and references that are not."""
        known: dict[str, Any] = {}
        later: list[str] = []
        for name, template in parameters.entries:
            try:
                value = fill(template, self._scope)
            except MissingValueError as error:
                later.append(error.reference)
                continue
            if value is None:
                later += [".".join(path) for path in [getattr(template, "path", ())] if path]
            else:
                known[name] = value
        return known, later


def _explain(report: StepReport, event: ModelSelected) -> None:
    report.because, report.cost = event.because, event.cost
    report.inferred, report.inferred_from = event.inferred, event.inferred_from
    report.runners_up, report.rejected = list(event.runners_up), list(event.rejected)


def _begun(
    process: LinkedProcess, inputs: dict[str, Any], goal: str, workspace: str, blob: str
) -> Execution:
    """An execution of *process* that has just begun."""
    started = ExecutionStarted(
        execution_id=ID,
        process=process.name,
        process_version=process.version,
        digest=process.digest,
        linked=blob,
        inputs=inputs,
        goal=goal,
        workspace=workspace,
        trigger="dry run",
        decider=DECIDER,
    )
    return Execution(execution_id=ID, status="running", started=started)
