"""One batch of requests being staged: what each would change, before anything is written."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from ..access import Owners
from ..errors import ConflictError, CursorError, SubscriptionError
from ..event import CheckedDraft, Draft, Recorded, encode
from ..filter import Filter
from ..limits import Allowed, StagedTally
from ..log import Batch, Deadline, Log, Receipt, Row, SubscriptionState, Work, lags
from ..policy import WorkPolicy
from ..requests import (
    Answer,
    Appended,
    Attempt,
    Attempted,
    Commit,
    Due,
    Lease,
    Publish,
)
from ..subjects import Subjects
from ..vocabulary import Vocabulary
from .cancellation import waiting_of
from .hub_state import HubState, Route
from .poison import StagedTries
from .recording import recorded, refuse_secret_names
from .setting import Setting
from .standing_claims import StagedClaims
from .subscribing import drop
from .withdrawal import ANNOUNCEMENTS, REVOKED, deadlines_of, gone_with, subscriptions_of

_READ_ANSWER = msgspec.msgpack.Decoder(Appended).decode
_WRITE = msgspec.msgpack.Encoder().encode
SOURCE = "hub"  # source of the hub's own events

Mask = Callable[[Sequence[Draft]], Sequence[Draft]]  # the same events without secrets


class Rules(NamedTuple):
    """What all transactions of a hub have in common."""

    log: Log
    vocabulary: Vocabulary
    record: Callable[[int], Recorded]  # the event at a position
    policy: WorkPolicy
    owners: Owners | None = None  # None: every client may do everything
    mask: Mask | None = None
    subjects: Subjects | None = None  # None: a subject is recorded as it is named


class Transaction:
    """Stages requests against the hub's state, which changes only when the hub settles this."""

    def __init__(
        self,
        state: HubState,
        tries: StagedTries,
        random: int,
        now_ns: int,
        steady_ns: int,
        allowed: Allowed,
        rules: Rules,
    ) -> None:
        self.batch = Batch()
        self.policy = policy = rules.policy
        self.watched = policy.watched
        self.claims = StagedClaims(state.standing_claims)
        self._mask, self._subjects = rules.mask, rules.subjects
        self.records: list[Recorded] = []
        self.ephemeral: list[Recorded] = []
        self.versions: dict[str, int] = {}
        self.passing: dict[str, SubscriptionState] = {}  # subscriptions that are not on disk
        self.woken: set[str] = set()
        self.wakes: dict[int, frozenset[str]] = {}  # all subscriptions of a route, by its id
        self.tally = StagedTally(state.tally, allowed)  # what the batch adds to the counts
        self.offered: set[str] = set()  # work subscriptions that got watched requests
        self.full = state.full  # work subscriptions whose events wait in the log
        self.head = state.head
        self.time_ns = max(now_ns, state.time_ns)  # never goes back, even if the clock does
        self.tries = tries
        self.steady_ns = steady_ns  # the clock for leases and backoffs
        self.state = state
        self.log, self.record = rules.log, rules.record
        self._vocabulary, self._owners = rules.vocabulary, rules.owners
        self._random = random  # 62 bits, for the ids of this batch
        self.popped: list[tuple[str, int]] = []  # work that a queue returned for this batch
        self.gone: set[tuple[str, int]] = set()  # work that is finished in this batch
        self._routed: Route | None = None  # the route of the newest event, already woken
        # Work subscriptions that this batch makes, changes or (None) removes: later events of
        # the batch are routed accordingly.
        self.remade: dict[str, Filter | None] = {}

    def publish(self, client: str, request: Publish) -> Answer:
        """Append; a repeated number is answered as it was the first time."""
        last: Receipt | None = None
        if request.number:
            last = self.batch.receipts.get(client) or self.state.receipts.get(client)
            if last is not None and request.number == last.number:
                return _READ_ANSWER(last.answer)
            if last is not None and request.number < last.number:
                raise ConflictError(f"client/{client}", request.number - 1, last.number)
            if last is None:
                self.tally.refuse_over(client, "receipts", 1)
        if request.sync:
            self.batch.sync = True
            head = self.state.head
            log, records = self.log, self.records
            refuse_begun = self.policy.refuse_begun
            refuse_begun(client, request.events, self.record, head, log, records)
        answer = self.take(client, request.events, request.due, request.forget)
        if request.number:
            if last is None:
                self.tally.add("receipts", client)
            self.batch.receipts[client] = Receipt(client, request.number, _WRITE(answer))
        return answer

    def commit(self, client: str, request: Commit, head: int = 0) -> Answer:
        """Compare and set the cursor, and append the events; *head* is the newest event seen."""
        head, standing = head or self.state.head, self.standing(request.subscription, "ordered")
        if standing.cursor != request.after:
            raise CursorError(request.subscription, request.after, standing.cursor)
        if not request.after <= request.through <= head:
            raise SubscriptionError(
                request.subscription,
                f"cannot move from {request.after} to {request.through} in a log of {head}",
            )
        answer = self.take(client, request.events, request.due, request.forget)
        self.batch.standings[standing.name] = msgspec.structs.replace(
            standing, cursor=request.through, attempts=0
        )
        self.tries.end((standing.name, 0))
        return answer

    def attempt(self, request: Attempt) -> Answer:
        """Count an attempt at the event after the cursor."""
        standing = self.standing(request.subscription, "ordered")
        key = (standing.name, 0)
        fallen = self.tries.fallen(key)
        if self.tries.must_wait(key):
            return Attempted(0, fallen)
        self.batch.sync |= request.sync
        attempts = standing.attempts + self.tries.begin(key)
        self.batch.standings[standing.name] = msgspec.structs.replace(standing, attempts=attempts)
        return Attempted(attempts, fallen)

    def fire(self, deadline: Deadline, draft: Draft | None) -> None:
        """Append the event of a deadline that has come, if any, and forget it."""
        self._setting.forget(deadline.name)
        if draft is not None:
            self._append(deadline.source, (draft,))

    def withdraw(self, client: str, keeps: Sequence[str]) -> Appended:
        """Remove everything that a client left at the hub."""
        for name in deadlines_of(client, keeps, self.state, self.batch):
            self._setting.forget(name)
        drop(self, subscriptions_of(client, keeps, self.state, self.batch, self.passing))
        if self._owners is None or ANNOUNCEMENTS in keeps:
            return Appended()
        return self._append(SOURCE, self._owners.left_by(client, self.records))

    def tell(self, draft: Draft) -> None:
        """Append an event of the hub itself."""
        self._append(SOURCE, (draft,))

    def report(self, topic: str, body: bytes, position: int, waited_s: float = 0.0) -> None:
        """Append the report of the request at *position*, which no worker takes."""
        self.tell(Draft.of(self.policy.stalled(topic, body, waited_s), causation=position))

    @property
    def _setting(self) -> Setting:
        # Created on use, without a reference to the transaction: every batch creates one, and
        # reference cycles would keep the garbage collector busy.
        return Setting(self.state, self.batch, self.tally)

    def put_back(self) -> None:
        """Make the claimed work claimable again: the batch was not written."""
        for name, position in self.popped:
            self.state.queues[name].again(position)

    def take(
        self,
        client: str,
        events: Sequence[Draft],
        due: Sequence[Due],
        forget: Sequence[str],
    ) -> Appended:
        """Append *events*, and set and forget deadlines."""
        if events:
            events = self._accepted(events)
        if due or forget:
            drafts = self._accepted([each.draft for each in due]) if due else ()
            drafts = [self._inherited(draft) for draft in drafts]
            due = [
                each if each.draft is draft else msgspec.structs.replace(each, draft=draft)
                for each, draft in zip(due, drafts, strict=True)
            ]
            setting = self._setting
            setting.check(client, due, forget)
            setting.take(client, due, forget, self.time_ns)
        return self._append(client, events)

    def _accepted(self, given: Sequence[Draft]) -> Sequence[Draft]:
        """*given* without secrets; refused if a secret cannot be removed."""
        events = given if self._mask is None else self._mask(given)
        expecting = personal = False
        named: list[Draft] = []
        for draft in events:
            if (events is not given or type(draft) is not CheckedDraft) and self._vocabulary.check(
                draft
            ):
                named.append(draft)
            if draft.expected_version is not None:
                expecting = True
            if draft.subject is not None:
                personal = True
        if named and self._mask is not None:
            refuse_secret_names(named, self._mask)
        if personal and (subjects := self._subjects) is not None:
            events = [subjects.named(draft) if draft.subject else draft for draft in events]
        if expecting:
            self._refuse_conflicts(events)
        return events

    def _refuse_conflicts(self, events: Sequence[Draft]) -> None:
        """Refuse *events* if one of them expects another version of its stream."""
        ahead: dict[str, int] = {}
        for draft in events:
            if draft.expected_version is not None:
                version = self.version(draft.stream) + ahead.get(draft.stream, 0)
                if version != draft.expected_version:
                    raise ConflictError(draft.stream, draft.expected_version, version)
            if not draft.ephemeral:
                ahead[draft.stream] = ahead.get(draft.stream, 0) + 1

    def _append(self, source: str, events: Sequence[Draft]) -> Appended:
        first, policy = self.head + 1, self.policy
        unclaimed: list[tuple[Draft, int]] = []  # requests that no worker takes now
        revoked: list[Draft] = []
        inherits = self._subjects is not None and self._subjects.used
        if len(events) > 1:
            self._look_up(events)
        for draft in events:
            if draft.ephemeral:
                self.ephemeral.append(self._recorded(draft, source, 0, 0))
                wake = self.state.route(draft.topic, draft.key).wake
                self.wakes[id(wake)] = wake
                continue
            if inherits:
                draft = self._inherited(draft)  # the draft that is recorded
            self.head = position = self.head + 1
            stream = draft.stream
            self.versions[stream] = version = self.version(stream) + 1
            record = self._recorded(draft, source, position, version)
            self.records.append(record)
            self.batch.rows.append(Row(position, stream, version, encode(record), draft.subject))
            topic = draft.topic
            if not self._route(draft, record) and topic in policy.reported:
                unclaimed.append((draft, position))
            if topic == REVOKED:
                revoked.append(draft)
            elif topic in policy.ends:
                self._drop_waiting(stream)
        answer = Appended(first, self.head) if self.head >= first else Appended()
        for draft, position in unclaimed:  # after the answer, which covers the request alone
            self.report(draft.topic, draft.body, position)
        for draft in revoked:
            self.withdraw(*gone_with(draft))
        return answer

    def _inherited(self, draft: Draft) -> Draft:
        """*draft* with its subject, if it has one; events with one lead to events with one."""
        subjects = self._subjects
        if subjects is None or not subjects.used:
            return draft
        return subjects.inherited(draft, self._record_at)

    def _record_at(self, position: int) -> Recorded | None:
        before = self.state.head
        if 0 < position <= before:
            return self.record(position)
        return self.records[position - before - 1] if before < position <= self.head else None

    def _drop_waiting(self, stream: str) -> None:
        for key in waiting_of(self.policy, stream, self.state, self.log, self.steady_ns):
            if key not in self.batch.work and key not in self.gone:
                self.end(key)

    def end(self, key: tuple[str, int]) -> None:
        """End the work of that subscription and position, for good."""
        self.batch.work.pop(key, None)
        self.batch.finished.append(key)
        self.gone.add(key)
        self.tries.end(key)

    def _recorded(self, draft: Draft, source: str, position: int, version: int) -> Recorded:
        index = len(self.records) + len(self.ephemeral)
        return recorded(draft, source, position, version, self.time_ns, index, self._random)

    def _route(self, draft: Draft, record: Recorded) -> bool:
        """Route an event to its subscriptions; return whether one of them answers for it."""
        route, position = self.state.route(draft.topic, draft.key), record.position
        if route is not self._routed:  # most events have the route of the one before
            self.wakes[id(route.wake)] = route.wake
            self._routed = route
        taken = route.named
        for name in route.work:
            if name not in self.remade:
                if self.full and name in self.full:
                    self._hold_back(name, position)
                else:
                    self._put(name, record)
                taken = True
        if draft.topic == self.watched:
            self.offered.update(route.work, self.remade)
        for name, seen in self.remade.items():
            if seen is not None and seen.matches(draft.topic, draft.key):
                if name in self.full and name not in self.batch.dropped:
                    self._hold_back(name, position)
                else:
                    self.batch.work[name, position] = Work(name, position)
                self.woken.add(name)
                taken = True
        return taken

    def _put(self, name: str, record: Recorded) -> None:
        """Make work of an event: leased to a waiting claim, or free for the first worker."""
        work = Work(name, record.position)
        claim = self.claims.for_work(name)
        if claim is None:
            self.batch.work[name, record.position] = work
        else:
            self.claims.lease(claim, self.leased(work, record, claim.lease_ns))
            self.batch.sync |= claim.sync

    def _hold_back(self, name: str, position: int) -> None:
        """Leave an event in the log until its queue has room for it."""
        standing = self.find(name)
        if standing is not None and not lags(standing):
            self.batch.standings[name] = msgspec.structs.replace(standing, cursor=position - 1)

    def _look_up(self, events: Sequence[Draft]) -> None:
        """Read the versions of the streams of *events* in one look instead of one look each."""
        unknown = [
            stream
            for stream in {draft.stream: None for draft in events if not draft.ephemeral}
            if stream not in self.versions and stream not in self.state.versions
        ]
        if len(unknown) > 1:
            self.versions |= self.log.stream_versions(unknown)

    def version(self, stream: str) -> int:
        """The version of a stream, with the changes of this batch."""
        version = self.versions.get(stream)
        if version is None:
            version = self.state.versions.get(stream)
        if version is None:
            version = self.log.stream_version(stream)
            self.versions[stream] = version
        return version

    def find(self, name: str) -> SubscriptionState | None:
        """A subscription with the changes of this batch."""
        staged = self.batch.standings.get(name) or self.passing.get(name)
        if staged is None and name not in self.batch.dropped:
            return self.state.standings.get(name)
        return staged

    def is_passing(self, name: str) -> bool:
        """Whether a subscription does not last."""
        state = name in self.state.passing and name not in self.batch.dropped
        return state or name in self.passing

    def standing(self, name: str, kind: str) -> SubscriptionState:
        """The existing subscription of that name.

        Raises:
            SubscriptionError: There is none, or it is of another kind.
        """
        standing = self.find(name)
        if standing is None:
            raise SubscriptionError(name, "is not known: subscribe first")
        if standing.kind != kind:
            raise SubscriptionError(name, f"is {standing.kind}, this asks for {kind}")
        if self.is_passing(name):
            raise SubscriptionError(name, "does not last and has no cursor: only fetch")
        return standing

    def leased(self, work: Work, record: Recorded, lease_ns: int) -> Lease:
        """Lease *work* for so long: the attempt counts at once."""
        key = (work.subscription, work.position)
        attempts = work.attempts + self.tries.begin(key)
        epoch, until_ns = work.epoch + 1, self.steady_ns + lease_ns
        self.batch.work[key] = Work(*key, epoch, attempts, until_ns, self.state.epoch)
        return Lease(record, epoch, attempts, self.tries.fallen(key), self.state.epoch)
