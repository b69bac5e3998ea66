"""Which plugins are installed: by entry point, without running anything of theirs."""

import importlib
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from msgspec import Struct

from .errors import PluginRefusedError, PluginUnknownError
from .manifest import Manifest

GROUP = "cortex.plugins"
OURS = "cortex-runtime"  # plugins of this package come with Cortex, and run beside the hub


class Installed(Struct, frozen=True):
    """A plugin that is installed."""

    name: str
    where: str  # of its manifest: "package.module:NAME"
    package: str  # that brings it
    version: str  # of that package
    root: str = ""  # the folder that the package is installed in

    @property
    def built_in(self) -> bool:
        """Whether it comes with Cortex."""
        return self.package == OURS


def installed() -> list[Installed]:
    """Every plugin that is installed, by name; of two with one name, the first that is found."""
    found: dict[str, Installed] = {}
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, _of(point))
    return [found[name] for name in sorted(found)]


def installed_as(name: str) -> Installed:
    """The plugin called *name*.

    Raises:
        PluginUnknownError: None is installed.
    """
    there = {each.name: each for each in installed()}
    if name not in there:
        raise PluginUnknownError(name, tuple(there))
    return there[name]


def manifest_here(plugin: Installed) -> Manifest:
    """The manifest, imported into this process: only for plugins that are trusted.

    Raises:
        PluginRefusedError: There is none at the place that its package names.
    """
    module, _, name = plugin.where.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception as error:  # a module may raise anything while it is imported
        raise PluginRefusedError(f"{plugin.where} cannot be imported: {error}") from error
    if not isinstance(found, Manifest):
        raise PluginRefusedError(f"{plugin.where} is no cortex.plugins.Manifest")
    return found.check()


def code_of(modules: Iterator[str], root: str) -> Iterator[Path]:
    """Folders and files that hold *modules*, and what is installed beside them.

    Nothing is imported: of each module only the package at its top is looked for.
    """
    if root and Path(root).name in ("site-packages", "dist-packages"):
        yield Path(root)
    for top in dict.fromkeys(module.partition(".")[0] for module in modules):
        spec = PathFinder.find_spec(top, sys.path)
        if spec is None:
            continue
        if spec.submodule_search_locations:
            yield from (Path(folder) for folder in spec.submodule_search_locations)
        elif spec.origin:
            yield Path(spec.origin)


def _of(point: EntryPoint) -> Installed:
    dist = point.dist
    if dist is None:
        return Installed(point.name, point.value, "", "")
    # A name as in the metadata: `cortex_runtime` is the same package as `cortex-runtime`.
    package = str(dist.name).replace("_", "-").lower()
    return Installed(point.name, point.value, package, dist.version, str(dist.locate_file("")))
