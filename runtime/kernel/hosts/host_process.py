"""The process-wide settings that a runtime changes while it runs, and restores at its end."""

import sys
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

SWITCH_S = 0.0005  # beside a computing thread each GIL turn takes this long; the default is 5 ms


class HostProcess:
    """The settings of this process, shared by its runtimes: the last one restores them.

    While entered, threads take turns every 0.5 ms; if a home has components of its own, its folder
    of plugins is the last of `sys.path`, and Python writes no bytecode.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held = 0
        self._folders: Counter[str] = Counter()
        self._switch_s, self._no_bytecode = 0.0, False

    def enter(self, folder: str = "") -> None:
        """Enter for one more runtime, which imports modules from *folder*, too; "" for none."""
        with self._lock:
            if not self._held:
                self._switch_s, self._no_bytecode = sys.getswitchinterval(), sys.dont_write_bytecode
                sys.setswitchinterval(SWITCH_S)
            self._held += 1
            if folder and (self._folders[folder] or folder not in sys.path):
                self._folders[folder] += 1
                if folder not in sys.path:
                    sys.path.append(folder)  # last, so that it hides nothing installed
            if folder:
                sys.dont_write_bytecode = True  # a bytecode file in the home would be untrusted

    def leave(self, folder: str = "") -> None:
        """Leave, for one runtime."""
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
    def looked_at(self) -> Generator[None, None, None]:
        """Restore the search path of modules and the bytecode setting after the block."""
        path, no_bytecode = list(sys.path), sys.dont_write_bytecode
        try:
            yield
        finally:
            sys.path[:] = path
            sys.dont_write_bytecode = no_bytecode


PROCESS = HostProcess()  # one per process
