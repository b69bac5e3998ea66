"""The child's side of a spawned component; `spawned` describes the frames."""

import gc
import os
import sys
from typing import Any

import msgspec

from cortex.bus import Draft, Event
from cortex.runtime.isolation import Parent, enter_child

from ..components.component import vocabulary_of
from ..components.manifest import construct, load
from ..log_levels import configure_logs
from ..logs import configure_unless_done, hide_in_logs
from ..ports import ports_in_child
from .host import Host, LocalHost
from .spawned import Ask, Born, ChildFrame


def main() -> None:
    """Serve frames until the parent closes the pipe."""
    try:
        _serve_all(enter_child())
    except BrokenPipeError:
        os._exit(1)  # the parent was killed: there is nothing to report or flush to


def _serve_all(parent: Parent) -> None:
    first = parent.receive()
    if first is None:
        return
    host = _born(msgspec.msgpack.decode(first, type=Born), parent)
    settled = False  # whether it has worked: what it needs, it has imported and loaded by then
    while host is not None and (data := parent.receive()):
        ask = msgspec.msgpack.decode(data, type=Ask)
        parent.send(_serve(host, ask))
        if not settled and ask.do in ("handle", "answer"):
            settled = True
            gc.freeze()  # no collection looks at the modules and the fold again
    if host is not None:
        host.stop()


def _born(born: Born, parent: Parent) -> "_Served | None":
    try:
        sys.dont_write_bytecode = True  # a bytecode file in a home would be untrusted
        sys.path[:] = list(dict.fromkeys([*sys.path, *born.path]))
        component = load(born.component)
        vocabulary = vocabulary_of([component])
        ports: dict[str, Any] = ports_in_child(born.home, born.config, born.settings, vocabulary)
        configure_logs(born.config.logs.level, born.config.logs.format)
        configure_unless_done()
        hide_in_logs(ports["mask"])

        def emit(draft: Draft) -> None:
            parent.send(ChildFrame(emit=draft))

        host = LocalHost(lambda: construct(component, ports), vocabulary, emit, checks=False)
        host.start()
    except Exception as error:  # noqa: BLE001  # the parent tells the supervisor
        parent.send(ChildFrame(error=f"{type(error).__name__}: {error}"))
        return None
    parent.send(ChildFrame())
    return _Served(host, vocabulary.classes())


class _Served(msgspec.Struct):
    host: Host
    classes: Any

    def stop(self) -> None:
        self.host.stop()


def _serve(served: _Served, ask: Ask) -> ChildFrame:
    host = served.host
    try:
        if ask.do == "handle":
            return ChildFrame(outcome=host.handle(ask.records, ask.attempt, begun=ask.begun))
        if ask.do == "answer":
            topic = msgspec.msgpack.decode(ask.data)["topic"]
            query: Event = msgspec.msgpack.decode(ask.data, type=served.classes[topic])
            reply = host.answer(query)
            return ChildFrame(data=msgspec.msgpack.encode(reply), topic=reply.topic_name())
        if ask.do == "recall":
            host.recall(ask.records)
        elif ask.do == "restore":
            host.restore(ask.data)
        elif ask.do == "snapshot":
            return ChildFrame(data=host.snapshot())
    except Exception as error:  # noqa: BLE001  # goes back to whoever asked
        return ChildFrame(error=f"{type(error).__name__}: {error}")
    return ChildFrame()
