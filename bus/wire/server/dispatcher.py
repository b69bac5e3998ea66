"""Handles the requests of a hub's clients, independent of the connection."""

from collections.abc import Iterator, Sequence

import msgspec

from ...access import Access
from ...errors import CortexError, DiskFullError, FrameError, LimitError, LogError
from ...event import Draft, OwnedDraft, decode
from ...local import LocalHub
from ...log import Log
from ...requests import (
    Answer,
    Appended,
    Claim,
    Claimed,
    Commit,
    Done,
    Fetch,
    Finish,
    Once,
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
from ..frames import (
    ONCE,
    PAGE_BYTES,
    At,
    Failed,
    Frame,
    GetBlob,
    Head,
    LastNumber,
    LeafHashes,
    PutBlob,
    Read,
    ReadStream,
    Records,
    Reply,
    Serve,
    Settle,
    Settled,
    StreamVersion,
    Unserve,
    Unwatch,
    Watch,
)
from .blobs import BlobDesk
from .connected_client import ConnectedClient
from .questions import Questions
from .rights import Rights

LOOKED_AT = 16_384  # records examined for one answer, if the client may not see most of them
READ_LIMIT = 4_096
LOOKED_AT_FIRST = 256  # events of a stream that say whether a client may know of it
CLAIM_LIMIT = 256
HASHES_LIMIT = 65_536
LEASE_NS = 24 * 3_600 * 1_000_000_000  # longest lease or backoff
LARGEST = (1 << 63) - 1

Asked = tuple[str, Request]  # source as the client states it, and the request


class Dispatcher:
    """Answers frames: some requests go to the hub, the others are handled here."""

    def __init__(
        self, hub: LocalHub, log: Log, access: Access, questions: Questions, blobs: BlobDesk
    ) -> None:
        self.hub, self.access, self.questions = hub, access, questions
        self._log, self._blobs = log, blobs

    def answers(
        self, program: ConnectedClient, rights: Rights, frame: Frame, asked: Sequence[Asked]
    ) -> list[Answer]:
        """The answers to *asked*, the requests of *frame* that do not wait, in order.

        Raises:
            HubClosedError: The hub was closed.
        """
        answers: list[Answer | None] = [self._denied(rights, *each) for each in asked]
        allowed = [n for n, answer in enumerate(answers) if answer is None]
        # Validate all requests first; one malformed request rejects the frame.
        whole = [(asked[n][0], _bounded(asked[n][1], program.client)) for n in allowed]
        try:
            if frame.number:
                given = self._once(program, frame, whole)
            else:
                given = list(self._each(program, rights, whole))
        except LogError as error:
            return [_failed(error)] * len(asked)
        for n, answer in zip(allowed, given, strict=True):
            answers[n] = answer
            self._note(program, asked[n][1], answer)
        return [a for a in answers if a is not None]

    def page(self, rights: Rights, request: Fetch) -> Page:
        """The next page of a subscription, with what the client may see of it."""
        return _slim(rights.seen(self.hub.fetch(_bounded_fetch(request))))

    def _denied(self, rights: Rights, source: str, request: Request) -> Answer | None:
        problem = rights.problem(source, request)
        return None if problem is None else Refused.of(problem)

    def _once(self, program: ConnectedClient, frame: Frame, asked: list[Asked]) -> list[Answer]:
        settles = len(asked) == 1 and isinstance(asked[0][1], Settle)
        if not settles and not all(isinstance(request, ONCE) for _, request in asked):
            problem = "a numbered frame holds only requests that change something and do not wait"
            return [Refused("FrameError", (problem,), problem)] * len(asked)
        if not 0 < frame.number <= LARGEST:
            raise FrameError(f"a frame has the number {frame.number}: use 1 to 2**63 - 1")
        # Without requests it replaces the frame of this number, unless that was done first.
        parts = tuple((source or program.client, (r,)) for source, r in asked if not settles)
        once = Once(frame.number, frame.repeat or settles, parts)
        answer = self.hub.submit(program.client, (once,))[0]
        if settles and isinstance(answer, Done):
            return [Settled(answer.answers)]  # type: ignore[arg-type]  # those that a receipt keeps
        if isinstance(answer, Done) and len(answer.answers) == len(asked):
            return list(answer.answers)
        if isinstance(answer, Refused):
            return [answer] * len(asked)
        # The grants have changed since the first time, so that other requests were allowed.
        unknown = Refused("OutcomeUnknownError", (program.client,))
        return [unknown] * len(asked)

    def _each(
        self, program: ConnectedClient, rights: Rights, asked: list[Asked]
    ) -> Iterator[Answer]:
        """The answers; neighbours of one source that change the log share a transaction."""
        run: list[Request] = []
        of = ""
        for source, request in asked:
            direct = isinstance(request, (*ONCE, Claim))
            if run and (not direct or source != of):
                yield from self.hub.submit(of or program.client, run)
                run = []
            if direct:
                run.append(request)
                of = source
            else:
                yield self._past(program, rights, source, request)
        if run:
            yield from self.hub.submit(of or program.client, run)

    def _past(
        self, program: ConnectedClient, rights: Rights, source: str, request: Request
    ) -> Answer:
        """The answer to a request that needs no transaction."""
        try:
            match request:
                case Fetch():
                    return self.page(rights, request)
                case Head():
                    return At(self.hub.head)
                case LastNumber():
                    return At(self.hub.last_number(source or program.client))
                case Watch():
                    program.watch(request.names)
                case Unwatch():
                    program.unwatch(request.names)
                case Serve():
                    self._serve(program, request)
                case Unserve():
                    self._unserve(program, request)
                case Reply():
                    self.questions.reply(program.answerer, request)
                case PutBlob() | GetBlob():
                    return self._blobs.answer(program, request)
                case _:
                    return self._read(rights, request)
        except CortexError as error:
            if isinstance(error, LogError):
                return _failed(error)
            return Refused.of(error)
        return Appended()

    def _serve(self, program: ConnectedClient, request: Serve) -> None:
        if program.usage is not None:
            program.usage.watch(len(set(request.topics) - program.answerer.topics))
        try:
            self.questions.serve(program.answerer, request.topics)
        finally:
            if program.usage is not None:  # subscriptions of other answerers do not count
                wanted = len(set(request.topics) | program.answerer.topics)
                program.usage.watch(len(program.answerer.topics) - wanted)

    def _unserve(self, program: ConnectedClient, request: Unserve) -> None:
        before = len(program.answerer.topics)
        self.questions.unserve(program.answerer, request.topics)
        if program.usage is not None:
            program.usage.watch(len(program.answerer.topics) - before)

    def _read(self, rights: Rights, request: Request) -> Answer:
        match request:
            case Read():
                return self._records(rights, request)
            case ReadStream():
                return self._stream(rights, request)
            case LeafHashes():
                if not 1 <= request.first <= request.last <= self.hub.head:
                    raise FrameError("leaf hashes exist for positions 1 to the head")
                last = min(request.last, request.first + HASHES_LIMIT - 1)
                hashes = self._log.leaf_hashes(request.first, last)
                return Records((hashes,), last)
            case StreamVersion():
                return At(self._version(rights, request.stream))
            case _:
                problem = f"{type(request).__name__} is not allowed here"
                return Refused("FrameError", (problem,), problem)

    def _records(self, rights: Rights, request: Read) -> Answer:
        through, looked_at = request.after, 0
        records: list[bytes] = []
        limit = max(1, min(request.limit, READ_LIMIT))
        limit_bytes = max(1, min(request.limit_bytes, PAGE_BYTES))
        everything = rights.allows("read", "*")
        while not records and looked_at < LOOKED_AT:
            page = self._log.read(through, limit, limit_bytes)
            if not page:
                break
            if everything:
                return Records(tuple(page), decode(page[-1]).position)
            for data in page:
                record = decode(data)
                through = record.position
                if rights.allows("read", record.topic, record.key):
                    records.append(data)
            looked_at += len(page)
        return Records(tuple(records), through)

    def _stream(self, rights: Rights, request: ReadStream) -> Records:
        through, looked_at = request.after, 0
        limit = max(1, min(request.limit, READ_LIMIT))
        while looked_at < LOOKED_AT:
            found = self._log.read_stream(request.stream, through, limit)
            page = _stream_page(rights, through, found)
            through, looked_at = page.through, looked_at + len(found)
            if page.records:
                return page
            if len(found) < limit:
                # That there is nothing to see does not say how much there is.
                return Records((), request.after)
        return Records((), through)

    def _version(self, rights: Rights, stream: str) -> int:
        """The version of a stream; 0 if the client may neither see nor publish anything of it."""
        version = self._log.stream_version(stream)
        if not version or rights.allows("read", "*"):
            return version
        first = map(decode, self._log.read_stream(stream, 0, LOOKED_AT_FIRST))
        return version if any(rights.concerns(record) for record in first) else 0

    def _note(self, program: ConnectedClient, request: Request, answer: Answer) -> None:
        if isinstance(answer, Refused) and answer.code == LimitError.__name__:
            self.access.limited(*answer.fields)  # type: ignore[arg-type]  # client, what, limit
        elif program.usage is not None and isinstance(request, Publish | Commit | Finish):
            drafts = (*request.events, *(due.draft for due in request.due))
            self._blobs.named(program.usage.allowance.client, drafts)
        if isinstance(request, Claim):
            if isinstance(answer, Claimed) and answer.leases:
                program.claimed(request.subscription, answer.leases)
        elif isinstance(request, Finish | Release):
            program.settled(request.subscription, request.position)
        elif isinstance(answer, Subscribed) and isinstance(request, Subscribe):
            program.subscribed(request)
        elif isinstance(answer, Appended) and isinstance(request, Unsubscribe):
            program.unsubscribed(request)


def _stream_page(rights: Rights, after: int, found: Sequence[bytes]) -> Records:
    kept: list[bytes] = []
    through, size_bytes = after, 0
    for data in found:
        size_bytes += len(data)
        if kept and size_bytes > PAGE_BYTES:
            break
        record = decode(data)
        through = record.version
        if rights.allows("read", record.topic, record.key):
            kept.append(data)
    return Records(tuple(kept), through)


def _slim(page: Page) -> Page:
    """A page cut to the largest size; of ephemeral events the newest stay."""
    if not page.ephemeral:
        return page
    size_bytes = 0
    for kept, record in enumerate(reversed(page.ephemeral)):
        size_bytes += len(record.body) + 128
        if kept and size_bytes > PAGE_BYTES:
            dropped = page.dropped + len(page.ephemeral) - kept
            newest = page.ephemeral[-kept:]
            return msgspec.structs.replace(page, ephemeral=newest, dropped=dropped)
    return page


def _owned(draft: Draft, client: str) -> OwnedDraft:
    fields = {name: getattr(draft, name) for name in Draft.__struct_fields__}
    return OwnedDraft(**fields, owner=client)


def _bounded_fetch(request: Fetch) -> Fetch:
    """An answer cut to the largest size of a page."""
    if request.limit_bytes <= PAGE_BYTES and request.limit <= READ_LIMIT:
        return request
    return msgspec.structs.replace(
        request,
        limit=min(request.limit, READ_LIMIT),
        limit_bytes=min(request.limit_bytes, PAGE_BYTES),
    )


def _bounded(request: Request, client: str) -> Request:
    """The request with its times and counts cut to their bounds.

    Its deadlines belong to *client*, in whoever's name it sets them.
    """
    match request:
        case Claim():
            return msgspec.structs.replace(
                request,
                limit=max(0, min(request.limit, CLAIM_LIMIT)),
                lease_ns=max(0, min(request.lease_ns, LEASE_NS)),
            )
        case Renew():
            lease_ns = max(0, min(request.lease_ns, LEASE_NS))
            return msgspec.structs.replace(request, lease_ns=lease_ns)
        case Release():
            backoff_ns = max(0, min(request.backoff_ns, LEASE_NS))
            return msgspec.structs.replace(request, backoff_ns=backoff_ns)
        case Read() | ReadStream():
            after = max(0, min(request.after, LARGEST))
            return msgspec.structs.replace(request, after=after)
        case Publish() if not 0 <= request.number <= LARGEST:
            raise FrameError(f"a publish has the number {request.number}: use 0 to 2**63 - 1")
        case Publish() | Commit() | Finish() if request.due:
            owned = tuple(
                msgspec.structs.replace(d, draft=_owned(d.draft, client)) for d in request.due
            )
            return msgspec.structs.replace(request, due=owned)
        case _:
            return request


def _failed(error: LogError) -> Failed:
    return Failed(str(error), isinstance(error, DiskFullError))
