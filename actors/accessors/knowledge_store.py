"""The accessor of the knowledge store: finds passages for steps, and answers queries."""

from collections.abc import Iterator

import msgspec

from cortex.bus import Event
from cortex.bus.events import (
    KnowledgeAnswer,
    KnowledgeFind,
    KnowledgeIndex,
    KnowledgeIndexed,
    KnowledgeRequest,
    KnowledgeRequested,
)
from cortex.runtime.kernel import Component, Config, Delivery, Home, on
from cortex.runtime.log import Blobs
from cortex.runtime.retrieval import MOST_PASSAGES, TOKENS, RetrievalError

from ..opened_knowledge import LONGEST_ASKED, OpenedKnowledge, told

EMPTY = "an empty text finds nothing: say what to find"


class KnowledgeStoreAccessor(Component):
    """Keeps the store up to date with the files, and searches it.

    It runs in its own process, because it computes; the process starts with the first query.
    """

    cpu = True

    def __init__(
        self, blobs: Blobs, config: Config | None = None, home: Home | None = None
    ) -> None:
        self._blobs = blobs
        self._knowledge = OpenedKnowledge(home, config, blobs.put)

    def on_stop(self) -> None:
        """Close the store."""
        self._knowledge.close()

    @on(KnowledgeRequest)
    def request(self, event: KnowledgeRequest, delivery: Delivery) -> Iterator[Event]:
        """The passages for a step; if the store cannot be used, the answer says so."""
        if event.found:
            yield _requested(event, found=event.found)
            return
        try:
            indexed, found = self._knowledge.find(
                event.texts,
                event.limit,
                event.under,
                TOKENS if event.tokens is None else event.tokens,
            )
        except RetrievalError as error:
            yield _requested(event, problem=str(error))
            return
        yield from told(indexed)
        yield _requested(
            event,
            topics=tuple(dict.fromkeys(one.topic or one.path for one in found.passages)),
            found=self._blobs.put(msgspec.json.encode(found)),
            notes=found.notes_and_caution(),
        )

    @on(KnowledgeIndex)
    def index(self, event: KnowledgeIndex, delivery: Delivery) -> Iterator[Event]:
        """Update the store from the files; answers even if nothing had changed.

        If the store cannot be used, there is no answer: the request is parked with the reason.
        """
        yield from list(told(self._knowledge.update())) or [
            KnowledgeIndexed(blob="", files=(), chunks=0)
        ]

    @on(KnowledgeFind)
    def find(self, event: KnowledgeFind, delivery: Delivery) -> Iterator[Event]:
        """The passages for a query."""
        text, limit = event.text.strip(), min(max(event.limit, 1), MOST_PASSAGES)
        if not text or len(text) > LONGEST_ASKED:
            yield KnowledgeAnswer(passages=(), problem=_too_long(text) if text else EMPTY)
            return
        try:
            _, found = self._knowledge.find((text,), limit, event.under, None)
        except RetrievalError as error:
            yield KnowledgeAnswer(passages=(), problem=str(error))
            return
        passages = tuple(msgspec.to_builtins(passage) for passage in found.passages)
        yield KnowledgeAnswer(
            passages=passages,
            notes=found.notes,
            certainty=found.certainty,
            caution=found.caution,
        )


def _too_long(text: str) -> str:
    return (
        f"the text has {len(text):,} characters, a question may have {LONGEST_ASKED:,}: "
        "ask in a few words"
    )


def _requested(
    event: KnowledgeRequest,
    *,
    topics: tuple[str, ...] = (),
    found: str = "",
    notes: tuple[str, ...] = (),
    problem: str = "",
) -> KnowledgeRequested:
    return KnowledgeRequested(
        execution_id=event.execution_id,
        step_id=event.step_id,
        attempt=event.attempt,
        turn=0,
        call_id="",
        query="\n".join(event.texts),
        topics=topics,
        found=found,
        notes=notes,
        problem=problem,
    )
