"""Which events a subscription or a grant is about: by topic and key, so that no body is decoded."""

from collections.abc import Collection, Iterable

from .requests import Pair


class Filter:
    """A compiled set of (topic, key) pairs: exact, ``family.*``, ``x.plugin.*`` or ``*``."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self._exact: dict[str, set[str] | None] = {}  # None: every key
        self._families: set[str] = set()
        self._deeper: tuple[str, ...] = ()  # beginnings of topics: "x.plugin."
        self._all = False
        # No event of another topic is seen; None where that is not known by the topic alone.
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
        """One of topics with every key."""
        return cls((pattern, None) for pattern in patterns)

    def _add(self, topic: str, key: str | None) -> None:
        known = self._exact.get(topic, set())
        if key is None or known is None:
            self._exact[topic] = None
        else:
            self._exact[topic] = known | {key}

    def matches(self, topic: str, key: str | None = None) -> bool:
        """Whether an event of *topic* with *key* fits; of a pattern, whether all of it does."""
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
        """Whether this very key of *topic* is asked for, as by whoever answers for it."""
        return key is not None and key in (self._exact.get(topic) or ())


class Index:
    """Which filters may match a topic, found by the topic and not by asking each of them."""

    def __init__(self) -> None:
        self._topics: dict[str, dict[str, None]] = {}  # exact, or "beginning.", or "*": names

    def put(self, name: str, pairs: Iterable[Pair]) -> None:
        """Take in a filter under *name*, which was not there."""
        for topic, _ in pairs:
            self._topics.setdefault(_indexed(topic), {})[name] = None

    def drop(self, name: str, pairs: Iterable[Pair]) -> None:
        """Take out a filter that was put with these pairs."""
        for topic, _ in pairs:
            names = self._topics.get(_indexed(topic))
            if names is not None:
                names.pop(name, None)
                if not names:
                    del self._topics[_indexed(topic)]

    def near(self, topic: str) -> list[str]:
        """Names of filters that may match *topic* and of all that do, sorted."""
        at = [n for n, character in enumerate(topic) if character == "."]
        keys = ["*", topic, f"{topic}.", *(topic[: n + 1] for n in at)]
        return sorted({name for key in keys for name in self._topics.get(key, ())})


def _indexed(topic: str) -> str:
    return topic[:-1] if topic.endswith(".*") else topic


_MISSING: set[str] = set()
