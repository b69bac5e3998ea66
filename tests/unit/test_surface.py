"""What users see is written down, so that no change of it goes unnoticed."""

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_what_users_see_is_as_it_is_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    if not (ROOT / "dev" / "surface.py").is_file():
        pytest.skip("only in a checkout")
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "dev")])
    surface = importlib.import_module("surface")

    wanted = surface.texts()

    there = {name: (surface.FOLDER / name).read_text() for name in wanted}
    for name, text in wanted.items():
        assert there[name] == text, f"{name}: run python dev/surface.py, and list the change"
