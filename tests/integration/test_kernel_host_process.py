"""A runtime changes nothing of its process before its `with`, and only what is stated within."""

import subprocess
import sys
from pathlib import Path

LOOK = """
import logging, signal, sys, threading
import structlog
from cortex.runtime.kernel import Home, Runtime

def looks():
    return {
        "threads": [thread.name for thread in threading.enumerate()],
        "path": list(sys.path),
        "bytecode": sys.dont_write_bytecode,
        "switch": sys.getswitchinterval(),
        "configured": structlog.is_configured(),
        "levels": (logging.root.level, list(logging.root.handlers)),
        "signals": [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)],
        "hooks": (sys.excepthook, threading.excepthook, sys.unraisablehook),
    }

def differs(one, other):
    return sorted(name for name in one if one[name] != other[name])
"""


def ran(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-I", "-c", LOOK + script, *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    # On a busy machine a component may not end in time, and a warning says so.
    said = [line for line in done.stderr.splitlines() if "component_left_behind" not in line]
    assert said == []
    return done.stdout.strip()


def home_with_a_component(tmp_path: Path) -> Path:
    script = """
home = Home.create(__import__("pathlib").Path(sys.argv[1]))
(home.plugins).mkdir(exist_ok=True)
(home.plugins / "own_rules.py").write_text('''
import cortex

@cortex.action("own_rule", effect="none")
def own_rule(name: str) -> str:
    "A rule."
    return name
''')
(home.path / "config.toml").write_text('[[components]]\\nuse = "own_rules:own_rule"\\n')
"""
    path = tmp_path / ".cortex"
    ran(script, str(path))
    return path


def test_a_runtime_that_is_made_changes_nothing() -> None:
    script = """
before = looks()
runtime = Runtime()
print(differs(before, looks()))
runtime.stop()
print(differs(before, looks()))
"""

    assert ran(script).splitlines() == ["[]", "[]"]


def test_within_it_changes_what_it_says_and_gives_all_but_the_log_lines_back() -> None:
    script = """
before = looks()
with Runtime(components=[]), Runtime(components=[]):
    print(differs(before, looks()), sys.getswitchinterval())
print(differs(before, looks()))
"""

    within, after = ran(script).splitlines()

    assert within == "['configured', 'switch', 'threads'] 0.0005"
    assert after == "['configured']"


def test_a_program_that_configured_its_log_lines_keeps_them_as_they_are() -> None:
    script = """
structlog.configure(processors=[structlog.processors.JSONRenderer()])
before = structlog.get_config()
with Runtime(components=[]):
    print(structlog.get_config() == before)
"""

    assert ran(script) == "True"


def test_modules_of_a_home_are_found_within_and_its_folder_is_no_place_afterwards(
    tmp_path: Path,
) -> None:
    home = home_with_a_component(tmp_path)
    script = """
home = Home(__import__("pathlib").Path(sys.argv[1]))
before = looks()
runtime = Runtime(home)
print(differs(before, looks()))
with runtime:
    print(sys.path[-1] == str(home.plugins), sys.dont_write_bytecode)
print(differs(before, looks()), list(home.plugins.glob("**/*.pyc")))
"""

    made, within, after = ran(script, str(home)).splitlines()

    assert made == "[]"
    assert within == "True True"
    assert after == "['configured'] []"
