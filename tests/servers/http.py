"""A loopback HTTP/1.1 server that answers POSTs from a script, streams, and keeps what was asked.

    with ScriptedOpenAI(Answer(text=("Hel", "lo")), Answer(status=429, retry_after="7")) as server:
        ...  # base_url is server.base_url; server.asked[0].body is the first request

Answers are given in turn, then `default` for ever.
"""

import json
import socket
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, NamedTuple, Self

PATIENCE_S = 30.0  # no test takes as long
BACKLOG = 512  # 5 by default: of 200 clients at once most would wait for a second connect
PIECE = 8  # characters of a tool's arguments that are sent together


class Tool(NamedTuple):
    """A tool that the model wants to use."""

    id: str
    name: str
    arguments: dict[str, Any] | str  # text goes out as it is, valid or not


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One scripted answer; what is not set does not happen."""

    text: tuple[str, ...] = ()  # one delta each
    tools: tuple[Tool, ...] = ()
    input_tokens: int = 11
    cached_tokens: int = 0
    written_tokens: int = 0
    usage: bool = True  # False: never said, whoever asks
    status: int = 200
    error: str = ""  # type of the error, where status >= 400 and in `error_after`
    message: str = "scripted"  # what the error says
    retry_after: str | None = None
    location: str | None = None
    stop: str | None = None  # instead of the usual reason
    die_after: int | None = None  # deltas, then a TCP reset in the middle of the body
    end_after: int | None = None  # deltas, then a clean but premature end of the body
    error_after: int | None = None  # deltas, then an error inside the stream
    garbage_after: int | None = None  # deltas, then what is no JSON
    pause_s: float = 0.0  # between deltas
    hold: threading.Event | None = None  # waited for before the last delta
    raw: bytes | None = None  # this body instead of everything else
    raw_type: str = "text/html"

    @property
    def is_cut(self) -> bool:
        """Whether the stream ends before its end."""
        ends = (self.die_after, self.end_after, self.error_after, self.garbage_after)
        return len(self.text) in ends

    @property
    def output_tokens(self) -> int:
        return len(self.text) + len(self.tools)


@dataclass(frozen=True)
class Asked:
    """One request."""

    path: str
    headers: dict[str, str]  # names in small letters
    body: Any
    raw: bytes


@dataclass
class Script:
    """What is to be answered, and what happened."""

    answers: list[Answer]
    default: Answer
    asked: list[Asked] = field(default_factory=list)
    hung_up: list[int] = field(default_factory=list)  # deltas sent when a client went away
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, asked: Asked) -> Answer:
        with self.lock:
            self.asked.append(asked)
            return self.answers.pop(0) if self.answers else self.default


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = BACKLOG
    script: Script

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that hangs up is part of the script."""


class ScriptedHandler(BaseHTTPRequestHandler):
    """One connection; a shape fills in what its answers look like."""

    protocol_version = "HTTP/1.1"  # with chunks a cut body is an error, without it is an end
    disable_nagle_algorithm = True
    server: Server
    route: ClassVar[str] = ""

    def frames(self, answer: Answer, body: Any) -> Iterable[bytes | None]:
        """The events of a stream; None stands before each delta."""
        raise NotImplementedError

    def error_body(self, answer: Answer) -> Any:
        raise NotImplementedError

    def error_frame(self, answer: Answer) -> bytes:
        raise NotImplementedError

    def garbage_frame(self) -> bytes:
        return b"data: {not json\n\n"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as it is called there
        """Say nothing."""

    def do_POST(self) -> None:  # as it is called there
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        body = json.loads(raw or b"null")
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.script.take(Asked(self.path, headers, body, raw))
        if self.path != self.route:
            answer = Answer(status=404, error="not_found_error")
        if answer.status >= 300:
            self._send("application/json", json.dumps(self.error_body(answer)).encode(), answer)
        elif answer.raw is not None:
            self._send(answer.raw_type, answer.raw, answer)
        else:
            self._stream(answer, body)

    def _send(self, kind: str, data: bytes, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        if answer.retry_after is not None:
            self.send_header("retry-after", answer.retry_after)
        if answer.location is not None:
            self.send_header("location", answer.location)
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, answer: Answer, body: Any) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        sent = 0
        try:
            for frame in self.frames(answer, body):
                if frame is not None:
                    self._chunk(frame)
                    continue
                if self._broke(answer, sent):
                    return
                if answer.hold is not None and sent == len(answer.text) - 1:
                    answer.hold.wait(PATIENCE_S)
                time.sleep(answer.pause_s)
                sent += 1
            if not self._broke(answer, sent):
                self.wfile.write(b"0\r\n\r\n")
        except OSError:  # the client hung up
            self.server.script.hung_up.append(sent)
            self.close_connection = True

    def _broke(self, answer: Answer, sent: int) -> bool:
        """Carry out what is to go wrong after *sent* deltas."""
        if sent == answer.die_after:
            reset = struct.pack("ii", 1, 0)  # then a close sends RST
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            self.close_connection = True
            self.connection.close()
            return True
        if sent == answer.error_after:
            self._chunk(self.error_frame(answer))
        elif sent == answer.garbage_after:
            self._chunk(self.garbage_frame())
        elif sent != answer.end_after:
            return False
        self.wfile.write(b"0\r\n\r\n")
        return True

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))  # in one send


class ScriptedServer:
    """Serves a script on a free port of 127.0.0.1."""

    handler: ClassVar[type[ScriptedHandler]]
    path: ClassVar[str] = ""  # what a base_url has behind the port

    def __init__(self, *answers: Answer, default: Answer | None = None) -> None:
        self.script = Script(list(answers), default or Answer(text=("ok",)))
        self._server = Server(("127.0.0.1", 0), self.handler)
        self._server.script = self.script
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )

    @property
    def base_url(self) -> str:
        """What `base_url` of a configured model is to be."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{self.path}"

    @property
    def asked(self) -> list[Asked]:
        """The requests so far."""
        return self.script.asked

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def arguments(tool: Tool) -> Iterator[str]:
    """The arguments of *tool* as JSON, in pieces."""
    text = tool.arguments if isinstance(tool.arguments, str) else json.dumps(tool.arguments)
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]
