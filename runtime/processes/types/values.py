"""Checks a ``with:``: names, types, and the targets of its references."""

from ..diagnostics.diagnostics import TextEdit, did_you_mean, listed, nearest
from ..executable.expression_parser import Located
from ..executable.expressions import Ref, Template
from ..syntax.definitions import Value
from ..syntax.forms import span_within
from ..syntax.nodes import MappingNode, Node, Reporter, ScalarNode, SequenceNode, describe, span_of
from .scope import Names, Referent, mentions
from .shapes import Shape, fits, in_words, never_equal


class ValueChecker:
    """Checks the values of one step against what they are handed to."""

    def __init__(self, names: Names, reporter: Reporter, guarded: frozenset[str]) -> None:
        self._names = names
        self._reporter = reporter
        self._guarded = guarded  # steps that the condition of this step asks about

    def check_parameters(
        self,
        value: Value | None,
        shape: Shape,
        whose: str,
        place: Node,
        *,
        otherwise: str = "",
    ) -> None:
        """Report what is wrong with the parameters *value* of *whose*, which takes *shape*.

        What is missing can be added under `with:`, or *otherwise*.
        """
        if value is None:
            missing = sorted(shape.required)
            if missing:
                remedy = f"add {listed(missing)} under `with:`{otherwise}"
                self._report("P406", f"{whose} needs {listed(missing)}", place, remedy)
            return
        self._value(value, value.node, shape, whose)

    def check(self, value: Value, shape: Shape, what: str) -> None:
        """Report what is wrong with *value*, which is *what* and has to be of *shape*."""
        self._value(value, value.node, shape, what)

    def _value(self, value: Value, node: Node, shape: Shape, what: str) -> None:
        if isinstance(node, MappingNode):
            self._map(value, node, shape, what)
        elif isinstance(node, SequenceNode):
            if "array" not in shape.kinds:
                self._misfit(node, f"{what} is a list, expected {in_words(shape.kinds)}")
            for index, item in enumerate(node.items, 1):
                self._value(value, item, shape.items, f"item {index} of {what}")
        elif id(node) in value.texts:
            template, references = value.texts[id(node)]
            self._text(node, template, references, shape, what)
        else:
            problem = shape.problem(node.value)
            if problem:
                self._scalar_misfit(node, f"{what} is {describe(node)}, {problem}", shape)

    def _map(self, value: Value, node: MappingNode, shape: Shape, what: str) -> None:
        if "object" not in shape.kinds:
            self._misfit(node, f"{what} is a map, expected {in_words(shape.kinds)}")
            shape = Shape({})
        for name, (key, each) in node.entries.items():
            inner = shape.field(name)
            if inner is None:
                found = nearest(name, shape.properties)
                remedy = did_you_mean(
                    name, shape.properties, f"known are {listed(shape.properties)}"
                )
                fix = (TextEdit(span_of(key), found),) if found else None
                message = f"{what} does not take `{name}`"
                self._reporter.report("P405", message, key, remedy=remedy, fix=fix)
                inner = Shape({})
            self._value(value, each, inner, f"`{name}`")
        missing = sorted(shape.required - set(node.entries))
        if missing:
            remedy = f"add {listed(missing)} under `with:`"
            self._report("P406", f"{what} needs {listed(missing)}", node, remedy)

    def _text(
        self,
        node: ScalarNode,
        template: Template,
        references: list[Located],
        shape: Shape,
        what: str,
    ) -> None:
        whole = isinstance(template, Ref)
        if not shape.is_open and {"string", "array"} <= shape.kinds:
            self._check_words(node, template, references, what)
        if not whole and "string" not in shape.kinds:
            self._misfit(node, f"{what} is a text, expected {in_words(shape.kinds)}")
        for located in references:
            found = self._names.look_up(located.ref)
            if not isinstance(found, Referent):
                place = span_within(node, located.offset, located.length)
                self._reporter.report(found.code, found.message, place, remedy=found.remedy)
                continue
            path = ".".join(located.ref.path)
            if whole and not fits(found.shape, shape):
                kinds = in_words(found.shape.kinds)
                message = f"`{path}` is {kinds}, {what} takes {in_words(shape.kinds)}"
                self._misfit_within(node, located, message)
            elif whole and never_equal(found.shape, shape):
                message = f"`{path}` has none of the values that {what} takes"
                self._misfit_within(node, located, message)
            elif self._may_be_null(found, located.ref) and not (whole and "null" in shape.kinds):
                remedy = f"guard the step with `when: {path} != null`"
                message = f"`{path}` may be missing, {what} may not"
                place = span_within(node, located.offset, located.length)
                self._reporter.report("P210", message, place, remedy=remedy)

    def _check_words(
        self, node: ScalarNode, template: Template, references: list[Located], what: str
    ) -> None:
        """Report references in a text for a list: it is split after values are filled in."""
        if isinstance(template, Ref):
            found = self._names.look_up(references[0].ref)
            if not isinstance(found, Referent) or "string" not in found.shape.kinds:
                return
        self._reporter.report("P412", f"{what} is a text with a reference in it", node)

    def _may_be_null(self, found: Referent, ref: Ref) -> bool:
        if ref.path[0] == "steps" and any(mentions(ref, step) for step in self._guarded):
            return False
        if ref.path[0] == "inputs" and ".".join(ref.path[:2]) in self._guarded:
            return False
        return found.may_be_missing or ("null" in found.shape.kinds and not found.shape.is_open)

    def _misfit_within(self, node: ScalarNode, located: Located, message: str) -> None:
        place = span_within(node, located.offset, located.length)
        self._reporter.report("P407", message, place)

    def _misfit(self, node: Node, message: str) -> None:
        self._reporter.report("P407", message, node)

    def _scalar_misfit(self, node: ScalarNode, message: str, shape: Shape) -> None:
        fix = None
        if node.plain and "string" in shape.kinds and node.value is not None:
            fix = (TextEdit(span_of(node), f'"{node.text}"'),)
        self._reporter.report("P407", message, node, fix=fix)

    def _report(self, code: str, message: str, place: Node, remedy: str) -> None:
        self._reporter.report(code, message, place, remedy=remedy)
