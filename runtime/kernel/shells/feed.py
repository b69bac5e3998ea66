"""Feeds of components: generators that request events from a hub and commit the results.

Each is a generator: it yields requests (or `Idle`, or `Pause`) and is sent the answers. So a
thread and a simulator drive the same code, and a simulator can crash it between any two requests.
"""

from collections.abc import Generator, Sequence
from typing import TypeVar

import msgspec

from cortex.bus import (
    Answer,
    Claim,
    CortexError,
    Pair,
    Recorded,
    Refused,
    Request,
    StandingClaim,
)

from ..components.effect import Contract
from ..hosts.host import Effects, Outcome
from ..hosts.tracebacks import Tracebacks
from .retries import parked

PAGE = 256  # events per fetch; the page bounds the memory of a component


class Flush(Exception):  # noqa: N818  # thrown into a program that is idle, not an error
    """Commit what is handled, and end."""


class Quiet(Exception):  # noqa: N818  # thrown into a program that is idle, not an error
    """No wakeup came within the time of its `Idle`."""


class Idle(msgspec.Struct, frozen=True):
    """Nothing to do until the subscription wakes; every wakeup ends it at once."""

    quiet_ns: int | None = None  # after which `Quiet` is raised instead; None for never
    needs_thread: bool = True  # False: after `quiet_ns` the thread ends, and the program waits on


class Pause(msgspec.Struct, frozen=True):
    """The wait after a failed event: no wakeup ends it."""

    for_ns: int


Step = Sequence[Request] | Idle | Pause
Program = Generator[Step, Sequence[Answer], None]
Kind = TypeVar("Kind", bound=Answer)


class Feeding(msgspec.Struct, frozen=True):
    """What a feed knows of its component."""

    name: str  # of the component, and of its subscription
    filter: tuple[Pair, ...]
    start: str = "now"
    max_attempts: int = 3
    lease_ns: int = 30_000_000_000
    log_epoch: int = 0  # of its cursor; the feed itself sets it
    contract: Contract | None = None  # None if everything it handles may simply be repeated
    traces: Tracebacks | None = None  # logs and stores exceptions of handlers
    claimant: str = ""  # name for standing claims, if the hub is in this process
    # Time without work after which `Rest` is raised, or an ordered feed needs no thread; None for
    # never.
    rest_ns: int | None = None

    def claim(self, limit: int) -> Claim:
        """The request that takes up to *limit* events of a queue."""
        if self.claimant:
            held = self.name, limit, self.lease_ns, self.keyed
            return StandingClaim(*held, claimant=self.claimant)
        return Claim(self.name, limit, self.lease_ns, self.keyed)

    @property
    def keyed(self) -> bool:
        """Whether some of its effects are repeated under their key."""
        return self.contract is not None and self.contract.keyed


def ask(request: Request, kind: type[Kind]) -> Generator[Step, Sequence[Answer], Kind]:
    """Request one thing; raises the hub's refusal."""
    return expected(request, (yield (request,))[0], kind)


def expected(request: Request, answer: Answer, kind: type[Kind]) -> Kind:
    """The *answer* to *request*, which must be of this *kind*; raises the hub's refusal."""
    if isinstance(answer, Refused):
        raise answer.error()
    if not isinstance(answer, kind):
        raise CortexError(f"{type(request).__name__} was answered with {type(answer).__name__}")
    return answer


def given_up(feeding: Feeding, record: Recorded, outcome: Outcome, attempts: int) -> Effects:
    """Park an event whose last attempt failed, with the trace of its failure."""
    trace = "" if feeding.traces is None else feeding.traces.kept(outcome)
    return parked(feeding.name, record, outcome.failure or "", attempts, trace)
