"""The plugin's side: describes itself, or hosts its components until the runtime ends it.

The code in this process may be hostile. Nothing in this file restricts it: the sandbox around the
process and the gateway to the hub do.
"""

import os
import queue
import re
import resource
import sys
import threading
from contextlib import suppress

import msgspec

from cortex.bus import CortexError, NotGrantedError
from cortex.bus.wire import connect
from cortex.runtime.isolation import Parent, enter_child
from cortex.runtime.kernel import Config, Entry, Worker, announcement_of, load, trace_of

from ..checking import described
from ..installed import Installed, manifest_here
from ..manifest import Manifest
from .frames import HUNG, Go, PluginFrame, Spec

ALIVE_S = 1.0  # between two signs of life
FILES = 256  # that it may have open
HANGS = "it hangs"  # the supervisor's word for a handler that does not return
REST = "rest"  # no token
TASKS = 512  # threads and processes of a confined one
PER_NAMESPACE = (5, 14)  # Linux counts them for each sandbox since; before, for the whole user


def main() -> None:
    """Describe the plugin, and host it if the runtime asks for that."""
    runtime = enter_child(outlives=True)
    first = runtime.receive()
    if first is None:
        return
    spec = msgspec.msgpack.decode(first, type=Spec)
    sys.path += [folder for folder in spec.path if folder not in sys.path]
    # Before any code of the plugin runs: a lowered hard limit cannot be raised again.
    _bound(spec)
    try:
        manifest = manifest_here(Installed(spec.client, spec.where, "", ""))
        runtime.send(PluginFrame(described=described(manifest, _show)))
        if spec.do == "run":
            orders = _Orders(runtime)
            while token := orders.next():
                _run(spec, token, manifest, runtime, orders)
                with suppress(OSError):  # the runtime has ended
                    runtime.send(PluginFrame(resting=True))
    except CortexError as error:
        if error.__cause__ is not None:  # code of the plugin's own, while it was imported
            _show(error.__cause__)
        # What it was not granted it does not get by starting again.
        denied = isinstance(error, NotGrantedError)
        runtime.send(PluginFrame(failed=str(error), denied=denied))


def _show(error: BaseException) -> None:
    """Print the traceback of *error*, for the author of the plugin."""
    print(trace_of(error), file=sys.stderr)  # noqa: T201  # its log


def _bound(spec: Spec) -> None:
    bounds = {
        resource.RLIMIT_CORE: 0,  # a core would hold its secrets
        resource.RLIMIT_NOFILE: FILES,
        # Not the address space: a thread's stack and arena reserve far more than they use.
        resource.RLIMIT_DATA: spec.memory_mb << 20,
    }
    if spec.confined and _counts_each_sandbox():
        bounds[resource.RLIMIT_NPROC] = TASKS
    for which, most in bounds.items():
        _, hard = resource.getrlimit(which)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (most, most))


def _counts_each_sandbox() -> bool:
    found = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return found is not None and (int(found[1]), int(found[2])) >= PER_NAMESPACE


class _Orders:
    """Orders of the runtime, read by a thread; a closed pipe means to end."""

    def __init__(self, runtime: Parent) -> None:
        self.came = threading.Event()  # an order that was not read yet
        self._said: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._hear, args=(runtime,), daemon=True).start()

    def next(self) -> str:
        """The token of the next run; empty for the end."""
        while (said := self._said.get()) == REST:
            pass
        self.came.clear()
        if not self._said.empty():  # it came before that was cleared
            self.came.set()
        return said

    def _hear(self, runtime: Parent) -> None:
        while data := runtime.receive():
            self._say(msgspec.msgpack.decode(data, type=Go).token or REST)
        self._say("")  # the runtime releases it, or has ended

    def _say(self, token: str) -> None:
        self._said.put(token)
        self.came.set()


def _run(spec: Spec, token: str, manifest: Manifest, runtime: Parent, orders: _Orders) -> None:
    """Host the plugin's components until there is another order."""
    classes = [load(component) for component in manifest.components]
    config = Config()
    effects = dict(manifest.effects)
    said = [
        announcement_of(cls, serves, effects) for cls in classes for serves in cls.announces(config)
    ]
    with connect(spec.url, token=token, name=spec.client) as client:
        entries = [
            Entry(component, settings=spec.settings, effects=effects, start=spec.start)
            for component in manifest.components
        ]
        with Worker(
            entries,
            hub=client.hub,
            log=client.log,
            blobs=client.blobs,
            config=config,
            name=spec.client,
            restarted=_restarted,
        ):
            runtime.send(PluginFrame(ready=True, announced=tuple(said)))
            while not orders.came.wait(ALIVE_S):
                runtime.send(PluginFrame(alive=True))


def _restarted(label: str, reason: str, times: int) -> None:  # noqa: ARG001  # the supervisor's
    """A shell was started again; one that hung left a thread behind, which only this ends."""
    print(f"{label} was started again: {reason}", file=sys.stderr)  # noqa: T201  # its log
    if reason == HANGS:
        os._exit(HUNG)
