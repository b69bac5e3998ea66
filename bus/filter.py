"""Which events a subscription sees: by topic and key alone, so that no body is decoded for it."""

from collections.abc import Iterable

from .requests import Pair


class Filter:
    """A compiled set of (topic, key) pairs: exact, ``family.*``, ``x.plugin.*`` or ``*``."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self._exact: dict[str, set[str] | None] = {}  # None: every key
        self._families: set[str] = set()
        self._deeper: tuple[str, ...] = ()  # beginnings of topics: "x.plugin."
        self._all = False
        for topic, key in pairs:
            if topic == "*":
                self._all = True
            elif topic.endswith(".*") and "." in topic[:-2]:
                self._deeper += (topic[:-1],)
            elif topic.endswith(".*"):
                self._families.add(topic[:-2])
            else:
                self._add(topic, key)

    def _add(self, topic: str, key: str | None) -> None:
        known = self._exact.get(topic, set())
        if key is None or known is None:
            self._exact[topic] = None
        else:
            self._exact[topic] = known | {key}

    def matches(self, topic: str, key: str | None) -> bool:
        """Whether an event of *topic* with *key* is to be seen."""
        if self._all:
            return True
        keys = self._exact.get(topic, _MISSING)
        if keys is None:
            return True
        if keys is not _MISSING and key in keys:
            return True
        if self._families and topic.partition(".")[0] in self._families:
            return True
        return bool(self._deeper) and topic.startswith(self._deeper)

    def names(self, topic: str, key: str | None) -> bool:
        """Whether this very key of *topic* is asked for, as by whoever answers for it."""
        return key is not None and key in (self._exact.get(topic) or ())


_MISSING: set[str] = set()
