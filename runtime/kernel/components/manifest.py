"""A manifest: which components a runtime starts, by import string; it imports none of them."""

import importlib
import sys
import tomllib
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from importlib.machinery import ModuleSpec
from inspect import Parameter, signature
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import msgspec

from cortex.bus import Effect

from ..errors import ManifestError
from ..home.config import Config
from ..home.home import Home
from .component import Component, component_of

Kind = TypeVar("Kind", bound=Component)


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One component to start."""

    component: str  # "package.module:Class", or of a decorated function
    workers: int | None = None  # overrides the class
    settings: dict[str, Any] = {}  # passed to its constructor as `settings`
    effects: dict[str, Effect] = {}  # declared outside the code, by action, tool or component
    start: str = ""  # start of a new ordered subscription; overrides the class


class ComponentManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The components of a runtime, in the order in which they start."""

    components: tuple[Entry, ...] = ()


def built_in() -> tuple[Entry, ...]:
    """The built-in components."""
    text = resources.files(__name__.rpartition(".")[0]).joinpath("manifest.toml").read_text("utf-8")
    return parse(text, "the built-in manifest")


def parse(text: str, name: str) -> tuple[Entry, ...]:
    """The entries of a manifest in TOML.

    Raises:
        ManifestError: The text is not a manifest; the message names the place.
    """
    try:
        return msgspec.convert(tomllib.loads(text), ComponentManifest).components
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ManifestError(name, str(error)) from None


def configured(home: Home, config: Config) -> list[Entry]:
    """The built-in components and those that *config* adds, which may be modules of the home."""
    if config.components and str(home.plugins) not in sys.path:
        sys.path.append(str(home.plugins))  # last, so that it hides nothing installed
        sys.dont_write_bytecode = True  # a bytecode file in the home would be untrusted
    added = [Entry(c.use, c.workers, c.config) for c in config.components]
    return [*built_in(), *added]


def load(component: str) -> type[Component]:
    """The component that an import string names: a class, or a function that is decorated as one.

    Raises:
        ManifestError: The module or class does not exist, or is not a component.
    """
    module_name, _, class_name = component.partition(":")
    if not class_name:
        raise ManifestError(component, "cannot be imported: write it as package.module:Component")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # a module may raise anything while it is imported
        raise ManifestError(component, why_not_imported(module_name, error)) from error
    found = getattr(module, class_name, None)
    if found is None:
        problem = f"cannot be imported: {module_name} has no {class_name}"
        raise ManifestError(component, f"{problem}; {_named_instead(module)}")
    made = component_of(found)
    if made is None:
        problem = "is not a subclass of Component, nor a function with a decorator of cortex"
        raise ManifestError(component, f"{problem}; {_named_instead(module)}")
    return made


def why_not_imported(module: str, error: Exception) -> str:
    """Why the import of *module* ended with *error*: where, what, and what to do if that is known.

    It suggests an installation only if a module is missing.
    """
    if isinstance(error, ModuleNotFoundError) and error.name:
        if f"{module}.".startswith(f"{error.name}."):
            return (
                f"cannot be imported: {error}; install its package beside Cortex, put the module "
                "into the home's plugins folder, or name its folder to `cortex worker` with --path"
            )
        if error.name.partition(".")[0] != module.partition(".")[0]:
            said = f"{_where(error)}{error}; install the package that brings it, beside Cortex"
            return f"cannot be imported: {said}"
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"cannot be imported: {_where(error)}{type(error).__name__}: {said}".rstrip(": ")


def _where(error: Exception) -> str:
    """`FILE:LINE: ` of the line that raised *error* during the import; "" if it is in no file."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: "
    frames = traceback.extract_tb(error.__traceback__)
    ways = ("<frozen ", str(importlib.__file__))  # frames of Python itself
    raised = [each for each in frames if not each.filename.startswith(ways)]
    return f"{raised[-1].filename}:{raised[-1].lineno}: " if len(raised) > 1 else ""


def _named_instead(module: ModuleType) -> str:
    """What to do if a module lacks the named component."""
    own = {n: e for n, e in vars(module).items() if getattr(e, "__module__", "") == module.__name__}
    there = sorted(name for name, each in own.items() if component_of(each) is not None)
    return f"name one of {', '.join(there)}" if there else "it has no components: name another"


def located(component: str, plugins: Path) -> Path:
    """The file that `load` would execute for an import string; executes nothing.

    Args:
        component: "package.module:Class".
        plugins: The folder of a home's own modules, searched last.

    Raises:
        ManifestError: The module does not exist.
    """
    module_name, _, _ = component.partition(":")
    folders, found = [*sys.path, str(plugins)], None
    for part in _ancestry(module_name):
        found = _found(part, folders)
        if found is None:
            raise ManifestError(
                component,
                f"there is no module {part}: install its package where Cortex is, or put the "
                "module into the home's plugins folder",
            )
        folders = list(found.submodule_search_locations or ())
    return Path((found.origin if found else None) or module_name)


def construct(component: type[Kind], ports: Mapping[str, Any]) -> Kind:
    """Create a component, with the ports that its constructor names.

    Raises:
        ManifestError: Its constructor names a port that this runtime does not have.
    """
    wanted: dict[str, Any] = {}
    missing: list[str] = []
    for name, parameter in _parameters(component):
        if name in ports:
            wanted[name] = ports[name]
        elif parameter.default is Parameter.empty:
            missing.append(name)
    if missing:
        raise ManifestError(
            component.__name__,
            f"wants {', '.join(missing)}; a runtime has {', '.join(sorted(ports))}",
        )
    return component(**wanted)


def _ancestry(module_name: str) -> list[str]:
    parts = module_name.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts) + 1)]


def _found(module_name: str, folders: list[str]) -> ModuleSpec | None:
    # Not `importlib.util.find_spec`: it imports the parent packages.
    for finder in sys.meta_path:
        try:
            found = finder.find_spec(module_name, folders)
        except (ImportError, KeyError):  # a namespace package that is not imported
            continue
        if found is not None:
            return found
    return None


def _parameters(component: type[Component]) -> Sequence[tuple[str, Parameter]]:
    if component.__init__ is object.__init__:
        return ()
    return list(signature(component).parameters.items())


def entry_of(component: "str | Entry | type[Component] | Callable[..., Any]") -> Entry:
    """The manifest entry of *component*."""
    if isinstance(component, Entry):
        return component
    if isinstance(component, str):
        return Entry(component)
    return Entry(f"{component.__module__}:{component.__qualname__}")


def class_of(
    component: "str | Entry | type[Component] | Callable[..., Any]", load: Callable[[str], Any]
) -> Any:
    """The class that *component* is, is decorated as, or names by import string."""
    return component_of(component) or load(entry_of(component).component)
