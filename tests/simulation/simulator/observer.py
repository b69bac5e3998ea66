"""Watches what a hub accepts: promises that could be broken and leave a tidy log behind."""

from collections.abc import Sequence

import msgspec

from cortex.bus import (
    Answer,
    Appended,
    Claim,
    Claimed,
    Commit,
    Done,
    Finish,
    Once,
    Publish,
    Release,
    Renew,
    Request,
    StandingClaim,
    State,
    Subscribed,
)
from cortex.bus import Subscribe as SubscribeRequest

from .errors import insist


class _Held(msgspec.Struct):
    epoch: int = 0
    until_ns: int = 0
    finished: int = 0  # the write with which it was


class Observer:
    """Knows of every accepted request; raises AssertionError at the first that must not be."""

    def __init__(self) -> None:
        self._cursors: dict[str, int] = {}
        self._work: dict[tuple[str, int], _Held] = {}
        self._numbers: dict[tuple[str, int], tuple[int, Appended]] = {}  # with the write's number
        self._frames: dict[tuple[str, int], tuple[int, Done]] = {}
        self._write = 0

    def crashed(self) -> None:
        """The hub is new: whoever held work may lose it at once."""
        for held in self._work.values():
            held.until_ns = 0

    def lost(self, write: int, state: State) -> None:
        """The log is as it was after that *write*, when it was in *state*."""
        held = {(w.subscription, w.position): _Held(w.epoch) for w in state.work}
        self._work = held | {k: h for k, h in self._work.items() if 0 < h.finished <= write}
        self._cursors = {s.name: s.cursor for s in state.standings if s.kind == "ordered"}
        self._numbers = {k: n for k, n in self._numbers.items() if n[0] <= write}
        self._frames = {k: f for k, f in self._frames.items() if f[0] <= write}

    def wrote(
        self,
        requests: Sequence[tuple[str, Request]],
        answers: Sequence[Answer],
        now_ns: int,
        write: int,
    ) -> None:
        """Take in a batch that was written, as the *write* of that number."""
        self._write = write
        self._saw(requests, answers, now_ns)

    def _saw(
        self,
        requests: Sequence[tuple[str, Request]],
        answers: Sequence[Answer],
        now_ns: int,
    ) -> None:
        for (client, request), answer in zip(requests, answers, strict=True):
            if isinstance(answer, Done) and isinstance(request, Once):
                self._framed(client, request, answer, now_ns)
            elif isinstance(answer, Claimed) and isinstance(request, Claim):
                self._claimed(request, answer, now_ns)
            elif isinstance(answer, Subscribed) and isinstance(request, SubscribeRequest):
                self._subscribed(request, answer)
            elif isinstance(answer, Appended):
                self._accepted(client, request, answer, now_ns)

    def _framed(self, client: str, frame: Once, done: Done, now_ns: int) -> None:
        _, first = self._frames.get((client, frame.number), (0, None))
        if first is not None:
            insist(done == first, "a frame of {} was done twice: {}", client, frame)
            return
        self._frames[client, frame.number] = self._write, done
        asked = [(source, r) for source, requests in frame.parts for r in requests]
        self._saw(asked, done.answers, now_ns)

    def moved(self, subscription: str, after: int, through: int) -> None:
        """Take in that the cursor of *subscription* moved."""
        at = self._cursors.get(subscription)
        insist(after == at, "{} is at {}, moved from {}", subscription, at, after)
        self._cursors[subscription] = through

    def _accepted(self, client: str, request: Request, answer: Appended, now_ns: int) -> None:
        if isinstance(request, Commit):
            self.moved(request.subscription, request.after, request.through)
        elif isinstance(request, Publish) and request.number:
            taken = self._write, answer
            _, first = self._numbers.setdefault((client, request.number), taken)
            insist(answer == first, "number {} of {} was taken twice", request.number, client)
        elif isinstance(request, Finish | Renew | Release):
            held = self._work[request.subscription, request.position]
            insist(not held.finished, "finished work was accepted again: {}", request)
            insist(request.epoch == held.epoch, "epoch is {}, accepted {}", held.epoch, request)
            held.finished = self._write if isinstance(request, Finish) else 0
            if isinstance(request, Renew):
                held.until_ns = now_ns + request.lease_ns
            elif isinstance(request, Release):
                held.until_ns = now_ns + request.backoff_ns

    def _claimed(self, request: Claim, answer: Claimed, now_ns: int) -> None:
        for lease in answer.leases:
            held = self._work.setdefault((request.subscription, lease.record.position), _Held())
            insist(not held.finished, "finished work was handed out: {}", lease)
            insist(
                lease.epoch > held.epoch, "the epoch did not rise from {}: {}", held.epoch, lease
            )
            insist(now_ns >= held.until_ns, "somebody else holds it: {}", lease)
            # What was leased to a claim that stood may be a third older than its answer.
            thirds = 2 if isinstance(request, StandingClaim) else 3
            held.epoch, held.until_ns = lease.epoch, now_ns + request.lease_ns * thirds // 3

    def _subscribed(self, request: SubscribeRequest, answer: Subscribed) -> None:
        if request.kind == "ordered" and request.lasting:
            at = self._cursors.setdefault(request.name, answer.cursor)
            insist(at == answer.cursor, "{} was at {}, is at {}", request.name, at, answer.cursor)
