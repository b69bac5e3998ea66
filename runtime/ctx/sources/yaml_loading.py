"""YAML out of PyYAML: numbers as they were written, unique names, a bounded depth."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from ..document import Path
from ..errors import CtxSourceError
from ..notation.spelling import DIGITS, spelled

LEVELS = 500
_USUAL = (".inf", "-.inf", ".nan")
_MERGE, _TEXT = "tag:yaml.org,2002:merge", "tag:yaml.org,2002:str"
_TRUTH, _TRUTHS = "tag:yaml.org,2002:bool", ("true", "false")
_LEADING = re.compile(r"^[ \t?:-]+", re.MULTILINE)
_ODD_BREAK = re.compile(r"\r(?!\n)|[\x85\u2028\u2029]")  # ends a line for YAML, and not for re
_Fast: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Loader(_Fast):  # type: ignore[misc]  # which one there is shows when it runs
    """The safe loader; numbers remember how they were written."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._resolved: dict[tuple[str, tuple[bool, bool]], Any] = {}

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """The tag of a node; what was asked before costs nothing, as names and words do."""
        if kind is not yaml.ScalarNode:
            return super().resolve(kind, value, implicit)
        tag = self._resolved.get((value, implicit))
        if tag is None:
            tag = self._resolved[value, implicit] = super().resolve(kind, value, implicit)
        return tag


def _number(loader: Any, node: Any) -> Any:
    is_whole = node.tag.endswith("int")
    if is_whole and len(node.value) > DIGITS:
        raise ValueError(f"a whole number of {len(node.value):,} digits")
    found = (loader.construct_yaml_int if is_whole else loader.construct_yaml_float)(node)
    return found if node.value in _USUAL else spelled(node.value, found)


Loader.add_constructor("tag:yaml.org,2002:int", _number)
Loader.add_constructor("tag:yaml.org,2002:float", _number)


class Loaded(NamedTuple):
    """What a text of YAML holds."""

    starts: list[tuple[int, Path]]  # where entries and items begin, if it has comments
    documents: list[Any]
    unkept: list[str]  # its contents beyond the data, in words


def load(text: str) -> Loaded:
    """The data in *text*.

    Raises:
        CtxSourceError: a name occurs twice, or it nests deeper than `LEVELS`.
        yaml.YAMLError, ValueError, TypeError: it is no YAML, or holds what cannot be read.
    """
    if _may_be_deep(text):
        _bounded(text)
    loader = Loader(text)
    starts: list[tuple[int, Path]] = []
    documents: list[Any] = []
    unkept = _Unkept()
    try:
        nodes: list[Any] = []
        while loader.check_node():
            nodes.append(loader.get_node())
        for at, node in enumerate(nodes):
            # First: the constructor writes what is merged into the nodes.
            _once(node, loader, unkept)
            if "#" in text:
                path = (at,) if len(nodes) > 1 else ()
                starts += [(node.start_mark.line, path)] if path else []
                starts += _inside(node, path, loader)
            documents.append(loader.construct_document(node))
    finally:
        loader.dispose()
    return Loaded(starts, documents, unkept.told())


class _Unkept:
    """What YAML 1.1 reads as something else than what is written, and what it writes once."""

    def __init__(self) -> None:
        self._truths: list[tuple[int, str]] = []  # their lines, and how they are written
        self._aliases = 0

    def see(self, node: Any) -> None:
        """Look at a value."""
        if node.tag == _TRUTH and node.value not in _TRUTHS:
            self._truths.append((node.start_mark.line + 1, node.value))

    def see_again(self) -> None:
        """Take note of a value that is an alias of an earlier one."""
        self._aliases += 1

    def told(self) -> list[str]:
        """All of it in words."""
        said: list[str] = []
        if self._truths:
            line, word = min(self._truths)
            others = len(self._truths) - 1
            more = f" and {others:,} more like it" if others else ""
            said.append(
                f"{word!r} on line {line}{more}: YAML 1.1 reads a truth value, YAML 1.2 a text"
            )
        if self._aliases:
            what = "1 alias is" if self._aliases == 1 else f"{self._aliases:,} aliases are"
            said.append(f"{what} written out")
        return said


def _once(root: Any, loader: Any, unkept: _Unkept) -> None:
    """Refuse a name that occurs twice in one mapping: one of its values would be lost."""
    waiting: list[Any] = [root]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            unkept.see_again()
            continue
        seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            unkept.see(node)
            continue
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
            continue
        names: set[Any] = set()
        for name, value in node.value:
            waiting.append(value)
            own = _own_name(name, loader)
            if own and own in names:
                problem = f"the name {name.value} occurs twice in one mapping"
                raise CtxSourceError("yaml", problem, name.start_mark.line + 1)
            names.add(own)


def _own_name(node: Any, loader: Any) -> Any:
    """The identity of a name; nothing for one that is no scalar, or merges others in."""
    if not isinstance(node, yaml.ScalarNode) or node.tag == _MERGE:
        return ()
    return (node.value if node.tag == _TEXT else loader.construct_object(node),)


def _may_be_deep(text: str) -> bool:
    """Whether *text* might nest deeper than `LEVELS`: each level needs a bracket, or a column."""
    if _ODD_BREAK.search(text):
        return True
    columns = max(map(len, _LEADING.findall(text)), default=0)
    return text.count("[") + text.count("{") + 2 * columns > LEVELS


def _bounded(text: str) -> None:
    # The C loader calls itself for each level: enough of them end the process.
    too_deep = CtxSourceError("yaml", f"it nests deeper than {LEVELS} levels")
    depth = 0
    try:
        for event in yaml.parse(text, Loader=Loader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > LEVELS:
                    raise too_deep
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.MarkedYAMLError as error:
        # Newer loaders have a bound of their own, and look far enough ahead to meet it first.
        if "nesting depth" in (error.problem or ""):
            raise too_deep from None
        raise


def _inside(node: Any, path: Path, names: Any) -> Iterator[tuple[int, Path]]:
    if getattr(node, "flow_style", False) and node.start_mark.line == node.end_mark.line:
        return  # a comment beside [a, b] is about all of it
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if name.tag == _MERGE:
                continue  # what it brings in has no line of its own
            own = (*path, names.construct_object(name, deep=True))
            yield name.start_mark.line, own
            if value.start_mark.line >= name.start_mark.line:  # an alias points back
                yield from _inside(value, own, names)
    elif isinstance(node, yaml.SequenceNode):
        for at, value in enumerate(node.value):
            yield value.start_mark.line, (*path, at)
            if value.start_mark.line >= node.start_mark.line:
                yield from _inside(value, (*path, at), names)
