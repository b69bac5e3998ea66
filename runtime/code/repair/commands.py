"""Chooses the command that runs the tests of some sources, from their files; pure.

The first that fits is taken:

1. `pytest` where it is configured: `pytest.ini`, `[tool.pytest…]` in pyproject.toml, `[pytest]` in
   tox.ini, `[tool:pytest]` in setup.cfg, a conftest.py, or a test file that imports it or has test
   functions outside of classes, which unittest never runs;
2. `unittest` where there are files `test_*.py` or `*_test.py` beside the sources or in `tests/`;
3. `npm test` where package.json has a script of that name, else `node --test` where there are
   files named `*.test.js` and the like, or a folder `test/` with scripts;
4. `cargo test` with a Cargo.toml; 5. `go test ./...` with a go.mod;
6. `make test`, or `make check`, where the Makefile has that target.
"""

import os
import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from ..triage import Finding, analyse, excerpt, parse_log, report_of

_TEST_FOLDERS = ("tests", "test")
_PYTHON_TEST = re.compile(r"(?:(tests?)/)?(?:test_\w+|\w+_test)\.py")
_NODE_TEST = re.compile(
    r"(?:(?:src|lib|tests?|__tests__)/)?[\w.-]+[._-]test\.[cm]?js|test/[\w.-]+\.[cm]?js"
)
_IMPORTS_PYTEST = re.compile(r"^(?:import pytest|from pytest)\b", re.MULTILINE)
_TEST_FUNCTION = re.compile(r"^(?:async )?def test_\w*\(", re.MULTILINE)
_NO_SCRIPT = "no test specified"  # what `npm init` writes
_TARGET = r"^{}[ \t]*:(?!=)"
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
PYTHONS = (".venv/bin/python", "venv/bin/python")  # of the user's checkout
Read = Callable[[str], str]  # the text of an existing file
EXCERPT_CHARS = 12_000  # a few hundred lines
FAILED = 100  # names
_NONE_RAN = re.compile(r"^(?:Ran 0 tests in|(?:#|\u2139) tests 0$)", re.MULTILINE)
_SOME_RAN = re.compile(r"^(?:Ran [1-9]\d* tests? in|(?:#|\u2139) tests [1-9])", re.MULTILINE)
_SHOWN = 300  # characters of a message


def looked_at(name: str) -> bool:
    """Whether a folder has to be listed for `find_command`, beside the sources themselves."""
    return name in ("src", "lib", "__tests__", *_TEST_FOLDERS)


def find_command(names: Iterable[str], read: Read, python: str = "python3") -> tuple[str, ...]:
    """The words that run the tests; () where the files do not say.

    Args:
        names: Relative paths of the files in the folder and in those of its folders that
            `looked_at` names.
        read: Gives the text of one of them.
        python: The interpreter that has what the sources need.
    """
    there = frozenset(names)
    words = _python(there, read, python) or _node(there, read)
    if words:
        return words
    if "Cargo.toml" in there:
        return ("cargo", "test")
    if "go.mod" in there:
        return ("go", "test", "./...")
    return _make(there, read)


def _python(there: frozenset[str], read: Read, python: str) -> tuple[str, ...]:
    tests = sorted(name for name in there if _PYTHON_TEST.fullmatch(name))
    # What is installed in the interpreter may be another checkout of the same sources.
    in_src = any(name.startswith("src/") for name in there)
    run = ("env", "PYTHONPATH=src", python) if in_src else (python,)
    if _has_pytest(there, read, tests):
        return (*run, "-m", "pytest")
    if not tests:
        return ()
    folder = tests[0].partition("/")[0] if "/" in tests[0] else ""
    words = [*run, "-m", "unittest", "discover"]
    if folder:
        words += ["-s", folder]
    if f"{folder}/__init__.py" in there:
        words += ["-t", "."]
    if not any(name.rpartition("/")[2].startswith("test_") for name in tests):
        words += ["-p", "*_test.py"]
    return tuple(words)


def _has_pytest(there: frozenset[str], read: Read, tests: list[str]) -> bool:
    if there & {"pytest.ini", ".pytest.ini", "conftest.py", "tests/conftest.py"}:
        return True
    for name, mark in (("tox.ini", "[pytest]"), ("setup.cfg", "[tool:pytest]")):
        if name in there and mark in read(name):
            return True
    if "pyproject.toml" in there and "pytest" in _tools(read("pyproject.toml")):
        return True
    texts = map(read, tests)
    return any(_IMPORTS_PYTEST.search(text) or _TEST_FUNCTION.search(text) for text in texts)


def _tools(text: str) -> dict[str, object]:
    try:
        tools = tomllib.loads(text).get("tool", {})
    except tomllib.TOMLDecodeError:
        return {}
    return tools if isinstance(tools, dict) else {}


def _node(there: frozenset[str], read: Read) -> tuple[str, ...]:
    script = _script(read("package.json")) if "package.json" in there else ""
    if script and _NO_SCRIPT not in script:
        return ("npm", "test", "--silent")
    return ("node", "--test") if any(map(_NODE_TEST.fullmatch, there)) else ()


def _script(text: str) -> str:
    try:
        package = msgspec.json.decode(text.encode(errors="replace"))
        script = package["scripts"]["test"]
    except (msgspec.DecodeError, KeyError, TypeError):
        return ""
    return script if isinstance(script, str) else ""


def _make(there: frozenset[str], read: Read) -> tuple[str, ...]:
    for makefile in MAKEFILES:
        if makefile in there:
            text = read(makefile)
            for target in ("test", "check"):
                if re.search(_TARGET.format(target), text, re.MULTILINE):
                    return ("make", target)
            return ()
    return ()


class TestOutput(msgspec.Struct, frozen=True):
    """The output of a run, read."""

    failed: list[str]  # names of failing tests, the most telling first; else what else failed
    excerpt: str
    nothing: bool  # not one test was run, as unittest and node say it; others fail by themselves
    first: str  # the first failure in one line: its name, where it is, what it said


def read_output(output: bytes, root: Path) -> TestOutput:
    """Parse the output of a run in *root*; paths in it become relative."""
    text = output.decode(errors="replace")
    for folder in dict.fromkeys((str(root), os.path.realpath(root))):
        text = text.replace(f"{folder}/", "").replace(folder, ".")
    log = parse_log(text, source="the tests")
    analysis = analyse(log)
    findings = report_of(log, analysis).findings
    tests = [each for each in findings if each.kind == "failing_test"]
    return TestOutput(
        failed=[each.title for each in (tests or findings)[:FAILED]],
        excerpt=excerpt(log, EXCERPT_CHARS, len, analysis).text(),
        nothing=bool(_NONE_RAN.search(text)) and not _SOME_RAN.search(text),
        first=_line(findings[0]) if findings else _last(text),
    )


def _line(finding: Finding) -> str:
    own = [each for each in finding.references if not each.library]
    place = f" ({own[0].path}:{own[0].line})" if own else ""
    said = " | ".join(line.strip() for line in finding.message.splitlines()[:2])
    return f"{finding.title[:_SHOWN]}{place}{f': {said[:_SHOWN]}' if said else ''}"


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:_SHOWN] if lines else "it said nothing"
