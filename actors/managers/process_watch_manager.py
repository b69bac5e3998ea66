"""The manager that has processes compiled when their sources change; at work while a hub is up."""

import msgspec

from cortex.bus import Logger
from cortex.bus.events import ProcessRejected
from cortex.runtime.kernel import Component, Delivery, Home, Runtime, on
from cortex.runtime.knowledge import Root
from cortex.runtime.processes import Diagnostic, compile_home, folders_of

from .folder_watch import FolderWatch

log = Logger("cortex.processes")


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
        """Say it in the hub's own log, too, where whoever started it looks first."""
        first = msgspec.convert(event.diagnostics[0], Diagnostic) if event.diagnostics else ""
        log.warning("process_rejected", problem=str(first) or event.file)

    def _compile(self) -> None:
        compile_home(self._home, self._runtime.client("processes"), self._runtime.blobs)
