"""Structs that a process names: found only among what is installed, never in the current folder."""

import importlib
import sys
from importlib.metadata import packages_distributions
from typing import Any

import msgspec


def schema_of_struct(name: str) -> dict[str, Any] | str:
    """The JSON Schema of the Struct *name*, "package.module:Struct"; else why there is none.

    Importing a module runs it, so that only installed packages are looked at: a folder that lies
    about, or the standard library, is none.
    """
    module_name, _, path = name.partition(":")
    root = module_name.partition(".")[0]
    if module_name not in sys.modules and root not in packages_distributions():
        return f"no package `{root}` is installed"
    try:
        found: Any = importlib.import_module(module_name)
        for part in path.split("."):
            found = getattr(found, part)
    except Exception as error:  # noqa: BLE001 - whatever a module does when it is imported
        return f"{type(error).__name__}: {error}"
    if not isinstance(found, type) or not issubclass(found, msgspec.Struct):
        return f"`{name}` is not a msgspec Struct"
    try:
        return msgspec.json.schema(found)
    except (TypeError, msgspec.ValidationError) as error:
        return f"`{name}` has no JSON Schema: {error}"
