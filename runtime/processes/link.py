"""Stage four: bind every name of a resolved process to what it stands for."""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from .conditions import check_condition
from .definitions import FailureDefinition, Inherit, StepDefinition, TopicUse, Value
from .diagnostics import TextEdit
from .expressions import And, Compare, Constant, Expression, Not, Or, Ref
from .interfaces import field_of
from .linked import (
    Budget,
    Carry,
    Continue,
    GoTo,
    Halt,
    LinkedAction,
    LinkedChild,
    LinkedGate,
    LinkedInterface,
    LinkedProcess,
    LinkedStep,
    LinkedTopic,
    Needs,
    OnFailure,
    Origin,
    Output,
    Retry,
    RunProcess,
)
from .nodes import MappingNode, Node, Reporter, span_of
from .readers import map_of
from .registry import ActionSpec, Ambiguous, digest_of
from .resolved import ResolvedGate, ResolvedProcess, ResolvedStep
from .scope import Names, NotFound
from .shapes import Shape, schema_of_type, shape_of_fields
from .suggest import did_you_mean, nearest
from .values import ValueChecker
from .world import World


class Linker:
    """Links one process; what is wrong goes to the reporter."""

    def __init__(self, process: ResolvedProcess, world: World, reporter: Reporter) -> None:
        self._process = process
        self._world = world
        self._reporter = reporter
        self._ids = tuple(step.definition.id for step in process.steps)
        inputs = tuple(field_of(field) for field, _ in process.inputs)
        self._inputs = inputs
        self._names = Names(shape_of_fields(inputs, given=False), self._ids)
        self._jumps: dict[str, set[str]] = {}  # at a step: what a jump to it may have left out

    def link(self) -> LinkedProcess:
        """Return the linked process; it counts only if no error was reported."""
        process, definition = self._process, self._process.definition
        start = Names(shape_of_fields(self._inputs, given=False), self._ids)
        knowledge = tuple(self._topic(use, owner) for use, owner in process.knowledge)
        linked = LinkedProcess(
            name=definition.name,
            version=definition.version,
            digest="",
            source_digest=definition.source_digest,
            description=definition.description,
            abstract=definition.abstract,
            chain=process.chain,
            implements=tuple(
                (name, self._world.interfaces[name].digest)
                for name in process.implements
                if name in self._world.interfaces
            ),
            triggers=tuple(definition.triggers),
            inputs=self._inputs,
            gates=tuple(self._gate(gate, start, frozenset()) for gate in process.gates),
            knowledge=knowledge,
            steps=tuple(self._step(step, knowledge) for step in process.steps),
            outputs=self._outputs(),
        )
        return replace(linked, digest=_digest(linked))

    def _step(self, step: ResolvedStep, knowledge: tuple[LinkedTopic, ...]) -> LinkedStep:
        definition = step.definition
        self._names.unsure |= self._jumps.get(definition.id, set())
        when = definition.when
        if when:
            check_condition(when, self._names, self._reporter)
        guarded = _guarded(when.expression) if when else frozenset[str]()
        action, child, result = self._work(step, guarded)
        linked = LinkedStep(
            id=definition.id,
            action=action,
            child=child,
            description=definition.description,
            abstract=definition.abstract,
            parameters=map_of(definition.parameters),
            when=when.expression if when else None,
            retry=definition.retry or Retry(),
            timeout_s=definition.timeout_s,
            on_failure=self._on_failure(definition, guarded),
            breakpoint=definition.breakpoint,
            gates=tuple(self._gate(gate, self._names, guarded) for gate in step.gates),
            knowledge=self._knowledge(step, knowledge),
            carry=self._carry(definition),
            needs=definition.needs or Needs(),
            tools=tuple(dict.fromkeys(definition.tools)),
            budget=definition.budget or Budget(),
            output=tuple(field_of(field) for field in definition.output),
            origin=Origin(process=step.owner, overrides=step.overrides),
        )
        self._names.results[definition.id] = result
        if when or isinstance(linked.on_failure, Continue):
            self._names.unsure.add(definition.id)
        return linked

    # What a step does.

    def _work(
        self, step: ResolvedStep, guarded: frozenset[str]
    ) -> tuple[LinkedAction | None, LinkedChild | None, Shape]:
        definition = step.definition
        checker = ValueChecker(self._names, self._reporter, guarded)
        place = definition.node
        if definition.process is not None:
            found = self._child(definition.process, place.at("process"))
            if found is None:
                return None, None, Shape({})
            shape = self._world.inputs_of(found)
            whose = f"`{definition.process}`"
            checker.check_parameters(definition.parameters, shape, whose, place)
            self._check_implementers(found, place.at("process"))
            return None, _child_of(found), self._world.outputs_of(found)
        if definition.action is None:
            return None, None, _with_output(Shape({}), definition)
        spec = self._world.registry.actions.get(definition.action)
        if spec is None:
            # An abstract step is never carried out: its action is a hint to whoever overrides it.
            if not definition.abstract:
                self._unknown_action(definition)
            return None, None, _with_output(Shape({}), definition)
        if not definition.abstract:
            shape = self._world.parameters_of(spec)
            checker.check_parameters(definition.parameters, shape, f"`{spec.name}`", place)
        return self._action(spec), None, _with_output(self._world.result_of(spec), definition)

    def _action(self, spec: ActionSpec) -> LinkedAction:
        return LinkedAction(
            name=spec.name,
            component=spec.component,
            effect=spec.effect,
            spec=self._world.registry.fingerprints[f"action:{spec.name}"],
        )

    def _unknown_action(self, definition: StepDefinition) -> None:
        name = definition.action or ""
        place = definition.node.at("action")
        remedy = self._world.action_remedy(name)
        found = nearest(name, self._world.registry.actions)
        fix = (TextEdit(span_of(place), found),) if found else None
        message = f"no component carries out `{name}`"
        self._reporter.report("P401", message, place, remedy=remedy, fix=fix)

    def _child(self, name: str, place: Node) -> LinkedProcess | LinkedInterface | None:
        world = self._world
        if name in world.interfaces:
            return world.interfaces[name]
        if name in world.abstract:
            self._reporter.report("P410", f"process `{name}` is abstract", place)
            return None
        if name in world.processes:
            return world.processes[name]
        if name in world.defined:
            self._reporter.report("P315", f"process `{name}` does not compile", place)
            return None
        known = {*world.defined, *world.interfaces}
        remedy = did_you_mean(name, known, "correct the name or add the process")
        message = f"there is no process and no interface `{name}`"
        self._reporter.report("P408", message, place, remedy=remedy)
        return None

    def _check_implementers(self, child: LinkedProcess | LinkedInterface, place: Node) -> None:
        if isinstance(child, LinkedProcess):
            return
        implementers = self._world.implementers.get(child.name, [])
        if not implementers:
            self._reporter.report("P411", f"nothing implements `{child.name}`", place)
        given = {field.name for field in child.inputs}
        for process in implementers:
            needed = (field_of(field) for field, _ in process.inputs)
            for field in needed:
                if field.required and field.name not in given:
                    message = (
                        f"`{process.definition.name}` implements `{child.name}` and requires the "
                        f"input `{field.name}`, which the interface does not have"
                    )
                    remedy = f"add `{field.name}` to the `inputs:` of the interface"
                    self._reporter.report("P406", message, place, remedy=remedy)

    # What stands around it.

    def _gate(self, gate: ResolvedGate, names: Names, guarded: frozenset[str]) -> LinkedGate:
        use = gate.use
        spec = self._world.registry.gates.get(use.name)
        if spec is None:
            remedy = self._world.gate_remedy(use.name)
            found = nearest(use.name, self._world.registry.gates)
            fix = (TextEdit(span_of(use.name_node), found),) if found else None
            message = f"no component evaluates `{use.name}`"
            self._reporter.report("P402", message, use.name_node, remedy=remedy, fix=fix)
        else:
            checker = ValueChecker(names, self._reporter, guarded)
            shape = self._world.parameters_of(spec)
            checker.check_parameters(use.parameters, shape, f"gate `{use.name}`", use.node)
        return LinkedGate(
            name=use.name,
            component=spec.component if spec else "",
            parameters=map_of(use.parameters),
            read_only=bool(spec and spec.read_only),
            spec=self._world.registry.fingerprints[f"gate:{use.name}"] if spec else "",
            origin=Origin(process=gate.owner),
        )

    def _topic(self, use: TopicUse, owner: str) -> LinkedTopic:
        found = self._world.topic(use.topic)
        origin = Origin(process=owner)
        if isinstance(found, Ambiguous):
            paths = ", ".join(found.paths)
            message = f"`{use.topic}` could be any of {paths}"
            self._reporter.report("P404", message, use.node)
        elif found is None:
            remedy = self._world.topic_remedy(use.topic)
            message = f"there is no knowledge under `{use.topic}`"
            near = nearest(use.topic, self._world.topics.names())
            fix = (TextEdit(span_of(use.node), near),) if near else None
            self._reporter.report("P403", message, use.node, remedy=remedy, fix=fix)
        else:
            return LinkedTopic(
                topic=use.topic,
                path=found.path,
                digest=found.digest,
                root=found.root,
                origin=origin,
            )
        return LinkedTopic(topic=use.topic, path="", digest="", root="", origin=origin)

    def _knowledge(
        self, step: ResolvedStep, of_process: tuple[LinkedTopic, ...]
    ) -> tuple[LinkedTopic, ...]:
        if step.knowledge is None:
            return of_process
        topics: dict[str, LinkedTopic] = {}
        for use, owner in step.knowledge:
            if isinstance(use, Inherit):
                topics.update((each.topic, each) for each in of_process)
            elif use.topic not in topics:
                topics[use.topic] = self._topic(use, owner)
        return tuple(topics.values())

    def _carry(self, definition: StepDefinition) -> tuple[Carry, ...]:
        for use in definition.carry:
            problem = self._names.missing_step(use.step)
            if problem is None and use.field is not None:
                found = self._names.look_up(Ref(("steps", use.step, use.field)))
                problem = found if isinstance(found, NotFound) else None
            if problem:
                remedy = problem.remedy
                self._reporter.report(problem.code, problem.message, use.node, remedy=remedy)
        uses = ((use.step, use.field) for use in definition.carry)
        return tuple(Carry(step=step, field=field) for step, field in dict.fromkeys(uses))

    def _on_failure(self, definition: StepDefinition, guarded: frozenset[str]) -> OnFailure:
        failure = definition.on_failure
        if failure is None or failure.policy == "halt":
            return Halt()
        if failure.policy == "continue":
            return Continue()
        if failure.policy == "step":
            return self._jump(definition, failure)
        assert isinstance(failure.node, MappingNode)  # noqa: S101 - for the type checker
        place = failure.node.at("process")
        found = self._child(failure.target, place)
        if found is None:
            return Halt()
        checker = ValueChecker(self._names, self._reporter, guarded)
        shape = self._world.inputs_of(found)
        checker.check_parameters(failure.parameters, shape, f"`{failure.target}`", failure.node)
        self._check_implementers(found, place)
        return RunProcess(child=_child_of(found), parameters=map_of(failure.parameters))

    def _jump(self, definition: StepDefinition, failure: FailureDefinition) -> OnFailure:
        here = self._ids.index(definition.id)
        target = failure.target
        assert isinstance(failure.node, MappingNode)  # noqa: S101 - for the type checker
        place = failure.node.at("step")
        if target not in self._ids:
            remedy = did_you_mean(target, self._ids[here + 1 :], "name a later step")
            self._reporter.report("P204", f"there is no step `{target}`", place, remedy=remedy)
        elif self._ids.index(target) <= here:
            message = f"step `{target}` does not come after `{definition.id}`"
            self._reporter.report("P206", message, place)
        else:
            left_out = self._ids[here : self._ids.index(target)]
            self._jumps.setdefault(target, set()).update(left_out)
        return GoTo(target)

    # What the process gives.

    def _outputs(self) -> tuple[Output, ...]:
        outputs = []
        for definition, _owner in self._process.outputs:
            value = definition.value
            template = value.template if value else self._source_of(definition.name)
            shape = Shape(schema_of_type(definition.type, tuple(definition.enum)))
            if template is None:
                if not self._process.definition.abstract:
                    message = f"no step has a result `{definition.name}`"
                    self._reporter.report("P209", message, definition.node)
                template = Constant(None)
            elif value:
                checker = ValueChecker(self._names, self._reporter, self._optional(definition))
                checker.check(value, shape, f"output `{definition.name}`")
            else:
                self._check_source(template, shape, definition.name, definition.node)
            outputs.append(
                Output(
                    name=definition.name,
                    type=definition.type,  # type: ignore[arg-type]  # checked when it was read
                    value=template,
                    required=definition.required is not False,
                    description=definition.description,
                    enum=tuple(definition.enum),
                )
            )
        return tuple(outputs)

    def _optional(self, definition: Any) -> frozenset[str]:
        """Return the steps whose results an output may lack without a word."""
        return frozenset() if definition.required else frozenset(self._ids)

    def _source_of(self, name: str) -> Ref | None:
        for step_id in reversed(self._ids):
            if name in self._names.results[step_id].properties:
                return Ref(("steps", step_id, name))
        return None

    def _check_source(self, ref: Any, shape: Shape, name: str, place: Node) -> None:
        value = Value(ref, place, {})
        found = self._names.look_up(ref)
        if not isinstance(found, NotFound) and not found.shape.kinds & shape.kinds:
            message = (
                f"`{'.'.join(ref.path)}`, where output `{name}` comes from, is of another type"
            )
            self._reporter.report("P407", message, value.node)


def _child_of(found: LinkedProcess | LinkedInterface) -> LinkedChild:
    if isinstance(found, LinkedInterface):
        return LinkedChild(interface=found.name, digest=found.digest)
    return LinkedChild(process=found.name, digest=found.digest)


def _with_output(result: Shape, definition: StepDefinition) -> Shape:
    """Return *result* together with what the step declares as its output."""
    if not definition.output:
        return result
    schema = dict(result.schema)
    declared = {
        field.name: schema_of_type(field.type, tuple(field.enum)) for field in definition.output
    }
    known = {name: shape.schema for name, shape in result.properties.items()}
    required = {field.name for field in definition.output if field_of(field).required}
    schema.update(
        type="object",
        properties={**known, **declared},
        required=sorted(result.required | required),
    )
    schema.pop("anyOf", None)
    return Shape(schema, result.definitions)


def _guarded(expression: Expression) -> frozenset[str]:
    """Return the steps and inputs that *expression* asks about."""
    names: set[str] = set()
    waiting = [expression]
    while waiting:
        match waiting.pop():
            case Ref(path):
                names.add(path[1] if path[0] == "steps" else ".".join(path[:2]))
            case Not(operand):
                waiting.append(operand)
            case And(operands) | Or(operands):
                waiting.extend(operands)
            case Compare(_, left, right):
                waiting += [left, right]
            case _:
                pass
    return frozenset(names)


def _digest(linked: LinkedProcess) -> str:
    """Return the digest of *linked*, without where its knowledge happens to lie."""
    return digest_of(
        replace(
            linked,
            knowledge=_placeless(linked.knowledge),
            steps=tuple(
                step if not step.knowledge else replace(step, knowledge=_placeless(step.knowledge))
                for step in linked.steps
            ),
        )
    )


def _placeless(topics: Iterable[LinkedTopic]) -> tuple[LinkedTopic, ...]:
    return tuple(replace(topic, path="", root="") for topic in topics)
