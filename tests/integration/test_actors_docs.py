"""The guides for authors of components say what is so: their code runs, tables are in step."""

import importlib
import re
from inspect import signature
from pathlib import Path
from types import ModuleType

import pytest

from cortex.runtime.kernel import built_in, load

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "components.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def house_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that the guide's blocks make up; a spawned process can import it, too."""
    if not GUIDE.is_file():
        pytest.skip("docs/ is not beside these tests")
    text = "\n\n".join(BLOCK.findall(GUIDE.read_text()))
    (tmp_path / "house_rules.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    return importlib.import_module("house_rules")


def test_the_guides_components_run_as_they_stand(house_rules: ModuleType, tmp_path: Path) -> None:
    outputs, completed = house_rules.main(tmp_path)

    assert outputs == {"words": 5}
    assert completed in (0, 1)  # the count follows the log; the answer names its position


def test_the_guides_tests_pass(house_rules: ModuleType, tmp_path: Path) -> None:
    tests = [each for name, each in vars(house_rules).items() if name.startswith("test_")]

    for test in tests:
        test(*(tmp_path for _ in signature(test).parameters))

    assert len(tests) == 4


def test_the_table_of_handlers_and_gates_is_in_step(monkeypatch: pytest.MonkeyPatch) -> None:
    if not (ROOT / "dev" / "handler_docs.py").is_file():
        pytest.skip("dev/ is not beside these tests")
    monkeypatch.syspath_prepend(str(ROOT / "dev"))

    wanted = importlib.import_module("handler_docs").text()

    written = (ROOT / "docs" / "handlers-and-gates.md").read_text()
    assert written == wanted, "run python dev/handler_docs.py"
    for entry in built_in():
        for serves in load(entry.component).serves:
            assert f"### `{serves.name}`" in wanted
