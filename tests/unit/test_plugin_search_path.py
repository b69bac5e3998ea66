"""Where code is that was installed as editable after this process started."""

import site
import sys
import venv
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

_installed: Any = import_module("cortex.plugins.installed")
_search_path: Any = import_module("cortex.plugins.installed")
code_of = _installed.code_of
search_path = _search_path.search_path

HOOK = """
import sys
from importlib.util import spec_from_file_location


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return spec_from_file_location(name, {file!r}) if name == "cortex_later" else None


sys.meta_path.append(Finder)
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A package, in a folder that is on no search path."""
    package = tmp_path / "source" / "cortex_later"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('nobody imports this')\n")
    return package


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for installed packages."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(folder)])
    return folder


def test_code_that_a_path_file_names_by_now_is_found(packages: Path, source: Path) -> None:
    assert list(code_of(iter(["cortex_later"]), "")) == []

    (packages / "_cortex_later.pth").write_text(f"# where it is\n{source.parent}\n")

    assert list(code_of(iter(["cortex_later.parts"]), "")) == [source]


def test_of_a_path_file_no_line_is_run_and_what_is_not_there_is_left_out(
    packages: Path, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    lines = ["import sys; sys.exit(1)", "import\tsys", "/no/such/folder", "../there", ""]
    (packages / "odd.pth").write_text("\n".join(lines))
    (packages / ".hidden.pth").write_text(str(tmp_path))

    found = [Path(each).resolve() for each in search_path()]

    assert tmp_path / "there" in found
    assert tmp_path not in found
    assert Path("/no/such/folder") not in found


def test_code_that_an_import_hook_brings_is_found_by_a_fresh_python(
    packages: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = tmp_path / "fresh"
    venv.create(fresh, symlinks=True)
    (folder,) = fresh.glob("lib/python*/site-packages")
    # As a tool that installs a package as editable with an import hook.
    (folder / "_cortex_later.py").write_text(HOOK.format(file=str(source / "__init__.py")))
    (folder / "_cortex_later.pth").write_text("import _cortex_later")
    monkeypatch.setattr(sys, "executable", str(fresh / "bin" / "python"))

    assert list(code_of(iter(["cortex_later"]), "")) == [source]
