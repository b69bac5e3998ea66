"""Topic patterns of a grant: exact, ``family.*``, ``x.plugin.*`` or ``*``."""

import re
from collections.abc import Iterable

from .errors import GrantInvalidError

LONGEST = 200  # characters of a pattern

_PART = r"[A-Za-z_][A-Za-z0-9_-]*"
_PATTERN = re.compile(rf"\*|{_PART}(?:\.{_PART})*(?:\.\*)?")


class Patterns:
    """A compiled set of patterns; an empty one fits nothing."""

    __slots__ = ("_all", "_exact", "_prefixes")

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        every = frozenset(patterns)
        self._all = "*" in every
        self._exact = every
        self._prefixes = tuple(sorted(p[:-1] for p in every if p.endswith(".*")))

    def fits(self, topic: str) -> bool:
        """Whether *topic* is one of these; of a topic that is a pattern, whether all of it is."""
        return self._all or topic in self._exact or topic.startswith(self._prefixes)


def checked_patterns(what: str, patterns: Iterable[str]) -> tuple[str, ...]:
    """*patterns* without repeats, sorted.

    Raises:
        GrantInvalidError: One of them is no pattern; *what* names where it stood.
    """
    for pattern in patterns:
        if len(pattern) > LONGEST or not _PATTERN.fullmatch(pattern):
            raise GrantInvalidError(
                what,
                pattern[:LONGEST],
                "give a topic such as step.completed, a family such as 'step.*', or '*'",
            )
    return tuple(sorted(set(patterns)))
