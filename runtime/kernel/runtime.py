"""The composition root: a log, a hub, and the components that a manifest names."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Self, cast

from cortex.bus import (
    Client,
    Clock,
    Event,
    Hub,
    HubInside,
    HubPort,
    LocalHub,
    Log,
    LogError,
    Logger,
    SystemClock,
    Unsubscribe,
    Vocabulary,
    system_entropy,
)
from cortex.bus.events import ComponentRestarted, RuntimeStarted, RuntimeStopped, TrustGiven
from cortex.runtime.access import RecordedOwners
from cortex.runtime.access.trust import take_unrecorded
from cortex.runtime.cache import Cache
from cortex.runtime.log import AgentWork, Blobs, EventLog, MemoryBlobs, MemoryLog
from cortex.runtime.secrets import Mask, MaskedBlobs
from cortex.runtime.subjects import HubSubjects, PersonalBlobs, PersonalLog, SubjectKeys

from .component_manager import ComponentManager
from .components.announcements import announce, withdraw
from .components.component import Component, vocabulary_of
from .components.manifest import Entry, built_in, class_of, configured, entry_of, load
from .errors import NotReadyError
from .home.config import Config
from .home.home import Home
from .home.masking import mask_for, open_blobs
from .hosts.host_process import PROCESS
from .log_levels import configure_logs
from .logs import configure_unless_done, hide_in_logs
from .ports import ports_in_runtime, preferences_of_user
from .shells.running import RunningShell
from .shells.supervisor import Supervisor
from .version import VERSION

READY_S = 30.0
PATIENCE_S = 5.0  # for running handlers when the runtime ends

log = Logger("cortex.kernel")

# A name, an entry, a class, or a function that is decorated as one.
Startable = str | Entry | type[Component] | Callable[..., Any]


class Runtime:
    """Runs components on one log. One process may have several runtimes, each on its own log.

    Use it as a context manager: inside, components are ready; after it, they are stopped.
    Creating one neither changes the process nor starts a thread. Inside, it has
    threads of its own; Python's threads take turns every 0.5 ms; if the program has not
    configured structlog, warnings and worse (or the level in `CORTEX_LOG`) go to standard error,
    also afterwards; and if config.toml names components, the home's folder of plugins is
    the last of `sys.path` and no bytecode is written. Afterwards everything else is restored.

    Args:
        home: The folder of log, blobs and the rest; None keeps everything in memory.
        components: Import strings, entries, classes or decorated functions; None for the
            built-in ones.
        config: Used instead of the home's config.toml.
        clock: The hub's clock.
        log: Used instead of the home's log.
        name: The source of what the runtime itself publishes.
        held_for: A word for this runtime, shown to processes that find the home's log held.

    Raises:
        UntrustedHomeError: The user has not trusted the home.
        LogError: The log cannot be used; the message says why.
        ManifestError: A component cannot be loaded.
    """

    def __init__(
        self,
        home: Home | None = None,
        *,
        components: Iterable[Startable] | None = None,
        config: Config | None = None,
        clock: Clock | None = None,
        log: Log | None = None,
        name: str = "runtime",
        held_for: str = "",
    ) -> None:
        if home is not None:
            home.require_trust()  # first: opening the log delivers waiting work and fires deadlines
        self.home, self.name = home, name
        self.config = config or (Config.load(home) if home else Config())
        self._user_preferences = preferences_of_user(home)
        self.clock: Clock = clock or SystemClock()
        self._whole = components is None  # components that a caller leaves out may run elsewhere
        with PROCESS.looked_at():
            wanted = self._configured() if components is None else list(components)
            self._wanted = [(class_of(c, load), entry_of(c)) for c in wanted]
        self.vocabulary: Vocabulary = vocabulary_of(cls for cls, _ in self._wanted)
        self.mask: Mask = mask_for(self.config, home)  # later secrets are added to it
        self.subjects = SubjectKeys.of_home(home.path) if home else SubjectKeys(None)
        self.blobs: Blobs = self._open_blobs()
        self.cache = Cache(home.path if home else None, self.config.cache)
        opened = log or _open_log(home, self.config, held_for)
        self.log: Log = PersonalLog(opened, self.subjects, self.vocabulary)
        self.hub = LocalHub(self._open_hub(), self.clock, begins=False)
        self._client = self.client(name)
        self._supervisor: Supervisor[RunningShell] = Supervisor(self.clock, self._tell_restarted)
        self._manager = ComponentManager(
            self.hub,
            self.log,
            self.vocabulary,
            self._supervisor,
            self._ports_for,
            home,
            self.config,
            self.blobs.put,
            self.mask,
        )
        self._speakers: dict[str, Client] = {}  # by import string, for components with their own
        self._plugins = str(home.plugins) if home and self._whole and self.config.components else ""
        self._entered = self._started = self._stopped = False

    def _open_blobs(self) -> Blobs:
        if self.home is not None:
            return open_blobs(self.home, self.config, self.mask)
        return MaskedBlobs(PersonalBlobs(MemoryBlobs(), self.subjects), self.mask)

    def _open_hub(self) -> Hub:
        """The state machine on this runtime's log."""
        hub = Hub(
            self.log,
            self.vocabulary,
            system_entropy,
            RecordedOwners(self.log, self.vocabulary),
            self.mask.drafts,
            AgentWork(),
            HubSubjects(self.subjects, self.log, self.vocabulary),
        )
        hub.ready = self.config.limits.waiting
        return hub

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def client(self, name: str, events: tuple[type[Event], ...] = ()) -> Client:
        """A client of this runtime's hub.

        Args:
            name: The source of what it publishes.
            events: Event classes of its own, in addition to those of the components.
        """
        if not events:
            return Client(name, self.hub, self.log, self.vocabulary, self.blobs)
        known = self.vocabulary.extended(events)
        # Its `__getattr__` provides the rest of a hub, which a type checker does not see.
        hub = cast("HubPort", HubInside(self.hub, known))
        return Client(name, hub, self.log, known, self.blobs)

    def start(self) -> None:
        """Start the components and wait until all of them are ready.

        Raises:
            NotReadyError: One of them did not start.
        """
        configure_logs(self.config.logs.level, self.config.logs.format)
        configure_unless_done()
        hide_in_logs(self.mask)
        PROCESS.enter(self._plugins)
        self._entered = True
        self.hub.begin()
        for wait in [self._manager.begin(cls, entry) for cls, entry in self._wanted]:
            wait(READY_S)
        announce(self._client, self._wanted, self.config, alone=self._whole)
        names = tuple(cls.component_name() for cls, _ in self._wanted)
        self._client.publish(
            RuntimeStarted(
                runtime=self.name,
                cortex_version=VERSION,
                components=names,
                clock_behind_s=self._clock_behind_s(),
            )
        )
        self._started = True
        self._tell_trusted()

    def stop(self, patience_s: float = PATIENCE_S) -> None:
        """Stop the components and close the log; a second call does nothing.

        Args:
            patience_s: How long running handlers may take to finish. One that takes
                longer is abandoned: its results are not recorded, and the next runtime
                delivers its event again.
        """
        if self._stopped:
            return
        self._stopped = True
        self._manager.end_all(patience_s)
        self.cache.close()
        try:
            if self._started:
                # A full disk must not hide an earlier error; the missing event shows it as well.
                with suppress(LogError):
                    self._client.publish(RuntimeStopped(runtime=self.name))
        finally:
            try:
                self.hub.close()
                self.log.close()
            finally:
                if self._entered:
                    PROCESS.leave(self._plugins)

    def add(self, component: Startable, *, wait_s: float = READY_S, client: str = "") -> None:
        """Start one more component while the runtime runs.

        Args:
            component: The component.
            wait_s: How long it may take until it is ready.
            client: The client that announces it and publishes its events outside of handlers; ""
                for the runtime's.

        Raises:
            NotReadyError: It did not start within *wait_s*, and is not tried again.
            SubscriptionError: It is ordered and was of kind work in this log, or vice versa.
        """
        cls = class_of(component, load)
        self.vocabulary.adopt(vocabulary_of([cls]))
        entry = entry_of(component)
        if client:
            self._speakers[entry.component] = self.client(client)
        wait = self._manager.begin(cls, entry)
        try:
            wait(wait_s)
        except NotReadyError:
            self._manager.end(cls.component_name(), PATIENCE_S)  # or it would be restarted for ever
            self._speakers.pop(entry.component, None)
            raise
        announce(self._speaker(entry), [(cls, entry)], self.config)

    def remove(self, component: str) -> None:
        """Stop the component of that name, withdraw its announcements, remove its subscription.

        The client that announced it also withdraws it.
        """
        post = self._manager.end(component, PATIENCE_S)
        withdraw(self._speakers.pop(post.entry.component, self._client), post.component)
        if post.pairs():
            self.hub.ask_one(self.name, Unsubscribe(component))

    def look_at_clock(self) -> None:
        """Do what is due, because the caller has moved the clock of this runtime."""
        self.hub.look()
        self._supervisor.look()

    def _clock_behind_s(self) -> float:
        """How far the clock is behind the log's newest event; reported at every start."""
        behind_ns = self.hub.ahead_ns
        if behind_ns:
            log.warning(
                "clock_behind_log",
                behind_s=round(behind_ns / 1e9),
                why="the newest event is in the future of this machine's clock",
                todo="set the clock if it is wrong; nothing waits for it to catch up",
            )
        return behind_ns / 1e9

    def _configured(self) -> list[Startable]:
        return list(configured(self.home, self.config) if self.home else built_in())

    def _speaker(self, entry: Entry) -> Client:
        return self._speakers.get(entry.component, self._client)

    def _ports_for(self, entry: Entry) -> dict[str, Any]:
        ports = ports_in_runtime(
            self.home,
            self.config,
            self.blobs,
            self.log,
            self.vocabulary,
            self._speaker(entry),
            self.cache,
            entry.settings,
            self._user_preferences,
        )
        return {**ports, "runtime": self, "mask": self.mask}

    def _tell_trusted(self) -> None:
        """Record once that this user trusts the home."""
        given = take_unrecorded(self.home.own.path) if self.home is not None else None
        if given is not None:
            self._client.publish(
                TrustGiven(
                    home=given.home, digest=given.digest, by=given.by, given_ns=given.given_ns
                )
            )

    def _tell_restarted(self, label: str, reason: str, times: int) -> None:
        self._client.publish(
            ComponentRestarted(component=label, runtime=self.name, reason=reason, times=times)
        )


def _open_log(home: Home | None, config: Config, held_for: str) -> Log:
    if home is None:
        return MemoryLog()
    return EventLog.open(home.log_path, durability=config.durability, held_for=held_for)
