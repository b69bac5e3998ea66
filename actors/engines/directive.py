"""The engine of directives: decides what holds, so that there is one order of facts."""

from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from cortex.bus import OWNER, Blobs, CortexError, Event, Recorded, Vocabulary, person_of
from cortex.bus.events import (
    VOCABULARY,
    DirectiveBranch,
    DirectiveMerge,
    DirectivePin,
    DirectiveRedo,
    DirectiveSubmit,
    DirectiveUndo,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionPaused,
    ExecutionResume,
    ExecutionResumed,
)
from cortex.runtime.access import GRANTS, grants_in
from cortex.runtime.directives import (
    MAIN,
    Asking,
    Ledgers,
    Request,
    RequestRefusedError,
    ScopeLedger,
    StateInvalidError,
    check_state_size,
    decide,
    not_utf_8,
    refusal,
    stored,
)
from cortex.runtime.executions import ENGINE
from cortex.runtime.kernel import Component, Config, Delivery, Output, on
from cortex.runtime.memory import MemoryInvalidError, check_scope

Waiting = dict[str, tuple[str, ...]]  # by execution, the scopes whose answers it waits for
ALL_SCOPES = "*"


class DirectiveEngine(Component):
    """Takes directives and answers, refuses what does not hold, and wakes what waited.

    It never asks a model, and hears people alone: the owner, and clients whose grant names the
    scope. What a scope has is a fold of its own facts.
    """

    recalls = 1
    rests = True
    start = "beginning"

    def __init__(
        self,
        history: Callable[[str], Iterator[Recorded]],
        blobs: Blobs,
        vocabulary: Vocabulary = VOCABULARY,
        config: Config | None = None,
    ) -> None:
        self._history, self._blobs, self._vocabulary = history, blobs, vocabulary
        self._profile = (config or Config()).directives.profile
        self._ledgers = Ledgers(history, blobs, vocabulary, decides=True)
        self._waiting: Waiting = {}
        self._handled = 0  # position of the newest event that was handled
        self._again = False  # whether it was delivered again

    def recall(self, event: Event, delivery: Delivery) -> None:
        """Fold which executions wait."""
        self._fold(event, delivery)

    def snapshot(self) -> bytes:
        """Which executions wait; what is laid down is read from the streams of the scopes."""
        return msgspec.msgpack.encode(self._waiting)

    def restore(self, snapshot: bytes) -> None:
        """Restore it."""
        self._waiting = msgspec.msgpack.decode(snapshot, type=Waiting)

    @on(DirectiveSubmit)
    @on(DirectiveUndo)
    @on(DirectiveRedo)
    @on(DirectiveBranch)
    @on(DirectiveMerge)
    @on(DirectivePin)
    def decide(self, event: Request, delivery: Delivery) -> Iterator[Output]:
        """The fact that follows; then executions that waited for it go on."""
        self._begin(delivery)
        by = person_of(delivery.source)
        try:
            self._check(event, delivery)
            before, after, fact = self._decided(self._with_state(event), by, delivery)
        except RequestRefusedError as refused:
            yield refusal(event, by, refused)
            return
        self._ledgers.put(event.scope, after)
        yield fact
        if _waits(before) and not _waits(after):
            yield from self._wake(delivery)

    def _decided(
        self, event: Request, by: str, delivery: Delivery
    ) -> tuple[ScopeLedger, ScopeLedger, Event]:
        """The scope before and after *event*, and the fact that follows."""
        try:
            source = self._source(event, delivery)
            before = self._ledgers.at(event.scope, delivery.position)
        except CortexError as error:
            raise RequestRefusedError(f"what is laid down cannot be read: {error}") from None
        asking = Asking(by=by, position=delivery.position, profile=self._profile, source=source)
        after, fact = decide(before, event, asking)
        try:
            return before, after, stored(fact, self._blobs.put)
        except CortexError as error:
            raise RequestRefusedError(f"its changes cannot be kept: {error}") from None

    @on(ExecutionPaused)
    def paused(self, event: ExecutionPaused, delivery: Delivery) -> Iterator[Output]:
        """Note what waits for an answer; the answer may have come in the meantime."""
        self._begin(delivery)
        self._fold(event, delivery)
        if event.execution_id in self._waiting:
            yield from self._wake(delivery, event.execution_id)

    @on(ExecutionResumed)
    @on(ExecutionCompleted)
    @on(ExecutionFailed)
    @on(ExecutionCancelled)
    def left(self, event: Event, delivery: Delivery) -> None:
        """Forget what no longer waits."""
        self._begin(delivery)
        self._fold(event, delivery)

    def _begin(self, delivery: Delivery) -> None:
        again = delivery.position <= self._handled
        if again or self._again:
            # Delivered again: the facts of the last time are not in the log. Those of this time may
            # not be either, if the event is given up.
            self._ledgers.forget()
        self._handled, self._again = delivery.position, again

    def _fold(self, event: Event, delivery: Delivery) -> None:
        if delivery.source != ENGINE:
            return
        if isinstance(event, ExecutionPaused) and event.waits_for:
            self._waiting[event.execution_id] = event.waits_for
        else:
            self._waiting.pop(event.stream().removeprefix("execution/"), None)

    def _with_state(self, event: Request) -> Request:
        """*event*, with the state that its blob has."""
        if not isinstance(event, DirectiveSubmit) or not event.state_blob:
            return event
        if event.state:
            raise RequestRefusedError("it has both a state and a blob of one: give one of them")
        try:
            check_state_size(self._blobs.size(event.state_blob))
            return replace(event, state=self._blobs.get(event.state_blob).decode(), state_blob="")
        except StateInvalidError as error:
            raise RequestRefusedError(str(error)) from None
        except UnicodeDecodeError as error:
            raise RequestRefusedError(str(not_utf_8(error))) from None
        except CortexError as error:
            raise RequestRefusedError(f"its state cannot be read: {error}") from None

    def _check(self, event: Request, delivery: Delivery) -> None:
        scopes = [event.scope]
        if isinstance(event, DirectiveMerge) and event.source_scope:
            scopes.append(event.source_scope)  # who recalls from a scope reads what is there
        try:
            for scope in scopes:
                check_scope(scope)
        except MemoryInvalidError as error:
            raise RequestRefusedError(error.problem) from None
        who = person_of(delivery.source)
        if who == OWNER:
            return
        granted = self._granted(delivery)
        for scope in scopes:
            if scope not in granted and ALL_SCOPES not in granted:
                raise RequestRefusedError(
                    f"{who} may not lay anything down in the scope {scope}: only a person may, "
                    f"with `cortex client grant {who} --directive {scope}`",
                    "not_granted",
                )

    def _granted(self, delivery: Delivery) -> tuple[str, ...]:
        """The scopes in which the client that asks may lay down directives."""
        # What a component says, even of a client that hosts it, is no word of a person.
        before = (r for r in self._history(GRANTS) if r.position < delivery.position)
        grant = grants_in(before, self._vocabulary).grant(delivery.source)
        if grant is None or grant.expired(delivery.time_ns):
            return ()
        return grant.given.directives

    def _source(self, event: Request, delivery: Delivery) -> ScopeLedger | None:
        if isinstance(event, DirectiveMerge) and event.source_scope not in ("", event.scope):
            return self._ledgers.at(event.source_scope, delivery.position)
        return None

    def _wake(self, delivery: Delivery, *only: str) -> Iterator[Output]:
        for execution_id in only or tuple(self._waiting):
            scopes = self._waiting[execution_id]
            if not any(self._waits_in(each, delivery) for each in scopes):
                yield ExecutionResume(execution_id=execution_id, seen=delivery.position)

    def _waits_in(self, scope: str, delivery: Delivery) -> bool:
        try:
            return _waits(self._ledgers.at(scope, delivery.position))
        except CortexError:
            return True  # nobody knows: a person resumes it


def _waits(ledger: ScopeLedger) -> bool:
    return ledger.branches[MAIN].content.state.pending is not None
