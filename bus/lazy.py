"""Rooms whose names are imported when they are first asked for, and not with the room.

A command that shows a list must not pay for compilers, sockets and actors that it does not use.
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
    """Have the module *room* import each name of its front when that is first asked for.

    The front says where its names are by the imports that stand under `if TYPE_CHECKING:`, as
    ``from .file import Name``; it may be called as a file of the room is.
    """
    sys.modules[room].__class__ = LazyRoom


class LazyRoom(ModuleType):
    """A room that imports what is asked of it."""

    @cached_property
    def __places__(self) -> dict[str, tuple[str, str]]:
        return dict(_places(Path(self.__file__ or "")))

    def __getattr__(self, name: str) -> Any:
        """The name of its front, imported now.

        Raises:
            AttributeError: It has no such name.
        """
        place = None if name.startswith("__") else self.__places__.get(name)
        if place is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        file, inner = place
        value: Any = import_module(file, self.__name__)
        if inner:
            value = getattr(value, inner)
        super().__setattr__(name, value)  # so that it is not asked for again
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        """As for any module, but that a file of the room takes no place of a name of its front."""
        of_file = isinstance(value, ModuleType) and self.__places__.get(name, ("", ""))[1]
        if not of_file:
            super().__setattr__(name, value)


def _places(front: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """Each name of a front with its file, and what it is called there; "" for the file itself."""
    for statement in ast.parse(front.read_text("utf-8")).body:
        for node in statement.body if isinstance(statement, ast.If) else ():
            if isinstance(node, ast.ImportFrom):
                where = "." * node.level + (node.module or "")
                for each in node.names:
                    place = (where, each.name) if node.module else (where + each.name, "")
                    yield each.asname or each.name, place
