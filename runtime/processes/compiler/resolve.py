"""Stage three: what a process inherits.

The rules: inherited steps keep their order; an override takes the place of its step; gates and
knowledge are only ever added to, on the process and on every step, and so are the instructions of a
process. A parent's step without
topics saw all of the parent's process, so its override adds to those.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec.structs import replace

from ..diagnostics.diagnostics import TextEdit, did_you_mean, listed
from ..linker.fans import report_branch
from ..syntax.definitions import (
    FieldDefinition,
    GateUse,
    Inherit,
    OwnedField,
    OwnedTopic,
    OwnedUse,
    ProcessDefinition,
    ResolvedGate,
    ResolvedProcess,
    ResolvedStep,
    StepDefinition,
    TopicUse,
)
from ..syntax.nodes import Reporter, column_of, end_of, point
from ..syntax.readers import map_of

_WORK = ("action", "process", "goal", "parallel")  # what a step does

Use = TypeVar("Use", GateUse, TopicUse)


def resolve(
    definition: ProcessDefinition, parent: ResolvedProcess | None, reporter: Reporter
) -> ResolvedProcess:
    """Return *definition* with all that *parent*, itself resolved, hands down."""
    name = definition.name
    implements = dict.fromkeys([*(parent.implements if parent else ()), *definition.implements])
    resolved = ResolvedProcess(
        definition=definition,
        chain=(name, *(parent.chain if parent else ())),
        implements=tuple(implements),
        gates=_merge_gates(parent.gates if parent else (), definition.gates, name),
        knowledge=_merge_knowledge(parent, definition),
        persona=definition.persona or (parent.persona if parent else ""),
        instructions=(
            *(parent.instructions if parent else ()),
            *filter(None, [definition.instructions]),
        ),
        inputs=_merge_fields(parent.inputs if parent else (), definition, "inputs", reporter),
        outputs=_merge_fields(parent.outputs if parent else (), definition, "outputs", reporter),
        orphan=parent.orphan if parent else definition.extends is not None,
        steps=_merge_steps(parent, definition, reporter),
    )
    _check_complete(resolved, reporter)
    return resolved


def _merge_gates(
    inherited: Iterable[ResolvedGate], own: Iterable[GateUse | Inherit], owner: str
) -> tuple[ResolvedGate, ...]:
    """The inherited gates at the marker, or in front without one; each once, in its first form."""
    kept = {_identity(gate.use): gate for gate in inherited}
    before, after = _split_at_marker(own)
    gates: dict[object, ResolvedGate] = {}
    for use in before:
        gates.setdefault(_identity(use), kept.get(_identity(use), ResolvedGate(use, owner)))
    for gate in inherited:
        gates.setdefault(_identity(gate.use), gate)
    for use in after:
        gates.setdefault(_identity(use), ResolvedGate(use, owner))
    return tuple(gates.values())


def _split_at_marker(uses: Iterable[Use | Inherit]) -> tuple[list[Use], list[Use]]:
    """The gates before and after ``- inherit: all``; without that marker all count as after."""
    before: list[Use] = []
    after: list[Use] = []
    items = list(uses)
    own = before if any(isinstance(use, Inherit) for use in items) else after
    for use in items:
        if isinstance(use, Inherit):
            own = after
        else:
            own.append(use)
    return before, after


def _identity(use: GateUse) -> object:
    """The same gate with other parameters is another gate."""
    return (use.name, repr(map_of(use.parameters)) if use.parameters else "")


def _merge_knowledge(
    parent: ResolvedProcess | None, definition: ProcessDefinition
) -> tuple[OwnedTopic, ...]:
    before, after = (
        [(use, definition.name) for use in uses] for uses in _split_at_marker(definition.knowledge)
    )
    inherited = list(parent.knowledge) if parent else []
    # Who asked first keeps the topic, wherever the child puts it.
    owners = {use.topic: (use, owner) for use, owner in (*reversed(after), *reversed(before))}
    owners.update((use.topic, (use, owner)) for use, owner in inherited)
    topics = dict.fromkeys(use.topic for use, _ in (*before, *inherited, *after))
    return tuple(owners[topic] for topic in topics)


def _merge_fields(
    inherited: Iterable[OwnedField], definition: ProcessDefinition, key: str, reporter: Reporter
) -> tuple[OwnedField, ...]:
    fields = {field.name: (field, owner) for field, owner in inherited}
    own: list[FieldDefinition] = getattr(definition, key)
    for field in own:
        before = fields.get(field.name)
        if before and before[0].type != field.type:
            message = (
                f"`{field.name}` is of type {field.type} here, "
                f"of type {before[0].type} in `{before[1]}`"
            )
            reporter.report("P312", message, field.node)
        fields[field.name] = (field, definition.name)
    return tuple(fields.values())


def _merge_steps(
    parent: ResolvedProcess | None, definition: ProcessDefinition, reporter: Reporter
) -> tuple[ResolvedStep, ...]:
    steps = list(parent.steps if parent else ())
    seen_by_default = parent.knowledge if parent else ()
    places = {step.definition.id: index for index, step in enumerate(steps)}
    added: list[tuple[StepDefinition, bool]] = []
    seen: set[str] = set()
    in_front = any(isinstance(item, Inherit) for item in definition.steps)
    for item in definition.steps:
        if isinstance(item, Inherit):
            in_front = False
        elif item.id in seen:
            continue  # reported as a duplicate
        elif item.id in places:
            index = places[item.id]
            before = steps[index]
            knowledge = _override_knowledge(before, item, definition.name, seen_by_default)
            steps[index] = _override(before, item, definition.name, knowledge, reporter)
        else:
            added.append((item, in_front))
        if isinstance(item, StepDefinition):
            seen.add(item.id)
    return tuple(_insert(steps, added, definition, reporter)) if added else tuple(steps)


def _override_knowledge(
    parent: ResolvedStep, step: StepDefinition, owner: str, seen_by_default: Iterable[OwnedTopic]
) -> tuple[OwnedUse, ...] | None:
    """What the override *step* sees: at least what *parent* saw; None for all of the process."""
    if step.knowledge is None:
        return parent.knowledge
    kept = tuple(seen_by_default) if parent.knowledge is None else parent.knowledge
    return (*kept, *((use, owner) for use in step.knowledge))


def _override(
    parent: ResolvedStep,
    step: StepDefinition,
    owner: str,
    knowledge: tuple[OwnedUse, ...] | None,
    reporter: Reporter,
) -> ResolvedStep:
    for key in ("before", "after"):
        if key in step.node.entries:
            message = f"step `{step.id}` overrides an inherited one, which stays in its place"
            reporter.report("P305", message, step.node.entries[key][0])
    if not _does_something(step):
        _report_nothing_done(step, parent.definition, reporter)
    return ResolvedStep(
        definition=_kept_within(step, parent.definition, reporter),
        owner=owner,
        overrides=(parent.owner, *parent.overrides),
        gates=_merge_gates(parent.gates, step.gates, owner),
        knowledge=knowledge,
    )


def _does_something(step: StepDefinition) -> bool:
    return bool(step.action or step.process or step.goal or step.abstract or _has_branches(step))


def _kept_within(
    step: StepDefinition, parent: StepDefinition, reporter: Reporter
) -> StepDefinition:
    """*step* in the place of *parent*: a branch stays one, and a `parallel:` keeps its branches."""
    branches, others = _has_branches(parent), _has_branches(step)
    if branches != others:
        what = "works on" if branches else "has no"
        message = f"step `{step.id}` overrides one that {what} branches"
        remedy = "say `parallel:` in both or in neither, or give the step another id"
        reporter.report("P220", message, step.node, remedy=remedy)
    if step.within == parent.within:
        return step
    if step.within:
        message = f"`{step.id}` is an inherited step outside of `{step.within}`"
        reporter.report("P220", message, step.node, remedy="give the branch another id")
        return step
    return replace(step, within=parent.within)


def _has_branches(step: StepDefinition) -> bool:
    return step.fan is not None and bool(step.fan.branches)


def _report_marker(step: StepDefinition, definition: ProcessDefinition, reporter: Reporter) -> None:
    """Report `inherit` in a new step of a process without a parent: it inherits no gates."""
    for use in step.gates:
        if isinstance(use, Inherit) and definition.extends is not None:
            reporter.report("P314", f"step `{step.id}` replaces no inherited step", use.node)


def _report_nothing_done(
    step: StepDefinition, parent: StepDefinition | None, reporter: Reporter
) -> None:
    if any(key in step.node.entries for key in _WORK):
        return  # what it does is written and could not be read, which is reported there
    key = "action" if parent and parent.action else "process"
    work = parent and (parent.action or parent.process)
    fix = None
    place = step.node.entries.get("id")
    if work and place and not step.node.flow:
        line = f"\n{' ' * column_of(place[0].start)}{key}: {work}"
        fix = (TextEdit(point(end_of(place[1])), line),)
    remedy = f"repeat `{key}: {work}`: an override replaces the whole step" if work else None
    message = f"step `{step.id}` has no `action:`, `process:`, `goal:` or `parallel:`"
    reporter.report("P213", message, step.node, remedy=remedy, fix=fix)


def _insert(
    steps: list[ResolvedStep],
    added: list[tuple[StepDefinition, bool]],
    definition: ProcessDefinition,
    reporter: Reporter,
) -> list[ResolvedStep]:
    """Put each new step in its place, in the order in which they were written."""
    order = [step.definition.id for step in steps]
    by_id = {step.definition.id: step for step in steps}
    # An inserted step, or a branch: the step it was put after.
    follows = {each.definition.id: each.definition.within for each in steps}
    front = 0
    for step, in_front in added:
        if not _does_something(step):
            _report_nothing_done(step, None, reporter)
        _report_marker(step, definition, reporter)
        by_id[step.id] = _new(step, definition.name)
        anchor = step.within or step.before or step.after
        if anchor is not None and anchor in by_id and by_id[anchor].definition.within:
            of = by_id[anchor].definition.within
            report_branch(anchor, of, step.node.at("before" if step.before else "after"), reporter)
        if anchor is not None and anchor not in order:
            _report_anchor(step, anchor, order, definition, reporter)
            anchor = None
        if anchor is None and in_front:
            order.insert(front, step.id)
            front += 1
        elif anchor is None:
            order.append(step.id)
        elif step.before:
            order.insert(order.index(anchor), step.id)
        else:
            order.insert(_place_after(anchor, order, follows), step.id)
            follows[step.id] = anchor
    return [by_id[step_id] for step_id in order]


def _place_after(anchor: str, order: list[str], follows: Mapping[str, str]) -> int:
    """Return where the next step after *anchor* goes: behind those put there before it."""
    place = order.index(anchor) + 1
    while place < len(order):
        ahead: str | None = order[place]
        while ahead is not None and ahead != anchor:
            ahead = follows.get(ahead)
        if ahead is None:
            break
        place += 1
    return place


def _report_anchor(
    step: StepDefinition,
    anchor: str,
    known: list[str],
    definition: ProcessDefinition,
    reporter: Reporter,
) -> None:
    if definition.extends is None:
        return  # reported: nothing can be inserted without a parent
    place = step.node.at("before" if step.before else "after")
    remedy = did_you_mean(anchor, known, f"name one of {listed(known)}")
    reporter.report("P304", f"there is no step `{anchor}` to insert at", place, remedy=remedy)


def _new(step: StepDefinition, owner: str) -> ResolvedStep:
    knowledge: tuple[OwnedUse, ...] | None = None
    if step.knowledge is not None:
        knowledge = tuple((use, owner) for use in step.knowledge)
    gates = _merge_gates((), step.gates, owner)
    return ResolvedStep(step, owner, (), gates, knowledge)


def _check_complete(process: ResolvedProcess, reporter: Reporter) -> None:
    definition = process.definition
    if definition.abstract:
        return
    if not (process.steps or definition.broken or process.orphan):
        reporter.report("P212", f"process `{definition.name}` has no steps", definition.node)
    left = [
        step.definition.id
        for step in process.steps
        if step.definition.abstract and step.owner != definition.name
    ]
    if left:
        message = f"process `{definition.name}` leaves abstract steps open: {listed(left)}"
        reporter.report("P303", message, definition.node.at("extends"))
