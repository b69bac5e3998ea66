"""The command that runs the tests is told from the files; the first that fits is taken."""

import pytest

from cortex.runtime.code.repair import find_command

UNITTEST = ("python3", "-m", "unittest", "discover")


def found(files: dict[str, str]) -> tuple[str, ...]:
    return find_command(files, files.__getitem__)


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({}, ()),
        ({"README.md": ""}, ()),
        ({"pytest.ini": ""}, ("python3", "-m", "pytest")),
        ({"conftest.py": ""}, ("python3", "-m", "pytest")),
        (
            {"pyproject.toml": "[tool.pytest.ini_options]\n"},
            ("python3", "-m", "pytest"),
        ),
        ({"pyproject.toml": "not [ toml"}, ()),
        ({"pyproject.toml": "tool = 3"}, ()),
        ({"tox.ini": "[pytest]\n"}, ("python3", "-m", "pytest")),
        ({"setup.cfg": "[tool:pytest]\n"}, ("python3", "-m", "pytest")),
        ({"tests/test_a.py": "import pytest\n"}, ("python3", "-m", "pytest")),
        (
            {"src/a/__init__.py": "", "src/a": "", "pytest.ini": ""},
            ("env", "PYTHONPATH=src", "python3", "-m", "pytest"),
        ),
        ({"test_a.py": "import a\n\ndef test_one():\n    pass\n"}, ("python3", "-m", "pytest")),
        ({"test_a.py": "async def test_one():\n    pass\n"}, ("python3", "-m", "pytest")),
        ({"test_a.py": "class T(TestCase):\n    def test_one(self):\n        pass\n"}, UNITTEST),
        ({"test_a.py": "import unittest\n"}, UNITTEST),
        ({"a_test.py": ""}, (*UNITTEST, "-p", "*_test.py")),
        ({"tests/test_a.py": ""}, (*UNITTEST, "-s", "tests")),
        (
            {"tests/test_a.py": "", "tests/__init__.py": ""},
            (*UNITTEST, "-s", "tests", "-t", "."),
        ),
        ({"package.json": '{"scripts": {"test": "jest"}}'}, ("npm", "test", "--silent")),
        (
            {"package.json": '{"scripts": {"test": "echo no test specified"}}', "a.test.js": ""},
            ("node", "--test"),
        ),
        ({"package.json": "[]", "test/a.mjs": ""}, ("node", "--test")),
        ({"package.json": "{"}, ()),
        ({"cart.test.js": ""}, ("node", "--test")),
        ({"Cargo.toml": ""}, ("cargo", "test")),
        ({"go.mod": ""}, ("go", "test", "./...")),
        ({"Makefile": "all:\n\ntest: all\n\t./t\n"}, ("make", "test")),
        ({"Makefile": "check:\n\t./t\n"}, ("make", "check")),
        ({"Makefile": "test := 3\n"}, ()),
        ({"GNUmakefile": "all:\n", "Makefile": "test:\n"}, ()),
        ({"Makefile": "test:\n", "go.mod": ""}, ("go", "test", "./...")),
    ],
)
def test_the_files_say_how_the_tests_are_run(
    files: dict[str, str], command: tuple[str, ...]
) -> None:
    assert found(files) == command


def test_the_interpreter_of_the_project_is_taken() -> None:
    assert find_command(["pytest.ini"], lambda _: "", ".venv/bin/python")[0] == ".venv/bin/python"
