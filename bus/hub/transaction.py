"""One batch of requests being staged: what each would change, before anything is written."""

from collections.abc import Callable, Collection, Sequence
from functools import partial

import msgspec

from ..access import Owners
from ..errors import ConflictError, CursorError, LeaseLostError, SubscriptionError
from ..event import CheckedDraft, Draft, Recorded, encode
from ..filter import Filter
from ..limits import Allowed, StagedTally
from ..log import Batch, Deadline, Log, Receipt, Row, SubscriptionState, Work, lags, last_before
from ..policy import WorkPolicy
from ..requests import (
    Answer,
    Appended,
    Attempt,
    Attempted,
    Claim,
    Claimed,
    Commit,
    Due,
    Finish,
    Lease,
    Publish,
    Release,
    Renew,
    StandDown,
    StandingClaim,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from ..subjects import Subjects
from ..vocabulary import Vocabulary
from .cancellation import is_cancelled, waiting_of
from .hub_state import HubState, Route
from .poison import StagedTries
from .recording import recorded, refuse_secret_names
from .setting import Setting
from .standing_claims import StagedClaims
from .subscribing import check_kind, made, taken_up
from .withdrawal import ANNOUNCEMENTS, REVOKED, deadlines_of, gone_with, subscriptions_of

_READ_ANSWER = msgspec.msgpack.Decoder(Appended).decode
_WRITE = msgspec.msgpack.Encoder().encode
SOURCE = "hub"  # source of the hub's own events

Mask = Callable[[Sequence[Draft]], Sequence[Draft]]  # the same events without secrets


class Transaction:
    """Stages requests against the hub's state, which changes only when the hub settles this."""

    def __init__(
        self,
        state: HubState,
        tries: StagedTries,
        log: Log,
        vocabulary: Vocabulary,
        record: Callable[[int], Recorded],
        random: int,
        now_ns: int,
        steady_ns: int,
        allowed: Allowed,
        policy: WorkPolicy,
        owners: Owners | None = None,
        mask: Mask | None = None,
        subjects: Subjects | None = None,
    ) -> None:
        self.batch = Batch()
        self._policy = policy
        self.watched = policy.watched
        self.claims = StagedClaims(state.standing_claims)
        self._mask = mask
        self._subjects = subjects
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
        self._state = state
        self._log = log
        self._vocabulary = vocabulary
        self._record = record
        self._owners = owners  # None: every client may do everything
        self._random = random  # 62 bits, for the ids of this batch
        self._popped: list[tuple[str, int]] = []  # work that a queue returned for this batch
        self._gone: set[tuple[str, int]] = set()  # work that is finished in this batch
        self._routed: Route | None = None  # the route of the newest event, already woken
        # Work subscriptions that this batch makes, changes or (None) removes: later events of
        # the batch are routed accordingly.
        self._remade: dict[str, Filter | None] = {}

    def publish(self, client: str, request: Publish) -> Answer:
        """Append; a repeated number is answered as it was the first time."""
        last: Receipt | None = None
        if request.number:
            last = self.batch.receipts.get(client) or self._state.receipts.get(client)
            if last is not None and request.number == last.number:
                return _READ_ANSWER(last.answer)
            if last is not None and request.number < last.number:
                raise ConflictError(f"client/{client}", request.number - 1, last.number)
            if last is None:
                self.tally.refuse_over(client, "receipts", 1)
        if request.sync:
            self.batch.sync = True
            head = self._state.head
            log, records = self._log, self.records
            refuse_begun = self._policy.refuse_begun
            refuse_begun(client, request.events, self._record, head, log, records)
        answer = self._take(client, request.events, request.due, request.forget)
        if request.number:
            if last is None:
                self.tally.add("receipts", client)
            self.batch.receipts[client] = Receipt(client, request.number, _WRITE(answer))
        return answer

    def commit(self, client: str, request: Commit) -> Answer:
        """Compare and set the cursor, and append the events."""
        standing = self._standing(request.subscription, "ordered")
        if standing.cursor != request.after:
            raise CursorError(request.subscription, request.after, standing.cursor)
        if not request.after <= request.through <= self._state.head:
            raise SubscriptionError(
                request.subscription,
                f"cannot move from {request.after} to {request.through} in a log of "
                f"{self._state.head}",
            )
        answer = self._take(client, request.events, request.due, request.forget)
        self.batch.standings[standing.name] = msgspec.structs.replace(
            standing, cursor=request.through, attempts=0
        )
        self.tries.end((standing.name, 0))
        return answer

    def attempt(self, request: Attempt) -> Answer:
        """Count an attempt at the event after the cursor."""
        standing = self._standing(request.subscription, "ordered")
        key = (standing.name, 0)
        fallen = self.tries.fallen(key)
        if self.tries.must_wait(key):
            return Attempted(0, fallen)
        self.batch.sync |= request.sync
        attempts = standing.attempts + self.tries.begin(key)
        self.batch.standings[standing.name] = msgspec.structs.replace(standing, attempts=attempts)
        return Attempted(attempts, fallen)

    def standing_claim(self, request: StandingClaim) -> Answer:
        """Take the work leased to the claim, or the oldest free work; otherwise the claim stays."""
        self._standing(request.subscription, "work")
        unfetched = self.claims.take(request.claimant)
        fetched = tuple(each for each in unfetched.leases if self._fetch(request, each))
        answer = Claimed(fetched) if fetched else self.claim(request)
        if not answer.leases:
            self.claims.add(request)
        return answer

    def stand_down(self, request: StandDown) -> Answer:
        """Withdraw a standing claim; work leased for it and not fetched is free again."""
        here = self.claims.take_staged(request.claimant)  # leased in this very transaction
        before = self.claims.take(request.claimant)
        for unfetched in (before, here):
            subscription = unfetched.subscription
            queue = self._state.queues.get(subscription)
            for lease in unfetched.leases:
                key = (subscription, lease.record.position)
                work = self.batch.work.get(key) or (queue.get(key[1]) if queue else None)
                if work is None or work.epoch != lease.epoch or not work.not_before_ns:
                    continue
                if key in self._gone or subscription in self.batch.dropped:
                    continue
                # No worker began it: this lease does not count as an attempt.
                self.batch.work[key] = msgspec.structs.replace(
                    work, not_before_ns=0, attempts=work.attempts - 1
                )
                self.woken.add(subscription)
        return Appended()

    def _fetch(self, request: StandingClaim, lease: Lease) -> bool:
        """Whether work leased to a standing claim is still leased to it, and still wanted."""
        subscription = request.subscription
        queue, key = self._state.queues.get(subscription), (subscription, lease.record.position)
        work = queue.get(lease.record.position) if queue else None
        held = work is not None and work.epoch == lease.epoch
        if work is None or not held or work.not_before_ns <= self.steady_ns:
            return False
        if key in self.batch.work or key in self._gone or subscription in self.batch.dropped:
            return False
        if self.drop_cancelled(work, lease.record):
            return False
        # A worker renews its lease after a third of it: the remaining two thirds must be left.
        if work.not_before_ns - self.steady_ns < request.lease_ns * 2 // 3:
            self._keep(work, self.steady_ns + request.lease_ns)
        return True

    def claim(self, request: Claim) -> Claimed:
        """Take the oldest free work."""
        self._standing(request.subscription, "work")
        queue = self._state.queues.get(request.subscription)
        if queue is None or request.subscription in self.batch.dropped:
            return Claimed(())  # the subscription is new in this very batch
        if not request.limit:
            return Claimed((), queue.any_claimable(self.steady_ns))
        popped: list[int] = []
        left: list[int] = []  # suspects, which must be tried alone
        taken: list[tuple[Work, Recorded]] = []
        try:
            for work in queue.claimable(self.steady_ns):
                popped.append(work.position)
                key = (work.subscription, work.position)
                if key in self.batch.work or key in self._gone:
                    continue  # claimed, renewed or finished earlier in this batch
                suspect = self.tries.is_suspect(key)
                if suspect and (taken or self.tries.must_wait(key)):
                    left.append(popped.pop())
                    continue
                record = self._record(work.position)
                if self.drop_cancelled(work, record):
                    continue
                taken.append((work, record))
                if suspect or len(taken) >= request.limit:
                    break
        except BaseException:
            for position in popped:
                queue.again(position)
            raise
        finally:
            for position in left:
                queue.again(position)
        self._popped += [(request.subscription, position) for position in popped]
        self.batch.sync |= request.sync and bool(taken)
        return Claimed(tuple(self._leased(*pair, request.lease_ns) for pair in taken))

    def renew(self, request: Renew) -> Answer:
        """Hold one event longer."""
        work = self._held(request)
        self._keep(work, self.steady_ns + request.lease_ns)
        return Appended()

    def release(self, request: Release) -> Answer:
        """Give one event back."""
        work = self._held(request)
        self._keep(work, self.steady_ns + request.backoff_ns)
        self.tries.make_room((request.subscription, request.position))
        self.woken.add(request.subscription)
        return Appended()

    def finish(self, client: str, request: Finish) -> Answer:
        """End one event's work and append."""
        self._held(request)
        answer = self._take(client, request.events, request.due, request.forget)
        self._end((request.subscription, request.position))
        return answer

    def subscribe(self, request: Subscribe) -> Answer:
        """Make a subscription or take one up."""
        check_kind(request)
        before = self._find(request.name)
        passing = self._is_passing(request.name)
        if before is None:
            standing = made(request, self.head, partial(last_before, self._log, self._state.head))
            self.tally.refuse_over(request.name, "subscriptions", 1)
        else:
            standing = taken_up(request, before, passing=passing)
        pairs = len(request.filter) - (len(before.filter) if before else 0)
        self.tally.refuse_over(request.name, "filters", pairs)
        self.tally.add("subscriptions", request.name, before is None)
        self.tally.add("filters", request.name, pairs)
        if not request.lasting:
            self.passing[request.name] = standing
        elif standing != before:
            self.batch.standings[request.name] = standing
            if standing.kind == "work":
                self._remade[request.name] = Filter(standing.filter)
        return Subscribed(standing.cursor, self.head, standing.attempts, self._state.epoch)

    def unsubscribe(self, request: Unsubscribe) -> Answer:
        """Remove a subscription."""
        if self._find(request.name) is None:
            raise SubscriptionError(request.name, "is not known: nothing to remove")
        self._drop((request.name,))
        return Appended()

    def fire(self, deadline: Deadline, draft: Draft | None) -> None:
        """Append the event of a deadline that has come, if any, and forget it."""
        self._setting.forget(deadline.name)
        if draft is not None:
            self._append(deadline.source, (draft,))

    def withdraw(self, client: str, keeps: Sequence[str]) -> Appended:
        """Remove everything that a client left at the hub."""
        for name in deadlines_of(client, keeps, self._state, self.batch):
            self._setting.forget(name)
        self._drop(subscriptions_of(client, keeps, self._state, self.batch, self.passing))
        if self._owners is None or ANNOUNCEMENTS in keeps:
            return Appended()
        return self._append(SOURCE, self._owners.left_by(client, self.records))

    def tell(self, draft: Draft) -> None:
        """Append an event of the hub itself."""
        self._append(SOURCE, (draft,))

    def report(self, topic: str, body: bytes, position: int, waited_s: float = 0.0) -> None:
        """Append the report of the request at *position*, which no worker takes."""
        self.tell(Draft.of(self._policy.stalled(topic, body, waited_s), causation=position))

    def drop_cancelled(self, work: Work, record: Recorded) -> bool:
        """End *work*, requested by *record*, if it is no longer wanted; return whether so."""
        seen = self._state.filters[work.subscription]
        if (
            record.topic not in self._policy.cancellable
            or not seen.names(record.topic, record.key)  # an observer still gets it
            or self._version(record.stream) == record.version  # the stream has no later event
            or not is_cancelled(self._policy, record, self._log, self.records, work.subscription)
        ):
            return False
        self._end((work.subscription, work.position))
        return True

    @property
    def _setting(self) -> Setting:
        # Created on use, without a reference to the transaction: every batch creates one, and
        # reference cycles would keep the garbage collector busy.
        return Setting(self._state, self.batch, self.tally)

    def put_back(self) -> None:
        """Make the claimed work claimable again: the batch was not written."""
        for name, position in self._popped:
            self._state.queues[name].again(position)

    def _drop(self, names: Collection[str]) -> None:
        """Remove existing subscriptions, with their waiting work."""
        for name in names:
            standing = self._find(name)
            if standing is not None:
                self.tally.add("subscriptions", name, -1)
                self.tally.add("filters", name, -len(standing.filter))
            self.passing.pop(name, None)
            self.batch.standings.pop(name, None)
            self.tries.drop(name)
            self._remade[name] = None
        self.batch.work = {key: w for key, w in self.batch.work.items() if key[0] not in names}
        self.batch.dropped += names

    def _take(
        self,
        client: str,
        events: Sequence[Draft],
        due: Sequence[Due],
        forget: Sequence[str],
    ) -> Appended:
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
                version = self._version(draft.stream) + ahead.get(draft.stream, 0)
                if version != draft.expected_version:
                    raise ConflictError(draft.stream, draft.expected_version, version)
            if not draft.ephemeral:
                ahead[draft.stream] = ahead.get(draft.stream, 0) + 1

    def _append(self, source: str, events: Sequence[Draft]) -> Appended:
        first, policy = self.head + 1, self._policy
        unclaimed: list[tuple[Draft, int]] = []  # requests that no worker takes now
        revoked: list[Draft] = []
        inherits = self._subjects is not None and self._subjects.used
        for draft in events:
            if draft.ephemeral:
                self.ephemeral.append(self._recorded(draft, source, 0, 0))
                wake = self._state.route(draft.topic, draft.key).wake
                self.wakes[id(wake)] = wake
                continue
            if inherits:
                draft = self._inherited(draft)  # the draft that is recorded
            self.head = position = self.head + 1
            stream = draft.stream
            self.versions[stream] = version = self._version(stream) + 1
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
        before = self._state.head
        if 0 < position <= before:
            return self._record(position)
        return self.records[position - before - 1] if before < position <= self.head else None

    def _drop_waiting(self, stream: str) -> None:
        for key in waiting_of(self._policy, stream, self._state, self._log, self.steady_ns):
            if key not in self.batch.work and key not in self._gone:
                self._end(key)

    def _end(self, key: tuple[str, int]) -> None:
        self.batch.work.pop(key, None)
        self.batch.finished.append(key)
        self._gone.add(key)
        self.tries.end(key)

    def _recorded(self, draft: Draft, source: str, position: int, version: int) -> Recorded:
        index = len(self.records) + len(self.ephemeral)
        return recorded(draft, source, position, version, self.time_ns, index, self._random)

    def _route(self, draft: Draft, record: Recorded) -> bool:
        """Route an event to its subscriptions; return whether one of them answers for it."""
        route, position = self._state.route(draft.topic, draft.key), record.position
        if route is not self._routed:  # most events have the route of the one before
            self.wakes[id(route.wake)] = route.wake
            self._routed = route
        taken = route.named
        for name in route.work:
            if name not in self._remade:
                if self.full and name in self.full:
                    self._hold_back(name, position)
                else:
                    self._put(name, record)
                taken = True
        if draft.topic == self.watched:
            self.offered.update(route.work, self._remade)
        for name, seen in self._remade.items():
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
            self.claims.lease(claim, self._leased(work, record, claim.lease_ns))
            self.batch.sync |= claim.sync

    def _hold_back(self, name: str, position: int) -> None:
        """Leave an event in the log until its queue has room for it."""
        standing = self._find(name)
        if standing is not None and not lags(standing):
            self.batch.standings[name] = msgspec.structs.replace(standing, cursor=position - 1)

    def _version(self, stream: str) -> int:
        version = self.versions.get(stream)
        if version is None:
            version = self._state.versions.get(stream)
        if version is None:
            version = self._log.stream_version(stream)
            self.versions[stream] = version
        return version

    def _find(self, name: str) -> SubscriptionState | None:
        """A subscription with the changes of this batch."""
        staged = self.batch.standings.get(name) or self.passing.get(name)
        if staged is None and name not in self.batch.dropped:
            return self._state.standings.get(name)
        return staged

    def _is_passing(self, name: str) -> bool:
        state = name in self._state.passing and name not in self.batch.dropped
        return state or name in self.passing

    def _standing(self, name: str, kind: str) -> SubscriptionState:
        standing = self._find(name)
        if standing is None:
            raise SubscriptionError(name, "is not known: subscribe first")
        if standing.kind != kind:
            raise SubscriptionError(name, f"is {standing.kind}, this asks for {kind}")
        if self._is_passing(name):
            raise SubscriptionError(name, "does not last and has no cursor: only fetch")
        return standing

    def _held(self, request: Finish | Renew | Release) -> Work:
        """The work that *request* claims to hold."""
        name, position = request.subscription, request.position
        self._standing(name, "work")
        work = self.batch.work.get((name, position))
        if work is None and name not in self.batch.dropped and (name, position) not in self._gone:
            queue = self._state.queues.get(name)
            work = queue.get(position) if queue else None
        # A claim that the log lost may have been made again, with the same epoch.
        held = work is not None and work.epoch == request.epoch
        if work is None or not held or request.log_epoch not in (0, work.log_epoch):
            raise LeaseLostError(name, position, request.epoch)
        return work

    def _leased(self, work: Work, record: Recorded, lease_ns: int) -> Lease:
        key = (work.subscription, work.position)
        attempts = work.attempts + self.tries.begin(key)
        epoch, until_ns = work.epoch + 1, self.steady_ns + lease_ns
        self.batch.work[key] = Work(*key, epoch, attempts, until_ns, self._state.epoch)
        return Lease(record, epoch, attempts, self.tries.fallen(key), self._state.epoch)

    def _keep(self, work: Work, not_before_ns: int) -> None:
        self.batch.work[work.subscription, work.position] = msgspec.structs.replace(
            work, not_before_ns=not_before_ns
        )
