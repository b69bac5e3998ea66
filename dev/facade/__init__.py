"""What people write against: components, programs that follow events, and their tests.

Everything else below `cortex` is internal, and may change with any version. Each name is imported
when it is first asked for, so that `import cortex` costs nothing.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

_PLACES = {
    "cortex.runtime.functions": ("Path", "Step", "StepError", "Verdict", "action", "gate", "on"),
    "cortex.actors.tools": ("tool",),
    "cortex.actors.providers.calls": ("provider",),
    "cortex.runtime.kernel": (
        "AsyncComponent",
        "Component",
        "Delivery",
        "Forget",
        "Home",
        "Later",
        "Runtime",
    ),
    "cortex.bus": ("Blobs", "Client", "CortexError", "Ephemeral", "Event", "Query"),
    "cortex.runtime.serving": ("connect",),
    "cortex.plugins": ("FileWant", "Limits", "Manifest", "Wants"),
    "msgspec": ("Struct",),
}
_MODULES = ("events", "testing")
_PLACE = {name: place for place, names in _PLACES.items() for name in names}

__all__ = [*sorted((*_PLACE, *_MODULES))]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> _Any:
    if name in _MODULES:
        return _import_module(f"cortex.{name}")
    if name not in _PLACE:
        raise AttributeError(f"module 'cortex' has no attribute {name!r}: see docs/components.md")
    value = globals()[name] = getattr(_import_module(_PLACE[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
