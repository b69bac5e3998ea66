"""Each room shows its public face in `__all__`, and type checkers see the same face."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from importlib.resources import files
from pathlib import Path

import pytest

pytestmark = pytest.mark.wheel  # it starts what the wheel installs

ROOT = Path(__file__).parents[1]
LAYERS = ["bus", "runtime", "actors", "plugins"]


def rooms() -> list[str]:
    folders = {layer: Path(str(files(f"cortex.{layer}"))) for layer in LAYERS}
    return [
        ".".join(["cortex", layer, *door.parent.relative_to(folder).parts])
        for layer, folder in folders.items()
        for door in sorted(folder.rglob("__init__.py"))
    ]


def as_sorted(name: str) -> tuple[int, list[object]]:
    """CONSTANTS, then Classes, then functions; numbers by their value."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    parts = re.split(r"(\d+)", name)
    return kind, [int(part) if part.isdigit() else part for part in parts]


@pytest.mark.parametrize("room", rooms())
def test_every_name_of_a_front_door_exists_and_they_are_sorted(room: str) -> None:
    module = importlib.import_module(room)
    names = list(getattr(module, "__all__", ()))

    assert [name for name in names if not hasattr(module, name)] == []
    assert sorted(names, key=as_sorted) == names
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("room", rooms())
def test_a_front_door_says_in_one_sentence_what_is_behind_it(room: str) -> None:
    said = importlib.import_module(room).__doc__ or ""

    assert said.endswith(".")
    assert "\n" not in said.strip()


@pytest.mark.parametrize("room", rooms())
def test_a_front_door_exports_what_it_imports_from_its_room(room: str) -> None:
    module = importlib.import_module(room)
    tree = ast.parse(Path(module.__file__ or "").read_text("utf-8"))

    imported = {
        alias.asname or alias.name
        for node in [*tree.body, *shown_to_type_checkers(tree)]
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }
    assert imported - set(getattr(module, "__all__", ())) <= {"Vocabulary", "lazily"}


def shown_to_type_checkers(tree: ast.Module) -> list[ast.stmt]:
    """What stands under `if TYPE_CHECKING:`, whose names are imported when they are asked for."""
    return [node for each in tree.body if isinstance(each, ast.If) for node in each.body]


def test_a_name_of_a_front_is_not_hidden_by_a_file_that_is_called_so() -> None:
    script = """
import importlib, sys
importlib.import_module("cortex.runtime.sessions.dry_run")
from cortex.runtime.sessions import dry_run
assert callable(dry_run), dry_run
assert sys.modules["cortex.runtime.sessions.dry_run"].dry_run is dry_run
"""

    subprocess.run([sys.executable, "-I", "-c", script], check=True)


def test_the_stubs_are_in_step_with_the_front_doors() -> None:
    script = ROOT / "dev" / "stubs.py"
    if not script.is_file():
        pytest.skip("dev/ is not beside these tests")

    done = subprocess.run(
        [sys.executable, str(script), "--check"], check=False, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stdout


def test_pyright_looks_strictly_at_each_file_that_the_module_cortex_takes_names_from() -> None:
    settings = ROOT / "pyproject.toml"
    if not settings.is_file():
        pytest.skip("pyproject.toml is not beside these tests")
    cortex = importlib.import_module("cortex")
    sources = {
        getattr(getattr(cortex, name), "__module__", f"cortex.{name}") for name in cortex.__all__
    }
    paths = {source.removeprefix("cortex.").replace(".", "/") + ".py" for source in sources}
    included = tomllib.loads(settings.read_text())["tool"]["pyright"]["include"]

    left = [
        path
        for path in paths
        if path.split("/")[0] in LAYERS
        and not any(fnmatch(path, each) or path.startswith(f"{each}/") for each in included)
    ]

    assert len(paths) > 10
    assert left == []
