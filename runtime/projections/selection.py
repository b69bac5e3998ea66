"""Which events of a log somebody wants to see."""

from fnmatch import fnmatchcase

import msgspec

from cortex.bus import Recorded


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """All that is given must fit; nothing given fits every event."""

    topics: tuple[str, ...] = ()  # exact or with *: "step.completed", "step.*", "*.failed"
    since_ns: int | None = None  # included
    until_ns: int | None = None  # excluded
    execution: str = ""
    source: str = ""
    key: str = ""

    def fits(self, record: Recorded) -> bool:
        """Whether *record* is to be seen."""
        return (
            (not self.topics or any(fnmatchcase(record.topic, t) for t in self.topics))
            and (self.since_ns is None or record.time_ns >= self.since_ns)
            and (self.until_ns is None or record.time_ns < self.until_ns)
            and (not self.execution or record.correlation == self.execution)
            and (not self.source or record.source == self.source)
            and (not self.key or record.key == self.key)
        )

    def index_topic(self) -> str:
        """The narrowest topic, family or * that the query index can be asked for."""
        if len(self.topics) != 1:
            return "*"
        (topic,) = self.topics
        family, _, verb = topic.partition(".")
        if not _has_wildcard(topic):
            return topic
        return f"{family}.*" if verb == "*" and not _has_wildcard(family) else "*"


def _has_wildcard(text: str) -> bool:
    return any(sign in text for sign in "*?[")
