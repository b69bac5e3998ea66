"""What starts a process is seen from the wheel, too, in whatever folder it stands."""

from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MARK = "pytestmark = pytest.mark.wheel"


def starting() -> Iterator[Path]:
    """The files of pure folders that start Python."""
    for pure in ("conformance", "contracts", "simulation", "unit"):
        for path in sorted((TESTS / pure).glob("test_*.py")):
            if path != Path(__file__) and "sys.executable" in path.read_text("utf-8"):
                yield path


@pytest.mark.parametrize("path", list(starting()), ids=lambda path: path.stem)
def test_a_file_that_starts_processes_is_marked_for_the_wheel(path: Path) -> None:
    assert MARK in path.read_text("utf-8"), f"{path.name} starts Python: add `{MARK}` to it"


def test_another_file_of_a_pure_folder_is_seen_once(request: pytest.FixtureRequest) -> None:
    marks = {mark.name for mark in request.node.iter_markers()}

    assert marks == {"once"}
