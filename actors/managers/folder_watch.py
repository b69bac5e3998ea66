"""Managers that watch folders of the home, and act when files change."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence

import msgspec

from cortex.bus import CortexError, Logger
from cortex.bus.events import KnowledgeIndex, KnowledgeIndexed, KnowledgeRemoved, ProcessRejected
from cortex.runtime.kernel import Component, Delivery, Home, Runtime, on
from cortex.runtime.knowledge import Root, Shown, counts, roots_of_home, shown
from cortex.runtime.processes import Diagnostic, compile_home, folders_of

DEBOUNCE_MS = 400  # changes within this time are reported together
STEP_MS = 50
AGAIN_S = 5.0  # after a failure of the system's own watching, or while there is no folder
LOOKED_MS = 1_000  # scan this long after a watch began without an event
ANSWER_S = 30.0  # how long to wait for an answer before the next request

log = Logger("cortex.watching")
process_log = Logger("cortex.processes")


class FolderWatch:
    """A thread that calls *changed* after files under *roots* changed, one call at a time.

    Changes that the system cannot report, such as names that are not UTF-8, are found by scans. A
    failed call is repeated after a while, until it succeeds; each reason is logged once.

    Args:
        name: The name of the thread.
        roots: Folders, which need not exist yet.
        changed: Called on the thread; a `CortexError` or `OSError` of it counts as a failure.
        at_start: Whether to call it for the files at the start, too.
    """

    def __init__(
        self,
        name: str,
        roots: Sequence[Root],
        changed: Callable[[], None],
        *,
        at_start: bool = False,
    ) -> None:
        self._roots, self._changed, self._at_start = tuple(roots), changed, at_start
        self._seen: Shown | None = None  # the files at the last call, or at the start
        self._said: set[str] = set()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=name, daemon=True)

    @property
    def ending(self) -> bool:
        """Whether it must end."""
        return self._ending.is_set()

    def start(self) -> None:
        """Start watching."""
        self._thread.start()

    def end(self) -> None:
        """Stop watching; returns at once."""
        self._ending.set()

    def stop(self) -> None:
        """Stop watching; returns when a running call has finished."""
        self.end()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ending.is_set():
            try:
                self._look()  # finds changes during the gap between watches
                self._follow()
            except FileNotFoundError:  # a folder was removed before it was watched
                continue
            except (OSError, RuntimeError, CortexError) as error:
                self._say(str(error))
                self._ending.wait(AGAIN_S)

    def _follow(self) -> None:
        """Report each change, until the folders change or it must end."""
        folders = shown(self._roots).folders
        if not folders:
            self._ending.wait(AGAIN_S)
            return
        began = True
        for changes in self._changes(folders):
            if self._ending.is_set():
                return
            if not changes and not began:
                if self._root_came(folders):
                    return
                continue
            if changes:
                self._tell(shown(self._roots))
            else:  # changes between the last scan and the start of this watch
                self._look()
                began = False
            # A folder that was recreated under its name is not the watched one.
            if shown(self._roots).folders != folders or changes & folders:
                return

    def _look(self) -> None:
        """Report if the files changed since the last time."""
        now = shown(self._roots)
        if self._seen is None and not self._at_start:
            self._seen = now
        elif now != self._seen:
            self._tell(now)

    def _tell(self, seen: Shown) -> None:
        if not self._ending.is_set():
            self._changed()
            self._seen = seen

    def _root_came(self, folders: frozenset[str]) -> bool:
        """Whether a root exists now that did not."""
        return any(
            os.path.isdir(root.path) and os.path.realpath(root.path) not in folders  # noqa: PTH112  # realpath's counterpart
            for root in self._roots
        )

    def _say(self, problem: str) -> None:
        """Log each problem once, because a lasting one occurs again and again."""
        if problem not in self._said:
            self._said.add(problem)
            log.warning(
                "watching_failed",
                error=problem,
                instead=f"Cortex checks the files every {AGAIN_S:.0f} s",
            )

    def _changes(self, folders: frozenset[str]) -> Iterator[set[str]]:
        """The paths that changed together; from time to time none, if there are no changes.

        Each folder is watched separately: a recursive watch follows every link, also
        out of the root to a whole disk, and fails at a name that is not UTF-8.
        """
        # Here, not at the top: it is slow to import, and few commands run a hub.
        from watchfiles import watch

        for changes in watch(
            *sorted(folders),
            watch_filter=lambda _, path: counts(path.rpartition("/")[2]),
            debounce=DEBOUNCE_MS,
            step=STEP_MS,
            stop_event=self._ending,
            rust_timeout=LOOKED_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            recursive=False,
            ignore_permission_denied=True,
        ):
            yield {path for _, path in changes}


class KnowledgeWatchManager(Component):
    """Watches the knowledge of the home, and asks the accessor of the store to update it.

    Changes during a request are collected into the next one, after its answer.
    """

    def __init__(self, publish: Callable[..., int], home: Home) -> None:
        self._publish = publish
        self._answered = threading.Event()
        self._watch = FolderWatch("cortex-knowledge", roots_of_home(home.path), self._ask)

    def on_start(self) -> None:
        """Start watching."""
        self._watch.start()

    def on_stop(self) -> None:
        """Stop watching."""
        self._watch.end()
        self._answered.set()
        self._watch.stop()

    @on(KnowledgeIndexed)
    @on(KnowledgeRemoved)
    def answered(self, event: KnowledgeIndexed | KnowledgeRemoved, delivery: Delivery) -> None:
        """Ask again for the changes since."""
        self._answered.set()

    def _ask(self) -> None:
        self._answered.clear()
        if self._watch.ending:
            return
        self._publish(KnowledgeIndex())
        self._answered.wait(ANSWER_S)


class ProcessWatchManager(Component):
    """Watches the folders of processes, the user's and the home's.

    It compiles nothing of a home that its user has not trusted in its current state: pulled changes
    wait for `cortex trust`, and compiled processes continue.
    """

    def __init__(self, runtime: Runtime, home: Home) -> None:
        self._runtime, self._home = runtime, home
        roots = [Root(str(folder), "home") for folder in folders_of(home).values()]
        self._watch = FolderWatch("cortex-processes", roots, self._compile, at_start=True)

    def on_start(self) -> None:
        """Start watching."""
        self._watch.start()

    def on_stop(self) -> None:
        """Stop watching."""
        self._watch.stop()

    @on(ProcessRejected)
    def rejected(self, event: ProcessRejected, delivery: Delivery) -> None:
        """Log it also in the hub's own log, where its operator looks first."""
        first = msgspec.convert(event.diagnostics[0], Diagnostic) if event.diagnostics else ""
        process_log.warning("process_rejected", problem=str(first) or event.file)

    def _compile(self) -> None:
        compile_home(self._home, self._runtime.client("processes"), self._runtime.blobs)
