"""The frames of the wire protocol: further requests and answers, and how all are encoded.

A frame from a client is ``[number, repeat, [[source, [request, ...]], ...]]``, the answer is
``[answer, ...]``, one for each request in order. Requests and answers are msgpack arrays whose
first element is their tag. A request that may wait comes last in its frame.
"""

from collections.abc import Mapping

import msgspec

from ..epochs import Epochs
from ..errors import UnansweredError
from ..event import Event
from ..requests import (
    Answer,
    Appended,
    Attempt,
    Attempted,
    Claim,
    Claimed,
    Commit,
    Fetch,
    Finish,
    Page,
    Publish,
    Refused,
    Release,
    Renew,
    Request,
    Subscribe,
    Subscribed,
    Unsubscribe,
)

# Of the protocol; a hub speaks these and takes the highest that both have. Version 1 had no epochs:
# its clients would not notice that a log had lost its tail.
VERSIONS = (2,)
FRAME_BYTES = 4 << 20  # the most a client may send at once
PAGE_BYTES = 1 << 20  # about the most that one answer carries
HELLO_BYTES = 1 << 16  # limit before a client is admitted
WAIT_S = 15.0  # the longest that an answer waits for an event
PIECE_BYTES = 1 << 19  # of a blob


class Hello(Request, frozen=True, tag="hello"):
    """The first request of every connection."""

    versions: tuple[int, ...]
    token: str
    name: str = ""  # the name it states; `Welcome` has the authenticated one
    instance: str = ""  # random; connections of one program share watches and answered topics
    software: str = ""
    epochs: Epochs = ()  # of the log, as last reported to the client; () for one without cursors
    seen: int = 0  # the newest position that it saw in them


class Welcome(Answer, frozen=True, tag="welcome"):
    """The client is admitted."""

    client: str  # its authenticated name: the source of what it publishes
    version: int  # of the protocol that is spoken from now on
    frame_bytes: int
    page_bytes: int
    wait_s: float
    head: int
    epochs: Epochs = ()  # of the log, the newest last


class Head(Request, frozen=True, tag="head"):
    """Where the log ends."""


class At(Answer, frozen=True, tag="at"):
    """A position, a version or a number."""

    value: int


class LastNumber(Request, frozen=True, tag="last_number"):
    """The number of the newest numbered publish under this source."""


class Settle(Request, frozen=True, tag="settle"):
    """Ask for the answers to the frame of this number; if it was not done, it never will be.

    It is alone in a frame that has the number and is marked as a repeat.
    """


class Settled(Answer, frozen=True, tag="settled"):
    """The answers to the frame; none if it was not done."""

    answers: tuple[Appended | Subscribed | Attempted | Refused, ...]


class Watch(Request, frozen=True, tag="watch"):
    """Let `Await` report these subscriptions from now on."""

    names: tuple[str, ...]


class Unwatch(Request, frozen=True, tag="unwatch"):
    """Undo a `Watch`."""

    names: tuple[str, ...]


class Await(Request, frozen=True, tag="await"):
    """Wait until one of the watched subscriptions may have something new."""

    wait_s: float


class Woken(Answer, frozen=True, tag="woken"):
    """The subscriptions that may have something new."""

    names: tuple[str, ...]


class Serve(Request, frozen=True, tag="serve"):
    """Answer every query of these topics from now on."""

    topics: tuple[str, ...]


class Unserve(Request, frozen=True, tag="unserve"):
    """Undo a `Serve`."""

    topics: tuple[str, ...]


class Listen(Request, frozen=True, tag="listen"):
    """Wait for a query of a topic that this client serves."""

    wait_s: float


class Asked(Answer, frozen=True, tag="asked"):
    """A query; *question* is 0 if none came."""

    question: int
    topic: str = ""
    body: bytes = b""
    timeout_s: float = 0.0


class Reply(Request, frozen=True, tag="reply"):
    """The answer to a query that `Listen` returned: an event, or a refusal."""

    question: int
    topic: str = ""
    body: bytes = b""
    refused: Refused | None = None


class Ask(Request, frozen=True, tag="ask"):
    """Ask a query of the client that answers it; the answer is `Answered`."""

    topic: str
    body: bytes
    timeout_s: float


class Answered(Answer, frozen=True, tag="answered"):
    """The answer to a query, an event."""

    topic: str
    body: bytes


class Read(Request, frozen=True, tag="read"):
    """Durable events after a position, those that this client may read."""

    after: int
    limit: int = 1_024
    limit_bytes: int = PAGE_BYTES


class ReadStream(Request, frozen=True, tag="read_stream"):
    """The events of one stream after a version of it."""

    stream: str
    after: int
    limit: int = 1_024


class Records(Answer, frozen=True, tag="records"):
    """Records as the log holds them; *through* is the last one looked at."""

    records: tuple[bytes, ...]
    through: int


class LeafHashes(Request, frozen=True, tag="leaf_hashes"):
    """The tree's leaves of a run of positions, 32 bytes each."""

    first: int
    last: int


class StreamVersion(Request, frozen=True, tag="stream_version"):
    """The newest version of a stream."""

    stream: str


class PutBlob(Request, frozen=True, tag="put_blob"):
    """A piece of a blob; the hub keeps the blob when it has the last piece."""

    digest: str  # SHA-256 of the whole, hex
    size_bytes: int  # of the whole
    offset: int
    piece: bytes
    subject: str = ""  # for whom it is encrypted; then the last piece is answered with `StoredBlob`


class GetBlob(Request, frozen=True, tag="get_blob"):
    """Ask for a piece of a blob; with a limit of 0, only for its size."""

    digest: str
    offset: int
    limit_bytes: int


class Piece(Answer, frozen=True, tag="piece"):
    """A piece of a blob of *size_bytes*; -1 for a blob that is not here."""

    size_bytes: int
    piece: bytes = b""
    decrypted: bool = False  # the digest is that of what is stored, and not of these bytes


class StoredBlob(Answer, frozen=True, tag="stored_blob"):
    """A blob is stored, encrypted, under another digest than that of its bytes."""

    digest: str


class Failed(Answer, frozen=True, tag="failed"):
    """The log could not be written: nothing of this frame was kept."""

    text: str
    full: bool = False  # the disk is full: the client may retry when some space is free


Asks = (
    Publish
    | Subscribe
    | Unsubscribe
    | Fetch
    | Commit
    | Attempt
    | Claim
    | Renew
    | Finish
    | Release
    | Hello
    | Head
    | LastNumber
    | Watch
    | Unwatch
    | Await
    | Serve
    | Unserve
    | Listen
    | Reply
    | Ask
    | Read
    | ReadStream
    | LeafHashes
    | StreamVersion
    | Settle
    | PutBlob
    | GetBlob
)
Answers = (
    Appended
    | Subscribed
    | Page
    | Claimed
    | Attempted
    | Refused
    | Welcome
    | At
    | Woken
    | Asked
    | Answered
    | Records
    | Settled
    | Piece
    | StoredBlob
    | Failed
)
ONCE = (Publish, Commit, Finish, Subscribe, Unsubscribe, Attempt, Renew, Release)
WAITS = (Await, Listen, Ask)  # and a `Fetch` with a time


class SourceRequests(msgspec.Struct, frozen=True, array_like=True):
    """The requests of one source."""

    source: str  # empty for the client itself
    requests: tuple[Asks, ...]


class Frame(msgspec.Struct, frozen=True, array_like=True):
    """What a client sends at once."""

    number: int  # as in `Once`; 0 if a repeat is harmless, or not wanted
    repeat: bool
    parts: tuple[SourceRequests, ...]


def one(request: Asks, source: str = "") -> Frame:
    """A frame of one request that is not numbered."""
    return Frame(0, False, (SourceRequests(source, (request,)),))


read_frame = msgspec.msgpack.Decoder(Frame).decode
read_answers = msgspec.msgpack.Decoder(list[Answers]).decode


class Gone(Exception):  # noqa: N818  # the end of a connection, not an error
    """The connection ended.

    Attributes:
        cut: The hub was there, and ended the connection before it admitted the client.
    """

    def __init__(self, how: str = "", *, cut: bool = False) -> None:
        super().__init__(how)
        self.cut = cut


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
