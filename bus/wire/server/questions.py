"""Queries between clients: from the asker's connection to the answerer's, and back.

The asker's thread writes the query into a connection of the answerer that waits in `Listen`. The
thread that replies writes the answer into the asker's connection. No thread waits for another.
"""

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterable

import msgspec

from ...clock import lasting
from ...errors import AskTimeoutError, CortexError, SubscriptionError, UnansweredError
from ...event import Event, Query
from ...local import LocalHub
from ...requests import Answer, Refused
from ..frames import Answered, Asked, Reply, event_of

WAITING = 256  # questions that may wait for one answerer; the hub refuses more

Give = Callable[[Answer], bool]  # delivers an answer; False if it is no longer wanted


class Question(msgspec.Struct, frozen=True):
    """One open question."""

    asked: Asked
    give: Give
    answerer: "Answerer"


class Answerer:
    """One client program that answers queries."""

    def __init__(self) -> None:
        self.listening: deque[Give] = deque()
        self.waiting: deque[Question] = deque()
        self.topics: set[str] = set()
        self.gone = False  # its last connection has ended, and another client may answer its topics


class Questions:
    """Which client answers which topics, and the open questions."""

    def __init__(self, hub: LocalHub) -> None:
        self._hub = hub
        self._lock = threading.Lock()
        self._registering = threading.Lock()  # a client may register from two threads
        self._serving: dict[str, Answerer] = {}
        self._open: dict[int, Question] = {}
        self._numbers = itertools.count(1)

    def serve(self, answerer: Answerer, topics: Iterable[str]) -> None:
        """Let *answerer* answer *topics*.

        Raises:
            SubscriptionError: Another client answers one of them already.
        """
        with self._registering:
            for topic in topics:
                other = self._serving.get(topic)
                if other is not None and other.gone:
                    other.topics.discard(topic)
                    answerer.topics.add(topic)
                    self._serving[topic] = answerer
                elif other not in (None, answerer):
                    raise SubscriptionError(topic, "is answered by another client already")
                elif other is None:
                    cls = self._hub.vocabulary.classes().get(topic)
                    if cls is not None:
                        self._hub.answer(cls, self._from_inside)
                    else:
                        self._hub.relay(topic, self._from_elsewhere)
                    self._serving[topic] = answerer
                    answerer.topics.add(topic)

    def unserve(self, answerer: Answerer, topics: Iterable[str]) -> None:
        """Undo a `serve`."""
        with self._registering:
            for topic in set(topics) & answerer.topics:
                answerer.topics.discard(topic)
                cls = self._hub.vocabulary.classes().get(topic)
                if cls is not None:
                    self._hub.unanswer(cls)
                else:
                    self._hub.unrelay(topic)
                self._serving.pop(topic, None)

    def leave(self, answerer: Answerer) -> None:
        """The client is gone: report that to those who asked it."""
        self.unserve(answerer, tuple(answerer.topics))
        with self._lock:
            answerer.listening.clear()
            answerer.waiting.clear()
            left = [q for q in self._open.values() if q.answerer is answerer]
            for question in left:
                self._open.pop(question.asked.question, None)
        for question in left:
            question.give(Refused.of(UnansweredError(question.asked.topic)))

    def ask(self, topic: str, body: bytes, timeout_s: float, give: Give) -> int | None:
        """Forward a question; returns its number, or None if no client answers *topic*.

        Raises:
            UnansweredError: Too many questions wait for that client.
        """
        answerer = self._serving.get(topic)
        if answerer is None:
            return None
        number = next(self._numbers)
        question = Question(Asked(number, topic, body, timeout_s), give, answerer)
        self._open[number] = question
        while True:
            with self._lock:
                if not answerer.listening:
                    if len(answerer.waiting) >= WAITING:
                        self._open.pop(number, None)
                        raise UnansweredError(topic)
                    answerer.waiting.append(question)
                    return number
                listener = answerer.listening.popleft()
            if listener(question.asked):
                return number

    def forget(self, number: int) -> None:
        """The asker no longer waits."""
        with self._lock:
            question = self._open.pop(number, None)
            if question is not None and question in question.answerer.waiting:
                question.answerer.waiting.remove(question)

    def listen(self, answerer: Answerer, give: Give) -> None:
        """Let *give* have one question: the first that waits, otherwise the next that comes."""
        with self._lock:
            question = self._first(answerer)
            if question is None:
                answerer.listening.append(give)
        if question is not None and not give(question.asked):
            with self._lock:
                answerer.waiting.appendleft(question)

    def _first(self, answerer: Answerer) -> Question | None:
        while answerer.waiting:
            question = answerer.waiting.popleft()
            if question.asked.question in self._open:
                return question
        return None

    def no_more(self, answerer: Answerer, give: Give) -> None:
        """Undo a `listen`."""
        with self._lock:
            if give in answerer.listening:
                answerer.listening.remove(give)

    def reply(self, answerer: Answerer, reply: Reply) -> None:
        """Deliver an answer to the asker; drop one that comes too late."""
        question = self._open.get(reply.question)
        if question is not None and question.answerer is answerer:
            self._open.pop(reply.question, None)
            question.give(reply.refused or Answered(reply.topic, reply.body))

    def here(self, topic: str, body: bytes, timeout_s: float) -> Answer:
        """The answer of a component in the hub's own process, or of another server's client."""
        cls = self._hub.vocabulary.classes().get(topic)
        try:
            if cls is None:
                return self._hub.relayed(topic, body, timeout_s)
            if not issubclass(cls, Query):
                raise UnansweredError(topic)
            query = msgspec.msgpack.decode(body, type=cls)
            reply = self._hub.ask(query, timeout_s)
        except msgspec.MsgspecError as error:
            return Refused("EventInvalidError", (topic, str(error)), f"{topic}: {error}")
        except CortexError as error:
            return Refused.of(error)
        return Answered(reply.topic_name(), msgspec.msgpack.encode(reply))

    def _from_inside(self, query: Query, timeout_s: float) -> Event:
        """Ask a client on behalf of a component of this process."""
        topic, body = query.topic_name(), msgspec.msgpack.encode(query)
        return event_of(
            self._from_elsewhere(topic, body, timeout_s), self._hub.vocabulary.classes()
        )

    def _from_elsewhere(self, topic: str, body: bytes, timeout_s: float) -> Answer:
        """Ask a client of this server on behalf of a program that is not its client."""
        there = threading.Event()
        found: list[Answer] = []

        def give(answer: Answer) -> bool:
            found.append(answer)
            there.set()
            return True

        number = self.ask(topic, body, timeout_s, give)
        if number is None:
            raise UnansweredError(topic)
        if not there.wait(lasting(timeout_s)):
            self.forget(number)
            raise AskTimeoutError(topic, timeout_s)
        return found[0]
