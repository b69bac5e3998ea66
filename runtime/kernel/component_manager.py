"""Runs the components of a runtime: one shell each, or one for each worker."""

from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from cortex.bus import (
    CortexError,
    Draft,
    Event,
    Filter,
    HubPort,
    LocalHub,
    Log,
    Publish,
    Query,
    Subscribe,
    UnansweredError,
    Vocabulary,
    lasting,
)
from cortex.runtime.secrets import Mask

from .components.component import (
    AsyncComponent,
    Component,
    contract_of,
    is_query,
    routes_of,
)
from .components.manifest import Entry, construct
from .errors import NotReadyError
from .home.config import Config
from .home.home import Home
from .hosts.closable_history import ClosableHistory
from .hosts.host import Host, LocalHost
from .hosts.shared_host import SharedHost
from .hosts.spawned import Born, SpawnedHost, search_path
from .hosts.tracebacks import Tracebacks
from .managed_component import ManagedComponent
from .shells.at_once import AtOnce, may_be_asked
from .shells.endings import Endings
from .shells.feed import Feeding, Program
from .shells.leases import Leases
from .shells.ordered import OrderedFeed
from .shells.recall import DiskSnapshots, MemorySnapshots, Recall, Snapshots
from .shells.resting import KEEP_NS, REST_NS, Dormant, KeptHosts, Pulse, Resting
from .shells.retries import hearing
from .shells.running import RunningShell, Watching
from .shells.shell import Hooks, Shell, ask, flush, wake
from .shells.supervisor import Supervisor
from .shells.workers import work, work_side_by_side

if TYPE_CHECKING:
    from .hosts.async_host import AsyncHost

STALL_NS = 300_000_000_000  # an ordered component counts as hung after this long at one page

PortsFor = Callable[[Entry], dict[str, Any]]


class ComponentManager:
    """Starts and stops shells; between that, the supervisor restarts failed ones."""

    def __init__(
        self,
        hub: HubPort,
        log: Log,
        vocabulary: Vocabulary,
        supervisor: Supervisor[RunningShell],
        ports_for: PortsFor,
        home: Home | None,
        config: Config,
        keep: Callable[[bytes], str],
        mask: Mask,
    ) -> None:
        self._hub, self._log, self._vocabulary = hub, log, vocabulary
        self._snapshots: Snapshots = (
            DiskSnapshots(home.path / "snapshots.db") if home else MemorySnapshots()
        )
        self._supervisor, self._ports_for = supervisor, ports_for
        self._home = str(home.path) if home else ""
        self._config = config
        self._keep, self._mask = keep, mask  # stores a blob, for the traceback of a failure
        self._standing = isinstance(hub, LocalHub)  # standing claims need a hub in this process
        self._leases = Leases(hub, standing=self._standing)
        self._posts: dict[str, ManagedComponent] = {}

    def begin(self, component: type[Component], entry: Entry) -> Callable[[float], None]:
        """Start a component; the returned function waits so many seconds until it is ready.

        That function raises NotReadyError if the component does not become ready.
        """
        workers = component.workers if entry.workers is None else entry.workers
        name = component.component_name()
        if name in self._posts:
            raise NotReadyError(name, "a component of that name is running: remove it first")
        labels = tuple(f"{name}/{n}" for n in range(1, workers + 1)) if workers else (name,)
        post = ManagedComponent(
            component, entry, labels, tuple(routes_of(component)), KeptHosts(self._hub)
        )
        self._open(post)
        if self._rests(post):
            return lambda _: None
        ready = [self._watch(post, label, ordered=not workers) for label in labels]

        def wait(seconds: float) -> None:
            for label, event in zip(labels, ready, strict=True):
                if not event.wait(lasting(seconds)) or not self._supervisor.is_ready(label):
                    problem = self._supervisor.problem(label) or "it is not ready yet"
                    raise NotReadyError(name, problem)

        return wait

    def _rests(self, post: ManagedComponent) -> bool:
        """Start the workers of a component with its first work; False if they cannot rest.

        A component with an error does not rest: it starts at once, and fails as others do.
        """
        component = post.component
        stays = any(map(is_query, post.routes)) or post.labels == (post.name,)
        if not self._standing or stays or not component.may_rest(self._config, post.entry.settings):
            return False
        try:
            if issubclass(component, AsyncComponent):
                construct(component, self._ports_for(post.entry))  # raises if that fails
            elif not component.cpu:
                self._make(post)
        except Exception:  # noqa: BLE001  # its own thread tells what is wrong
            post.kept.stop_all()
            return False
        self._supervisor.begin()
        begin = partial(self._watch, post, ordered=False)
        post.resting = Resting(self._hub, post.name, begin, post.labels)
        post.resting.start()
        return True

    def _make(self, post: ManagedComponent) -> None:
        for label in post.labels:
            host = self._host(post)
            post.kept.keep(label, host)
            if isinstance(host, LocalHost):
                host.make()

    def _open(self, post: ManagedComponent) -> None:
        """Subscribe before the first shell exists: queries and events from now on wait for it."""
        answered: list[type[Event]] = []
        try:
            for route in post.routes:
                if is_query(route):
                    self._hub.answer(route.event, self._answerer(post))
                    answered.append(route.event)
            if post.pairs():
                # Here: otherwise a component that changed its kind would be restarted for ever.
                subscribe = Subscribe(post.name, "work", post.pairs())
                if post.labels == (post.name,):
                    pairs = hearing(post.name, post.pairs())
                    subscribe = Subscribe(post.name, "ordered", pairs, post.start)
                self._hub.ask_one(post.name, subscribe)
        except CortexError:
            for query in answered:
                self._hub.unanswer(query)
            raise
        self._posts[post.name] = post

    def end(self, name: str, patience_s: float) -> ManagedComponent:
        """Stop a component cleanly.

        Raises:
            NotReadyError: No component of that name is at work.
        """
        post = self._posts.pop(name, None)
        if post is None:
            raise NotReadyError(name, "no component of that name is running")
        self._stop_answering(post)
        self._begin_no_more(post)
        for label in post.labels:
            self._supervisor.unwatch(label, patience_s)
            self._unwatch(post, label)
        self._let_go(post)
        return post

    def end_all(self, patience_s: float) -> None:
        """Stop everything cleanly; abandon shells that hang."""
        posts, self._posts = list(self._posts.values()), {}
        for post in posts:
            self._stop_answering(post)
            self._begin_no_more(post)
        self._supervisor.close(patience_s)
        for post in posts:
            for label in post.labels:
                self._unwatch(post, label)
            self._let_go(post)

    @staticmethod
    def _begin_no_more(post: ManagedComponent) -> None:
        if post.resting is not None:
            post.resting.end()
        if post.dormant is not None:
            post.dormant.end()

    def _let_go(self, post: ManagedComponent) -> None:
        """Stop what has no shell and never gets one again."""
        if post.at_once is not None and isinstance(self._hub, LocalHub):
            self._hub.decide_no_more(post.name)
        post.kept.stop_all()
        kept = post.dormant.take() if post.dormant is not None else None
        if kept is not None:
            program, host = kept
            with suppress(CortexError):  # its cursor stays behind: it is handled again
                flush(program, partial(self._hub.submit, post.name))
            post.kept.keep(post.name, host)  # which stops it

    def _stop_answering(self, post: ManagedComponent) -> None:
        for route in post.routes:
            if is_query(route):
                self._hub.unanswer(route.event)

    def _watch(self, post: ManagedComponent, label: str, *, ordered: bool) -> Any:
        pulse = Pulse()  # of the shell that runs under this label
        host: Host | None = None

        def make(hooks: Hooks) -> RunningShell:
            nonlocal pulse, host
            pulse, kept = Pulse(), post.dormant.take() if post.dormant is not None else None
            if kept is not None:
                host = kept[1]
                return self._started(post, label, hooks, pulse, host, kept[0], resumed=True)
            host = post.kept.take(label) or self._host(post)
            program = self._program(post, label, host, pulse)
            return self._started(post, label, hooks, pulse, host, program)

        def overdue(now_ns: int) -> bool:
            since_ns = pulse.busy_since_ns
            if ordered:
                return bool(since_ns) and now_ns - since_ns > STALL_NS
            return self._leases.overdue(label, now_ns)

        def rested() -> None:
            if post.resting is None:  # what wakes a dormant one stays
                return
            self._unwatch(post, label)
            if host is not None and host.is_kept():
                post.kept.keep(label, host, KEEP_NS)
            post.resting.rest(label)

        watching = Watching(overdue, rested)
        if ordered and self._sleeps(post):
            post.dormant = Dormant(partial(self._supervisor.watch, label, make, watching))
        return self._supervisor.watch(label, make, watching)

    def _sleeps(self, post: ManagedComponent) -> bool:
        """Whether an ordered component needs no thread of its own to be called in."""
        has_process = post.component.cpu and bool(self._home)
        rests = post.component.may_rest(self._config, post.entry.settings)
        return self._standing and bool(post.pairs()) and (rests or has_process)

    def _started(
        self,
        post: ManagedComponent,
        label: str,
        hooks: Hooks,
        pulse: Pulse,
        host: Host,
        program: Program | None,
        *,
        resumed: bool = False,
    ) -> RunningShell:
        if label == post.labels[0]:
            post.answering = host if isinstance(host, SharedHost) else None
        held = self._leases, pulse, post.dormant
        at_once = post.at_once
        turn = nullcontext() if at_once is None else at_once.turn
        ref = Shell.start(label, self._hub, host, program, hooks, *held, turn, resumed=resumed)
        self._unwatch(post, label)

        def bell() -> None:
            if at_once is None or at_once.needs_wakeup(self._hub.head):
                wake(ref, pulse)
            if pulse.dormant and post.dormant is not None:
                post.dormant.wake()

        def abandon() -> None:
            pulse.abandoned = True
            self._leases.drop(label)
            host.abandon()

        def hurry() -> None:
            pulse.ending = True

        if issubclass(post.component, AsyncComponent):
            cast("AsyncHost", host).rings(bell)
        if program is not None:
            post.wakes[label] = bell
            self._hub.watch(post.name, bell)
            if issubclass(post.component, AsyncComponent):
                self._hub.watch(post.endings, bell)
            bell()
        return RunningShell(ref, abandon, hurry)

    def _unwatch(self, post: ManagedComponent, label: str) -> None:
        bell = post.wakes.pop(label, None)
        if bell is not None:
            self._hub.unwatch(post.name, bell)
            if issubclass(post.component, AsyncComponent):
                self._hub.unwatch(post.endings, bell)

    def _program(
        self, post: ManagedComponent, label: str, host: Host, pulse: Pulse
    ) -> Program | None:
        pairs, component = post.pairs(), post.component
        if not pairs:
            return None
        connected = issubclass(component, AsyncComponent)
        rest_ns = KEEP_NS if connected else REST_NS
        feeding = Feeding(
            post.name,
            pairs,
            post.start,
            component.max_attempts,
            int(component.lease_s * 1e9),
            contract=contract_of(component, self._config, post.entry.effects),
            traces=Tracebacks(post.name, self._keep, self._mask.text),
            claimant=label if self._standing else "",
            rest_ns=None if post.resting is None and post.dormant is None else rest_ns,
        )
        if connected:
            return work_side_by_side(feeding, cast("AsyncHost", host), Endings(post.endings))
        if post.labels != (post.name,):
            return work(feeding, host, self._hub.steady_ns)
        version = component.recalls
        seen, ends = Filter(pairs), lambda: pulse.ending
        recall = Recall(
            post.name,
            version,
            seen,
            host,
            self._log,
            self._snapshots,
            ends,
            results=[each.topic_name() for each in component.folds_results],
        )
        feed = OrderedFeed(replace(feeding, filter=hearing(post.name, pairs)), host, recall)
        asked = may_be_asked(component, feeding.contract)
        if asked and isinstance(host, LocalHost) and isinstance(self._hub, LocalHub):
            post.at_once = AtOnce(component, feed, host)
            self._hub.decide_by(post.at_once)
        return feed.run()

    def _host(self, post: ManagedComponent) -> Host:
        entry, emit = post.entry, self._emitter(post.name)
        if post.component.cpu and self._home:  # without a home its blobs exist only in this process
            born = Born(
                entry.component, entry.settings, self._home, search_path(), config=self._config
            )
            return SpawnedHost(post.name, born, self._vocabulary, emit)
        ports = self._ports_for(entry)
        component = post.component
        if issubclass(component, AsyncComponent):
            from .hosts.async_host import AsyncHost  # it imports asyncio, which few need

            return AsyncHost(partial(construct, component, ports), self._vocabulary, emit)
        make = partial(construct, component, ports)
        if component.answers_at_once:
            return SharedHost(make, self._vocabulary, emit)
        history = ports["history"] = ClosableHistory(ports["history"])
        return LocalHost(make, self._vocabulary, emit, history=history)

    def _emitter(self, name: str) -> Callable[..., None]:
        def emit(*drafts: Draft) -> None:
            self._hub.submit(name, (Publish(drafts),))

        return emit

    def _answerer(self, post: ManagedComponent) -> Callable[[Query, float], Event]:
        def answer(query: Query, timeout_s: float) -> Event:
            host = post.answering
            reply = None if host is None else host.answer_at_once(query)
            if reply is not None:
                return reply
            try:
                return self._ask(post, query, timeout_s)
            except UnansweredError:
                if post.dormant is None:
                    raise
            post.dormant.wake()  # it may have come to rest at this moment, with the query waiting
            return self._ask(post, query, timeout_s)

        return answer

    def _ask(self, post: ManagedComponent, query: Query, timeout_s: float) -> Event:
        shell = self._supervisor.running(post.labels[0], timeout_s)
        if shell is None or not shell.ref.is_alive():
            raise UnansweredError(query.topic_name())
        return ask(shell.ref, query, timeout_s)
