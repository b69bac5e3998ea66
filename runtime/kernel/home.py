"""A home: the folder that holds one log and everything that belongs to it."""

import os
import secrets
from pathlib import Path
from shlex import quote

import msgspec
import platformdirs

from cortex.runtime.access.trust import (
    UNFINISHED,
    note_made,
    reasons_against,
    require_trust,
    standing_at,
)
from cortex.runtime.log import create_private

from .errors import HomeError
from .home_damage import (
    FOLDERS,
    examine,
    exposed,
    is_of_something_else,
    refuse_exposed,
    refuse_unwritable,
)

FOLDER = ".cortex"  # looked for from the working folder upward, as git looks for .git
VARIABLE = "CORTEX_HOME"
HOME_FORMAT = 1  # of the layout of the folder; a new layout takes a new number
PRIVATE = 0o700  # what events hold is nobody else's business, and bus.sock has no other guard

IGNORE = """\
# What you write yourself belongs into version control, the machine's state does not.
*
!.gitignore
!config.toml
!knowledge/
!knowledge/**
!processes/
!processes/**
"""


class Home(msgspec.Struct, frozen=True):
    """Where things are; the folder itself need not be there yet."""

    path: Path
    stands_for: "Home | None" = None  # the user's own, for a scratch home of a dry run

    @classmethod
    def find(cls, start: Path | None = None) -> "Home":
        """The home that commands in the folder *start* (the working folder) belong to.

        `CORTEX_HOME` names it; else it is the nearest `.cortex/` in *start* or above, else the
        user's data folder, which need not be there yet.

        Raises:
            HomeError: The nearest `.cortex/` belongs to another user.
        """
        named = os.environ.get(VARIABLE)
        if named:
            return cls(Path(named).expanduser().absolute())
        start = (start or Path.cwd()).absolute()
        for folder in (start, *start.parents):
            path = folder / FOLDER
            if path.is_dir():
                _refuse_strangers(path)
                return cls(path)
        return cls.of_user()

    @classmethod
    def of_user(cls) -> "Home":
        """The home in the user's data folder, for work that belongs to no project."""
        return cls(Path(platformdirs.user_data_path("cortex", appauthor=False)))

    @classmethod
    def create(cls, path: Path) -> "Home":
        """A home at *path*: what is missing is made, what is there stays as it is.

        One in which nothing could act before is this user's own, and trusted. Any other stays as
        trusted as it was.

        Raises:
            HomeError: It cannot be made there, a newer version of Cortex made it, something else
                stands there or in the place of one of its files, or its log is lost.
            TrustError: That it is the user's own cannot be noted.
        """
        home = cls(path.expanduser().absolute())
        home.complete()
        return home

    def open(self) -> "Home":
        """This home, to act: made where it is missing and completed where something of it is.

        Raises:
            HomeError: As for `create`.
            UntrustedHomeError: This user has not trusted it.
        """
        self._refuse_other()
        self._refuse_newer()
        self.require_trust()
        self.complete()
        return self

    def require_trust(self) -> None:
        """Return if this home may act for this user; nothing of it may before.

        Raises:
            HomeError: Others may write its code or keys.
            UntrustedHomeError: This user has not trusted it as it is now.
            TrustError: Whether it is trusted cannot be told.
        """
        refuse_exposed(self.own.path)
        require_trust(self.own.path, users_own=self._is_users_own)

    @property
    def untrusted_because(self) -> tuple[str, ...]:
        """Why this home may not act; empty where it may.

        Raises:
            TrustError: Whether it is trusted cannot be told.
        """
        return reasons_against(self.own.path, users_own=self._is_users_own)

    def check(self) -> None:
        """Say what keeps this home from being read; nothing is made.

        Raises:
            HomeError: It is not there, is no home, or as for `create`.
        """
        self.require()
        self._refuse_newer()
        examine(self.path)

    def require(self) -> None:
        """Return if a home is there, whatever its state.

        Raises:
            HomeError: Nothing is there, or a file, or a folder of something else.
        """
        if not self.path.exists() or self._is_empty():
            raise HomeError(
                str(self.path), f"there is no home here: make one with `{self._making}`"
            )
        self._refuse_other()

    def exposed(self) -> tuple[str, ...]:
        """Which code and keys of it others may write, and what to do."""
        return tuple(f"{path} {problem}" for path, problem in exposed(self.path))

    @property
    def own(self) -> "Home":
        """The home that users know: what it holds is named by its place there."""
        return self.stands_for or self

    @property
    def config_path(self) -> Path:
        """What the user has set."""
        return self.path / "config.toml"

    @property
    def version_path(self) -> Path:
        """Holds the number of the layout."""
        return self.path / "version"

    @property
    def log_path(self) -> Path:
        """The truth."""
        return self.path / "log.db"

    @property
    def blobs(self) -> Path:
        """Large payloads by digest."""
        return self.path / "blobs"

    @property
    def projections_path(self) -> Path:
        """Read models; may be deleted at any time."""
        return self.path / "projections.db"

    @property
    def processes(self) -> Path:
        """The user's own processes."""
        return self.path / "processes"

    @property
    def knowledge(self) -> Path:
        """The user's own knowledge."""
        return self.path / "knowledge"

    @property
    def plugins(self) -> Path:
        """The user's own components; modules in here can be named in config.toml."""
        return self.path / "plugins"

    @property
    def workspace(self) -> Path:
        """The folder that a project's home stands in; for another home, itself."""
        return self.path.parent if self.path.name == FOLDER else self.path

    @staticmethod
    def is_named() -> bool:
        """Whether `CORTEX_HOME` names a home, so that `find` looks for no other."""
        return bool(os.environ.get(VARIABLE))

    @property
    def _is_users_own(self) -> bool:
        return self.own.path == Home.of_user().path

    @property
    def _making(self) -> str:
        """The command that makes a home for whoever named this one."""
        return (
            "cortex init" if self._is_users_own else f"cortex init --home {quote(str(self.path))}"
        )

    def complete(self) -> None:
        """Make what is missing of this home, whether it may act or not.

        Raises:
            HomeError: As for `create`.
        """
        self._refuse_other()
        self._refuse_newer()
        examine(self.path)
        refuse_unwritable(self.path)
        # One that stands for another, in a dry run, is no home of its own to be trusted.
        fresh = self.stands_for is None and standing_at(self.path).fresh
        try:
            self._make()
        except OSError as error:
            raise HomeError(
                str(self.path),
                f"a home cannot be made here: {error.strerror or error}; name a folder that you "
                f"may write with --home or {VARIABLE}",
            ) from error
        if fresh:
            note_made(self.path)

    def _make(self) -> None:
        # Here, not at the top: whoever only reads a home gets along without what can be set in it.
        from .config import Config

        self.path.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        if not self.version_path.exists():
            self.path.chmod(PRIVATE)  # mkdir's mode is cut by the umask, never widened by it
        for name in FOLDERS:
            (self.path / name).mkdir(mode=PRIVATE, exist_ok=True)
        for path, text in (
            (self.path / ".gitignore", IGNORE),
            (self.config_path, Config.template()),
            # Last: a home with this file has all the others.
            (self.version_path, f"{HOME_FORMAT}\n"),
        ):
            if not path.exists():
                _write_whole(path, text)
        create_private(self.path / "snapshots.db")  # SQLite would let everybody read it

    def _is_empty(self) -> bool:
        """Whether this is a folder without anything in it, which `create` would fill."""
        try:
            return self.path.is_dir() and not any(self.path.iterdir())
        except OSError:
            return False  # whoever looks at it says why it cannot be read

    def _refuse_other(self) -> None:
        """Refuse a place where a home would stand among what does not belong to it."""
        if self.path.exists() and not self.path.is_dir():
            raise HomeError(str(self.path), "is a file, not a home: name a folder")
        if self.path.name == FOLDER or self._is_users_own or not is_of_something_else(self.path):
            return
        inner = self.path / FOLDER
        within = quote(str(self.path))
        todo = f"name {inner}" if inner.is_dir() else f"make one in it with `cortex init {within}`"
        raise HomeError(str(self.path), f"is not a home, but a folder with other content: {todo}")

    def _refuse_newer(self) -> None:
        try:
            if self.version_path.exists() and not self.version_path.is_file():
                raise HomeError(str(self.version_path), "is not a plain file: remove it")
            text = self.version_path.read_text(encoding="utf-8", errors="replace").strip()
        except FileNotFoundError:
            return
        except OSError as error:
            raise HomeError(
                str(self.path),
                f"its file `version` cannot be read: {error.strerror or error}; check its owner "
                "and mode",
            ) from error
        if not (text.isascii() and text.isdigit()):
            raise HomeError(
                str(self.version_path),
                f"holds {text[:20]!r} where a number is expected: restore it from a backup, or "
                f"write {HOME_FORMAT} into it if this version of Cortex made the home",
            )
        if int(text) > HOME_FORMAT:
            raise HomeError(
                str(self.path),
                f"a newer Cortex made this home (layout {text[:20]}, this version knows "
                f"{HOME_FORMAT}): upgrade Cortex; nothing was touched",
            )


def _write_whole(path: Path, text: str) -> None:
    """Write a file that another process never sees half, whatever becomes of this one."""
    fresh = path.with_name(f"{UNFINISHED}{path.name}.{secrets.token_hex(4)}")
    try:
        fresh.write_text(text, encoding="utf-8")
        fresh.rename(path)
    finally:
        fresh.unlink(missing_ok=True)


def _refuse_strangers(path: Path) -> None:
    # A config.toml names components that are run: nobody else may lay one in our way, in /tmp say.
    owner = path.stat().st_uid
    if owner != os.geteuid():
        raise HomeError(
            str(path),
            f"this home belongs to another user (uid {owner}): if you trust it, name it with "
            f"--home or {VARIABLE}",
        )
