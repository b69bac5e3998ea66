"""The documentation says what the code does; the tree knows its commands without loading them."""

import importlib
import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from ..e2e.command_lines import CORTEX, environment, run_many
from ..installed_packages import install

pytestmark = pytest.mark.wheel  # it starts what the wheel installs

DOCS = Path(__file__).parents[2] / "docs"


def test_the_reference_and_the_table_of_keys_are_in_step_with_the_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not (DOCS.parent / "dev" / "cli_docs.py").is_file():
        pytest.skip("only in a checkout")
    monkeypatch.setattr(sys, "path", [*sys.path, str(DOCS.parent / "dev")])

    wanted = importlib.import_module("cli_docs").texts()

    assert {path.name for path in wanted} == {"cli.md", "configuration.md"}
    for path, text in wanted.items():
        assert path.read_text() == text, f"{path.name}: run python dev/cli_docs.py"


def test_every_command_has_help_and_shows_the_line_that_the_tree_shows(tmp_path: Path) -> None:
    helped = subprocess.run([str(CORTEX), "--help"], capture_output=True, text=True, check=True)
    listed = helped.stdout.partition("Commands:")[2].splitlines()
    shown = dict(line.strip().split("  ", 1) for line in listed if line.strip())

    told = run_many(tmp_path, environment(tmp_path), [(name, "-h") for name in shown])
    assert len(told) == len(shown) > 10
    for line, (code, out, err) in zip(shown.values(), told, strict=True):
        assert (code, err) == (0, "")
        assert line.strip() in " ".join(out.split())
        assert line.endswith("."), "a whole sentence: what does not fit is cut"


def test_help_imports_nothing_of_the_bus_and_the_kernel_but_what_imports_late() -> None:
    code = (
        "import sys; from cortex.runtime.cli import main; main(['--help']); "
        "print(*(m for m in sys.modules if m.startswith('cortex.')), file=sys.stderr)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    loaded = done.stderr.split()
    assert [m for m in loaded if m.startswith("cortex.bus.")] == ["cortex.bus.lazy"]
    assert not any(m.startswith("cortex.runtime.kernel") for m in loaded)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_completion_script_for_each_shell(shell: str) -> None:
    done = subprocess.run(
        [str(CORTEX), "completion", shell], capture_output=True, text=True, check=True
    )

    assert "_CORTEX_COMPLETE" in done.stdout


def test_the_command_is_the_front_door_of_its_room() -> None:
    (point,) = entry_points(group="console_scripts", name="cortex")

    assert point.value == "cortex.runtime.cli:main"
    assert importlib.import_module("cortex.runtime.cli").__all__ == ["main"]


PLUGIN = """
import click


@click.command()
def hello() -> None:
    \"\"\"Greet.\"\"\"
    click.echo("hello from a plugin")


@click.command()
@click.option("--json", is_flag=True)
def failing(json: bool) -> None:
    raise ZeroDivisionError("no greeting")
"""


@pytest.fixture
def plugins(tmp_path: Path) -> dict[str, str]:
    """An environment in which a package adds commands, two of which are broken."""
    (tmp_path / "greeting.py").write_text(PLUGIN)
    points = "hello = greeting:hello\nbroken = greeting:nothing\nfailing = greeting:failing"
    install(tmp_path, "greeting", commands=points)
    return {**os.environ, "PYTHONPATH": str(tmp_path)}


def test_another_package_adds_a_command_by_entry_point(plugins: dict[str, str]) -> None:
    listed = subprocess.run(
        [str(CORTEX), "--help"], capture_output=True, text=True, check=True, env=plugins
    )
    said = subprocess.run(
        [str(CORTEX), "hello"], capture_output=True, text=True, check=True, env=plugins
    )

    assert "From greeting:hello." in listed.stdout
    assert said.stdout == "hello from a plugin\n"


def test_a_command_that_cannot_be_loaded_names_its_package(plugins: dict[str, str]) -> None:
    done = subprocess.run(
        [str(CORTEX), "broken"], capture_output=True, text=True, check=False, env=plugins
    )

    assert done.returncode == 1
    assert "cortex: the command broken of greeting:nothing cannot be loaded" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_fault_of_an_added_command_names_its_package(plugins: dict[str, str]) -> None:
    plain, as_json, debug = (
        subprocess.run(
            [str(CORTEX), "failing", *more], capture_output=True, text=True, check=False, env=env
        )
        for more, env in (
            ((), plugins),
            (("--json",), plugins),
            ((), {**plugins, "CORTEX_DEBUG": "1"}),
        )
    )

    told = (
        "ZeroDivisionError: no greeting -- this is a defect of the command failing, which greeting "
        "(greeting:failing) adds; CORTEX_DEBUG=1 shows where it is"
    )
    assert (plain.returncode, plain.stderr) == (70, f"cortex: {told}\n")
    failure = json.loads(as_json.stdout)["error"]
    assert (failure["kind"], failure["message"]) == ("AddedCommandError", told)
    assert 'raise ZeroDivisionError("no greeting")' in debug.stderr
