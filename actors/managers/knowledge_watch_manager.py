"""The manager that has knowledge indexed when its files change; at work while a hub is up."""

import threading
from collections.abc import Callable

from cortex.bus.events import KnowledgeIndex, KnowledgeIndexed, KnowledgeRemoved
from cortex.runtime.kernel import Component, Delivery, Home, on
from cortex.runtime.knowledge import roots_of_home

from .folder_watch import FolderWatch

ANSWER_S = 30.0  # that an answer is waited for before more is asked


class KnowledgeWatchManager(Component):
    """Watches the knowledge of the home, and asks the accessor of the store to look at it.

    What changes while a request is under way is asked for together, once that was answered.
    """

    def __init__(self, publish: Callable[..., int], home: Home) -> None:
        self._publish = publish
        self._answered = threading.Event()
        self._watch = FolderWatch("cortex-knowledge", roots_of_home(home.path), self._ask)

    def on_start(self) -> None:
        """Begin to watch."""
        self._watch.start()

    def on_stop(self) -> None:
        """Watch no longer."""
        self._watch.end()
        self._answered.set()
        self._watch.stop()

    @on(KnowledgeIndexed)
    @on(KnowledgeRemoved)
    def answered(self, event: KnowledgeIndexed | KnowledgeRemoved, delivery: Delivery) -> None:
        """Ask again for what has changed since."""
        self._answered.set()

    def _ask(self) -> None:
        self._answered.clear()
        if self._watch.ending:
            return
        self._publish(KnowledgeIndex())
        self._answered.wait(ANSWER_S)
