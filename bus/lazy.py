"""Packages whose names are imported on first use, and not with the package.

A command that prints a list must not import compilers, sockets and actors that it does not use.
"""

import ast
import sys
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


def lazily(room: str) -> None:
    """Make the package *room* import each public name on first access.

    The imports under `if TYPE_CHECKING:` in its `__init__.py` say where the names are:
    ``from .file import Name``. A name may equal that of a file in the package.
    """
    sys.modules[room].__class__ = LazyRoom


class LazyRoom(ModuleType):
    """A package that imports its names on first access."""

    @cached_property
    def __places__(self) -> dict[str, tuple[str, str]]:
        return dict(_places(Path(self.__file__ or "")))

    def __getattr__(self, name: str) -> Any:
        """The public name, imported now.

        Raises:
            AttributeError: The package has no such name.
        """
        place = None if name.startswith("__") else self.__places__.get(name)
        if place is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        file, inner = place
        value: Any = import_module(file, self.__name__)
        if inner:
            value = getattr(value, inner)
        super().__setattr__(name, value)  # later accesses find it at once
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        """As for any module, but a submodule does not hide a public name that equals its own."""
        of_file = isinstance(value, ModuleType) and self.__places__.get(name, ("", ""))[1]
        if not of_file:
            super().__setattr__(name, value)


def _places(front: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """Each public name with its file and its name there; "" for the file itself."""
    for statement in ast.parse(front.read_text("utf-8")).body:
        for node in statement.body if isinstance(statement, ast.If) else ():
            if isinstance(node, ast.ImportFrom):
                where = "." * node.level + (node.module or "")
                for each in node.names:
                    place = (where, each.name) if node.module else (where + each.name, "")
                    yield each.asname or each.name, place
