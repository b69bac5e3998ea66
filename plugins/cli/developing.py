"""`cortex plugin dev`: runs a plugin during development, and reloads it when its code changes."""

import shlex
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import click

from cortex.bus import CortexError, steady_s
from cortex.bus.events import PluginLoad
from cortex.runtime.cli.extensions import OK, Screen, at_any_home
from cortex.runtime.cli.terminal import open_session
from cortex.runtime.kernel import Home
from cortex.runtime.knowledge import Root, shown
from cortex.runtime.serving import PluginFared
from cortex.runtime.sessions import Session, Terminated

from ..errors import (
    NotConfirmedError,
    PluginRefusedError,
    PluginUnknownError,
    UnconfinedError,
)
from ..host import path_of
from ..installed import GROUP, Installed, code_of, installed_as
from .consent import again, confirm, document_of
from .documents import LoadedDocument
from .loading import fared, load_of, looked_at, settled

LOOK_S = 0.2  # between two looks at what it printed
LOOKS = 10  # after which the files are looked at in any case
RESTLESS = 25  # checks after which constantly changing files are used as they are
MADE = ("/__pycache__/", ".egg-info/", ".pyc")  # by Python, from what a person wrote
ELSEWHERE = "the plugin {name} is installed from elsewhere: pip install -e {folder}"

Files: TypeAlias = frozenset[tuple[str, int, int]]  # path, when it was written, and its size


@click.command("dev")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--plugin", "name", default="", help="The plugin, if the package has several.")
@click.option("-y", "--yes", is_flag=True, help="Grant what it requests, without a question.")
@click.option("--unconfined", is_flag=True, help="Run its code without a sandbox.")
@at_any_home
def dev(folder: Path, name: str, yes: bool, unconfined: bool, home: Home, screen: Screen) -> int:
    """Run a package's plugin while you write it.

    It runs the plugin of the package in FOLDER, and reloads it when a file there changes. It shows
    the plugin's output, with tracebacks. If a version cannot run, it says so, and the version
    before continues. Ctrl-C ends the command; the plugin stays loaded. With --json, each line is a
    document.

    \b
    pip install -e cortex-ticker && cortex plugin dev cortex-ticker
    """  # noqa: D301  # backslash-b keeps lines apart, for click
    if home.path.exists():
        home.require_trust()  # before anything of the package is looked at
    found = _installed_from(folder, name or _named_in(folder))
    with open_session(home, screen) as session:
        developing = _Developing(session, found, screen, yes=yes, unconfined=unconfined)
        try:
            developing.run(folder)
        except (KeyboardInterrupt, Terminated):
            screen.note(f"plugin {found.name} stays loaded: `cortex plugin unload {found.name}`")
    return OK


class _Developing:
    """One plugin under development."""

    def __init__(
        self, session: Session, found: Installed, screen: Screen, *, yes: bool, unconfined: bool
    ) -> None:
        self._session, self._found, self._screen = session, found, screen
        self._yes, self._unconfined = yes, unconfined
        self._printed = _Tail(path_of(session.home.path, found.name))
        self._changed = threading.Event()
        self._loaded = False  # at least once

    def run(self, folder: Path) -> None:
        """Load it, and again whenever something changes, until somebody ends that."""
        # Here: it takes its time to load, and one command of many watches anything.
        from cortex.actors.managers import FolderWatch

        root = Root(str(folder.resolve()), "project")
        watch = FolderWatch("cortex-plugin-dev", (root,), self._changed.set)
        seen = _written(root)
        watch.start()
        try:
            self._load()
            looks = 0
            while True:
                self._show_printed()
                self._session.check()
                looks += 1
                if not self._changed.wait(LOOK_S) and looks % LOOKS:
                    continue  # from time to time also without a report of the system
                self._changed.clear()
                if _written(root) != seen:
                    seen = at_rest(lambda: _written(root), self._pause)
                    self._load()
        finally:
            watch.end()

    def _pause(self) -> None:
        time.sleep(LOOK_S)
        self._session.check()

    def _load(self) -> None:
        name, began_s = self._found.name, steady_s()
        try:
            loaded = settled(self._session, self._request())
        except CortexError as error:
            self._show_printed()
            if not self._loaded and isinstance(error, NotConfirmedError | UnconfinedError):
                raise  # no change of its code will help
            self._screen.record(LoadedDocument(name, "refused", reason=str(error)))
            self._screen.note(str(error), "red")
            return
        self._loaded = True
        self._show_printed()
        names: tuple[str, ...] = getattr(loaded, "components", ())
        granted: tuple[str, ...] = getattr(loaded, "granted", ())
        self._screen.record(LoadedDocument(name, "loaded", granted, names))
        took_s = steady_s() - began_s
        version = getattr(loaded, "version", "")
        self._screen.line(f"{name} {version} is at work after {took_s:.1f} s", "bold green")

    def _request(self) -> PluginLoad:
        home, screen, found = self._session.home, self._screen, self._found
        how = fared(self._session.history, found.name)
        if how.confirmed is not None:
            at_work = how.load is not None
            return again(home, screen, how.confirmed, at_work=at_work, yes=self._yes)
        described = looked_at(found, home, unconfined=self._unconfined, logged=True)
        document = document_of(found, described, PluginFared())
        if document.problems:
            raise PluginRefusedError(
                f"plugin {found.name} cannot be loaded: {document.problems[0]}"
            )
        granted = described.manifest.parts()
        if not self._yes:
            confirm(screen, document, granted, unconfined=self._unconfined)
        return load_of(described, granted, found, beside=False, unconfined=self._unconfined)

    def _show_printed(self) -> None:
        for line in self._printed.lines():
            self._screen.note(line)


def at_rest(look: Callable[[], Files], pause: Callable[[], object]) -> Files:
    """What *look* sees once two looks with a *pause* between them see the same.

    An editor or a checkout writes in several steps, and half of a file is no version of it.
    """
    seen = look()
    for _ in range(RESTLESS):
        pause()
        before, seen = seen, look()
        if seen == before:
            break
    return seen


class _Tail:
    """Follows a file from its present end, also when a new file replaces it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = path.stat().st_size if path.exists() else 0

    def lines(self) -> Iterator[str]:
        """The whole lines that came since the last call."""
        if not self._path.exists():
            return
        if self._path.stat().st_size < self._at:
            self._at = 0
        with self._path.open("rb") as file:
            file.seek(self._at)
            data = file.read()
        whole, end, _ = data.rpartition(b"\n")
        self._at += len(whole) + len(end)
        yield from whole.decode(errors="replace").splitlines()


def _named_in(folder: Path) -> str:
    """The name of the one plugin that the package in *folder* has."""
    path = folder / "pyproject.toml"
    try:
        project = tomllib.loads(path.read_text(encoding="utf-8")).get("project", {})
        names = sorted(project.get("entry-points", {}).get(GROUP, {}))
    except FileNotFoundError:
        raise click.UsageError(
            f"{folder}: there is no package here, for it has no pyproject.toml: "
            "`cortex plugin new NAME` writes one"
        ) from None
    except (OSError, UnicodeDecodeError, AttributeError, tomllib.TOMLDecodeError) as error:
        raise click.UsageError(f"{path} cannot be read: {error}") from None
    if len(names) == 1:
        return str(names[0])
    there = f"the plugins {', '.join(names)}: say --plugin NAME" if names else "no plugin"
    raise click.UsageError(f'{path} has {there} under [project.entry-points."{GROUP}"]')


def _installed_from(folder: Path, name: str) -> Installed:
    """The plugin *name*, which is installed so that its code is that in *folder*.

    Raises:
        PluginRefusedError: It is not, with the command that does it.
    """
    here, quoted = folder.resolve(), shlex.quote(str(folder))
    try:
        found = installed_as(name)
    except PluginUnknownError:
        raise PluginRefusedError(
            f"the plugin {name} is not installed: pip install -e {quoted}"
        ) from None
    places = code_of(iter((found.where.partition(":")[0],)), "")
    if not any(place.resolve().is_relative_to(here) for place in places):
        raise PluginRefusedError(ELSEWHERE.format(name=name, folder=quoted))
    return found


def _written(root: Root) -> Files:
    """The files that a person wrote, with when and how much."""
    files = shown((root,)).files
    return frozenset(each for each in files if not any(made in each[0] for made in MADE))
