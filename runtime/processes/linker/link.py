"""Stage four: bind every name of a resolved process to its target."""

from collections.abc import Iterable, Sequence

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from cortex.runtime.registry import digest_of

from ..executable.expressions import Ref
from ..executable.linked import (
    Budget,
    Carry,
    Continue,
    Find,
    LinkedAction,
    LinkedChild,
    LinkedFan,
    LinkedGate,
    LinkedProcess,
    LinkedStep,
    LinkedTopic,
    Needs,
    Origin,
    Retry,
)
from ..executable.parts import seen_by
from ..syntax.definitions import (
    Condition,
    Inherit,
    ResolvedGate,
    ResolvedProcess,
    ResolvedStep,
    StepDefinition,
    TopicUse,
)
from ..syntax.readers import map_of
from ..syntax.tool_uses import described_by, names_of
from ..types.answers import schema_of_fields
from ..types.conditions import asked_about, check_condition
from ..types.scope import Names, NotFound
from ..types.shapes import Shape, shape_of_fields
from ..types.values import ValueChecker
from .bind import Binder, child_of
from .bound import Bound, bound_parameters, offered_by, or_else, without_required
from .failures import FailureLinker
from .fans import element_of, linked_fan, result_of_fan
from .goal_links import ANYTHING, OF_GOAL, OF_TEXT, GoalLinker, asks_model
from .interfaces import field_of
from .prompt_inputs import linked_find, linked_memory, prompt_texts
from .results import Declared, check_output, link_outputs, output_schema, with_output
from .units import UnitReporter
from .world import World


class Linker:
    """Links one process; what is wrong goes to the reporter."""

    def __init__(
        self,
        process: ResolvedProcess,
        world: World,
        reporter: UnitReporter,
        circular: frozenset[str] = frozenset(),
    ) -> None:
        self._process = process
        self._world = world
        self._reporter = reporter
        self._binder = Binder(world, reporter, circular)
        self._ids = tuple(step.definition.id for step in process.steps)
        inputs = tuple(field_of(field) for field, _ in process.inputs)
        self._inputs = inputs
        self._from_trigger: tuple[str, ...] = ()  # those of them that no source declares
        self._names = Names(shape_of_fields(inputs, given=False), self._ids)
        self._within = {step.definition.id: step.definition.within for step in process.steps}
        self._goals = GoalLinker(self._binder, world, self._names, reporter)
        self._failures = FailureLinker(self._binder, world, self._names, reporter, self._within)

    def link(self) -> LinkedProcess:
        """Return the linked process; it counts only if no error was reported."""
        process, definition = self._process, self._process.definition
        parent = self._linked_parent()  # what changes in it changes this process, too
        start = Names(shape_of_fields(self._inputs, given=False), self._ids)
        knowledge = tuple(self._topic(use, owner) for use, owner in process.knowledge)
        gates = tuple(self._gate(gate, start, frozenset()) for gate in process.gates)
        steps = tuple(self._step(step, knowledge) for step in process.steps)
        self._names.enter(branch=False, item=False)
        linked = LinkedProcess(
            name=definition.name,
            version=definition.version,
            digest="",
            source_digest=definition.source_digest,
            description=definition.description,
            abstract=definition.abstract,
            chain=process.chain,
            parent=parent.digest if parent else UNSET,
            implements=tuple(
                (name, self._world.interfaces[name].digest)
                for name in process.implements
                if name in self._world.interfaces
            ),
            triggers=tuple(definition.triggers),
            inputs=self._inputs,
            from_trigger=self._from_trigger or UNSET,
            gates=gates,
            knowledge=knowledge,
            steps=steps,
            outputs=link_outputs(process, self._names, self._reporter),
        )
        return replace(linked, digest=_digest(linked))

    def _linked_parent(self) -> LinkedProcess | None:
        above = self._process.chain[1:2]
        return self._world.processes.get(above[0]) if above else None

    def _offers(self) -> Sequence[str] | None:
        """Names that its trigger, or its parent, may give; None for any.

        Callers of an interface give the interface's inputs, so an implementation adds none.
        """
        if self._process.implements:
            return ()
        offers = offered_by(self._process.definition.triggers)
        parent = self._linked_parent()
        inherited = parent.from_trigger if parent else UNSET
        return offers if offers is None or inherited is UNSET else (*offers, *inherited)

    def _step(self, step: ResolvedStep, knowledge: tuple[LinkedTopic, ...]) -> LinkedStep:
        definition = step.definition
        when = definition.when
        guarded = asked_about(when.expression) if when else frozenset[str]()
        self._names.unsure |= self._failures.left_out_before(definition.id)
        branch = bool(definition.within)
        self._names.enter(branch=branch, item=branch or definition.fan is not None)
        fan = self._fan(step, guarded)
        # Gates and topics first: they may be others' than the step itself.
        gates = tuple(self._gate(gate, self._names, guarded) for gate in step.gates)
        topics = self._knowledge(step, knowledge)
        self._about(step.owner, f"step `{definition.id}`")
        self._condition(when)
        output = output_schema(definition, self._reporter)
        bound = self._bound(definition)
        action, child, result = self._work(step, guarded, output, bound)
        asks = definition.abstract or asks_model(definition, action)
        found = self._find(definition, guarded, asks_model=asks)
        texts = prompt_texts(definition, self._process, self._reporter, asks_model=asks)
        linked = replace(
            self._declared(step),
            action=action,
            child=child,
            goal=self._goals.goal(definition),
            parameters=bound.joined(map_of(definition.parameters)),
            bound=tuple(name for name, _ in bound.parameters) or UNSET,
            on_failure=self._failures.linked(definition, guarded),
            gates=gates,
            knowledge=topics,
            find=found,
            memory=linked_memory(
                definition.memory,
                ValueChecker(self._names, self._reporter, guarded),
                self._reporter,
                asks_model=asks,
            ),
            carry=(*self._carry(definition), *bound.carry),
            persona=texts.persona,
            instructions=texts.instructions,
            promised=self._binder.tools(definition),
            output_schema=output,
            fan=fan or UNSET,
        )
        self._know(definition, result, unsure=bool(when) or isinstance(linked.on_failure, Continue))
        return replace(linked, sees=seen_by(linked)) if fan or definition.within else linked

    def _declared(self, step: ResolvedStep) -> LinkedStep:
        """What the source of *step* says by itself, without what its names are bound to."""
        definition = step.definition
        tools = self._world.symbols.tools
        return LinkedStep(
            id=definition.id,
            action=None,
            description=definition.description,
            abstract=definition.abstract,
            when=definition.when.expression if definition.when else None,
            retry=definition.retry or Retry(),
            timeout_s=definition.timeout_s,
            breakpoint=definition.breakpoint,
            strategy=definition.strategy or UNSET,
            needs=definition.needs or Needs(),
            tools=names_of(definition),
            described=described_by(definition, tools) if tools else UNSET,
            budget=definition.budget or Budget(),
            output=tuple(field_of(field) for field in definition.output),
            within=definition.within or UNSET,
            origin=Origin(process=step.owner, overrides=step.overrides),
        )

    def _condition(self, when: Condition | None) -> None:
        """Check `when:`, which is evaluated before any item exists."""
        if when is None:
            return
        named, self._names.named = self._names.named, {}
        check_condition(when, self._names, self._reporter)
        self._names.named = named

    def _find(
        self, definition: StepDefinition, guarded: frozenset[str], *, asks_model: bool
    ) -> Find | UnsetType:
        checker = ValueChecker(self._names, self._reporter, guarded)
        return linked_find(
            definition.find, checker, self._world, self._reporter, asks_model=asks_model
        )

    def _fan(self, step: ResolvedStep, guarded: frozenset[str]) -> LinkedFan | None:
        """What makes *step* a fan; from here on it may refer to its item."""
        definition = step.definition
        if definition.fan is None:
            return None
        self._about(step.owner, f"step `{definition.id}`")
        branches = tuple(each for each, owner in self._within.items() if owner == definition.id)
        checker = ValueChecker(self._names, self._reporter, guarded)
        linked = linked_fan(definition, checker, branches)
        over = definition.fan.over
        if over is not None:
            self._names.named = {definition.fan.name: element_of(over, self._names)}
        return linked

    def _know(self, definition: StepDefinition, result: Shape, *, unsure: bool) -> None:
        """From here on later steps may refer to what *definition* gives."""
        self._names.named = {}
        fan, within = definition.fan, definition.within
        if fan is not None:
            result = result_of_fan(fan, result)
            if unsure or fan.failures == "collect":
                gone = {each for each, owner in self._within.items() if owner == definition.id}
                self._names.unsure |= gone
        (self._names.held if within else self._names.results)[definition.id] = result
        if unsure:
            self._names.unsure.add(definition.id)

    # What a step does.

    def _bound(self, definition: StepDefinition) -> Bound:
        """What the step leaves out and can be given; what only a trigger gives is an input then."""
        spec = self._world.symbols.actions.get(definition.action or "")
        if spec is None or definition.abstract:
            return Bound()
        takes = self._world.parameters_of(spec)
        bound = bound_parameters(
            definition, spec, takes, self._names, self._offers(), self._reporter
        )
        if bound.inputs:
            self._inputs = (*self._inputs, *bound.inputs)
            self._from_trigger += tuple(field.name for field in bound.inputs)
            self._names.add_inputs(shape_of_fields(self._inputs, given=False))
        return bound

    def _work(
        self, step: ResolvedStep, guarded: frozenset[str], output: Declared, bound: Bound
    ) -> tuple[LinkedAction | None, LinkedChild | None, Shape]:
        """Return what *step* runs, and the shape of what that gives."""
        definition, world = step.definition, self._world
        checker = ValueChecker(self._names, self._reporter, guarded)
        parameters, place = definition.parameters, definition.node
        if definition.goal is not None:
            checker.check(definition.goal, OF_TEXT, "`goal`")
            check_output(definition, OF_GOAL, output, "a goal", self._reporter)
            checker.check_parameters(parameters, ANYTHING, "`with`", place)
            return None, None, OF_GOAL
        if definition.process is not None:
            found = self._binder.child(definition.process, place.at("process"))
            if found is None:
                return None, None, Shape({})
            shape = world.inputs_of(found)
            checker.check_parameters(parameters, shape, f"`{definition.process}`", place)
            given = world.outputs_of(found)
            if isinstance(found, LinkedProcess):  # what implements an interface may give more
                whose = f"process `{found.name}`"
                check_output(definition, given, output, whose, self._reporter)
            return None, child_of(found), given
        spec = self._binder.action(definition) if definition.action else None
        if spec is None:
            return None, None, with_output(Shape({}), definition, output)
        if not definition.abstract:
            shape = without_required(world.parameters_of(spec), bound.settled())
            whose = f"`{spec.name}`"
            otherwise = or_else(shape, self._names)
            checker.check_parameters(parameters, shape, whose, place, otherwise=otherwise)
            if spec.answers_output is UNSET:
                given = world.result_of(spec)
                check_output(definition, given, output, f"action `{spec.name}`", self._reporter)
        result = with_output(world.result_of(spec), definition, output)
        if output is UNSET and definition.output and spec.answers_output is not UNSET:
            output = schema_of_fields([field_of(field) for field in definition.output])
        return self._binder.linked_action(spec, output), None, result

    # What stands around it.

    def _gate(self, gate: ResolvedGate, names: Names, guarded: frozenset[str]) -> LinkedGate:
        use = gate.use
        self._about(gate.owner, f"gate `{use.name}`")
        spec = self._binder.gate(use.name, use.name_node)
        if spec:
            checker = ValueChecker(names, self._reporter, guarded)
            shape = self._world.parameters_of(spec)
            checker.check_parameters(use.parameters, shape, f"gate `{use.name}`", use.node)
        return self._binder.linked_gate(use, spec, gate.owner)

    def _topic(self, use: TopicUse, owner: str) -> LinkedTopic:
        self._about(owner, f"topic `{use.topic}`")
        return self._binder.topic(use, owner)

    def _about(self, owner: str, item: str) -> None:
        self._reporter.owner, self._reporter.item = owner, item

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
