"""A client that answers queries: threads that take questions from the hub and reply."""

import threading

import msgspec

from ...errors import CortexError, UnansweredError
from ...event import Event
from ...port import Asked as Answering
from ...requests import Refused
from ...vocabulary import Vocabulary
from ..frames import WAIT_S, Asked, Frame, Listen, Reply, Serve, SourceRequests, one
from .channel import Channel
from .connection_pool import ConnectionPool, KeptConnection

AT_ONCE = 8  # questions that a client answers concurrently


class Listeners:
    """The queries that this client answers, and the connections that deliver them."""

    def __init__(self, lines: ConnectionPool, vocabulary: Vocabulary) -> None:
        self._lines, self._vocabulary = lines, vocabulary
        self._lock = threading.Lock()
        self._answering: dict[str, tuple[type[Event], Answering]] = {}
        self._threads: list[KeptConnection] = []
        self._idle = 0

    def get(self, topic: str) -> tuple[type[Event], Answering] | None:
        """The handler of *topic* in this client."""
        return self._answering.get(topic)

    def add(self, topic: str, query: type[Event], asked: Answering) -> None:
        """Let *asked* answer *topic*."""
        with self._lock:
            self._answering = {**self._answering, topic: (query, asked)}
            if not self._threads:
                self._start()

    def remove(self, topic: str) -> None:
        """Stop answering *topic*."""
        with self._lock:
            self._answering = {t: a for t, a in self._answering.items() if t != topic}

    def close(self) -> None:
        """Wait for the threads, whose connections are closed."""
        for thread in self._threads:
            thread.join()

    def _start(self) -> None:
        listening = _Listening(self)
        name = f"cortex-answers-{len(self._threads) + 1}"
        self._threads.append(KeptConnection(self._lines, name, listening.begin, listening.turn))

    def topics(self) -> tuple[str, ...]:
        """All topics that this client answers."""
        return tuple(self._answering)

    def rests(self) -> None:
        """Note that one more thread waits for a question."""
        with self._lock:
            self._idle += 1

    def works(self, *, asked: bool) -> None:
        """Note that a thread got a question; if none waits now, start another."""
        with self._lock:
            self._idle -= 1
            more = asked and not self._idle and not self._lines.closed.is_set()
            if more and len(self._threads) < AT_ONCE:
                self._start()

    def reply(self, asked: Asked) -> Reply:
        """The reply to a question; a failure is a reply, too."""
        found = self._answering.get(asked.topic)
        if found is None:
            return Reply(asked.question, refused=Refused.of(UnansweredError(asked.topic)))
        query, answer = found
        try:
            event = answer(msgspec.msgpack.decode(asked.body, type=query), asked.timeout_s)  # type: ignore[arg-type]  # queries alone are answered
        except CortexError as error:
            return Reply(asked.question, refused=Refused.of(error))
        except Exception as error:  # noqa: BLE001  # it is the asker's to know
            text = f"{type(error).__name__}: {error}"
            return Reply(asked.question, refused=Refused("CortexError", (text,), text))
        return Reply(asked.question, event.topic_name(), msgspec.msgpack.encode(event))


class _Listening:
    """One connection: the reply to a question goes in the frame that asks for the next."""

    def __init__(self, listeners: Listeners) -> None:
        self._listeners = listeners
        self._reply: Reply | None = None

    def begin(self, channel: Channel) -> None:
        self._reply = None  # the hub has reported to the asker that this client is gone
        topics = self._listeners.topics()
        if topics:
            channel.exchange(one(Serve(topics)))

    def turn(self, channel: Channel) -> None:
        listen = Listen(WAIT_S)
        requests = (listen,) if self._reply is None else (self._reply, listen)
        self._reply = None
        asked: Asked | None = None
        self._listeners.rests()
        try:
            answer = channel.exchange(Frame(0, False, (SourceRequests("", requests),)), WAIT_S)[-1]
            if isinstance(answer, Refused):
                raise answer.error()
            if isinstance(answer, Asked) and answer.question:
                asked = answer
        finally:
            self._listeners.works(asked=asked is not None)
        if asked is not None:
            self._reply = self._listeners.reply(asked)
