"""Links `on_failure:`, what happens when a step has failed for good."""

from collections.abc import Mapping

from ..diagnostics.diagnostics import did_you_mean
from ..executable.linked import BackTo, Continue, GoTo, Halt, OnFailure, RunProcess
from ..syntax.definitions import FailureDefinition, StepDefinition
from ..syntax.nodes import MappingNode
from ..syntax.readers import map_of
from ..types.scope import Names
from ..types.values import ValueChecker
from .bind import Binder, child_of
from .fans import report_branch
from .units import UnitReporter
from .world import World


class FailureLinker:
    """Links the policies of one process's steps, in their order; reports what is wrong.

    Args:
        binder: Finds the process that a policy runs.
        world: What there is to refer to.
        names: Names in scope of the step that is being linked.
        reporter: Receives what is wrong.
        within: Of each step, in order, the `parallel:` that it is a branch of; "" for none.
    """

    def __init__(
        self,
        binder: Binder,
        world: World,
        names: Names,
        reporter: UnitReporter,
        within: Mapping[str, str],
    ) -> None:
        self._binder, self._world, self._names = binder, world, names
        self._reporter = reporter
        self._within = within
        self._ids = tuple(within)
        self._jumps: dict[str, set[str]] = {}  # at a step: what a jump to it may have left out

    def left_out_before(self, step_id: str) -> set[str]:
        """Steps that a jump to this one, linked so far, may have left out."""
        return self._jumps.get(step_id, set())

    def linked(self, definition: StepDefinition, guarded: frozenset[str]) -> OnFailure:
        """The policy of a step; that of a step with errors counts for nothing."""
        failure = definition.on_failure
        if failure is None or failure.policy == "halt":
            return Halt()
        if failure.policy == "continue":
            return Continue()
        assert isinstance(failure.node, MappingNode)  # noqa: S101 - for the type checker
        if failure.policy == "step":
            return self._jump(definition, failure, failure.node)
        if failure.policy == "back_to":
            return self._back(definition, failure, failure.node)
        found = self._binder.child(failure.target, failure.node.at("process"))
        if found is None:
            return Halt()
        checker = ValueChecker(self._names, self._reporter, guarded)
        shape = self._world.inputs_of(found)
        checker.check_parameters(failure.parameters, shape, f"`{failure.target}`", failure.node)
        return RunProcess(child=child_of(found), parameters=map_of(failure.parameters))

    def _jump(
        self, definition: StepDefinition, failure: FailureDefinition, node: MappingNode
    ) -> OnFailure:
        here = self._ids.index(definition.id)
        target, place = failure.target, node.at("step")
        if target not in self._ids:
            remedy = did_you_mean(target, self._ids[here + 1 :], "name a later step")
            self._reporter.report("P204", f"there is no step `{target}`", place, remedy=remedy)
        elif self._ids.index(target) <= here:
            message = f"step `{target}` does not come after `{definition.id}`"
            self._reporter.report("P206", message, place)
        elif self._within[target]:
            report_branch(target, self._within[target], place, self._reporter)
        else:
            left_out = self._ids[here : self._ids.index(target)]
            self._jumps.setdefault(target, set()).update(left_out)
        return GoTo(target)

    def _back(
        self, definition: StepDefinition, failure: FailureDefinition, node: MappingNode
    ) -> OnFailure:
        here = self._ids.index(definition.id)
        target, place = failure.target, node.at("back_to")
        if target not in self._ids:
            remedy = did_you_mean(target, self._ids[:here], "name an earlier step")
            self._reporter.report("P204", f"there is no step `{target}`", place, remedy=remedy)
        elif self._ids.index(target) >= here:
            message = f"step `{target}` does not come before `{definition.id}`"
            self._reporter.report("P214", message, place)
        elif self._within[target]:
            report_branch(target, self._within[target], place, self._reporter)
        return BackTo(target, failure.times)
