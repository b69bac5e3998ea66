"""Rules that turn facts of executions into nodes, without a model and without more events.

    an execution ends                 outcome:EXECUTION               what came of it
    a person answers a gate           decision:EXECUTION:POSITION     what was decided, and by whom
    a person changes inputs,          correction:EXECUTION:POSITION   what was changed
      a prompt or a result, or
      rates the outcome

Each decision and correction `led_to` the outcome. An outcome is `caused_by` that of the execution
that it was forked from, and of the one in which its trigger was published. Its entities are the
short texts among the inputs, so that executions about the same thing are found. The nodes are a
part of the fold of the log: old logs have them, too, and their ids do not depend on when they are
folded.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import PurePath
from typing import Any, Final

import msgspec

from cortex.bus import Event, Recorded
from cortex.bus.events import (
    ContextEdited,
    EdgeType,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionEdited,
    ExecutionFailed,
    ExecutionRated,
    ExecutionResumed,
    ExecutionStarted,
    Kind,
    StepSettled,
    TriggerReceived,
)

from .nodes import LONGEST_CONTENT, LONGEST_QUOTE, MOST_ENTITIES, Edge, Node
from .scopes import LONGEST, USER, Scope, composed

RULE: Final = "rule"
ENGINE: Final = "MemoryChainEngine"  # the `source` of the facts of memory
COLLECTOR: Final = "GCManager"  # and of those about what was collected
EXECUTIONS: Final = "ProcessExecutionEngine"  # and of the ends of executions
OUTCOME, DECISION, CORRECTION = "outcome:", "decision:", "correction:"
PREFIXES: Final = (OUTCOME, DECISION, CORRECTION)
VALUE_CHARS: Final = 200  # of one value
ENTITY_CHARS: Final = 80  # of an input that names what an execution is about
TRIGGER: Final = "trigger:"  # among the executions that have begun: what led to a trigger
ENDS: Final = (ExecutionCancelled, ExecutionCompleted, ExecutionFailed)
CHANGES: Final = (ContextEdited, ExecutionEdited, ExecutionResumed, StepSettled)
EVENTS: Final[tuple[type[Event], ...]] = (
    *ENDS,
    *CHANGES,
    ExecutionRated,
    ExecutionStarted,
    TriggerReceived,
)

REWORDING: Final = "reword_summary"  # the process that has a model put a summary into fewer words
REWORD: Final = "reword-"  # the id of such an execution begins with


class OpenRun(msgspec.Struct, frozen=True):
    """An execution that has begun, as far as the rules need it."""

    process: str
    goal: str
    scope: str
    nodes: tuple[str, ...] = ()  # ids of decisions and corrections in it
    causes: tuple[str, ...] = ()  # executions that led to it: it is a fork, or one had it triggered
    entities: tuple[str, ...] = ()  # what it is about: its short inputs


class Derived(msgspec.Struct, frozen=True):
    """What follows from one event."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()


def is_rewording(execution_id: str, process: str) -> bool:
    """Whether an execution has a summary reworded: memory does not remember that it ran."""
    return execution_id.startswith(REWORD) and process.rpartition("/")[2] == REWORDING


class ExecutionRules:
    """Folds events of executions into nodes; `runs` holds those that have begun."""

    def __init__(self, runs: Mapping[str, OpenRun]) -> None:
        self._before = runs
        self.changed: dict[str, OpenRun | None] = {}  # None: it ended

    def take(self, record: Recorded, event: Event) -> Derived:
        """The nodes and edges that follow from *event*."""
        if isinstance(event, ENDS + CHANGES) and record.source != EXECUTIONS:
            return Derived()  # from others it means nothing
        match event:
            case TriggerReceived() if record.correlation:
                self.changed[TRIGGER + event.trigger_id] = OpenRun(record.correlation, "", USER)
            case ExecutionStarted() if not event.parent and not is_rewording(
                event.execution_id, event.process
            ):
                self._begun(event)
            case ExecutionCancelled() | ExecutionCompleted() | ExecutionFailed():
                return self._ended(record, event)
            case ExecutionRated():
                return self._rated(record, event)
            case ContextEdited() | ExecutionEdited() | ExecutionResumed() | StepSettled():
                return self._changed(record, event)
            case _:
                pass
        return Derived()

    def _begun(self, event: ExecutionStarted) -> None:
        trigger = self._run(TRIGGER + event.trigger) if event.trigger else None
        causes = filter(None, (event.fork_of, trigger.process if trigger else ""))
        run = msgspec.structs.replace(begun(event), causes=tuple(causes))
        self.changed[event.execution_id] = run

    def _run(self, execution_id: str) -> OpenRun | None:
        if execution_id in self.changed:
            return self.changed[execution_id]
        return self._before.get(execution_id)

    def _ended(
        self, record: Recorded, event: ExecutionCancelled | ExecutionCompleted | ExecutionFailed
    ) -> Derived:
        run = self._run(event.execution_id)
        if run is None:
            return Derived()
        self.changed[event.execution_id] = None
        outcome = outcome_id(event.execution_id)
        text = outcome_text(run, event)
        node = _node(record, run, outcome, "outcome", text, _outputs(event), ended(run, event))
        led = ((each, "led_to", outcome) for each in run.nodes)
        caused = ((outcome, "caused_by", outcome_id(each)) for each in run.causes)
        edges: Iterator[tuple[str, EdgeType, str]] = chain(led, caused)  # type: ignore[arg-type]
        return Derived(
            (node,),
            tuple(
                Edge(node_id=each, edge=edge, to=to, position=record.position, by=RULE)
                for each, edge, to in edges
            ),
        )

    def _changed(self, record: Recorded, event: Event) -> Derived:
        execution_id: str = getattr(event, "execution_id", "")
        said, run = said_of(event), self._run(execution_id)
        if said is None or run is None:
            return Derived()
        kind, text = said
        node_id = f"{kind}:{execution_id}:{record.position}"
        self.changed[execution_id] = msgspec.structs.replace(run, nodes=(*run.nodes, node_id))
        text, episode = f"{_named(run)}: {text}", f"{_name(run)}: {changed(event)}"
        return Derived((_node(record, run, node_id, kind, text, _note(event), episode),))

    def _rated(self, record: Recorded, event: ExecutionRated) -> Derived:
        """A verdict comes after the end, so that it names the outcome itself."""
        run = self._run(event.execution_id) or OpenRun("", "", USER)
        node_id = f"{CORRECTION}{event.execution_id}:{record.position}"
        text = (
            f"{record.source} rated the outcome of execution {event.execution_id} {event.verdict}"
        )
        note = f"{text}: {event.note}" if event.note else text
        node = _node(record, run, node_id, "correction", note, event.note)
        edge = Edge(
            node_id=node_id,
            edge="refines",
            to=outcome_id(event.execution_id),
            position=record.position,
            by=RULE,
        )
        return Derived((node,), (edge,))


def outcome_id(execution_id: str) -> str:
    """The id of the node that says what came of an execution."""
    return OUTCOME + execution_id


def execution_of(node_id: str) -> str:
    """The execution that a derived node is about; "" for a node that was recorded."""
    prefix = next((each for each in PREFIXES if node_id.startswith(each)), "")
    return node_id.removeprefix(prefix).partition(":")[0] if prefix else ""


def derived_of(
    records: Iterable[tuple[Recorded, Event]], runs: Mapping[str, OpenRun] | None = None
) -> Iterator[Derived]:
    """What follows from events, in order; *runs* are the executions that had begun before."""
    rules = ExecutionRules(runs or {})
    for record, event in records:
        yield rules.take(record, event)


def begun(event: ExecutionStarted) -> OpenRun:
    """What the rules need of an execution that begins."""
    scope, inputs = USER, (event.inputs or {}).values()
    named = [each.strip() for each in inputs if isinstance(each, str)]
    entities = [each for each in named if 0 < len(each) <= ENTITY_CHARS and "\n" not in each]
    if event.process:
        scope = str(Scope("process", event.process[:LONGEST]))
    elif project := PurePath(event.workspace).name.strip():
        scope = str(Scope("project", composed(project)[:LONGEST].strip()))
    return OpenRun(
        event.process, event.goal, scope, entities=tuple(dict.fromkeys(entities))[:MOST_ENTITIES]
    )


def outcome_text(
    run: OpenRun, event: ExecutionCancelled | ExecutionCompleted | ExecutionFailed
) -> str:
    """One line about how an execution ended. What a model said in it is not in there."""
    if isinstance(event, ExecutionCompleted):
        return f"{_named(run)} completed"
    ended = "failed" if isinstance(event, ExecutionFailed) else "was cancelled"
    at = f" at step {event.step_id}" if isinstance(event, ExecutionFailed) and event.step_id else ""
    return f"{_named(run)} {ended}{at}: {event.reason}"


def ended(run: OpenRun, event: ExecutionCancelled | ExecutionCompleted | ExecutionFailed) -> str:
    """How an execution ended, without why: equal for those that ended in one way."""
    if isinstance(event, ExecutionFailed) and event.step_id:
        return f"{_name(run)} failed at step {event.step_id}"
    said = {ExecutionCompleted: "completed", ExecutionFailed: "failed"}
    return f"{_name(run)} {said.get(type(event), 'was cancelled')}"


def changed(event: Event) -> str:
    """What a person decided or changed, without who and how: equal for what is of one kind."""
    match event:
        case ExecutionResumed():
            at = f" before step {event.step_id}" if event.step_id else ""
            return f"what was asked{at} was {event.answer}"
        case ExecutionEdited():
            return f"{', '.join(sorted(event.changed)) or 'max_cost'} was changed"
        case ContextEdited():
            return f"the prompt of step {event.step_id} was changed"
        case StepSettled() if event.outcome == "skipped":
            return f"step {event.step_id} was skipped"
        case StepSettled():
            return f"the result of step {event.step_id} was replaced"
        case _:
            return ""


def process_of(scope: str) -> str:
    """The process whose scope it is; "" if it is none."""
    level, _, name = scope.partition(":")
    return name if level == "process" else ""


def said_of(event: Event) -> tuple[Kind, str] | None:
    """The kind and the text of what a person decided or changed; None if nobody did."""
    match event:
        case ExecutionResumed() if event.by and event.answer in ("approved", "denied"):
            at = f" before step {event.step_id}" if event.step_id else ""
            return "decision", f"{event.by} {event.answer} what was asked{at}{_because(event.note)}"
        case ExecutionEdited():
            names = ", ".join(
                f"{name} = {_value(event.inputs.get(name))}" for name in event.changed
            )
            limit = f"max_cost = {event.max_cost}" if event.max_cost is not None else ""
            changed = ", ".join(filter(None, (names, limit)))
            return "correction", f"{event.by} changed {changed}{_because(event.note)}"
        case ContextEdited():
            return (
                "correction",
                f"{event.by} changed the prompt of step {event.step_id}{_because(event.note)}",
            )
        case StepSettled():
            done = "skipped" if event.outcome == "skipped" else "replaced the result of"
            return "correction", f"{event.by} {done} step {event.step_id}{_because(event.note)}"
        case _:
            return None


def _named(run: OpenRun) -> str:
    """An execution, as what is said of it names it."""
    name = f"process {run.process}" if run.process else "work"
    return f"{name} towards {_clipped(run.goal)!r}" if run.goal else name


def _name(run: OpenRun) -> str:
    """The same for all executions of a process, whatever each was to reach."""
    return f"process {run.process}" if run.process else _named(run)


def _because(note: str) -> str:
    return f": {_clipped(note)}" if note else ""


def _note(event: Event) -> str:
    note: str = getattr(event, "note", "")
    return note


def _outputs(event: Event) -> str:
    if isinstance(event, ExecutionCompleted) and event.outputs:
        return msgspec.json.encode(event.outputs).decode()
    return ""


def _value(value: Any) -> str:
    return _clipped(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def _clipped(text: str) -> str:
    return text if len(text) <= VALUE_CHARS else f"{text[: VALUE_CHARS - 3]}..."


def _node(
    record: Recorded,
    run: OpenRun,
    node_id: str,
    kind: Kind,
    content: str,
    quote: str,
    episode: str = "",
) -> Node:
    return Node(
        id=node_id,
        kind=kind,
        content=content[:LONGEST_CONTENT],
        scope=run.scope,
        origin="rule",
        by=RULE,
        position=record.position,
        time_ns=record.time_ns,
        subject=record.subject or "",
        source=record.stream,
        quote=quote[:LONGEST_QUOTE],
        entities=run.entities,
        episode=episode,
    )
