"""Resolves knowledge topics for the linker."""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Protocol

from msgspec import Struct

from cortex.runtime import knowledge


class Resolved(Struct, gc=False, frozen=True, kw_only=True):
    """A topic that names exactly one piece of knowledge."""

    path: str
    digest: str  # of the content: new content gives the process a new digest
    root: str = "project"  # the scope it was found in: personal, team, org, domain, project


class Ambiguous(Struct, gc=False, frozen=True, kw_only=True):
    """A topic that two or more pieces of knowledge fit equally."""

    paths: tuple[str, ...]


class Topics(Protocol):
    """Whoever knows which knowledge topics there are."""

    def resolve(self, topic: str) -> Resolved | Ambiguous | None:
        """Return the knowledge under *topic*; None if there is nothing under that name."""
        ...

    def names(self) -> Iterable[str]:
        """Every topic that would resolve, for "did you mean"."""
        ...

    def problem(self, topic: str) -> str:
        """Why what is under *topic* cannot be used; "" where nothing is."""
        ...


class TopicTable:
    """Topics from a plain mapping of name to path, for tests and tools."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = dict(paths)

    def problem(self, topic: str) -> str:  # noqa: ARG002  # nothing is wrong with any here
        """Whatever is in the mapping can be used."""
        return ""

    def resolve(self, topic: str) -> Resolved | Ambiguous | None:
        """Return the path under *topic*; its digest is taken over the path."""
        path = self._paths.get(topic)
        if path is None:
            return None
        return Resolved(path=path, digest=sha256(path.encode()).hexdigest())

    def names(self) -> Iterable[str]:
        """Every topic of the table."""
        return self._paths


class KnowledgeTopics:
    """Looks topics up in an index; a file that cannot be used is no topic, and has a reason."""

    def __init__(self, index: knowledge.TopicIndex) -> None:
        self._index = index

    def resolve(self, topic: str) -> Resolved | Ambiguous | None:
        """The knowledge under *topic*; None if nothing usable is under that name."""
        try:
            found = self._index.resolve(topic)
        except knowledge.KnowledgeError:
            return None
        if found is None:
            return None
        if isinstance(found, knowledge.Ambiguous):
            return Ambiguous(paths=found.candidates)
        return Resolved(path=found.path, digest=found.digest, root=found.scope)

    def problem(self, topic: str) -> str:
        """Why what is under *topic* cannot be used; "" where nothing is."""
        try:
            self._index.resolve(topic)
        except (knowledge.KnowledgeTooLargeError, knowledge.KnowledgeUnreadableError) as error:
            return str(error)
        except knowledge.KnowledgeError:  # no name of a topic: there is nothing under it
            return ""
        return ""

    def names(self) -> Iterable[str]:
        """Every topic there is."""
        return self._index.topics()
