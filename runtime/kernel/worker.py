"""Hosts components in a separate process, with a hub that another process serves."""

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Self

from cortex.bus import (
    Client,
    ClientDeniedError,
    CortexError,
    HubPort,
    Log,
    SystemClock,
    TailLostError,
    lasting,
    steady_s,
)
from cortex.bus.events import ComponentRestarted, ComponentWithdrawn, RuntimeStarted
from cortex.runtime.cache import Cache
from cortex.runtime.log import Blobs
from cortex.runtime.secrets import MaskedBlobs

from .component_manager import ComponentManager
from .components.announcements import announce, withdraw
from .components.component import Component, vocabulary_of
from .components.manifest import Entry, class_of, entry_of, load
from .home.config import Config
from .home.home import Home
from .home.masking import mask_for
from .logs import configure_unless_done, hide_in_logs
from .ports import ports_in_runtime, preferences_of_user
from .shells.running import RunningShell
from .shells.supervisor import Supervisor, Tell

READY_S = 30.0
PATIENCE_S = 5.0
LOOK_S = 0.5  # how soon a worker notices a request to end while the hub is silent
AWAY_S = 1.0  # between two checks for an unreachable hub
GONE_S = 5.0  # a hub that is silent for this long counts as unreachable when a worker ends
ENDING_S = 0.05  # between two checks whether it is back
BACK_S = 1.0  # how long an ending worker waits for an unreachable hub
UNHEARD_S = 0.3  # for running handlers whose results cannot be sent

# A name, an entry, a class, or a function that is decorated as one.
Startable = str | Entry | type[Component] | Callable[..., Any]


class Worker:
    """Hosts components; with the feeds and shells of a `Runtime`, but a remote hub.

    Use it as a context manager: inside, the components are ready and announced; after it, they are
    stopped in order and withdrawn. Their subscriptions stay, so that nothing is missed between two
    workers. While the hub is unreachable they wait; when it is back they continue where they were.

    Args:
        components: Import strings, entries, classes or decorated functions.
        hub: The remote hub.
        log: The hub's log, for reading.
        blobs: The hub's blobs.
        home: The folder of files for this process; None if the hub is on another machine.
        config: Used instead of the home's config.toml.
        name: The source of what the worker itself publishes.
        restarted: Called for restarts, instead of publishing them: label, reason, times. With it
            the caller speaks for the worker: the worker announces and withdraws nothing.

    Raises:
        UntrustedHomeError: The user has not trusted the home.
    """

    def __init__(
        self,
        components: Iterable[Startable],
        *,
        hub: HubPort,
        log: Log,
        blobs: Blobs,
        home: Home | None = None,
        config: Config | None = None,
        name: str = "worker",
        restarted: Tell | None = None,
    ) -> None:
        if home is not None:
            home.require_trust()
        self._hub, self._log, self._home = hub, log, home
        self._config = config or (Config.load(home) if home else Config())
        # Secrets of this process; the hub masks its own.
        self._mask = mask_for(self._config, home)
        self._blobs: Blobs = MaskedBlobs(blobs, self._mask)
        self._cache = Cache(home.path if home else None, self._config.cache)
        self._wanted = [(class_of(c, load), entry_of(c)) for c in components]
        self._client = Client(name, hub, log, vocabulary_of(cls for cls, _ in self._wanted))
        tell = restarted or self._tell_restarted
        self._supervisor: Supervisor[RunningShell] = Supervisor(SystemClock(), tell)
        self._manager = ComponentManager(
            hub,
            log,
            self._client.vocabulary,
            self._supervisor,
            self._ports_for,
            home,
            self._config,
            self._blobs.put,
            self._mask,
        )
        self._user_preferences = preferences_of_user(home)
        self._ending = threading.Event()
        self._speaks = restarted is None
        self._followed = 0  # position up to which withdrawals were seen
        self._over: CortexError | None = None  # why it cannot continue
        self.left = False  # it ended while its hub was unreachable
        self._announcer = threading.Thread(
            target=self._keep_announced, name="cortex-announcer", daemon=True
        )

    @property
    def name(self) -> str:
        """The source of what the worker itself publishes."""
        return self._client.name

    @property
    def components(self) -> tuple[str, ...]:
        """Names of the components it hosts."""
        return tuple(cls.component_name() for cls, _ in self._wanted)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the components, wait until they are ready, and announce them.

        Raises:
            NotReadyError: One of them did not start.
            CortexError: The hub refuses them.
        """
        configure_unless_done()
        hide_in_logs(self._mask)
        for wait in [self._manager.begin(cls, entry) for cls, entry in self._wanted]:
            wait(READY_S)
        if self._speaks:
            self._followed = self._client.head
            self._announce()
            self._announcer.start()

    def until_over(self, told: threading.Event) -> None:
        """Wait until *told* is set, or until the hub no longer admits this worker.

        Raises:
            ClientDeniedError: Its grant was revoked.
        """
        # With a timeout: a signal delivered to another thread does not end a wait of the main one.
        while self._over is None and not told.wait(lasting(LOOK_S)):
            pass
        if self._over is not None:
            raise self._over

    def stop(self, patience_s: float = PATIENCE_S) -> None:
        """Stop the components and withdraw them; a second call does nothing.

        It does not wait for an unreachable hub: another worker gets unfinished work when its lease
        is over, and `left` is then True.
        """
        if self._ending.is_set():
            return
        self._ending.set()
        self.left = self._is_left()
        if self.left:  # the hub finds out by itself that this worker is gone
            self._hub.close()
            patience_s = min(patience_s, UNHEARD_S)
        self._manager.end_all(patience_s)
        self._cache.close()
        if self._over is None and self._speaks and not self.left:
            with suppress(CortexError):
                self._withdraw()

    def _is_left(self) -> bool:
        """Whether the hub is unreachable, and does not come back within `BACK_S`."""
        began_s = steady_s()
        while (waited_s := steady_s() - began_s) < GONE_S:
            if self._hub.away and waited_s > BACK_S:
                return True
            if not (self._hub.away or self._announcer.is_alive()):
                return False
            time.sleep(lasting(ENDING_S))
        return True

    def _keep_announced(self) -> None:
        """Announce again what another process withdrew.

        A starting runtime withdraws what it does not start itself, and of two workers that host
        the same component the one that ends withdraws it for both.
        """
        while not self._ending.is_set():
            try:
                self._follow()
            except ClientDeniedError as error:
                self._over = error
                return
            except TailLostError as lost:  # its announcements may be lost as well
                self._followed = lost.common
                with suppress(CortexError):
                    self._announce()
            except CortexError:  # the hub is unreachable
                self._ending.wait(lasting(AWAY_S))

    def _follow(self) -> None:
        pairs = [(kind.topic_name(), None) for kind in (RuntimeStarted, ComponentWithdrawn)]
        feed = self._client.follow(*pairs, after=self._followed)
        try:
            while not self._ending.is_set():
                records = feed.next(LOOK_S)
                if records:
                    self._announce()
                    self._followed = records[-1].position
        finally:
            feed.close()

    def _announce(self) -> None:
        announce(self._client, self._wanted, self._config)

    def _withdraw(self) -> None:
        for cls, _ in self._wanted:
            withdraw(self._client, cls)

    def _ports_for(self, entry: Entry) -> dict[str, Any]:
        return ports_in_runtime(
            self._home,
            self._config,
            self._blobs,
            self._log,
            self._client.vocabulary,
            self._client,
            self._cache,
            entry.settings,
            self._user_preferences,
        )

    def _tell_restarted(self, label: str, reason: str, times: int) -> None:
        self._client.publish(
            ComponentRestarted(
                component=label, runtime=self._client.name, reason=reason, times=times
            )
        )
