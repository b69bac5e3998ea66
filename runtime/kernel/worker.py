"""Hosts components in a separate process, fed by a hub that another process serves."""

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import TracebackType
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
from cortex.runtime.log import Blobs
from cortex.runtime.secrets import MaskedBlobs

from .announcements import announce, withdraw
from .component import Component, vocabulary_of
from .component_manager import ComponentManager, class_of, entry_of
from .config import Config
from .home import Home
from .logs import configure_unless_done, hide_in_logs
from .manifest import Entry, load
from .masking import mask_for
from .ports import ports_in_runtime, preferences_of_user
from .recall import DiskSnapshots, MemorySnapshots
from .supervisor import Supervisor, Tell

READY_S = 30.0
PATIENCE_S = 5.0
LOOK_S = 0.5  # how soon a worker that is told to end notices it while the hub says nothing
AWAY_S = 1.0  # between two looks for a hub that is away
GONE_S = 5.0  # a hub that says nothing for so long is away when a worker is to end
ENDING_S = 0.05  # between two looks whether it is back
BACK_S = 1.0  # that one which is known to be away may take to come back then
UNHEARD_S = 0.3  # for what is at work, when nobody can take its result

# A name, an entry, a class, or a function that is decorated as one.
Startable = str | Entry | type[Component] | Callable[..., Any]


class Worker:
    """Hosts components; the same feeds and shells as in a `Runtime`, on a hub elsewhere.

    Use it as a context manager: inside, the components are ready and announced; after, they were
    stopped in order and withdrawn. Their subscriptions stay, so that nothing is missed between two
    workers. While the hub is away they wait; when it is back they go on where they were.

    Args:
        components: Import strings, entries, classes or decorated functions.
        hub: Where the events are.
        log: The hub's log, for reading.
        blobs: The hub's blobs.
        home: Where this process may look for files; None where the hub is on another machine.
        config: Instead of the home's config.toml.
        name: The source of what the worker itself publishes.
        restarted: Is told of restarts, instead of the bus: label, reason, times. Whoever gives it
            speaks for the worker in all: nothing is announced or withdrawn here.

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
        self._mask = mask = mask_for(
            self._config, home
        )  # what only we know; the hub hides what it knows
        self._blobs: Blobs = MaskedBlobs(blobs, mask)
        self._wanted = [(class_of(c, load), entry_of(c)) for c in components]
        self._client = Client(name, hub, log, vocabulary_of(cls for cls, _ in self._wanted))
        self._supervisor = Supervisor(SystemClock(), restarted or self._tell_restarted)
        self._staff = ComponentManager(
            hub,
            log,
            self._client.vocabulary,
            DiskSnapshots(home.path / "snapshots.db") if home else MemorySnapshots(),
            self._supervisor,
            self._ports_for,
            str(home.path) if home else "",
            self._config,
            self._blobs.put,
            mask,
        )
        self._user_preferences = preferences_of_user(home)
        self._ending = threading.Event()
        self._speaks = restarted is None
        self._followed = 0  # position up to which withdrawals were seen
        self._over: CortexError | None = None  # why it cannot go on
        self.left = False  # it ended without its hub, which was away
        self._keeper = threading.Thread(
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the components, wait until they are ready, and announce them.

        Raises:
            NotReadyError: One of them did not start.
            CortexError: The hub refuses them.
        """
        configure_unless_done()
        hide_in_logs(self._mask)
        for wait in [self._staff.begin(cls, entry) for cls, entry in self._wanted]:
            wait(READY_S)
        if self._speaks:
            self._followed = self._client.head
            self._announce()
            self._keeper.start()

    def until_over(self, told: threading.Event) -> None:
        """Wait until *told* is set, or until the hub no longer admits this worker.

        Raises:
            ClientDeniedError: What it was granted was taken back.
        """
        # With a time: a signal that goes to another thread does not end a wait of the main one.
        while self._over is None and not told.wait(lasting(LOOK_S)):
            pass
        if self._over is not None:
            raise self._over

    def stop(self, patience_s: float = PATIENCE_S) -> None:
        """Stop the components in good order and withdraw them; a second call does nothing.

        A hub that is away is not waited for: what was in hand goes to another worker once its lease
        is over, and `left` says so afterwards.
        """
        if self._ending.is_set():
            return
        self._ending.set()
        self.left = self._is_left()
        if self.left:  # nobody waits for it any more, and it finds out by itself who is gone
            self._hub.close()
            patience_s = min(patience_s, UNHEARD_S)
        self._staff.end_all(patience_s)
        if self._over is None and self._speaks and not self.left:
            with suppress(CortexError):
                self._withdraw()

    def _is_left(self) -> bool:
        """Whether the hub is away, and has not come back in a moment."""
        began_s = steady_s()
        while (waited_s := steady_s() - began_s) < GONE_S:
            if self._hub.away and waited_s > BACK_S:
                return True
            if not (self._hub.away or self._keeper.is_alive()):
                return False
            time.sleep(lasting(ENDING_S))
        return True

    def _keep_announced(self) -> None:
        """Announce again whatever somebody else withdrew.

        A runtime that starts withdraws what it does not start itself, and of two workers that host
        the same component the one that ends withdraws it for both.
        """
        while not self._ending.is_set():
            try:
                self._follow()
            except ClientDeniedError as error:
                self._over = error
                return
            except TailLostError as lost:  # what it announced may be lost as well
                self._followed = lost.common
                with suppress(CortexError):
                    self._announce()
            except CortexError:  # the hub is away
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
            entry.settings,
            self._user_preferences,
        )

    def _tell_restarted(self, label: str, reason: str, times: int) -> None:
        self._client.publish(
            ComponentRestarted(
                component=label, runtime=self._client.name, reason=reason, times=times
            )
        )
