"""The topic index of the knowledge room in the form in which the compiler asks."""

from collections.abc import Iterable

from cortex.runtime import knowledge

from .topics import Ambiguous, Resolved


class KnowledgeTopics:
    """Looks topics up in an index; a file that cannot be used is no topic, and has a reason."""

    def __init__(self, index: knowledge.TopicIndex) -> None:
        self._index = index

    def resolve(self, topic: str) -> Resolved | Ambiguous | None:
        """What *topic* stands for; None where nothing usable is under that name."""
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
