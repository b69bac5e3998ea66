"""What `cortex doctor` looks at; each check says how it is and what to do."""

import fcntl
import os
import re
import shutil
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from cortex.bus import CortexError
from cortex.runtime.kernel import VERSION, Config, Home, built_in, load
from cortex.runtime.log import EventLog, LogMissingError

State: TypeAlias = Literal["ok", "warn", "fail"]

PYTHON = (3, 11)
SQLITE = (3, 37, 0)  # strict tables
LOW_BYTES = 1 << 30
FULL_BYTES = 64 << 20
DISTRIBUTION = "cortex-runtime"


class Check(msgspec.Struct):
    """One thing that was looked at."""

    name: str
    state: State
    found: str
    todo: str = ""


def checks_of(home: Home, *, deep: bool) -> Iterator[Check]:
    """Every check, one after the other; with *deep* every event of the log is read."""
    yield _python()
    yield _sqlite()
    yield from _dependencies()
    yield from _home(home)
    if not home.path.exists():
        return
    yield _disk(home)
    config = next(_guarded("config", lambda: _config(home)))
    yield config
    if config.state == "ok":  # which components there are stands in it
        yield from _guarded("components", lambda: _components(home))
    yield from _guarded("log", lambda: _log(home, deep=deep))
    yield _owner(home)


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    found = f"{version} at {sys.executable}, cortex {VERSION}"
    if sys.version_info < PYTHON:
        return Check("python", "fail", found, "use Python 3.11 or newer")
    return Check("python", "ok", found)


def _sqlite() -> Check:
    found = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < SQLITE:
        return Check(
            "sqlite", "fail", found, "use a Python that is built with SQLite 3.37 or newer"
        )
    with sqlite3.connect(":memory:") as connection:
        options = {row[0] for row in connection.execute("pragma compile_options")}
    connection.close()
    if "ENABLE_FTS5" not in options:
        return Check("sqlite", "warn", f"{found} without FTS5", "knowledge is searched more slowly")
    if not sqlite3.threadsafety:
        return Check("sqlite", "fail", f"{found}, not thread-safe", "use another build of Python")
    return Check("sqlite", "ok", f"{found} with strict tables, FTS5 and threads")


def _dependencies() -> Iterator[Check]:
    try:
        wanted = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        yield Check("packages", "warn", "this checkout is not installed", "pip install -e .")
        return
    wrong: list[str] = []
    for requirement in wanted:
        match = re.match(r"([\w.-]+)\s*>=\s*([\d.]+)", requirement)
        if match is None or "extra ==" in requirement:
            continue
        try:
            found = metadata.version(match[1])
        except metadata.PackageNotFoundError:
            wrong.append(f"{match[1]} is not installed")
            continue
        if _numbers(found) < _numbers(match[2]):
            wrong.append(f"{match[1]} is {found}, expected {match[2]} or newer")
    if wrong:
        yield Check("packages", "fail", "; ".join(wrong), f"pip install -U {DISTRIBUTION}")
    else:
        yield Check("packages", "ok", "all there, none too old")


def _home(home: Home) -> Iterator[Check]:
    if not home.path.exists():
        yield Check(
            "home",
            "warn",
            f"{home.path} is not there yet",
            "`cortex init` makes it, and so does the first `cortex run`",
        )
        return
    try:
        home.check()
    except CortexError as error:
        yield Check("home", "fail", str(error))
        return
    problems = [
        f"{path} may be read by others (mode {stat.S_IMODE(path.stat().st_mode):o})"
        for path in (home.path, home.path / "keys")
        if path.exists() and path.stat().st_mode & 0o077
    ]
    if not os.access(home.path, os.W_OK | os.X_OK):
        yield Check("home", "fail", f"{home.path} may not be written", "check its owner and mode")
    elif problems:
        yield Check("home", "warn", "; ".join(problems), f"chmod -R go-rwx {home.path}")
    else:
        yield Check("home", "ok", f"{home.path}, private")


def _disk(home: Home) -> Check:
    free = shutil.disk_usage(home.path).free
    found = f"{free / (1 << 30):,.1f} GiB free"
    if free < FULL_BYTES:
        return Check("disk", "fail", found, "free some space: nothing can be recorded without")
    if free < LOW_BYTES:
        return Check("disk", "warn", found, "free some space soon")
    return Check("disk", "ok", found)


def _config(home: Home) -> Check:
    config = Config.load(home)
    return Check("config", "ok", f"{home.config_path}, durability {config.durability}")


def _components(home: Home) -> Check:
    names = [entry.component for entry in built_in()]
    names += [component.use for component in Config.load(home).components]
    for name in names:
        load(name)
    return Check("components", "ok", f"{len(names)} can be loaded")


def _log(home: Home, *, deep: bool) -> Check:
    try:
        log = EventLog.open(home.log_path, readonly=True)
    except LogMissingError:
        return Check("log", "ok", "nothing was recorded yet")
    try:
        head = log.verify() if deep else log.state().head
    finally:
        log.close()
    size = sum(path.stat().st_size for path in home.path.glob("log.db*"))
    how = "every one verified" if deep else "opened; --quick, so not verified"
    return Check("log", "ok", f"{head:,} events, {size / (1 << 20):,.1f} MiB, {how}")


def _owner(home: Home) -> Check:
    path = home.log_path.with_name("log.db.lock")
    if not path.exists() or _is_free(path):
        return Check("runtime", "ok", "none runs on this home")
    pid = path.read_text(errors="replace").strip() or "?"
    return Check(
        "runtime", "ok", f"process {pid} runs one; commands that record are refused until it ends"
    )


def _is_free(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _guarded(name: str, check: Callable[[], Check]) -> Iterator[Check]:
    try:
        yield check()
    except (CortexError, OSError) as error:
        yield Check(name, "fail", str(error))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
