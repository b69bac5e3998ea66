"""A folder of source files: its list, its lines, and the file that a logged path means.

CortexError
└── CheckoutError               the folder cannot be used as a checkout
    ├── NotAFolderError         there is no such folder
    ├── GitMissingError         it is a git checkout, but git is not installed
    └── CheckoutUnreadableError the folder or git's index cannot be read
"""

import os
import re
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from msgspec import Struct

from cortex.bus import CortexError, with_fields
from cortex.runtime.retrieval import Walk

from ..programs import GitConfigurationError, run_git

MAX_FILES = 200_000
MAX_FILE_BYTES = 2_000_000  # what is longer is generated, or not text
GIT_TIMEOUT_S = 60.0
_SKIPPED = ".git .hg .svn .venv venv node_modules __pycache__ target dist build .tox .mypy_cache"
_SKIPPED_FOLDERS = frozenset(_SKIPPED.split())
_SOURCE_ROOTS = frozenset({"src", "lib", "python"})
_JVM_EXTENSIONS = (".java", ".kt", ".kts", ".scala", ".groovy", ".clj")
_SCHEME = re.compile(
    r"^(?:file://(?:localhost)?|webpack(?:-internal)?://[^/]*/|https?://[^/]+/)", re.IGNORECASE
)
_DRIVE = re.compile(r"^/?[A-Za-z]:(?=/)")
_LIBRARY = re.compile(
    r"(?:^|/)(?:node_modules|site-packages|dist-packages|\.cargo/registry|\.cargo/git|rustc/[0-9a-f]{8,}"
    r"|rustlib/src|pkg/mod|go/src/(?:runtime|testing|net|fmt)|libexec/src|usr/include|usr/lib\w*"
    r"|lib/python\d[\d.]*|lib/ruby|gems/[\w.-]+|vendor|third_party|bower_components|\.m2/repository"
    r"|\.gradle/caches|\.pub-cache|\.nuget/packages|sysdeps|csu|libsanitizer|googletest)/"
    r"|^node:|^internal/|^<|^usr/local/go/src/"
)
_INSTALLED = re.compile(r"^.*/(?:site-packages|dist-packages)/")
_TEST = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testing|t|e2e)/|(?:^|/)(?:test_|conftest\.)[^/]*$"
    r"|[._-](?:test|tests|spec)\.\w+$|(?:Test|Tests|TestCase|Spec|IT)\.\w+$"
)


class Match(Struct, frozen=True):
    """A file of the checkout that a logged path may mean."""

    path: str  # relative to the checkout
    parts: int  # names that agree, counted from the end
    whole: bool  # one of the two paths agrees in full
    library: bool  # the logged path lies in a dependency


class Checkout:
    """The files below a folder: what git tracks or does not ignore, or all of a plain folder.

    Nothing outside the folder is ever read: a symlink that leads out does not exist here.

    Raises:
        NotAFolderError: *root* is not a folder.
        GitMissingError: *root* is in a git checkout and there is no git command.
        CheckoutUnreadableError: the files cannot be listed.
    """

    def __init__(self, root: Path | str) -> None:
        if not Path(root).is_dir():
            raise NotAFolderError(str(root))
        self.root = Path(root).resolve()
        self.files: tuple[str, ...] = tuple(sorted(_list_files(self.root)))
        self._by_name: dict[str, list[str]] = {}
        for path in self.files:
            self._by_name.setdefault(path.rpartition("/")[2].casefold(), []).append(path)
        self._matches: dict[tuple[str, str], list[Match]] = {}
        self._folders: dict[str, tuple[str, bool]] = {}  # where each really is, and if inside
        self._lines: dict[str, list[str]] = {}

    def read_bytes(self, path: str) -> bytes:
        """Return what is in a file of the checkout; nothing for one too large, gone or outside."""
        try:
            with open(self._inside(path), "rb") as file:  # noqa: PTH123  # a Path takes longer
                return b"" if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES else file.read()
        except (OSError, ValueError):  # gone since it was listed, a folder, or a loop of links
            return b""

    def _inside(self, path: str) -> str:
        """Return where a file really is; raises ValueError for one outside the folder."""
        folder, _, name = path.rpartition("/")
        if folder not in self._folders:  # a link may stand in for any folder on the way
            place = (self.root / folder).resolve(strict=True)
            self._folders[folder] = str(place), self._holds(place)
        above, is_ours = self._folders[folder]
        real = f"{above}/{name}"  # no Path: a question may read every file
        mode = os.lstat(real).st_mode
        if stat.S_ISLNK(mode):
            target = Path(real).resolve(strict=True)
            real, mode, is_ours = str(target), target.stat().st_mode, self._holds(target)
        if not stat.S_ISREG(mode) or not is_ours or name == ".git":
            raise ValueError(path)
        return real

    def _holds(self, real: Path) -> bool:
        """Whether a real place is inside; a link may lead into git's own folder, which is not."""
        return real.is_relative_to(self.root) and ".git" not in real.relative_to(self.root).parts

    def read_lines(self, path: str) -> list[str]:
        """Return the lines of a text file; none for an empty or a binary one."""
        if path not in self._lines:
            data = self.read_bytes(path)
            text = "" if b"\0" in data[:8_000] else data.decode("utf-8", "replace")
            lines = re.split(r"\r\n|\n|\r", text)
            self._lines[path] = lines if lines[-1] else lines[:-1]  # a last line break opens none
        return self._lines[path]

    def find(self, logged: str, package: str = "") -> list[Match]:
        """Return the files that a logged path may mean, those with most names in common only.

        Args:
            logged: The path as the log has it.
            package: For a bare file name, the dotted package that the log gives with it.
        """
        key = (logged, package)
        if key not in self._matches:
            self._matches[key] = self._find(normalise(logged), package)
        return self._matches[key]

    def _find(self, wanted: str, package: str) -> list[Match]:
        if not wanted:
            return []
        library = is_library(wanted)
        installed = installed_name(wanted)
        if package and "/" not in wanted:
            return self._in_package(wanted, package)
        candidates = [_compare(wanted, path, library) for path in self._named(wanted)]
        if library:
            candidates = [
                Match(m.path, m.parts, True, False) if _is_own(m.path, installed) else m
                for m in candidates
                if _is_own(m.path, installed) or (m.whole and is_library(m.path))
            ]
        best = max(((m.whole, m.parts) for m in candidates), default=None)
        return [m for m in candidates if (m.whole, m.parts) == best]

    def _in_package(self, name: str, package: str) -> list[Match]:
        """Find a JVM source file; Kotlin may leave out the folders that the package shares."""
        folders = package.split(".")
        names = (
            [name]
            if name in self._names(name)
            else [name.rpartition(".")[0] + ext for ext in _JVM_EXTENSIONS]
        )
        found = [
            _compare("/".join([*folders, PurePosixPath(path).name]), path, library=False)
            for each in names
            for path in self._named(each)
        ]
        full = [m for m in found if m.parts > len(folders)]
        if full:
            return full
        declared = re.compile(
            rb"^\s*package\s+" + re.escape(package.encode()) + rb"\b", re.MULTILINE
        )
        return [
            Match(m.path, m.parts, True, False)
            for m in found
            if declared.search(self.read_bytes(m.path)[:20_000])
        ]

    def _named(self, path: str) -> list[str]:
        return self._by_name.get(path.rpartition("/")[2].casefold(), [])

    def _names(self, path: str) -> set[str]:
        return {PurePosixPath(each).name for each in self._named(path)}


def _compare(wanted: str, path: str, library: bool) -> Match:
    mine, theirs = path.casefold().split("/"), wanted.casefold().split("/")
    parts = 0
    while parts < min(len(mine), len(theirs)) and mine[-parts - 1] == theirs[-parts - 1]:
        parts += 1
    return Match(path, parts, parts in (len(mine), len(theirs)), library)


def _is_own(path: str, installed: str) -> bool:
    """Whether *installed* is a file of the project itself, seen where it was installed to."""
    first, _, rest = path.partition("/")
    return bool(installed) and (path == installed or (first in _SOURCE_ROOTS and rest == installed))


def _list_files(root: Path) -> list[str]:
    if any((folder / ".git").exists() for folder in (root, *root.parents)):
        listed = _ask_git(root)
        if listed:  # a folder that its repository ignores has none
            return listed[:MAX_FILES]
    return _limited(_walk(root))


def _ask_git(root: Path) -> list[str]:
    listing = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    try:
        done = run_git(str(root), *listing, timeout_s=GIT_TIMEOUT_S)
    except FileNotFoundError:
        raise GitMissingError(str(root)) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CheckoutUnreadableError(str(root), type(error).__name__) from error
    except GitConfigurationError as error:
        raise CheckoutUnreadableError(str(root), str(error)) from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["git failed"]
        raise CheckoutUnreadableError(str(root), said[0])
    return [name.decode("utf-8", "replace") for name in done.stdout.split(b"\0") if name]


def _walk(root: Path) -> Iterator[str]:
    def failed(path: str, above: tuple[str, ...], error: OSError) -> None:
        if not above:
            raise CheckoutUnreadableError(path, error.strerror or "unreadable") from error

    walk = Walk(
        str(root), enters=lambda entry, _: entry.name not in _SKIPPED_FOLDERS, failed=failed
    )
    for entry, above, is_folder in walk:
        if not is_folder:
            yield "/".join((*above, entry.name))


def _limited(paths: Iterator[str]) -> list[str]:
    return [path for path, _ in zip(paths, range(MAX_FILES), strict=False)]


class CheckoutError(CortexError):
    """The folder cannot be used as a checkout."""


@with_fields
class NotAFolderError(CheckoutError, NotADirectoryError):
    """There is no folder at the path that was given."""

    path: str

    says = "{path} is not a folder: give the folder that holds the checkout"


@with_fields
class GitMissingError(CheckoutError):
    """A git checkout was given on a machine without git."""

    path: str

    says = "{path} is a git checkout but there is no git command: install git"


@with_fields
class CheckoutUnreadableError(CheckoutError):
    """The folder exists but its files cannot be listed."""

    path: str
    reason: str

    says = "{path} cannot be listed ({reason}): check its owner and permissions"


def normalise(path: str) -> str:
    """Return *path* with forward slashes and without scheme, drive, query and leading dots.

    A leading slash is dropped too: what counts is the order of the names.
    """
    text = _SCHEME.sub("", path.strip().strip("\"'"))
    if text != path:
        text = unquote(text)
    text = text.replace("\\", "/").split("?", 1)[0].split("#", 1)[0]
    text = _DRIVE.sub("", text)
    parts: list[str] = []
    for part in text.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
    return "/".join(parts)


def is_library(path: str) -> bool:
    """Whether a normalised path lies in a dependency, a standard library or a run-time."""
    return _LIBRARY.search(path) is not None


def installed_name(path: str) -> str:
    """Return what follows `site-packages/`, or an empty string."""
    match = _INSTALLED.match("/" + path)
    return ("/" + path)[match.end() :] if match else ""


def is_test(path: str) -> bool:
    """Whether a path inside a checkout looks like a test's."""
    return _TEST.search(path) is not None
