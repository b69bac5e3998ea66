"""The manager that starts processes when files change; it works while a hub is running."""

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cortex.bus import CortexError, Event, Logger
from cortex.bus.events import ProcessCompiled, ProcessRetired
from cortex.runtime.kernel import Component, Delivery, Home, on
from cortex.runtime.log import Blobs

from .catalogue import Catalogue
from .file_tree import FileTree
from .files import Change, folders_of, received, triggers_of

DEBOUNCE_MS = 400  # changes within this time start a process once
STEP_MS = 50
AGAIN_S = 5.0  # after a failure of the system's own watching

log = Logger("cortex.files")


class FileWatchManager(Component):
    """Watches the files that compiled processes name, and publishes changes."""

    recalls = 1

    def __init__(self, blobs: Blobs, publish: Callable[..., int], home: Home) -> None:
        self._catalogue = Catalogue(blobs)
        self._publish = publish
        self._home = home.path.resolve()
        self._folder = home.workspace.resolve()
        self._lock = threading.Lock()  # the catalogue is folded on one thread and read on another
        self._changed = threading.Event()  # the watched folders changed, or it must end
        self._ending = False
        self._thread = threading.Thread(target=self._watch, name="cortex-files", daemon=True)

    def on_start(self) -> None:
        """Start watching."""
        self._thread.start()

    def on_stop(self) -> None:
        """Stop watching."""
        self._ending = True
        self._changed.set()
        self._thread.join()

    def recall(self, event: Event, delivery: Delivery) -> None:
        """Apply an event of the compiler."""
        self._fold(event)

    def snapshot(self) -> bytes:
        """The catalogue."""
        with self._lock:
            return self._catalogue.snapshot()

    def restore(self, snapshot: bytes) -> None:
        """Restore the catalogue."""
        with self._lock:
            self._catalogue.restore(snapshot)
        self._changed.set()

    @on(ProcessCompiled)
    @on(ProcessRetired)
    def enter(self, event: ProcessCompiled | ProcessRetired, delivery: Delivery) -> None:
        """Watch the files that the process names now."""
        self._fold(event)

    def _fold(self, event: Event) -> None:
        with self._lock:
            self._catalogue.fold(event)
        self._changed.set()

    def _watch(self) -> None:
        while not self._ending:
            self._changed.clear()
            with self._lock:
                table = self._catalogue.table
            wanted = {n: found for n in table.names() if (found := triggers_of(table.get(n)))}
            folders = {self._there(f) for many in wanted.values() for f in folders_of(many)}
            if not folders:
                self._changed.wait()
                continue
            try:
                for changes in self._seen(folders):
                    for event in received(wanted, changes, str(self._folder), uuid.uuid4().hex):
                        self._publish(event)
            except (OSError, RuntimeError, CortexError) as error:
                log.warning("watching_failed", error=str(error))
                self._changed.wait(AGAIN_S)

    def _seen(self, folders: set[Path]) -> Iterator[list[Change]]:
        # Here, not at the top: it is slow to import, and few commands run a hub.
        from watchfiles import Change as Kind
        from watchfiles import DefaultFilter

        counts = DefaultFilter(ignore_paths=[self._home])
        tops = sorted(map(str, folders))
        tree = FileTree(tops, lambda path: counts(Kind.added, path))
        try:
            for batch in self._told(tops, counts):
                tree.note(path for path, _ in batch)
                yield [*map(self._change, batch)]
        except (OSError, RuntimeError) as error:
            # A name that is not UTF-8, no more system watches, or a folder that was just removed.
            instead = f"Cortex checks the files every {AGAIN_S:.0f} s"
            log.warning("watching_failed", error=str(error), instead=instead)
            yield from self._looked_for(tree)

    def _told(self, tops: Sequence[str], counts: Any) -> Iterator[list[tuple[str, str]]]:
        """The changes that the system reports, until the watched folders change."""
        from watchfiles import watch

        for batch in watch(
            *tops,
            watch_filter=counts,
            debounce=DEBOUNCE_MS,
            step=STEP_MS,
            stop_event=self._changed,
            raise_interrupt=False,
            ignore_permission_denied=True,
        ):
            yield [(path, kind.name) for kind, path in batch]

    def _looked_for(self, tree: FileTree) -> Iterator[list[Change]]:
        """The changes found by scanning, while the system cannot report them."""
        while True:
            yield [*map(self._change, tree.changes())]
            if self._changed.wait(AGAIN_S):
                return
            if not tree.misnamed:
                yield [*map(self._change, tree.changes())]
                if not tree.misnamed:
                    return

    def _change(self, found: tuple[str, str]) -> Change:
        path, kind = found
        return Change(Path(path).relative_to(self._folder).as_posix(), kind)

    def _there(self, folder: str) -> Path:
        """*folder*, or its nearest existing parent: the rest may be created at any time."""
        path = self._folder / folder
        while not path.is_dir() and path != self._folder:
            path = path.parent
        return path
