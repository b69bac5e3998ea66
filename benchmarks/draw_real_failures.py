"""Draws the failures of `real_failures.toml` from the package index, by a rule.

    python benchmarks/draw_real_failures.py            # all projects: some hours
    python benchmarks/draw_real_failures.py --only tomlkit

The rule, which was written before anything was searched for in a drawn case:

* The projects are `PROJECTS`: pure Python, with tests in their source distributions.
* Of each, the releases X.Y.Z that follow another release X.Y.*, newest first, `PAIRS` at most: they
  fix something. One counts if it changed what 1 to 4 modules do; docstrings, comments and versions
  do nothing.
* The test files that differ are run on both. A test of the fixing release that passes there, and
  fails (it is no error while collecting) on the sources of the release before, is a case.
* At most `TESTS` tests of a release, those whose names have the lowest hash, and `KEPT` releases.
* Right is what changed. Where more than one module did, the fixed release is run with each of them
  as it was before: only those without which the test fails are right.
* Every second of `PROJECTS` is visible: what is wrong there may be looked at, and mended by a rule.

A project of which no case is listed had none, or was not drawn yet.
"""

import argparse
import ast
import copy as copies
import difflib
import hashlib
import json
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from measure import arguments
from real_failures import (
    CASES,
    Case,
    Changed,
    Shelf,
    UnavailableError,
    files_of,
    is_test,
    read_cases,
    run_tests,
    source_files,
    told,
)

PROJECTS: dict[str, tuple[str, ...]] = {  # and what their tests need, beside pytest
    "arrow": ("pytest-mock", "pytz", "simplejson", "dateparser", "tzdata"),
    "babel": ("freezegun", "pytz"),
    "beautifulsoup4": ("lxml", "html5lib"),
    "boltons": (),
    "cachetools": (),
    "click": (),
    "croniter": ("pytz", "tzlocal"),
    "deepdiff": ("numpy", "pytz", "python-dateutil", "pydantic", "jsonpickle", "click", "pyyaml"),
    "flask": (),
    "humanize": ("freezegun",),
    "icalendar": ("pytz", "hypothesis"),
    "jinja2": ("trio",),
    "jsonschema": (),
    "lark": ("regex", "js2py"),
    "loguru": ("freezegun", "colorama"),
    "mako": (),
    "markdown": ("pyyaml",),
    "markdown-it-py": ("pytest-regressions", "linkify-it-py"),
    "marshmallow": ("pytz", "simplejson"),
    "mistune": (),
    "more-itertools": (),
    "oauthlib": ("pyjwt", "blinker", "cryptography"),
    "parso": (),
    "pathspec": (),
    "prettytable": ("pytest-lazy-fixtures",),
    "pygments": (),
    "pyjwt": ("cryptography",),
    "pyparsing": ("railroad-diagrams", "jinja2"),
    "soupsieve": ("lxml", "html5lib", "beautifulsoup4"),
    "sqlparse": (),
    "tabulate": ("wcwidth",),
    "tenacity": ("tornado", "typeguard"),
    "tomlkit": ("pyyaml",),
    "traitlets": ("argcomplete",),
    "voluptuous": (),
    "werkzeug": ("ephemeral-port-reserve", "pytest-timeout", "watchdog", "pytest-xprocess"),
}
PAIRS, KEPT, TESTS, FILES = 10, 2, 2, 4
PROJECT_S = 480.0  # no further release is looked at after it
_FINAL = re.compile(r"\d+\.\d+\.\d+")
_OUTCOME = re.compile(r"^(PASSED|FAILED|ERROR) (\S+?\.py::[^\s\[]+)", re.MULTILINE)
_VERSION = re.compile(r"version|__about__", re.IGNORECASE)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def fixing_releases(shelf: Shelf, project: str) -> list[tuple[str, str]]:
    """The newest releases that raise only the last number, each with the one before."""
    listed = shelf.pip("index", "versions", project).partition("Available versions:")[2]
    versions = [each for each in re.split(r"[,\s]+", listed) if _FINAL.fullmatch(each)]
    ordered = sorted(dict.fromkeys(versions), key=_numbers)
    pairs = [(a, b) for a, b in pairwise(ordered) if _numbers(a)[:2] == _numbers(b)[:2]]
    return pairs[::-1][:PAIRS]


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


def drawn(shelf: Shelf, project: str) -> Iterator[Case]:
    """The cases of one project."""
    until = time.monotonic() + PROJECT_S
    kept = 0
    for before, after in fixing_releases(shelf, project):
        if kept >= KEPT or time.monotonic() > until:
            return
        try:
            cases = list(cases_between(shelf, project, before, after))
        except UnavailableError as error:
            told(f"{project} {before} -> {after}: {error}")
            continue
        told(f"{project} {before} -> {after}: {len(cases)} cases")
        kept += bool(cases)
        yield from cases


def cases_between(shelf: Shelf, project: str, before: str, after: str) -> Iterator[Case]:
    """The cases of one fixing release."""
    broken, fixed = shelf.release(project, before), shelf.release(project, after)
    modules = source_files(broken)
    changed = changed_files(broken, fixed, modules)
    tests = changed_tests(broken, fixed)
    if not 1 <= len(changed) <= FILES or not tests:
        return
    checkout = shelf.checkout(project, before, after)
    needs = PROJECTS[project]
    python = shelf.install(project, "pytest", f"{project}=={after}", *needs)
    options = ("-q", "--tb=no", "-rpfE")
    failing = outcomes(run_tests(python, checkout, *options, *tests), "FAILED")
    if not failing:
        return
    failing &= outcomes(run_tests(python, fixed, *options, *tests), "PASSED")
    lines = sum(len((broken / each).read_bytes().splitlines()) for each in modules)
    for test in sorted(failing, key=_hash)[:TESTS]:
        needed = changed
        if len(changed) > 1:
            needed = needed_files(python, broken, fixed, changed, test)
        yield Case(
            project=project,
            visible=list(PROJECTS).index(project) % 2 == 0,
            before=before,
            after=after,
            needs=needs,
            test=test,
            files=len(modules),
            lines=lines,
            changed=tuple(needed or changed),
        )


def _hash(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


def outcomes(said: str, wanted: str) -> set[str]:
    """The tests that had this outcome: one that failed for some parameters only has failed."""
    by_test: dict[str, set[str]] = {}
    for outcome, test in _OUTCOME.findall(said):
        by_test.setdefault(test, set()).add(outcome)
    return {test for test, had in by_test.items() if had == {wanted} or "FAILED" in had & {wanted}}


def needed_files(
    python: Path, broken: Path, fixed: Path, changed: list[Changed], test: str
) -> list[Changed]:
    """Those of the changed files without which the fixed release fails the test."""
    needed = []
    with tempfile.TemporaryDirectory() as folder:
        mixed = Path(folder) / "mixed"
        shutil.copytree(fixed, mixed)
        for each in changed:
            shutil.copyfile(broken / each.path, mixed / each.path)
            said = run_tests(python, mixed, "-q", "--tb=no", test)
            if " failed" in said or " error" in said:
                needed.append(each)
            shutil.copyfile(fixed / each.path, mixed / each.path)
    return needed


def changed_tests(broken: Path, fixed: Path) -> list[str]:
    """The test modules of the fixing release that the one before has not, or has otherwise."""
    return [
        path
        for file, path in files_of(fixed)
        if is_test(path)
        and path.endswith(".py")
        and re.match(r"(?:test|.*test\.py)", file.name)
        and (not (broken / path).exists() or (broken / path).read_bytes() != file.read_bytes())
    ]


def changed_files(broken: Path, fixed: Path, modules: list[str]) -> list[Changed]:
    """What the fixing release changed in modules that do something else since."""
    found = []
    for path in modules:
        old = (broken / path).read_text(encoding="utf-8", errors="replace")
        new_file = fixed / path
        new = new_file.read_text(encoding="utf-8", errors="replace") if new_file.exists() else ""
        if old != new and not _VERSION.search(Path(path).name):
            change = changed_in(path, old, new)
            if change:
                found.append(change)
    return found


def changed_in(path: str, old: str, new: str) -> Changed | None:
    """The functions and other lines of *old* that do something else in *new*; None if none does."""
    try:
        trees = ast.parse(old), ast.parse(new)
    except (SyntaxError, ValueError):
        return None
    if _meaning(trees[0]) == _meaning(trees[1]):
        return None
    before, after = (dict(_functions(tree)) for tree in trees)
    same = {
        name
        for name, node in before.items()
        if name in after and _meaning(node) == _meaning(after[name])
    }
    functions = tuple((name, *_span(node)) for name, node in before.items() if name not in same)
    spans = [_span(node) for node in before.values()]
    lines = tuple(
        (first, last)
        for first, last in _changed_lines(old.splitlines(), new.splitlines())
        if not any(start <= first and last <= end for start, end in spans)
    )
    return Changed(path, functions, lines)


def _functions(tree: ast.AST, above: str = "") -> Iterator[tuple[str, Function]]:
    """The functions of a module and of its classes, by their names; none inside of a function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield f"{above}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{above}{node.name}.")
        else:
            yield from _functions(node, above)


def _span(node: Function) -> tuple[int, int]:
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return first, node.end_lineno or node.lineno


def _meaning(tree: ast.AST) -> str:
    """A syntax tree without docstrings and versions, as text."""
    tree = copies.deepcopy(tree)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):  # which mypy does not take for a node that has one
            node.body = [each for each in body if not _does_nothing(each)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _does_nothing(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Assign) and any(
        isinstance(each, ast.Name) and _VERSION.search(each.id) for each in node.targets
    )


def _changed_lines(old: list[str], new: list[str]) -> Iterator[tuple[int, int]]:
    """The lines of *old* that were changed, or stand around what was put in; comments left out."""
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, first, last, new_first, new_last in matcher.get_opcodes():
        touched = [*old[first:last], *new[new_first:new_last]]
        if kind != "equal" and any(re.match(r"\s*[^\s#]", line) for line in touched):
            yield (first + 1, last) if last > first else (max(first, 1), min(first + 1, len(old)))


def toml(cases: list[Case]) -> str:
    """The text of `real_failures.toml`."""
    head = "# Written by draw_real_failures.py, which tells the rule: draw again, do not edit.\n"
    blocks = [head]
    for case in sorted(cases, key=lambda each: (each.project, _numbers(each.after), each.test)):
        changed = [
            f"  {{ path = {json.dumps(each.path)}, "
            f"functions = {json.dumps(each.functions)}, lines = {json.dumps(each.lines)} }},"
            for each in case.changed
        ]
        rows = [
            f"{name} = {json.dumps(getattr(case, name), ensure_ascii=False)}"
            for name in case.__struct_fields__
            if name != "changed"
        ]
        blocks.append("\n".join(["[[case]]", *rows, "changed = [", *changed, "]", ""]))
    return "\n".join(blocks)


def main() -> None:
    """Draw the cases of the projects asked for; those of others stay as they are."""
    parser = arguments(__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    given = parser.parse_args()
    shelf = Shelf(given.peers)
    for project in PROJECTS:
        if given.only and given.only != project:
            continue
        known = read_cases() if CASES.exists() else ()
        cases = [each for each in known if each.project != project]
        try:
            for case in drawn(shelf, project):
                cases.append(case)
                CASES.write_text(toml(cases), encoding="utf-8")
        except UnavailableError as error:
            told(f"{project}: {error}")


if __name__ == "__main__":
    main()
