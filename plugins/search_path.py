"""Where Python would look for modules if it started now; a hub started long ago."""

import importlib
import json
import site
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from cortex.runtime.isolation import environment_for, interpreter

ASK_S = 30.0
ASK = """
import importlib.util, json, sys
spec = importlib.util.find_spec(sys.argv[1])
print(json.dumps([*(spec.submodule_search_locations or [spec.origin])] if spec else []))
"""


def search_path() -> list[str]:
    """The search path of this process, and what the `.pth` files name by now.

    Python reads those at its start alone, and what is installed as editable later is named there.
    Lines of them that are code are not run.
    """
    importlib.invalidate_caches()
    return list(dict.fromkeys([*sys.path, *_named()]))


def asked_of_python(top: str) -> list[Path]:
    """What holds the module or package *top*, as a Python that starts now says; it imports nothing.

    For what is installed as editable with an import hook, which is on no search path.
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
