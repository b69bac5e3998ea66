"""A client of the bus in pynng and msgpack alone, written from docs/wire-protocol.md.

It imports nothing of Cortex: whoever writes a client in another language may read it as a whole.
"""

import secrets
import time
from typing import Any

import msgpack
import pynng

VERSIONS = [2]


class RefusedError(Exception):
    """The hub refused a request."""

    def __init__(self, code: str, fields: list[Any], text: str) -> None:
        super().__init__(code, fields, text)
        self.code, self.fields, self.text = code, fields, text


class Known:
    """What a program remembers of the log: its epochs, and the newest position it was told of."""

    def __init__(self) -> None:
        self.epochs: list[Any] = []
        self.seen = 0


class Connection:
    """One lock-step connection that was let in."""

    def __init__(
        self, url: str, token: str, name: str, instance: str, known: "Known | None" = None
    ) -> None:
        known = known or Known()
        # nng repeats requests by itself unless it is told not to: here repeats have numbers.
        self._socket = pynng.Req0(resend_time=-1, recv_timeout=60_000, send_timeout=10_000)
        self._socket.dial(url, block=True)
        hello = ["hello", VERSIONS, token, name, instance, "conformance"]
        try:
            welcome = self.ask([*hello, known.epochs, known.seen])
        except BaseException:
            # Left to the garbage collector, it may be closed inside a callback of nng, for ever.
            self.close()
            raise
        _, self.client, self.version, self.frame_bytes, self.page_bytes, self.wait_s = welcome[:6]
        known.epochs = welcome[7]

    def ask(self, request: list[Any]) -> list[Any]:
        """The answer to one request."""
        return raised(self.frame([request])[0])

    def frame(
        self, requests: list[Any], number: int = 0, repeat: bool = False, source: str = ""
    ) -> list[Any]:
        """The answers to requests that go together."""
        self._socket.send(msgpack.packb([number, repeat, [[source, requests]]]))
        return list(msgpack.unpackb(self._socket.recv()))

    def close(self) -> None:
        self._socket.close()


def raised(answer: list[Any]) -> list[Any]:
    """*answer*, where it is no refusal."""
    if answer[0] == "refused":
        raise RefusedError(answer[1], answer[2], answer[3])
    if answer[0] == "failed":
        raise RefusedError("LogError", [], answer[1])
    return answer


def event(topic: str, stream: str, body: dict[str, Any], expected: int | None = None) -> list[Any]:
    """A draft: an event on its way to the log."""
    packed = msgpack.packb({"topic": topic, **body})
    return [topic, 1, stream, None, packed, None, None, None, expected, False]


class Recorded:
    """An event of the log."""

    def __init__(self, fields: list[Any]) -> None:
        (_, self.position, self.stream, self.version, self.id, self.time_ns, self.topic) = fields[
            :7
        ]
        (self.schema, self.correlation, self.causation, self.source) = fields[7:11]
        self.body = msgpack.unpackb(fields[13])


class Client:
    """Two connections: one for commands, one for what has to be waited for."""

    def __init__(self, url: str, token: str = "", name: str = "") -> None:
        self.known = Known()
        self._dial = (url, token, name, secrets.token_hex(16), self.known)
        self._tag, self._number = secrets.randbits(31), 0
        self.lost: list[tuple[int, int]] = []  # newest position seen, last one that was kept
        self.command, self.feed = Connection(*self._dial), Connection(*self._dial)
        self.name = self.command.client

    def change(self, requests: list[Any], lose: bool = False) -> list[Any]:
        """Ask for changes once, however often they have to be sent.

        Where the answer is *lost*, or the connection, the same frame goes again by a new one.
        """
        self._number += 1
        number, repeat = self._tag << 32 | self._number, False
        while True:
            try:
                answers = self.command.frame(requests, number, repeat)
                if not lose:
                    return [raised(answer) for answer in answers]
                lose = False
            except pynng.NNGException:
                time.sleep(0.05)
            self.command.close()
            self.command, repeat = self.again(), True

    def again(self) -> Connection:
        """A new connection; where the log has lost its tail, what was seen of that is forgotten."""
        while True:
            try:
                return Connection(*self._dial)
            except RefusedError as refused:
                if refused.code != "TailLostError":
                    raise
                _, self.known.seen = refused.fields
                self.lost.append(tuple(refused.fields))

    def publish(self, *events: list[Any], lose: bool = False) -> int:
        """Position of the last of *events*."""
        position = int(self.change([["publish", list(events), 0, [], []]], lose)[0][2])
        self.known.seen = max(self.known.seen, position)
        return position

    def subscribe(self, name: str, kind: str, topic: str, start: str = "now") -> int:
        """The cursor of a subscription."""
        request = ["subscribe", name, kind, [[topic, None]], start, True]
        return int(self.change([request])[0][1])

    def fetch(self, name: str, after: int, wait_s: float = 15.0) -> tuple[list[Recorded], int]:
        """The next events after a position, and the last position looked at."""
        page = self.feed.ask(["fetch", name, after, 256, 1 << 20, -1, wait_s])
        self.known.seen = max(self.known.seen, page[2])
        return [Recorded(fields) for fields in page[1]], page[2]

    def commit(self, name: str, after: int, through: int, *events: list[Any]) -> None:
        """Move a cursor and append, in one transaction."""
        self.change([["commit", name, after, through, list(events), [], []]])

    def claim(self, name: str, limit: int, lease_s: float) -> list[tuple[Recorded, int]]:
        """Work that is this client's for a while: events and their epochs."""
        answer = self.command.ask(["claim", name, limit, int(lease_s * 1e9)])
        return [(Recorded(lease[0]), lease[1]) for lease in answer[1]]

    def finish(self, name: str, position: int, epoch: int, *events: list[Any]) -> None:
        """End an event's work and append, in one transaction."""
        self.change([["finish", name, position, epoch, list(events), [], []]])

    def read(self, after: int = 0) -> list[Recorded]:
        """Every event after a position that this client may read."""
        found: list[Recorded] = []
        while True:
            _, records, through = self.command.ask(["read", after, 1_024, 1 << 20])
            found += [Recorded(msgpack.unpackb(record)) for record in records]
            if through <= after:
                return found
            after = through

    def query(self, topic: str, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """The answer to a question."""
        packed = msgpack.packb({"topic": topic, **body})
        answer = self.feed.ask(["ask", topic, packed, timeout_s])
        return dict(msgpack.unpackb(answer[2]))

    def answer_one(self, topic: str, body: dict[str, Any]) -> dict[str, Any]:
        """Wait for one question and answer it; the question comes back."""
        self.command.ask(["serve", [topic]])
        asked = self.feed.ask(["listen", 15.0])
        packed = msgpack.packb(body)
        self.command.ask(["reply", asked[1], body["topic"], packed, None])
        return dict(msgpack.unpackb(asked[3]))

    def close(self) -> None:
        self.command.close()
        self.feed.close()
