"""Which plugins are installed: by entry point, without running their code."""

import importlib
import json
import re
import site
import subprocess
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from msgspec import Struct

from cortex.bus.events import PluginLoad
from cortex.runtime.isolation import environment_for, interpreter
from cortex.runtime.kernel import why_not_imported

from .errors import PluginRefusedError, PluginUnknownError
from .manifest import Manifest

GROUP = "cortex.plugins"
OURS = "cortex-runtime"  # plugins of this package come with Cortex, and run beside the hub
HERE = "cortex.plugins."  # where they are

_SEPARATORS = re.compile(r"[-_.]+")
ASK_S = 30.0
ASK = """
import importlib.util, json, sys
spec = importlib.util.find_spec(sys.argv[1])
print(json.dumps([*(spec.submodule_search_locations or [spec.origin])] if spec else []))
"""


class Installed(Struct, frozen=True):
    """A plugin that is installed."""

    name: str
    where: str  # of its manifest: "package.module:NAME"
    package: str  # that brings it
    version: str  # of that package
    root: str = ""  # the folder that the package is installed in
    summary: str = ""  # of the package, by its metadata

    @property
    def built_in(self) -> bool:
        """Whether it ships with the running Cortex; its package name alone is no proof."""
        if self.package != OURS or not self.where.startswith(HERE):
            return False
        names = self.where.partition(":")[0].removeprefix(HERE).split(".")
        found = Path(__file__).parent.joinpath(*names)
        # Names only: "..", or a path, would lead to files of somebody else.
        return all(map(str.isidentifier, names)) and (
            (found / "__init__.py").is_file() or found.with_suffix(".py").is_file()
        )

    def check_loaded(self, load: PluginLoad) -> None:
        """Refuse what took the name of the plugin that somebody loaded.

        Raises:
            PluginRefusedError: It is of another package.
        """
        # An older log names no package: then only walls make it harmless that it is another.
        walled = load.confined and load.place == "process"
        known = load.package == self.package if load.package else walled
        if self.built_in or (known and load.package != OURS):
            return
        raise PluginRefusedError(
            f"{self.name} of the package {self.package or '?'} is installed, and the one that was "
            f"loaded is of {load.package or 'a package that was not recorded'}: look at it with "
            f"`cortex plugin info {self.name}`, and load it again"
        )


def installed() -> list[Installed]:
    """Every plugin that is installed, by name.

    Of two with one name it is the one that comes with Cortex, or the first that is found.
    """
    found: dict[str, Installed] = {}
    every = map(_of, entry_points(group=GROUP))
    for each in sorted(every, key=lambda plugin: not plugin.built_in):
        found.setdefault(each.name, each)
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
        PluginRefusedError: There is no manifest at the place that its package names.
    """
    module, _, name = plugin.where.partition(":")
    sys.path += [folder for folder in search_path() if folder not in sys.path]
    try:
        found = getattr(importlib.import_module(module), name, None)
    except Exception as error:  # a module may raise anything while it is imported
        problem = f"module {module}: {why_not_imported(module, error)}"
        raise PluginRefusedError(problem) from error
    if not isinstance(found, Manifest):
        raise PluginRefusedError(f"{plugin.where} is not a cortex.plugins.Manifest")
    return found.check()


def code_of(modules: Iterator[str], root: str) -> Iterator[Path]:
    """Folders and files that hold *modules*, and what is installed beside them.

    Nothing is imported: of each module only the package at its top is looked for.
    """
    if root and Path(root).name in ("site-packages", "dist-packages"):
        yield Path(root)
    for top in dict.fromkeys(module.partition(".")[0] for module in modules):
        spec = PathFinder.find_spec(top, search_path())
        if spec is None:
            yield from asked_of_python(top)
        elif spec.submodule_search_locations:
            yield from (Path(folder) for folder in spec.submodule_search_locations)
        elif spec.origin:
            yield Path(spec.origin)


def _of(point: EntryPoint) -> Installed:
    dist = point.dist
    if dist is None:
        return Installed(point.name, point.value, "", "")
    # A name as in the metadata: `cortex_runtime` is the same package as `cortex-runtime`.
    package = _SEPARATORS.sub("-", str(dist.name)).lower()
    root = str(dist.locate_file(""))
    summary = str(dist.metadata.json.get("summary", ""))
    return Installed(point.name, point.value, package, dist.version, root, summary)


def search_path() -> list[str]:
    """The search path of this process, and what the `.pth` files name by now.

    Python reads those at its start alone, and what is installed as editable later is named there.
    Lines of them that are code are not run.
    """
    importlib.invalidate_caches()
    return list(dict.fromkeys([*sys.path, *_named()]))


def asked_of_python(top: str) -> list[Path]:
    """The folders or file of the module *top* in a newly started Python; nothing is imported.

    For editable installs with an import hook, which are on no search path.
    """
    command = interpreter("-c", ASK, top)
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=ASK_S,
            check=True,
            stdin=subprocess.DEVNULL,
            env=environment_for(),
        )
        said = json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return []
    return [Path(each) for each in said if each and Path(each).is_absolute()]


def _named() -> Iterator[str]:
    folders = [*site.getsitepackages()]
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    for folder in map(Path, folders):
        for file in sorted(folder.glob("[!.]*.pth")):
            yield from _lines(file)


def _lines(file: Path) -> Iterator[str]:
    try:
        text = file.read_text("utf-8-sig", errors="replace")
    except OSError:  # it was uninstalled meanwhile
        return
    for line in map(str.strip, text.splitlines()):
        if line and not line.startswith(("#", "import ", "import\t")):
            named = file.parent / line
            if named.exists():
                yield str(named)
