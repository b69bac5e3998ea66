"""Topics and roots: what a knowledge topic is called, and the folders it is looked for in."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from .errors import TopicInvalidError

Scope: TypeAlias = Literal["project", "home", "personal", "team", "org", "domain", "library"]

# Narrowest first: this checkout, this home, this person, and so outwards to what is shipped.
NARROWEST_FIRST: Final[tuple[Scope, ...]] = (
    "project",
    "home",
    "personal",
    "team",
    "org",
    "domain",
    "library",
)
NAMED_SCOPES: Final[tuple[Scope, ...]] = ("personal", "team", "org", "domain", "project")
SUFFIXES: Final = (".md", ".txt", ".rst", ".json", ".yaml", ".csv", ".log")
FOLDER_PAGES: Final = ("index", "README")  # a folder with one of these is a topic itself

_NAME = re.compile(r"\w[\w-]*")


class Root(msgspec.Struct, frozen=True):
    """A folder of knowledge and how near it is to the work."""

    path: str
    scope: Scope


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """The one file that a topic stands for."""

    topic: str
    path: str
    root: str
    scope: Scope
    digest: str  # sha256 of the file's bytes
    size_bytes: int


class Ambiguous(msgspec.Struct, frozen=True):
    """Several files that fit a topic equally well."""

    topic: str
    candidates: tuple[str, ...]  # their paths, sorted

    def __str__(self) -> str:
        return f"{self.topic} fits {' and '.join(self.candidates)} equally: rename or remove one"


def parts_of(topic: str) -> tuple[str, ...]:
    """The names in *topic*.

    Raises:
        TopicInvalidError: *topic* is not names joined by dots.
    """
    parts = tuple(topic.split("."))
    if not all(map(_NAME.fullmatch, parts)):
        raise TopicInvalidError(topic)
    return parts


def is_name(text: str) -> bool:
    """Whether *text* can be one part of a topic."""
    return _NAME.fullmatch(text) is not None


def is_scope_folder(root: Root, name: str, above: tuple[str, ...]) -> bool:
    """Whether *name*, in the folder *above* below *root*, is a root of its own."""
    return root.scope == "home" and not above and name in NAMED_SCOPES


def roots_of_home(home: Path) -> tuple[Root, ...]:
    """The roots of one home: its `knowledge` folder and the scope folders in it.

    The scope folders need not exist; one that appears later is found.
    """
    knowledge = home / "knowledge"
    scoped = (Root(str(knowledge / scope), scope) for scope in NAMED_SCOPES)
    return (*scoped, Root(str(knowledge), "home"))


def narrowest_first(roots: Iterable[Root]) -> tuple[Root, ...]:
    """*roots* in the order they are searched; equally near ones stay as they were given."""
    return tuple(sorted(roots, key=lambda root: NARROWEST_FIRST.index(root.scope)))
