"""`import cortex`: the same names from a wheel, a checkout and an editable install, and no cost."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

import cortex

pytestmark = pytest.mark.wheel  # it starts what the wheel installs

ROOT = Path(__file__).parents[2]
FACADE = ROOT / "dev" / "facade"
ALL_NAMES = """
import cortex
for name in cortex.__all__:
    found = getattr(cortex, name)
    print(name, getattr(found, "__module__", found.__name__), getattr(found, "__qualname__", ""))
"""
NAMES: list[str] = vars(cortex)["__all__"]


@pytest.fixture
def checkout() -> Path:
    if not FACADE.is_dir() or not (ROOT / "bus").is_dir():
        pytest.skip("the sources are not beside these tests")
    return ROOT


def ran(script: str, *path: Path) -> str:
    """What *script* prints in an interpreter that finds modules in *path* first."""
    code = f"import sys; sys.path[:0] = {[str(each) for each in path]}\n{script}"
    environment = {k: v for k, v in os.environ.items() if k != "CORTEX_LOG"}
    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    return done.stdout.strip()


def test_every_name_is_there_and_documented() -> None:
    for name in NAMES:
        found = getattr(cortex, name)
        assert (found.__doc__ or "").strip(), name


def test_there_are_as_many_names_as_one_remembers() -> None:
    assert len(NAMES) < 32
    assert sorted(NAMES) == NAMES


def test_a_name_that_there_is_not_says_where_to_look() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'gates': see docs/components\.md"):
        cortex.gates  # type: ignore[attr-defined]  # noqa: B018


def test_the_names_of_the_guide_are_what_they_are_there() -> None:
    script = (
        "from cortex.events import StepCompleted; from cortex.testing import run_action\n"
        "from cortex import testing, events, action; import cortex.bus\n"
        "print(testing.run_action is run_action, events.StepCompleted is StepCompleted)"
    )

    assert ran(script) == "True True"


def test_the_import_loads_nothing_of_cortex() -> None:
    script = "import cortex; print(sorted(n for n in sys.modules if n.startswith('cortex.')))"

    assert ran(script) == "[]"


def test_the_stub_for_type_checkers_has_the_same_names(checkout: Path) -> None:
    tree = ast.parse((FACADE / "__init__.pyi").read_text())

    imported = {
        alias.asname: alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    (listed,) = (node for node in tree.body if isinstance(node, ast.Assign))
    assert ast.literal_eval(listed.value) == NAMES
    assert sorted(each or "" for each in imported) == NAMES
    assert all(name == alias for alias, name in imported.items())


def test_a_wheel_has_the_same_names_as_the_checkout(checkout: Path, tmp_path: Path) -> None:
    project = tomllib.loads((checkout / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert sorted(wheel["only-include"]) == sorted(wheel["sources"])
    leave = shutil.ignore_patterns("__pycache__")
    for source, target in wheel["sources"].items():
        shutil.copytree(checkout / source, tmp_path / target, dirs_exist_ok=True, ignore=leave)

    said = ran(f"{ALL_NAMES}\nprint(cortex.__file__, cortex.runtime.__file__)", tmp_path)

    names, _, places = said.rpartition("\n")
    assert names == ran(ALL_NAMES, checkout / "dev")
    assert len(names.splitlines()) == len(NAMES)
    assert places.split() == [
        str(tmp_path / "cortex" / "__init__.py"),
        str(tmp_path / "cortex" / "runtime" / "__init__.py"),
    ]
    assert (tmp_path / "cortex" / "__init__.pyi").is_file()
    assert (tmp_path / "cortex" / "py.typed").is_file()


def test_the_command_of_a_wheel_starts(checkout: Path, tmp_path: Path) -> None:
    for name in ("actors", "bus", "plugins", "runtime"):
        (tmp_path / "cortex").mkdir(exist_ok=True)
        (tmp_path / "cortex" / name).symlink_to(checkout / name)
    for each in FACADE.iterdir():
        if each.is_file():
            shutil.copy(each, tmp_path / "cortex" / each.name)

    said = ran("from cortex.runtime.cli import main; print(main.__module__)", tmp_path)

    assert said.startswith("cortex.runtime.cli")


def test_the_guide_names_every_name(checkout: Path) -> None:
    guide = (checkout / "docs" / "components.md").read_text()

    missing = [n for n in NAMES if not re.search(rf"`(cortex\.)?{n}\b|cortex\.{n}\b", guide)]
    assert missing == []


def test_the_rooms_are_below_the_same_package() -> None:
    assert Path(str(files("cortex.bus"))).name == "bus"
