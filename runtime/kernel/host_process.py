"""What a runtime changes in its process while it runs; it restores everything at the end."""

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH_S = 0.0005  # beside a thread that computes, 5 ms would be the wait for every GIL turn


class HostProcess:
    """The process, as runtimes hold it: the last one that leaves gives it back.

    Within, threads take turns every 0.5 ms; and where a home has components of its own, its folder
    of plugins is the last of `sys.path`, and Python writes no bytecode.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held = 0
        self._folders: Counter[str] = Counter()
        self._switch_s, self._no_bytecode = 0.0, False

    def enter(self, folder: str = "") -> None:
        """Hold it for one more runtime, which looks for modules in *folder*, too; "" for none."""
        with self._lock:
            if not self._held:
                self._switch_s, self._no_bytecode = sys.getswitchinterval(), sys.dont_write_bytecode
                sys.setswitchinterval(SWITCH_S)
            self._held += 1
            if folder and (self._folders[folder] or folder not in sys.path):
                self._folders[folder] += 1
                if folder not in sys.path:
                    sys.path.append(folder)  # last, so that nothing installed is hidden by it
            if folder:
                sys.dont_write_bytecode = True  # it would be a file in the home nobody trusted

    def leave(self, folder: str = "") -> None:
        """Let go of it."""
        with self._lock:
            if folder and self._folders[folder]:
                self._folders[folder] -= 1
                if not self._folders[folder] and folder in sys.path:
                    sys.path.remove(folder)
            self._held -= 1
            if not self._held:
                sys.setswitchinterval(self._switch_s)
                sys.dont_write_bytecode = self._no_bytecode

    @contextmanager
    def looked_at(self) -> Iterator[None]:
        """What is changed inside is as before afterwards: where modules are found, and bytecode."""
        path, no_bytecode = list(sys.path), sys.dont_write_bytecode
        try:
            yield
        finally:
            sys.path[:] = path
            sys.dont_write_bytecode = no_bytecode


PROCESS = HostProcess()  # there is one
