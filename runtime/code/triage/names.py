"""Whether two names are of one test: tools spell them shorter and longer."""

# ruff: noqa: RUF001  # the very marks that tools print

import re
from collections.abc import Iterator
from typing import Generic, TypeVar

_DURATION = re.compile(r"\s*[(\[]?(?:took )?\d[\d.,]* ?(?:m?s|sec|seconds|min)[)\]]?$")
_LINE = re.compile(r":\d+(?:->.*)?$")
_CALLED_IN = re.compile(r"^(?P<test>[^\s()]+) ?\((?P<where>[\w.$]+)\)")
_SEPARATOR = re.compile(r"[.:#/\\\s>›»$|]+")
_SUFFIX = re.compile(r"\.(?:py|[cm]?[jt]sx?|rb|php|go|rs|java|kt)(?=::|:| |$)")
_MAX_CHARS = 800  # of a name
_MAX_PARTS = 24  # the innermost tell tests apart

Identity = tuple[str, ...]
T = TypeVar("T")


def identity(title: str) -> Identity:
    """Return the parts of a test's name, outermost first, the same however it is spelled."""
    title = title[-_MAX_CHARS:]
    name = _LINE.sub("", _DURATION.sub("", title).rstrip(":"))
    called = _CALLED_IN.match(name)
    if called:
        where, test = called["where"], called["test"]
        name = where if where.endswith("." + test) else f"{where}.{test}"
    return tuple(part for part in _SEPARATOR.split(_SUFFIX.sub("", name)) if part)[-_MAX_PARTS:]


class Names(Generic[T]):
    """What was filed under tests' names, each under the fullest that was heard.

    Two names are of one test where one ends as the other is. Both ways are looked up, not
    searched: thousands of classes may have a test of the same name.
    """

    def __init__(self) -> None:
        self._filed: list[T] = []
        self._full: dict[Identity, int] = {}  # the fullest name of each
        self._endings: dict[Identity, int] = {}  # its endings, itself included; the first has them

    def file(self, name: Identity, what: T) -> T | None:
        """Return what is filed under *name* already; file *what* where nothing is."""
        at = self._same(name)
        if at is None:
            at = len(self._filed)
            self._filed.append(what)
            self._remember(name, at)
            return None
        if name not in self._endings:
            for ending in _endings(name):
                if self._full.get(ending) == at:
                    del self._full[ending]
            self._remember(name, at)
        return self._filed[at]

    def _same(self, name: Identity) -> int | None:
        found = [self._endings[name]] if name in self._endings else []
        found += [self._full[ending] for ending in _endings(name) if ending in self._full]
        return min(found, default=None)

    def _remember(self, name: Identity, at: int) -> None:
        self._full.setdefault(name, at)
        for ending in (*_endings(name), name):
            self._endings.setdefault(ending, at)


def _endings(name: Identity) -> Iterator[Identity]:
    """The shorter names that *name* ends with."""
    return (name[start:] for start in range(1, len(name)))
