"""Failures of real projects: a release that was broken, and a test of the next one that shows it.

`real_failures.toml` names them; `draw_real_failures.py` wrote it, and tells by which rule. Sources
and logs are no part of this repository: both releases come from the package index, and the log is
what pytest prints when the test is run on the broken one. Both are kept below `--peers`.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

CASES = Path(__file__).with_suffix(".toml")
INSTALL_S, TEST_S = 300.0, 240.0  # at most
BACKENDS = (  # of the projects' releases: pip asks them for their names and versions
    *(
        "setuptools>=77,<81",
        "wheel",
        "flit_core",
        "hatchling",
        "hatch-vcs",
        "hatch-fancy-pypi-readme",
    ),
    *("poetry-core", "pdm-backend", "setuptools-scm", "Cython"),
)
TEST_FOLDERS = frozenset({"test", "tests", "testing"})
OTHER_FOLDERS = frozenset(
    {"bench", "benchmarks", "bin", "build", "ci", "dist", "doc", "docs", "examples", "extras"}
    | {"fuzz", "misc", "scripts", "tools", "utils"}
)
_NO_MODULES = frozenset({"setup.py", "conftest.py", "noxfile.py", "tasks.py", "fabfile.py"})


class Changed(Struct, frozen=True):
    """What the fixing release changed in one file; its lines are the broken release's."""

    path: str  # relative to the checkout
    functions: tuple[tuple[str, int, int], ...] = ()  # name, first line, last line
    lines: tuple[tuple[int, int], ...] = ()  # first and last, outside of functions


class Case(Struct, frozen=True, kw_only=True):
    """A test of the release *after* that passes there and fails on the sources of *before*."""

    project: str
    visible: bool  # whether its log may be looked at; of the others only the score is known
    before: str
    after: str
    needs: tuple[str, ...]  # what the project's tests are run with, beside pytest
    test: str  # as pytest names it, without parameters
    files: int  # source files of the broken release
    lines: int  # and their lines
    changed: tuple[Changed, ...]


class Cases(Struct, frozen=True, forbid_unknown_fields=True):
    """What is in `real_failures.toml`."""

    case: tuple[Case, ...] = ()


class UnavailableError(Exception):
    """A release, or what its tests need, cannot be had."""


def read_cases() -> tuple[Case, ...]:
    """All cases, in the order of their projects' names."""
    return msgspec.convert(tomllib.loads(CASES.read_text(encoding="utf-8")), Cases).case


class Shelf:
    """The folder that keeps releases, environments, checkouts and logs."""

    def __init__(self, root: Path) -> None:
        self._root = root / "real-failures"
        self._root.mkdir(parents=True, exist_ok=True)

    def pip(self, *command: str, environment: str = "backends") -> str:
        """What pip prints.

        Raises:
            UnavailableError: It failed, or took too long.
        """
        python = self._environment(environment)
        try:
            done = subprocess.run(
                [str(python), "-m", "pip", *command],
                capture_output=True,
                text=True,
                check=True,
                timeout=INSTALL_S,
            )
        except (OSError, subprocess.SubprocessError) as error:
            said = str(getattr(error, "stderr", "") or error).strip().splitlines()
            raise UnavailableError(f"pip {command[0]}: {said[-1] if said else error}") from error
        return done.stdout

    def _environment(self, name: str) -> Path:
        python = self._root / "environments" / name / "bin" / "python"
        if not python.exists():
            venv.create(python.parents[1], with_pip=True)
        return python

    def install(self, environment: str, *packages: str) -> Path:
        """The Python of an environment that has *packages*, which is made where there is none."""
        python = self._environment(environment)
        complete = python.parents[1] / "complete"
        if not complete.exists():
            self.pip("install", "--quiet", *packages, environment=environment)
            complete.touch()
        return python

    def reach_index(self, case: Case) -> None:
        """Ask the package index for the broken release of a case.

        Raises:
            UnavailableError: It does not answer, or has no such release.
        """
        asked = ("index", "versions", case.project, "--retries", "0", "--timeout", "20")
        if case.before not in re.split(r"[,\s]+", self.pip(*asked)):
            raise UnavailableError(f"no {case.project} {case.before}")

    def release(self, project: str, version: str) -> Path:
        """The unpacked source distribution of a release."""
        folder = self._root / "releases" / f"{project}-{version}"
        if not folder.exists():
            self.install("backends", *BACKENDS)
            loaded = folder.with_name(f"{folder.name}.loading")
            shutil.rmtree(loaded, ignore_errors=True)
            options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-binary", ":all:"]
            self.pip("download", *options, "--dest", str(loaded), f"{project}=={version}")
            archives = list(loaded.glob("*.tar.gz"))
            if len(archives) != 1:
                raise UnavailableError(f"{project} {version} has no .tar.gz")
            with tarfile.open(archives[0]) as archive:
                archive.extractall(loaded, filter="data")
            (unpacked,) = [each for each in loaded.iterdir() if each.is_dir()]
            unpacked.rename(folder)
            shutil.rmtree(loaded)
        return folder

    def checkout(self, project: str, before: str, after: str) -> Path:
        """The sources of *before* with the tests of *after*, as whoever wrote the test has them."""
        folder = self._root / "checkouts" / f"{project}-{before}-{after}"
        if not folder.exists():
            broken, fixed = self.release(project, before), self.release(project, after)
            made = folder.with_name(f"{folder.name}.making")
            shutil.rmtree(made, ignore_errors=True)
            made.mkdir(parents=True)
            for source, path in files_of(broken):
                if not is_test(path):
                    copy(source, made / path)
            for source, path in files_of(fixed):
                if is_test(path):
                    copy(source, made / path)
            made.rename(folder)
        return folder

    def has(self, case: Case) -> bool:
        """Whether the failure can be asked about without the package index."""
        return self._log(case).exists()

    def _log(self, case: Case) -> Path:
        name = f"{case.project}-{case.after}-{case.test.replace('/', '+')}"
        return self._root / "logs" / name

    def log(self, case: Case) -> str:
        """What pytest prints for the test of a case on the broken sources."""
        kept = self._log(case)
        if not kept.exists():
            checkout = self.checkout(case.project, case.before, case.after)
            wanted = ("pytest", f"{case.project}=={case.after}", *case.needs)
            python = self.install(case.project, *wanted)
            said = run_tests(python, checkout, "--color=no", case.test)
            if " failed" not in said:
                raise UnavailableError(f"{case.test} did not fail: {said[-200:]!r}")
            kept.parent.mkdir(exist_ok=True)
            kept.write_text(said, encoding="utf-8")
        return kept.read_text(encoding="utf-8")


def run_tests(python: Path, folder: Path, *arguments: str) -> str:
    """What pytest prints there, with the sources of *folder* before what is installed.

    Raises:
        UnavailableError: It took too long.
    """
    settings = dict(os.environ, PYTHONPATH=str(source_root(folder)), PYTHONDONTWRITEBYTECODE="1")
    command = [str(python), "-m", "pytest", "-p", "no:cacheprovider", "-o", "addopts="]
    try:
        done = subprocess.run(
            [*command, *arguments],
            cwd=folder,
            env=settings,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=TEST_S,
        )
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"{folder.name}: the tests took too long") from error
    return done.stdout


def source_root(folder: Path) -> Path:
    """The folder that holds the packages of a release."""
    inside = (folder / name for name in ("src", "lib"))
    return next((each for each in inside if any(each.glob("*/__init__.py"))), folder)


def source_files(folder: Path) -> list[str]:
    """The modules of a release: no tests, no documentation, nothing that builds it."""
    root = source_root(folder)
    found = []
    for file, path in files_of(root):
        first = path.split("/", 1)[0]
        packaged = (root / first / "__init__.py").exists() and first not in OTHER_FOLDERS
        module = "/" not in path and path not in _NO_MODULES
        if path.endswith(".py") and (packaged or module) and not is_test(path):
            found.append(file.relative_to(folder).as_posix())
    return sorted(found)


def is_test(path: str) -> bool:
    """Whether a file belongs to the tests of a release."""
    *folders, name = path.split("/")
    return (
        not TEST_FOLDERS.isdisjoint(folders)
        or name == "conftest.py"
        or (name.endswith(".py") and name.startswith("test_"))
        or name.endswith("_test.py")
    )


def files_of(folder: Path) -> Iterator[tuple[Path, str]]:
    """The files below a folder, each with its path there."""
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.is_symlink() and "__pycache__" not in file.parts:
            yield file, file.relative_to(folder).as_posix()


def copy(source: Path, target: Path) -> None:
    """Copy a file, and make the folders above it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def told(message: str) -> None:
    """Say what goes on to whoever waits."""
    print(message, file=sys.stderr, flush=True)
