"""The manager that has knowledge indexed when its files change; at work while a hub is up."""

import threading
from collections.abc import Callable, Iterator

import structlog

from cortex.bus import CortexError
from cortex.bus.events import KnowledgeIndex, KnowledgeIndexed, KnowledgeRemoved
from cortex.runtime.kernel import Component, Delivery, Home, on

DEBOUNCE_MS = 400  # changes that follow each other so closely are indexed together
STEP_MS = 50
ANSWER_S = 30.0  # that an answer is waited for before more is asked
AGAIN_S = 5.0  # after a failure of the system's own watching, or while there is no folder

log = structlog.get_logger("cortex.knowledge")


class KnowledgeWatchManager(Component):
    """Watches the knowledge of the home, and asks the accessor of the store to look at it.

    What changes while a request is under way is asked for together, once that was answered.
    """

    def __init__(self, publish: Callable[..., int], home: Home) -> None:
        self._publish = publish
        self._folder = home.knowledge.resolve()
        self._ending = threading.Event()
        self._answered = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="cortex-knowledge", daemon=True)

    def on_start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def on_stop(self) -> None:
        """Watch no longer."""
        self._ending.set()
        self._answered.set()
        self._thread.join()

    @on(KnowledgeIndexed)
    @on(KnowledgeRemoved)
    def answered(self, event: KnowledgeIndexed | KnowledgeRemoved, delivery: Delivery) -> None:
        """Ask again for what has changed since."""
        self._answered.set()

    def _watch(self) -> None:
        while not self._ending.is_set():
            try:
                for _ in self._changes():
                    self._answered.clear()
                    if self._ending.is_set():
                        return
                    self._publish(KnowledgeIndex())
                    self._answered.wait(ANSWER_S)
            except (OSError, RuntimeError, CortexError) as error:
                log.warning("watching_failed", error=str(error))
            self._ending.wait(AGAIN_S)

    def _changes(self) -> Iterator[None]:
        """One None for changes that belong together, until the folder is gone or it is to end."""
        if not self._folder.is_dir():
            return
        # Here, not at the top: it takes its time to load, and few commands keep a hub up.
        from watchfiles import watch

        for _ in watch(
            self._folder,
            watch_filter=lambda _, path: self._counts(path),
            debounce=DEBOUNCE_MS,
            step=STEP_MS,
            stop_event=self._ending,
            raise_interrupt=False,
            ignore_permission_denied=True,
        ):
            yield
            if not self._folder.is_dir():  # another one of its name would not be watched
                return

    def _counts(self, path: str) -> bool:
        """Whether *path* can be knowledge: what is hidden is not, nor what an editor leaves."""
        below = path.removeprefix(str(self._folder)).split("/")
        return not (path.endswith("~") or any(part.startswith(".") for part in below))
