"""Parameters as the Struct that was announced, and results as an event holds them."""

import pathlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from cortex.runtime.processes import misfit

from .errors import StepError
from .path import inside

Parameters = TypeVar("Parameters", bound=msgspec.Struct)
Root = Callable[[], pathlib.Path]  # asked for where there is a path alone: it may not be there


def read_parameters(
    given: Mapping[str, Any], kind: type[Parameters], root: Root = pathlib.Path.cwd
) -> Parameters | str:
    """The parameters, or what is wrong with them.

    The compiler checked what is constant; what came from inputs and earlier steps shows only here.
    What came to nothing, such as a field of a step that was skipped, counts as left out.

    Args:
        given: Values by name.
        kind: What they are to be.
        root: The folder that fields of the type `Path` are relative to.

    Raises:
        StepError: A path leads out of its folder.
    """
    known = {name: value for name, value in given.items() if value is not None}
    try:
        return converted(known, kind, root)
    except msgspec.ValidationError as error:
        return misfit(known, str(error))


def converted(
    given: Mapping[str, Any], kind: type[Parameters], root: Root, *, strict: bool = True
) -> Parameters:
    """*given* as a *kind*; unless *strict*, numbers may come as texts.

    Raises:
        msgspec.ValidationError: It is invalid.
        StepError: A path leads out of its folder.
    """

    def decode(wanted: type, value: Any) -> Any:
        if not issubclass(wanted, pathlib.PurePath):  # one of pathlib is kept inside as well
            # What msgspec has a hook raise for a type that it does not know.
            raise NotImplementedError(f"{wanted.__name__} is not a type that parameters can have")
        if not isinstance(value, str):
            raise ValueError(f"Expected `str`, got `{type(value).__name__}`")
        return inside(root(), value)

    return msgspec.convert(given, kind, strict=strict, dec_hook=decode)


def encoded(value: Any, root: Root) -> Any:
    """*value* as plain data; paths are relative to *root* where they are in it."""

    def encode(found: Any) -> Any:
        if isinstance(found, pathlib.PurePath):
            with suppress(StepError):  # there is no workspace
                top = root()
                return str(found.relative_to(top) if found.is_relative_to(top) else found)
            return str(found)
        # As in `converted`.
        raise NotImplementedError(f"{type(found).__name__} is not a type that a result can have")

    return msgspec.to_builtins(value, enc_hook=encode)
