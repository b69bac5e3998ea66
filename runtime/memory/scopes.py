"""Scopes: to what a memory, or a directive, belongs, and what sees it.

A scope is written as text, because grants and subscriptions match on it: "user",
"project:NAME", "process:NAME", "execution:ID". The narrower one comes first.
"""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, Self, TypeAlias
from unicodedata import normalize

from .errors import MemoryInvalidError

Level: TypeAlias = Literal["execution", "process", "project", "user"]
LEVELS: Final[tuple[Level, ...]] = ("execution", "process", "project", "user")  # narrowest first
LONGEST: Final = 200  # characters of a name
USER: Final = "user"


class Scope(NamedTuple):
    """A level, and what of that level; the user of a home has no name."""

    level: Level
    name: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """The scope that is written as *text*; of two ways to write an accent it has the shorter.

        Raises:
            MemoryInvalidError: It is none.
        """
        level, colon, name = text.partition(":")
        if level not in LEVELS or (level == USER) == bool(colon) or bool(colon) != bool(name):
            raise MemoryInvalidError(
                f"{text[:80]!r} is no scope: write user, project:NAME, process:NAME or execution:ID"
            )
        if len(name) > LONGEST or not name.isprintable() or name != name.strip():
            raise MemoryInvalidError(
                f"the name of the scope {text[:80]!r} is not printable, has spaces at an end, or "
                f"has more than {LONGEST} characters: choose another name"
            )
        return cls(level, composed(name))

    def __str__(self) -> str:
        return f"{self.level}:{self.name}" if self.name else self.level

    @property
    def precedence(self) -> int:
        """0 for the narrowest level, which counts most."""
        return LEVELS.index(self.level)


def composed(name: str) -> str:
    """*name* in Unicode's composed form (NFC): one folder has one name on every system."""
    return name if name.isascii() else normalize("NFC", name)


def check_scope(text: str) -> None:
    """Refuse what is no scope, and one that no reader would ask for.

    Raises:
        MemoryInvalidError: What is wrong, and what to do.
    """
    if str(Scope.parse(text)) != text:
        raise MemoryInvalidError(
            f"the scope {text[:80]!r} has accents in decomposed form, so it would not be found: "
            "give it in the composed form (NFC) of Unicode"
        )


def seen_by(execution: str = "", process: str = "", project: str = "") -> tuple[str, ...]:
    """The scopes that a step of an execution sees, narrowest first; the user's is always seen.

    Args:
        execution: Id of the execution; "" for none.
        process: Name of its process.
        project: Name of the folder that the work is about.
    """
    named: Sequence[tuple[Level, str]] = (
        ("execution", execution),
        ("process", process),
        ("project", composed(project)),
    )
    return (*(str(Scope(level, name)) for level, name in named if name), USER)
