"""Log lines of Cortex's own parts: structlog is imported with the first line.

A start without log lines does not pay for it: structlog imports rich, pygments and asyncio.
"""

import sys
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

STRUCTLOG = "structlog"


class Logger:
    """Writes log lines under a name, each an event in the past tense and its fields."""

    def __init__(self, name: str) -> None:
        self._name = name

    def info(self, event: str, **fields: Any) -> None:
        """Write a line about something that happened."""
        self._structlog().info(event, **fields)

    def warning(self, event: str, **fields: Any) -> None:
        """Write a line about something that a person should look at."""
        self._structlog().warning(event, **fields)

    def error(self, event: str, **fields: Any) -> None:
        """Write a line about a failure."""
        self._structlog().error(event, **fields)

    def _structlog(self) -> Any:
        import structlog  # not above: see the top of this file

        return structlog.get_logger(self._name)


def with_structlog(setup: Callable[[], None]) -> None:
    """Call *setup* as soon as this process imports structlog, or now if it already has."""
    with _setting_up:
        _setups.append(setup)
        if _watching not in sys.meta_path:
            sys.meta_path.insert(0, _watching)
    if STRUCTLOG in sys.modules:
        import_module(STRUCTLOG)  # another thread may still import it; waits without the lock
        _set_up()


def _set_up() -> None:
    with _setting_up:
        while _setups:
            _setups.pop(0)()


class _Watching(MetaPathFinder):
    """An import hook that finds nothing itself, but notices when structlog is imported."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002  # the protocol's
        target: ModuleType | None = None,  # noqa: ARG002  # the protocol's
    ) -> ModuleSpec | None:
        """The spec of structlog, with a loader that sets it up; None for every other module."""
        if fullname != STRUCTLOG:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loading(spec.loader)
        return spec


class _Loading(Loader):
    """Loads a module as *inner* does, and then calls the setups."""

    def __init__(self, inner: Loader) -> None:
        self._inner = inner

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As *inner* does."""
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """As *inner* does; then set structlog up, before any code can use it."""
        self._inner.exec_module(module)
        _set_up()


_setups: list[Callable[[], None]] = []  # in the order of registration
_setting_up = threading.RLock()
_watching = _Watching()
