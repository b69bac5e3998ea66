"""The checks of `cortex doctor`; each one reports a state and what to do."""

import fcntl
import os
import re
import shutil
import sqlite3
import stat
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

from cortex.bus import CortexError
from cortex.bus.events import RuntimeAnswer, RuntimeGet
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import VERSION, Config, Home, built_in, load, located
from cortex.runtime.processes import did_you_mean, listed
from cortex.runtime.processes.catalog import Catalog, not_ready_of

from .. import connected, found
from .. import found as hub_on
from .failing import failing_of, plugins_of, silent_servers_of, times
from .findings import Check, guarded
from .models import models_of
from .recorded import recorded

PYTHON = (3, 11)
SQLITE = (3, 37, 0)  # strict tables
SHOWN = 5  # findings that are listed
LOW_BYTES = 1 << 30
FULL_BYTES = 64 << 20
DISTRIBUTION = "cortex-runtime"
PLUGINS = "cortex.plugins"  # the entry point group of plugins
RECORDED = (
    "log.db*",
    "projections.db*",
    "memory.db*",
    "snapshots.db*",
    "archive",
    "blobs",
    "effects",
    "keys",
)

PATIENCE_S = 30.0  # a hub with much waiting work needs time to read it


def checks_of(home: Home, *, deep: bool, loading: bool = False) -> Iterator[Check]:
    """All checks, one after the other.

    Args:
        home: The home to check, read-only.
        deep: Read every event of the log and every blob.
        loading: Import the home's own components, which runs their code.
    """
    yield _python()
    yield _sqlite()
    yield from _dependencies()
    yield from _home(home)
    if not home.path.exists():
        return
    yield from guarded("trust", lambda: _trust(home))
    yield _disk(home)
    config = next(guarded("config", lambda: _config(home)))
    yield config
    if config.state == "ok":  # it lists the components
        yield from guarded("settings", lambda: _idle_settings(home))
        yield from guarded("components", lambda: _components(home, loading=loading))
        yield from guarded("models", lambda: _models(home))
        yield from guarded("tools", lambda: _tool_servers(home))
    yield from guarded("log", lambda: recorded(home, deep=deep))
    yield from guarded("processes", lambda: _processes(home))
    yield from guarded("plugins", lambda: _plugins(home))
    yield from guarded("failures", lambda: _failures(home))
    yield _owner(home)
    yield from guarded("hub", lambda: _hub(home))


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
        for path in (home.path, *(path for name in RECORDED for path in home.path.glob(name)))
        if path.stat().st_mode & 0o077
    ]
    exposed = home.exposed()
    if exposed:
        found = _first(exposed)
        yield Check(
            "home",
            "fail",
            found,
            "look at their content: until then Cortex runs nothing of the home",
        )
    elif not os.access(home.path, os.W_OK | os.X_OK):
        yield Check("home", "fail", f"{home.path} may not be written", "check its owner and mode")
    elif problems:
        yield Check("home", "warn", "; ".join(problems), f"chmod -R go-rwx {home.path}")
    else:
        yield Check("home", "ok", f"{home.path}, private")


def _trust(home: Home) -> Iterator[Check]:
    if reasons := home.untrusted_because:
        found = f"not trusted, nothing of it runs: {reasons[0]}"
        yield Check("trust", "warn", found, "`cortex trust --show`, then `cortex trust`")
    else:
        yield Check("trust", "ok", "this home may act for you")


def _disk(home: Home) -> Check:
    free = shutil.disk_usage(home.path).free
    small = free < 1 << 30
    found = f"{free / (1 << 20):,.1f} MiB free" if small else f"{free / (1 << 30):,.1f} GiB free"
    if free < FULL_BYTES:
        return Check("disk", "fail", found, "free some space: nothing can be recorded without")
    if free < LOW_BYTES:
        return Check("disk", "warn", found, "free some space soon")
    return Check("disk", "ok", found)


def _config(home: Home) -> Iterator[Check]:
    config = Config.shown(home)
    yield Check("config", "ok", f"{home.config_path}, durability {config.durability}")


def _idle_settings(home: Home) -> Iterator[Check]:
    """Valid settings that have no effect here; none if all have."""
    for setting, kind, name, names in _named(home, Config.shown(home)):
        if name not in names:
            found = f"{setting} has no effect: there is no {kind} {name!r}"
            yield Check(
                "settings", "warn", found, did_you_mean(name, names, f"there is {listed(names)}")
            )


def _named(home: Home, config: Config) -> Iterator[tuple[str, str, str, list[str]]]:
    """Each setting that names something: the name, and the existing names of that kind."""
    plugins = sorted(entry.name for entry in metadata.entry_points(group=PLUGINS))
    for name in config.plugins:
        yield f"[plugins.{name}]", "plugin", name, plugins
    if config.models.default:
        models = [row.name for row in models_of(home)]
        yield "[models] default", "model", config.models.default, models
    with History.open(home) as history:
        names = Catalog(history).names()
    if names:  # unknown before anything was compiled
        for fields, name in config.preferences.items():
            yield f"[preferences] {fields}", "process", name, names


def _components(home: Home, *, loading: bool) -> Iterator[Check]:
    names = [entry.component for entry in built_in()]
    for name in names:
        load(name)
    found = f"{len(names)} of Cortex can be loaded"
    own = [component.use for component in Config.shown(home).components]
    for name in own:
        # The code of a home by another author is checked before it is run.
        file = located(name, home.plugins)
        found += f"; {name} would be loaded from {file}"
        if loading:
            _load(name, home)
    if own and loading:
        found += "; each was"
    yield Check("components", "ok", found)


def _models(home: Home) -> Iterator[Check]:
    """Whether each configured model has a provider; none if no model is configured."""
    unasked = [row for row in models_of(home) if not row.component]
    for row in unasked:
        found = f"{row.name}: no component answers for the provider {row.provider!r}"
        yield Check("models", "fail", found, "`cortex model check` says what to do")


def _tool_servers(home: Home) -> Iterator[Check]:
    """Tool servers that offer no tools, as far as they were asked; none if all do."""
    with History.open(home) as history:
        found = [each for each in silent_servers_of(history) if each.asked]
    for each in found:
        todo = f"see {each.log}, and the table of {each.name} in {home.config_path}"
        if not each.log:
            todo = f"see the table of {each.name} in {home.config_path}"
        yield Check("tools", "warn", f"{each.name} offers none: {each.reason}", todo)


def _load(name: str, home: Home) -> None:
    home.require_trust()
    sys.dont_write_bytecode = True  # a bytecode file in the home would be untrusted
    sys.path.append(str(home.plugins))
    try:
        load(name)
    finally:
        sys.path.remove(str(home.plugins))


def _owner(home: Home) -> Check:
    if not is_held(home):
        return Check("runtime", "ok", "none runs on this home")
    held_by = lock_of(home).read_text(errors="replace").split()
    pid = held_by[0] if held_by else "?"
    if hub_on(home):
        return Check("runtime", "ok", f"process {pid} is its hub, which commands that record use")
    return Check(
        "runtime",
        "ok",
        f"process {pid} runs one and serves no other process; commands that record are refused "
        "until it ends",
    )


def _processes(home: Home) -> Iterator[Check]:
    """Rejected sources, and processes that lost something they need."""
    with History.open(home) as history:
        found = not_ready_of(history)
    if not found:
        yield Check("processes", "ok", "all that were compiled can run")
        return
    said = _first([f"{each.name} is {each.kind}: {each.problem}" for each in found])
    todo = list(dict.fromkeys(each.remedy for each in found if each.remedy))
    yield Check("processes", "warn", said, _first(todo))


def _plugins(home: Home) -> Iterator[Check]:
    """Plugins that should run and do not; `failures` reports those that run and fail."""
    with History.open(home) as history:
        there = plugins_of(history)
    ailing = ("crashed", "denied", "given up")
    found = {name: how for name, how in there.items() if how.state in ailing}
    if found:
        said = _first([f"{name} {how.state}: {how.reason}" for name, how in found.items()])
        todo = f"put that right, then `cortex plugin reload {next(iter(found))}`"
        yield Check("plugins", "warn", said, todo)


def _failures(home: Home) -> Iterator[Check]:
    """Components that could not handle an event since they started."""
    with History.open(home) as history:
        found = failing_of(history)
    if not found:
        yield Check("failures", "ok", "no component failed since the newest start")
        return
    said = _first([f"{e.component}: {times(e.failures)}, {e.reason}" for e in found])
    todo = "`cortex events query --topic component.failed --traceback` shows where it came from"
    yield Check("failures", "warn", said, todo)


def _first(found: Sequence[str]) -> str:
    """The first of *found*, and how many more there are."""
    more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return "; ".join((*found[:SHOWN], *more))


def _hub(home: Home) -> Iterator[Check]:
    """Whether the state of a running hub matches the disk; none if no hub is running."""
    astray = live_differences(home)
    if astray is None:
        return
    if astray:
        found = f"another program changed what it wrote: {_first(astray)}"
        yield Check(
            "hub", "fail", found, "`cortex down`: the hub writes back its own state when it ends"
        )
    else:
        yield Check("hub", "ok", "cursors, work, deadlines and receipts on disk are as it has them")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def lock_of(home: Home) -> Path:
    """The file that the process that records in *home* keeps locked."""
    return home.log_path.with_name("log.db.lock")


def is_held(home: Home) -> bool:
    """Whether a running process holds *home* for recording."""
    try:
        with lock_of(home).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def live_differences(home: Home) -> tuple[str, ...] | None:
    """Rows of the log's tables that differ from the hub's state; None if no hub is running.

    Raises:
        HubSilentError: The hub is running, but does not answer.
    """
    if not found(home):
        return None
    with connected(home, "state") as client:
        answer = client.ask(RuntimeGet(check=True), PATIENCE_S)
    return answer.astray if isinstance(answer, RuntimeAnswer) else ()
