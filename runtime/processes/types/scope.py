"""The names that a step may refer to, with the shapes of their values."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..diagnostics.diagnostics import did_you_mean, listed
from ..executable.expressions import Ref
from .shapes import Shape

ITEM = "item"  # name of the item of a list, unless `as:` gives another
STATUSES = ("completed", "failed", "skipped")
_STATUS = Shape({"enum": [*STATUSES]})
_INTEGER = Shape({"type": "integer"})
_EXECUTION = {"attempt": _INTEGER, "id": Shape({"type": "string"})}
_OF_ITEM = {**_EXECUTION, "item": _INTEGER}


class Referent(NamedTuple):
    """The target of a reference."""

    shape: Shape
    may_be_missing: bool


class NotFound(NamedTuple):
    """Why a reference has no target."""

    code: str
    message: str
    remedy: str | None


class Names:
    """What is known at one place of a process; grows from step to step."""

    def __init__(self, inputs: Shape, all_steps: tuple[str, ...]) -> None:
        self._inputs = inputs
        self._all_steps = all_steps
        self.results: dict[str, Shape] = {}  # of the steps so far
        self.unsure: set[str] = set()  # steps so far that may give no result
        self.named: dict[str, Shape] = {}  # the item of the list that a step goes over
        self.in_item = False  # whether the step is carried out for one item of several
        self.held: dict[str, Shape] = {}  # results of branches, which do not see each other

    def look_up(self, ref: Ref) -> Referent | NotFound:
        """Return the target of *ref* here."""
        root, *rest = ref.path
        if root in self.named:
            return self._descend(ref, rest, self.named[root], missing=False)
        if not rest:
            return NotFound("P202", f"`${{{root}}}` is not a reference", self._meant(root))
        if root == "inputs":
            return self._descend(ref, rest, self._inputs, missing=False)
        if root == "execution":
            known = _OF_ITEM if self.in_item else _EXECUTION
            shape = known.get(rest[0]) if len(rest) == 1 else None
            if shape:
                return Referent(shape, may_be_missing=False)
            remedy = did_you_mean(rest[0], known, f"known are {listed(known)}")
            return NotFound("P204", f"`{'.'.join(ref.path)}` is not known", remedy)
        if root == "steps":
            return self._step(ref, rest)
        remedy = self._meant_item(root)
        remedy = remedy or did_you_mean(root, ("inputs", "steps", "execution", *self.named), "")
        message = f"`{root}` is not `inputs`, `steps` or `execution`"
        return NotFound("P204", message, remedy or None)

    def called(self, name: str) -> Iterator[tuple[Ref, Shape]]:
        """All values here that are called *name* and surely exist, the inputs first.

        An item of that name has precedence.
        """
        if name in self.named:
            yield Ref((name,)), self.named[name]
            return
        if name in self._inputs.properties:
            yield Ref(("inputs", name)), self._inputs.properties[name]
        for step, result in self.results.items():
            if step not in self.unsure and name in result.properties:
                yield Ref(("steps", step, name)), result.properties[name]

    def has_input(self, name: str) -> bool:
        """Whether the process has an input called *name*, of any type."""
        return name in self._inputs.properties

    def enter(self, *, branch: bool, item: bool) -> None:
        """Come to a step: behind the last branch, what the branches gave is known."""
        self.in_item = item
        if not branch:
            self.results.update(self.held)
            self.held.clear()

    def add_inputs(self, inputs: Shape) -> None:
        """From here on *inputs* are known: what was known before and more."""
        self._inputs = inputs

    def _meant(self, name: str) -> str:
        """What a reference of one word is likely to mean."""
        if item := self._meant_item(name):
            return item
        ways = [ref for ref, _ in self.called(name)]
        if not ways and name in self.results:
            ways = [Ref(("steps", name, field)) for field in self.results[name].properties]
        if len(ways) == 1:
            return f"did you mean `{'.'.join(ways[0].path)}`?"
        return did_you_mean(name, self.named, "write `${inputs.x}` or `${steps.id.x}`")

    def _meant_item(self, name: str) -> str:
        """How the item of a list is called here, where *name* is what it is called elsewhere."""
        if name != ITEM:
            return ""
        if not self.named:
            return f"`${{{ITEM}}}` is for a step with `for_each:`"
        return f"the item is `${{{next(iter(self.named))}}}` here, as `as:` says"

    def _step(self, ref: Ref, rest: list[str]) -> Referent | NotFound:
        step, *fields = rest
        problem = self.missing_step(step)
        if problem:
            return problem
        if fields == ["status"]:
            return Referent(_STATUS, may_be_missing=False)
        if not fields:
            return NotFound("P204", f"`steps.{step}` is a step, not a value of it", None)
        return self._descend(ref, fields, self.results[step], missing=step in self.unsure)

    def missing_step(self, step: str) -> NotFound | None:
        """Return why *step* cannot be referred to here, or None if it can."""
        if step in self.results:
            return None
        if step in self._all_steps:
            return NotFound("P205", f"step `{step}` does not come before this one", None)
        known = list(self.results)
        remedy = did_you_mean(step, known, f"steps before this one are {listed(known)}")
        return NotFound("P204", f"there is no step `{step}`", remedy)

    def _descend(
        self, ref: Ref, fields: list[str], shape: Shape, *, missing: bool
    ) -> Referent | NotFound:
        so_far = len(ref.path) - len(fields)
        for index, name in enumerate(fields):
            inner = shape.field(name) if "object" in shape.kinds else None
            if inner is None:
                owner = ".".join(ref.path[: so_far + index])
                known: Mapping[str, Shape] = shape.properties
                otherwise = f"`{owner}` has {listed(known)}"
                remedy = did_you_mean(name, known, otherwise)
                return NotFound("P204", f"`{owner}` has no field `{name}`", remedy)
            missing = missing or (index > 0 and name not in shape.required)
            shape = inner
        return Referent(shape, may_be_missing=missing and not shape.is_open)


def mentions(ref: Ref, step: str) -> bool:
    """Return whether *ref* is about *step*."""
    return ref.path[:2] == ("steps", step)
