"""The package that `cortex plugin new` writes, from the templates beside this file."""

import re
from importlib import resources
from pathlib import Path
from string import Template

from cortex.runtime.kernel import VERSION

from ..errors import PluginRefusedError
from ..manifest import RESERVED

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_TAKEN = {*RESERVED, "cortex", "webhook"}  # `cortex-runtime` is what Cortex itself is called
FILES = {
    "pyproject.toml": "pyproject.toml.txt",
    "README.md": "README.md.txt",
    "src/cortex_{name}/__init__.py": "init.py.txt",
    "src/cortex_{name}/components.py": "components.py.txt",
    "tests/test_{name}.py": "test.py.txt",
}


def write_package(name: str, folder: Path) -> tuple[Path, list[str]]:
    """Write the package of a plugin called *name* into *folder*.

    Returns:
        The folder that was made, and the files in it.

    Raises:
        PluginRefusedError: The name is invalid, or the folder exists already.
    """
    if not _NAME.fullmatch(name):
        raise PluginRefusedError(
            f"{name[:60]!r} is not a name of a plugin: give up to 40 small letters, digits and _, "
            "a letter first"
        )
    if name in _TAKEN:
        raise PluginRefusedError(f"{name} is a name of Cortex's own: give another")
    root = folder.expanduser().absolute() / f"cortex-{name.replace('_', '-')}"
    try:
        root.mkdir(parents=True)
        written = [_write(root, path.format(name=name), kept, name) for path, kept in FILES.items()]
    except FileExistsError:
        raise PluginRefusedError(f"{root} exists already: name another folder") from None
    except OSError as error:
        raise PluginRefusedError(f"{root} cannot be written: {error.strerror or error}") from None
    return root, written


def _write(root: Path, path: str, kept: str, name: str) -> str:
    text = resources.files(__package__).joinpath("templates", kept).read_text("utf-8")
    major, minor, *_ = VERSION.split(".")
    values = {
        "name": name,
        "package": f"cortex-{name.replace('_', '-')}",
        "title": "".join(part.capitalize() for part in name.split("_")),
        "from_version": f"{major}.{minor}",
        "below_version": f"{major}.{int(minor) + 1}",
    }
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(Template(text).substitute(values), encoding="utf-8")
    return path
