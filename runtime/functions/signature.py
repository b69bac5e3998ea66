"""What a decorated function takes and gives, read from its annotations."""

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from cortex.runtime.kernel import ComponentInvalidError

from .step import Step

NOTHING = type(None)
VALUE = "value"  # the one field of a result that is no Struct
NO_WORDS = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
Rest = inspect.Parameter.VAR_KEYWORD


class Signature(msgspec.Struct, frozen=True):
    """A function as its annotations describe it.

    One parameter may be the step; those after a `*` are ports, which the runtime gives
    by their names; one more that is a Struct holds the parameters, or else each is a parameter.
    """

    name: str  # of what it serves, for errors
    parameters: type[msgspec.Struct] | None = None  # None: it takes none
    whole: str = ""  # the parameter that is given all of them as one Struct; "": each by its name
    step: str = ""  # the parameter that is given the step; "" for none
    ports: tuple[inspect.Parameter, ...] = ()
    result: type[msgspec.Struct] | None = None  # None: it gives none
    wraps: bool = False  # whether what it gives becomes the field `value` of its result
    method: bool = False  # of a component, whose ports its constructor takes
    awaited: bool = False

    @classmethod
    def of(cls, function: Callable[..., Any], name: str, *, strict: bool = False) -> "Signature":
        """Read *function*, which serves *name*.

        Args:
            function: A plain function, or a method of a class of components.
            name: What it serves.
            strict: Whether parameters that it does not take are refused.

        Raises:
            ComponentInvalidError: Something is not annotated, or cannot be served.
        """
        hints = _hints(function, name)
        listed = list(inspect.signature(function).parameters.values())
        method = bool(listed) and listed[0].name == "self"
        ports, fields = list[inspect.Parameter](), dict[str, inspect.Parameter]()
        step = ""
        for each in listed[1:] if method else listed:
            if each.kind in NO_WORDS or each.kind is Rest:
                raise ComponentInvalidError(name, f"takes {each}: give each parameter a name")
            if each.kind is inspect.Parameter.KEYWORD_ONLY:
                ports.append(each)
            elif each.name not in hints:
                raise ComponentInvalidError(name, f"does not say the type of {each.name!r}")
            elif _is_kind(hints[each.name], Step):
                step = each.name
            else:
                fields[each.name] = each
        whole = next(iter(fields), "")
        if len(fields) != 1 or not _is_kind(hints[whole], msgspec.Struct):
            whole = ""
        if method and ports:
            raise ComponentInvalidError(name, "is a method: its ports are the constructor's")
        result, wraps = _result(hints, name, function)
        return cls(
            name=name,
            parameters=hints[whole] if whole else _struct(function, name, fields, hints, strict),
            whole=whole,
            step=step,
            ports=tuple(ports),
            result=result,
            wraps=wraps,
            method=method,
            awaited=inspect.iscoroutinefunction(function),
        )

    def arguments(self, asked: msgspec.Struct | None, step: Step) -> dict[str, Any]:
        """What the function is called with, by name; its ports are apart."""
        given: dict[str, Any] = {self.step: step} if self.step else {}
        if self.whole:
            given[self.whole] = asked
        elif asked is not None:
            given |= {name: getattr(asked, name) for name in asked.__struct_fields__}
        return given


def titled(name: str) -> str:
    """What a component that serves *name* is called: `CountWords` for "count_words"."""
    words = "".join(each if each.isalnum() else " " for each in name).split()
    return "".join(f"{word[:1].upper()}{word[1:]}" for word in words)


def said_of(function: Callable[..., Any]) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        problem = f"has annotations that cannot be read when it runs: {error}"
        raise ComponentInvalidError(name, problem) from None


def _is_kind(hint: Any, kind: type[Any]) -> bool:
    return isinstance(hint, type) and issubclass(hint, kind)


def _result(
    hints: Mapping[str, Any], name: str, function: Callable[..., Any]
) -> tuple[type[msgspec.Struct] | None, bool]:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return None, False  # who allows that reads what it yields
    if "return" not in hints:
        raise ComponentInvalidError(name, "has no return type: add `-> int`, or `-> None`")
    given = hints["return"]
    if given is NOTHING or given is None:
        return None, False
    if _is_kind(given, msgspec.Struct):
        return given, False
    made = msgspec.defstruct(f"{titled(name)}Result", [(VALUE, given)], frozen=True)
    made.__doc__ = f"What `{name}` gives."
    return made, True


def _struct(
    function: Callable[..., Any],
    name: str,
    fields: Mapping[str, inspect.Parameter],
    hints: Mapping[str, Any],
    strict: bool,
) -> type[msgspec.Struct] | None:
    if not fields:
        return None
    listed = [
        (each, hints[each])
        if parameter.default is inspect.Parameter.empty
        else (each, hints[each], parameter.default)
        for each, parameter in fields.items()
    ]
    made = msgspec.defstruct(
        f"{titled(name)}Parameters",
        listed,
        module=function.__module__,
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=strict,
    )
    made.__doc__ = said_of(function) or f"What `{name}` takes."
    return made
