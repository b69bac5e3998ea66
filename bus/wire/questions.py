"""Queries between clients: from the asker's connection directly to the answerer's, and back.

The asker's thread writes the query into a connection of the answerer that waits in `Listen`. The
thread that replies writes the answer into the asker's connection. No thread waits for another.
"""

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping

import msgspec

from ..clock import lasting
from ..errors import AskTimeoutError, CortexError, SubscriptionError, UnansweredError
from ..event import Event, Query
from ..local import LocalHub
from ..requests import Answer, Refused
from .frames import Answered, Asked, Reply

WAITING = 256  # questions that may wait for one answerer; more are refused

Give = Callable[[Answer], bool]  # hands an answer over; False where nobody wants it any more


class Question(msgspec.Struct, frozen=True):
    """One that is under way."""

    asked: Asked
    give: Give
    answerer: "Answerer"


class Answerer:
    """One client program that answers queries."""

    def __init__(self) -> None:
        self.listening: deque[Give] = deque()
        self.waiting: deque[Question] = deque()
        self.topics: set[str] = set()
        self.gone = False  # its last connection has ended, and what it served may be taken over


class Questions:
    """Who answers what, and what is asked at the moment."""

    def __init__(self, hub: LocalHub) -> None:
        self._hub = hub
        self._lock = threading.Lock()
        self._registering = threading.Lock()  # a client may say twice what it serves
        self._serving: dict[str, Answerer] = {}
        self._open: dict[int, Question] = {}
        self._numbers = itertools.count(1)

    def serve(self, answerer: Answerer, topics: Iterable[str]) -> None:
        """Let *answerer* answer *topics*.

        Raises:
            SubscriptionError: Somebody answers one of them already.
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
        """Take a `serve` back."""
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
        """The client is gone: what it was asked is answered with that."""
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
        """Pass a question on; its number, None where no client answers *topic*.

        Raises:
            UnansweredError: Too many wait for that client already.
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
        """The asker does not wait any more."""
        with self._lock:
            question = self._open.pop(number, None)
            if question is not None and question in question.answerer.waiting:
                question.answerer.waiting.remove(question)

    def listen(self, answerer: Answerer, give: Give) -> Asked | None:
        """A question that waits; or None, and *give* gets the next one."""
        with self._lock:
            while answerer.waiting:
                question = answerer.waiting.popleft()
                if question.asked.question in self._open:
                    return question.asked
            answerer.listening.append(give)
        return None

    def no_more(self, answerer: Answerer, give: Give) -> None:
        """Take a `listen` back."""
        with self._lock:
            if give in answerer.listening:
                answerer.listening.remove(give)

    def reply(self, answerer: Answerer, reply: Reply) -> None:
        """Hand an answer to whoever asked; one that comes too late is dropped."""
        question = self._open.get(reply.question)
        if question is not None and question.answerer is answerer:
            self._open.pop(reply.question, None)
            question.give(reply.refused or Answered(reply.topic, reply.body))

    def here(self, topic: str, body: bytes, timeout_s: float) -> Answer:
        """The answer of a component in the hub's own process, or of a client of another server."""
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
        """Ask a client of this server on behalf of somebody who is none."""
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


def event_of(answer: Answer, classes: Mapping[str, type[Event]]) -> Event:
    """The event in an answer to a question; a refusal is raised."""
    if isinstance(answer, Refused):
        raise answer.error()
    if not isinstance(answer, Answered):
        raise UnansweredError(type(answer).__name__)
    cls = classes.get(answer.topic)
    if cls is None:
        raise UnansweredError(answer.topic)
    return msgspec.msgpack.decode(answer.body, type=cls)
