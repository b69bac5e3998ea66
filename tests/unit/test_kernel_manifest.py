"""Manifests name components by import string; what cannot be started says so."""

import importlib
import sys
from pathlib import Path

import pytest

from cortex.runtime.kernel import (
    Component,
    Delivery,
    Entry,
    ManifestError,
    NotReadyError,
    Runtime,
    load,
    located,
    on,
)

from .bus_world import PlanWrite


class NeedsMoon(Component):
    def __init__(self, moon: str, settings: dict[str, str]) -> None:
        self.moon = moon

    @on(PlanWrite)
    def write(self, event: PlanWrite, delivery: Delivery) -> None: ...


@pytest.mark.parametrize(
    ("component", "problem"),
    [
        ("no.such.module:Thing", "cannot be imported"),
        ("cortex.runtime.kernel:Nothing", "cannot be imported"),
        ("cortex.runtime.kernel", "write it as package.module:Component"),
        ("cortex.actors.gates:Nothing", "has no Nothing; "),
        (f"{__name__}:Nothing", "has no Nothing; name one of .*NeedsMoon"),
        ("", "cannot be imported"),
        (":Thing", "cannot be imported"),
        ("cortex.runtime.kernel:Entry", "is not a subclass of Component"),
        ("cortex.runtime.kernel:VERSION", "is not a subclass of Component"),
    ],
)
def test_what_cannot_be_loaded_is_named(component: str, problem: str) -> None:
    with pytest.raises(ManifestError, match=problem):
        Runtime(components=[component])
    with pytest.raises(ManifestError, match=problem):
        Runtime(components=[Entry(component)])


@pytest.mark.parametrize(
    ("code", "said", "installs"),
    [
        ("x = 1\nclass Thing(:\n", "half_written.py:2: SyntaxError: ", False),
        ("x = 1\n\n1 / 0\n", "half_written.py:3: ZeroDivisionError: division by zero", False),
        ("from json import nothing_like_it", "half_written.py:1: ImportError: ", False),
        ("import half_written.no_part", "half_written.py:1: ModuleNotFoundError: ", False),
        ("import nobody_brings_this", "half_written.py:1: No module named 'nobody_brings", True),
        ("raise KeyError", "half_written.py:1: KeyError", False),
    ],
)
def test_a_module_that_cannot_be_imported_says_where_and_names_a_package_only_where_one_is_missing(
    code: str, said: str, installs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half_written.py").write_text(code)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    importlib.invalidate_caches()

    with pytest.raises(ManifestError) as caught:
        load("half_written:Thing")

    assert f"cannot be imported: {tmp_path}/{said}" in str(caught.value)
    assert ("install" in str(caught.value)) is installs


def test_a_module_that_breaks_at_import_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "breaks_at_import.py").write_text("1 / 0\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])

    with pytest.raises(ManifestError, match=r"breaks_at_import:Thing.*division by zero"):
        Runtime(components=["breaks_at_import:Thing"])


def test_a_component_that_wants_what_there_is_not_says_what_there_is() -> None:
    runtime = Runtime(components=[])
    runtime.start()
    with pytest.raises(NotReadyError, match=r"wants moon; a runtime has .*blobs.*settings"):
        runtime.add(NeedsMoon, wait_s=60.0)  # its tries are counted
    runtime.stop()


def test_a_module_is_located_without_anything_of_it_being_run(tmp_path: Path) -> None:
    package = tmp_path / "located_only"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('it was run')\n")
    (package / "parts.py").write_text("raise RuntimeError('it was run')\n")

    assert located("located_only.parts:Part", tmp_path) == package / "parts.py"
    assert located("located_only:Part", tmp_path) == package / "__init__.py"
    assert "located_only" not in sys.modules


@pytest.mark.parametrize("component", ["nowhere:A", "json.nowhere:A", "json.decoder.inner:A"])
def test_a_module_that_is_nowhere_is_named(component: str, tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"there is no module (nowhere|json\.nowhere|json\.d)"):
        located(component, tmp_path)
