"""A home: the folder that holds one log and everything that belongs to it."""

import os
import secrets
from pathlib import Path
from shlex import quote

import msgspec
import platformdirs

from cortex.runtime.access.trust import (
    UNFINISHED,
    assess_at,
    note_made,
    reasons_against,
    require_trust,
)
from cortex.runtime.log import create_private

from ..errors import HomeError
from .home_damage import (
    FOLDERS,
    examine,
    exposed,
    is_of_something_else,
    refuse_exposed,
    refuse_unwritable,
)

FOLDER = ".cortex"  # searched from the working folder upward, as git does for .git
VARIABLE = "CORTEX_HOME"
HOME_FORMAT = 1  # of the layout of the folder; a new layout takes a new number
PRIVATE = 0o700  # events are private, and bus.sock has no other protection

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
    """The paths of a home; the folder itself may not exist yet."""

    path: Path
    stands_for: "Home | None" = None  # the user's home, if this is the scratch home of a dry run
    as_of: int | None = (
        None  # the position at which its log ends, if an earlier state is to be read
    )

    @classmethod
    def find(cls, start: Path | None = None) -> "Home":
        """The home for commands in the folder *start* (the working folder).

        `CORTEX_HOME` names it; else it is the nearest `.cortex/` in *start* or above, else the
        user's data folder, which may not exist yet.

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
        """A home at *path*: creates what is missing, and changes nothing that exists.

        A home that had nothing executable before is this user's own, and trusted. Any other stays
        as trusted as it was.

        Raises:
            HomeError: It cannot be made there, a newer version of Cortex made it, another file
                is there or in the place of one of its files, or its log is lost.
            TrustError: The trust in it cannot be recorded.
        """
        home = cls(path.expanduser().absolute())
        home.complete()
        return home

    def at(self, position: int) -> "Home":
        """This home as it was when its log had *position* events, for reading."""
        return msgspec.structs.replace(self, as_of=position)

    def open(self) -> "Home":
        """This home, to act on; creates what is missing of it.

        Raises:
            HomeError: As for `create`.
            UntrustedHomeError: This user has not trusted it.
        """
        if self.as_of is not None:
            raise HomeError(
                str(self.path), f"is read as of position {self.as_of}: nothing acts on it"
            )
        self._refuse_other()
        self._refuse_newer()
        self.require_trust()
        self.complete()
        return self

    def require_trust(self) -> None:
        """Return only if this home may act for this user; call it before using its contents.

        Raises:
            HomeError: Other users may write its code or keys.
            UntrustedHomeError: This user has not trusted it as it is now.
            TrustError: Its trust cannot be determined.
        """
        refuse_exposed(self.own.path)
        require_trust(self.own.path, users_own=self._is_users_own)

    @property
    def untrusted_because(self) -> tuple[str, ...]:
        """Why this home may not act; empty if it may.

        Raises:
            TrustError: Its trust cannot be determined.
        """
        return reasons_against(self.own.path, users_own=self._is_users_own)

    def check(self) -> None:
        """Raise what keeps this home from being read; creates nothing.

        Raises:
            HomeError: It does not exist, is not a home, or as for `create`.
        """
        self.require()
        self._refuse_newer()
        examine(self.path)

    def require(self) -> None:
        """Return only if a home is there, whatever its state.

        Raises:
            HomeError: Nothing is there, or a file, or another folder.
        """
        if not self.path.exists() or self._is_empty():
            raise HomeError(
                str(self.path), f"there is no home here: make one with `{self._making}`"
            )
        self._refuse_other()

    def exposed(self) -> tuple[str, ...]:
        """Its code and keys that other users may write, and what to do."""
        return tuple(f"{path} {problem}" for path, problem in exposed(self.path))

    @property
    def own(self) -> "Home":
        """The home that users see: paths are shown relative to it."""
        return self.stands_for or self

    @property
    def config_path(self) -> Path:
        """The user's settings."""
        return self.path / "config.toml"

    @property
    def version_path(self) -> Path:
        """The file with the number of the layout."""
        return self.path / "version"

    @property
    def log_path(self) -> Path:
        """The log, from which everything else can be derived."""
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
    def cache_path(self) -> Path:
        """Artefacts that can be made again; may be deleted at any time, as can `cold`."""
        return self.path / "cache.db"

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
        """The folder that contains a project's home; for another home, the home itself."""
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
        """The command that makes this home."""
        return (
            "cortex init" if self._is_users_own else f"cortex init --home {quote(str(self.path))}"
        )

    def complete(self) -> None:
        """Create what is missing of this home, whether it may act or not.

        Raises:
            HomeError: As for `create`.
        """
        self._refuse_other()
        self._refuse_newer()
        examine(self.path)
        refuse_unwritable(self.path)
        # The scratch home of a dry run needs no trust of its own.
        fresh = self.stands_for is None and assess_at(self.path).fresh
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
        # Here, not at the top: reading a home does not need the settings.
        from .config import Config

        self.path.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        if not self.version_path.exists():
            self.path.chmod(PRIVATE)  # the umask may only reduce mkdir's mode
        for name in FOLDERS:
            (self.path / name).mkdir(mode=PRIVATE, exist_ok=True)
        for path, text in (
            (self.path / ".gitignore", IGNORE),
            (self.config_path, Config.template()),
            # Last: a home with this file is complete.
            (self.version_path, f"{HOME_FORMAT}\n"),
        ):
            if not path.exists():
                _write_whole(path, text)
        create_private(self.path / "snapshots.db")  # SQLite would create it readable for everybody

    def _is_empty(self) -> bool:
        """Whether this is an empty folder, which `create` would fill."""
        try:
            return self.path.is_dir() and not any(self.path.iterdir())
        except OSError:
            return False  # the next access reports why it cannot be read

    def _refuse_other(self) -> None:
        """Refuse a folder with content that does not belong to a home."""
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
    """Write a file atomically, so that another process never sees a part of it."""
    fresh = path.with_name(f"{UNFINISHED}{path.name}.{secrets.token_hex(4)}")
    try:
        fresh.write_text(text, encoding="utf-8")
        fresh.rename(path)
    finally:
        fresh.unlink(missing_ok=True)


def _refuse_strangers(path: Path) -> None:
    # A config.toml names components that are run: another user must not plant one, as in /tmp.
    owner = path.stat().st_uid
    if owner != os.geteuid():
        raise HomeError(
            str(path),
            f"this home belongs to another user (uid {owner}): if you trust it, name it with "
            f"--home or {VARIABLE}",
        )
