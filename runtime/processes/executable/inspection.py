"""The origin of each step, gate and topic of a linked process."""

from collections.abc import Iterable

from msgspec import UNSET, Struct

from .expressions import Ref
from .linked import Goal, Granted, LinkedGate, LinkedProcess, LinkedStep, LinkedTopic, Origin


class Item(Struct, frozen=True, kw_only=True):
    """A gate or topic and who asked for it."""

    name: str
    bound_to: str  # the component, or the file
    origin: str


class StepItem(Struct, frozen=True, kw_only=True):
    """A step, what it runs, and the process whose form of it is used."""

    id: str
    runs: str  # "action run_tests (Shell)", "process triage", "abstract"
    origin: str
    overrides: tuple[str, ...] = ()  # whose forms it replaced, nearest first
    gates: tuple[Item, ...] = ()
    knowledge: tuple[Item, ...] = ()
    bound: tuple[str, ...] = ()  # "log: ${inputs.log}": parameters that the source leaves out
    may: tuple[str, ...] = ()  # towards a goal: "run_tests", "process triage, after approved"
    check: tuple[Item, ...] = ()  # gates that decide whether a goal is reached
    breakpoint: bool = False  # whether it pauses before the step, or shows its prompt
    asks_model: bool = False
    items: str = ""  # "for each path of ${steps.list.files}, 8 at once", or that it is a branch


class Inspection(Struct, frozen=True, kw_only=True):
    """A linked process, taken apart."""

    name: str
    version: int
    digest: str
    abstract: bool
    chain: tuple[str, ...]
    implements: tuple[str, ...]
    gates: tuple[Item, ...]
    knowledge: tuple[Item, ...]
    steps: tuple[StepItem, ...]

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def inspect(process: LinkedProcess) -> Inspection:
    """Return the origin of everything in *process*."""
    return Inspection(
        name=process.name,
        version=process.version,
        digest=process.digest,
        abstract=process.abstract,
        chain=process.chain,
        implements=tuple(name for name, _ in process.implements),
        gates=_gates(process.gates),
        knowledge=_topics(process.knowledge),
        steps=tuple(_step(step) for step in process.steps),
    )


def _step(step: LinkedStep) -> StepItem:
    if step.action:
        runs = f"action {step.action.name} ({step.action.component})"
    elif step.goal is not UNSET:
        runs = goal_line(step.goal)
    elif step.child:
        named = step.child.process is not None
        runs = f"process {step.child.process}" if named else f"any {step.child.interface}"
    elif step.fan is not UNSET:
        runs = f"{', '.join(step.fan.branches)} at the same time"
    else:
        runs = "abstract"
    return StepItem(
        id=step.id,
        runs=runs,
        origin=step.origin.process,
        overrides=step.origin.overrides,
        gates=_gates(step.gates),
        knowledge=_topics(step.knowledge),
        bound=tuple(
            f"{name}: ${{{'.'.join(value.path)}}}"
            for name, value in step.parameters.entries
            if name in (step.bound or ()) and isinstance(value, Ref)
        ),
        may=may_of(step.goal) if step.goal is not UNSET else (),
        check=_gates(step.goal.check) if step.goal is not UNSET else (),
        breakpoint=step.breakpoint,
        asks_model=step.asks_model,
        items=items_of(step),
    )


def goal_line(goal: Goal) -> str:
    """Who works towards *goal*."""
    return "goal, by hand" if goal.by_hand else "goal, by a model"


def may_of(goal: Goal) -> tuple[str, ...]:
    """What may be done towards *goal*, each in a line."""
    return tuple(map(_granted, goal.grants))


def _granted(grant: Granted) -> str:
    parts = [f"process {grant.name}" if grant.child else grant.name]
    if grant.gates:
        parts.append(f"after {', '.join(gate.name for gate in grant.gates)}")
    if grant.breakpoint:
        parts.append("with a breakpoint")
    if grant.given.entries:
        parts.append(f"with its {', '.join(name for name, _ in grant.given.entries)} fixed")
    return ", ".join(parts)


def items_of(step: LinkedStep) -> str:
    """What makes *step* one of several things at once, in words; "" for an ordinary step."""
    if step.fan is UNSET:
        return "" if step.within is UNSET else f"branch of {step.within}"
    fan = step.fan
    policy = "all run, whatever fails" if fan.failures == "collect" else ""
    if fan.over is UNSET:
        told = f"{fan.at_once} of {len(fan.branches)} at once"
    else:
        over = f"${{{'.'.join(fan.over.path)}}}" if isinstance(fan.over, Ref) else "a list"
        told = f"for each {fan.name} of {over}, {fan.at_once} at once"
    within = "" if step.within is UNSET else f"branch of {step.within}"
    return "; ".join(filter(None, (within, told, policy)))


def _gates(gates: Iterable[LinkedGate]) -> tuple[Item, ...]:
    return tuple(_item(gate.name, gate.component, gate.origin) for gate in gates)


def _topics(topics: Iterable[LinkedTopic]) -> tuple[Item, ...]:
    return tuple(_item(topic.topic, topic.path, topic.origin) for topic in topics)


def _item(name: str, bound_to: str, origin: Origin) -> Item:
    return Item(name=name, bound_to=bound_to, origin=origin.process)


def _lines(inspection: Inspection) -> Iterable[str]:
    kind = " (abstract)" if inspection.abstract else ""
    yield f"{inspection.name} {inspection.version}{kind}  {inspection.digest}"
    yield f"chain       {' <- '.join(inspection.chain)}"
    if inspection.implements:
        yield f"implements  {', '.join(inspection.implements)}"
    for title, items in (("gate", inspection.gates), ("knowledge", inspection.knowledge)):
        for item in items:
            yield f"{title:<11} {item.name} -> {item.bound_to}  from {item.origin}"
    for number, step in enumerate(inspection.steps, 1):
        instead = f", overrides {', '.join(step.overrides)}" if step.overrides else ""
        yield f"step {number:<6} {step.id} -> {step.runs}  from {step.origin}{instead}"
        if step.items:
            yield f"            {step.items}"
        if step.breakpoint:
            shown = "shows the prompt before it is sent"
            told = shown if step.asks_model else "pauses before this step"
            who = "each item" if step.items.startswith("for each") else "it"
            yield f"            breakpoint: {who} {told}"
        for binding in step.bound:
            yield f"            bound {binding}"
        for gate in step.gates:
            yield f"            gate {gate.name} -> {gate.bound_to}  from {gate.origin}"
        for granted in step.may:
            yield f"            may {granted}"
        for gate in step.check:
            yield f"            check {gate.name} -> {gate.bound_to}  from {gate.origin}"
        if step.knowledge != inspection.knowledge:
            named = (f"{topic.name} from {topic.origin}" for topic in step.knowledge)
            yield f"            sees {', '.join(named) or 'no topics'}"
