"""The published package beside which the directives are run, in three of its generations.

`CORTEX_DIRECTIVES_REFERENCE` names a folder with one folder for each version (`0.1.0`, `0.7.10`,
`0.8.3`, `0.9.2`), made by `pip install --no-deps --target FOLDER/0.9.2 context-compiler==0.9.2`.
"""

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Final

VARIABLE: Final = "CORTEX_DIRECTIVES_REFERENCE"
_PACKAGE: Final = "context_compiler"


def folder() -> Path | None:
    """Where the versions are, or None."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else None


def module(version: str, name: str) -> Any:
    """A module of one version; several versions stand side by side under names of their own."""
    root = folder()
    if root is None:
        raise LookupError(f"{VARIABLE} is not set")
    alias = "directives_reference_" + version.replace(".", "_")
    if alias not in sys.modules:
        # Not its own __init__: that asks for the version of an installed distribution.
        package = ModuleType(alias)
        package.__path__ = [str(root / version / _PACKAGE)]
        sys.modules[alias] = package
    return importlib.import_module(f"{alias}.{name}")
