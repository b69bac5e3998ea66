"""Managers that watch folders of the home, and have something done when files change."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence

import msgspec

from cortex.bus import CortexError, Logger
from cortex.bus.events import KnowledgeIndex, KnowledgeIndexed, KnowledgeRemoved, ProcessRejected
from cortex.runtime.kernel import Component, Delivery, Home, Runtime, on
from cortex.runtime.knowledge import Root, Shown, counts, roots_of_home, shown
from cortex.runtime.processes import Diagnostic, compile_home, folders_of

DEBOUNCE_MS = 400  # changes that follow each other so closely are told together
STEP_MS = 50
AGAIN_S = 5.0  # after a failure of the system's own watching, or while there is no folder
LOOKED_MS = 1_000  # after a watch began, and when nothing came
ANSWER_S = 30.0  # that an answer is waited for before more is asked

log = Logger("cortex.watching")
process_log = Logger("cortex.processes")


class FolderWatch:
    """A thread that calls *changed* after files under *roots* changed, one call at a time.

    What the system's own watching cannot tell, such as a name that is not UTF-8, is looked for. A
    call that fails is made again after a while, until it succeeds; each reason is logged once.

    Args:
        name: Of the thread.
        roots: They need not be there yet.
        changed: Called on the thread; a `CortexError` or `OSError` of it counts as a failure.
        at_start: Whether it is called for what is there at the start, too.
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
        self._seen: Shown | None = None  # when it was last called, or at the start
        self._said: set[str] = set()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=name, daemon=True)

    @property
    def ending(self) -> bool:
        """Whether it was told to end."""
        return self._ending.is_set()

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def end(self) -> None:
        """Watch no longer; returns at once."""
        self._ending.set()

    def stop(self) -> None:
        """Watch no longer; returns when a call under way has come to its end."""
        self.end()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ending.is_set():
            try:
                self._look()  # what changed while nothing watched
                self._follow()
            except FileNotFoundError:  # a folder went before it was watched
                continue
            except (OSError, RuntimeError, CortexError) as error:
                self._say(str(error))
                self._ending.wait(AGAIN_S)

    def _follow(self) -> None:
        """Tell of each change, until the folders are others or it is to end."""
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
            else:  # what came between the last look and the beginning of this watch
                self._look()
                began = False
            # One that was made anew under its old name is not the one that is watched.
            if shown(self._roots).folders != folders or changes & folders:
                return

    def _look(self) -> None:
        """Tell if the files are not as they were at the last time."""
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
        """Whether a root is there now that was not."""
        return any(
            os.path.isdir(root.path) and os.path.realpath(root.path) not in folders  # noqa: PTH112  # realpath's counterpart
            for root in self._roots
        )

    def _say(self, problem: str) -> None:
        """Each problem once: what stays is met again and again."""
        if problem not in self._said:
            self._said.add(problem)
            log.warning(
                "watching_failed",
                error=problem,
                instead=f"Cortex checks the files every {AGAIN_S:.0f} s",
            )

    def _changes(self, folders: frozenset[str]) -> Iterator[set[str]]:
        """The paths that changed together; none, now and then, while there are no changes.

        Each folder is watched by itself: to watch one with all below it follows every link, also
        out of the root to a whole disk, and ends at a name that is not UTF-8.
        """
        # Here, not at the top: it takes its time to load, and few commands keep a hub up.
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


class ProcessWatchManager(Component):
    """Watches the folders of processes, the user's and the home's.

    Nothing of a home is compiled that its user has not trusted as it is now: what a pull brings
    waits for `cortex trust`, and what was compiled before goes on.
    """

    def __init__(self, runtime: Runtime, home: Home) -> None:
        self._runtime, self._home = runtime, home
        roots = [Root(str(folder), "home") for folder in folders_of(home).values()]
        self._watch = FolderWatch("cortex-processes", roots, self._compile, at_start=True)

    def on_start(self) -> None:
        """Begin to watch."""
        self._watch.start()

    def on_stop(self) -> None:
        """Watch no longer."""
        self._watch.stop()

    @on(ProcessRejected)
    def rejected(self, event: ProcessRejected, delivery: Delivery) -> None:
        """Say it in the hub's own process_log, too, where whoever started it looks first."""
        first = msgspec.convert(event.diagnostics[0], Diagnostic) if event.diagnostics else ""
        process_log.warning("process_rejected", problem=str(first) or event.file)

    def _compile(self) -> None:
        compile_home(self._home, self._runtime.client("processes"), self._runtime.blobs)
