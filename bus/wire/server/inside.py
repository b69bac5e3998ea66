"""A hub in this process, for a client with its own event classes."""

from typing import Any

import msgspec

from ...errors import AskTimeoutError
from ...event import Event, Query
from ...local import LocalHub
from ...port import Asked as Answering
from ...requests import Answer
from ...vocabulary import Vocabulary
from ..frames import Answered, event_of


class HubInside:
    """The hub itself, except that queries whose class only clients have travel as topic and bytes.

    It behaves as `RemoteHub` does for a remote client.
    """

    def __init__(self, hub: LocalHub, vocabulary: Vocabulary) -> None:
        self._hub, self._vocabulary = hub, vocabulary

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hub, name)

    def ask(self, query: Query, timeout_s: float) -> Event:
        """Ask *query* of the client or component that answers it; the log does not record it.

        Raises:
            UnansweredError: No client or component answers it.
            AskTimeoutError: No answer came within *timeout_s*.
        """
        topic = query.topic_name()
        if topic in self._hub.vocabulary:
            return self._hub.ask(query, timeout_s)
        answer = self._hub.relayed(topic, msgspec.msgpack.encode(query), timeout_s)
        return event_of(answer, self._vocabulary.classes())

    def answer(self, query: type[Event], asked: Answering) -> None:
        """Let *asked* answer every query of this class.

        Raises:
            SubscriptionError: Another client or component answers it already.
        """
        topic = query.topic_name()
        if topic in self._hub.vocabulary:
            self._hub.answer(query, asked)
            return

        def relayed(topic: str, body: bytes, timeout_s: float) -> Answer:
            try:
                event = asked(msgspec.msgpack.decode(body, type=query), timeout_s)  # type: ignore[arg-type]  # queries alone are answered
            except TimeoutError:
                raise AskTimeoutError(topic, timeout_s) from None
            return Answered(event.topic_name(), msgspec.msgpack.encode(event))

        self._hub.relay(topic, relayed)

    def unanswer(self, query: type[Event]) -> None:
        """Undo an `answer`."""
        topic = query.topic_name()
        if topic in self._hub.vocabulary:
            self._hub.unanswer(query)
        else:
            self._hub.unrelay(topic)
