"""Selects events by topic and key, for subscriptions, grants and queries of the log.

It never decodes a body.
"""

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

from .requests import Pair


class Filter:
    """A compiled set of (topic, key) pairs: exact, ``family.*``, ``x.plugin.*`` or ``*``."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self._exact: dict[str, set[str] | None] = {}  # None: every key
        self._families: set[str] = set()
        self._deeper: tuple[str, ...] = ()  # prefixes of topics: "x.plugin."
        self._all = False
        # The only topics that can match; None if a pattern is present.
        self.topics: Collection[str] | None = self._exact
        for topic, key in pairs:
            if topic == "*":
                self._all = True
            elif topic.endswith(".*") and "." in topic[:-2]:
                self._deeper += (topic[:-1],)
            elif topic.endswith(".*"):
                self._families.add(topic[:-2])
            else:
                self._add(topic, key)
        if self._all or self._families or self._deeper:
            self.topics = None

    @classmethod
    def of(cls, patterns: Iterable[str]) -> "Filter":
        """A filter for topics with every key."""
        return cls((pattern, None) for pattern in patterns)

    def _add(self, topic: str, key: str | None) -> None:
        known = self._exact.get(topic, set())
        if key is None or known is None:
            self._exact[topic] = None
        else:
            self._exact[topic] = known | {key}

    def matches(self, topic: str, key: str | None = None) -> bool:
        """Whether an event of *topic* with *key* matches; a pattern must be covered entirely."""
        if self._all:
            return True
        keys = self._exact.get(topic, _MISSING)
        if keys is None:
            return True
        if keys is not _MISSING and key in keys:
            return True
        if self._families:
            family, dot, _ = topic.partition(".")
            if dot and family in self._families:
                return True
        return bool(self._deeper) and topic.startswith(self._deeper)

    def names(self, topic: str, key: str | None) -> bool:
        """Whether the filter names this very key of *topic*, as the responsible subscriber does."""
        return key is not None and key in (self._exact.get(topic) or ())


class TopicGlob:
    """Topic patterns as users type them, with ``*``, ``?`` and ``[...]`` anywhere: ``*.failed``.

    Subscriptions and grants use a `Filter`, which has fewer patterns and is indexed by topic.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = tuple(patterns)

    def matches(self, topic: str) -> bool:
        """Whether *topic* matches one of the patterns."""
        return any(fnmatchcase(topic, pattern) for pattern in self._patterns)

    def within(self) -> str:
        """The narrowest pattern of a `Filter` that covers all these: a topic, a family or ``*``."""
        if len(self._patterns) != 1:
            return "*"
        (pattern,) = self._patterns
        family, _, verb = pattern.partition(".")
        if not _has_sign(pattern):
            return pattern
        return f"{family}.*" if verb == "*" and not _has_sign(family) else "*"


class Index:
    """An index of filters by topic, so that not every filter has to be evaluated."""

    def __init__(self) -> None:
        self._topics: dict[str, dict[str, None]] = {}  # exact, or "beginning.", or "*": names

    def put(self, name: str, pairs: Iterable[Pair]) -> None:
        """Add a filter under *name*, which is new."""
        for topic, _ in pairs:
            self._topics.setdefault(_indexed(topic), {})[name] = None

    def drop(self, name: str, pairs: Iterable[Pair]) -> None:
        """Remove a filter that was added with these pairs."""
        for topic, _ in pairs:
            names = self._topics.get(_indexed(topic))
            if names is not None:
                names.pop(name, None)
                if not names:
                    del self._topics[_indexed(topic)]

    def near(self, topic: str) -> list[str]:
        """Sorted names of the filters that may match *topic* and of those that match everything."""
        at = [n for n, character in enumerate(topic) if character == "."]
        keys = ["*", topic, f"{topic}.", *(topic[: n + 1] for n in at)]
        return sorted({name for key in keys for name in self._topics.get(key, ())})


def _has_sign(pattern: str) -> bool:
    return any(sign in pattern for sign in "*?[")


def _indexed(topic: str) -> str:
    return topic[:-1] if topic.endswith(".*") else topic


_MISSING: set[str] = set()
