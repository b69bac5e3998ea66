"""Which functions of Cortex something passes on its way, in the order in which they are first called.

`docs/architecture.md` draws seven such paths; a test follows each, and `benchmarks/count_path.py`
counts two of them.
"""

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from types import FrameType
from typing import NamedTuple

LAYERS = ("bus", "runtime", "actors", "plugins")
ROOTS = {layer: str(Path(str(files(f"cortex.{layer}")))) for layer in LAYERS}


class Call(NamedTuple):
    """A function that was called."""

    file: str  # below cortex: "bus/hub/hub.py"
    name: str  # "Hub.handle"
    thread: str  # in which it was called first


class Trace:
    """Records the calls of all threads that begin while it is installed, for as long as it is on."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.on = False
        self._seen: set[tuple[str, str]] = set()
        self._places: dict[str, str | None] = {}

    @contextmanager
    def installed(self) -> Generator[None]:
        """Watch this thread, and those that begin in the block."""
        threading.setprofile(self._called)
        sys.setprofile(self._called)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]  # documented so

    @contextmanager
    def recording(self) -> Generator[None]:
        """Record what is called in the block."""
        self.on = True
        try:
            yield
        finally:
            self.on = False

    @property
    def files(self) -> list[str]:
        """Files that were passed, in order."""
        return list(dict.fromkeys(call.file for call in self.calls))

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        if not self.on or event != "call":
            return
        code = frame.f_code
        place = self._place(code.co_filename)
        name = code.co_qualname.replace("<locals>.", "")
        if place is None or name.rpartition(".")[2].startswith("<") or (place, name) in self._seen:
            return  # a comprehension, or the body of a module
        self._seen.add((place, name))
        self.calls.append(Call(place, name, threading.current_thread().name))

    def _place(self, filename: str) -> str | None:
        if filename not in self._places:
            found = (
                f"{layer}/{filename[len(root) + 1 :]}"
                for layer, root in ROOTS.items()
                if filename.startswith(root + "/")
            )
            self._places[filename] = next(found, None)
        return self._places[filename]
