"""The child's side of a spawned component; `spawned` says how the two speak."""

import os
import signal
import sys
import threading
import time
from typing import IO, Any

import msgspec

from cortex.bus import Draft, Event
from cortex.runtime.isolation import enter_process

from .host import Host, LocalHost
from .manifest import construct, load
from .ports import ports_in_child
from .spawned import Ask, Born, ChildFrame, receive, send
from .words import vocabulary_of

PARENT_S = 1.0  # how often a child looks whether its parent is still there


def main() -> None:
    """Serve frames until the parent closes the pipe."""
    enter_process(sys.stdin.buffer)
    # What a component prints must not end up among the frames.
    frames = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        _serve_all(sys.stdin.buffer, frames)
    except BrokenPipeError:
        os._exit(1)  # the parent was killed: nobody is there to be told, nothing to flush to


def _serve_all(asked: IO[bytes], frames: IO[bytes]) -> None:
    first = receive(asked)
    if first is None:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all: the parent ends its own
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # or what it starts were deaf, too
    born = msgspec.msgpack.decode(first, type=Born)
    if born.parent:
        threading.Thread(target=_leave_with, args=(born.parent,), daemon=True).start()
    host = _born(born, frames)
    while host is not None and (data := receive(asked)):
        send(frames, _serve(host, msgspec.msgpack.decode(data, type=Ask)))
    if host is not None:
        host.stop()


def _leave_with(parent: int) -> None:
    """End, however busy, when the parent is gone: there is nobody to compute for."""
    while os.getppid() == parent:
        time.sleep(PARENT_S)
    os._exit(1)


def _born(born: Born, frames: IO[bytes]) -> "_Served | None":
    try:
        sys.dont_write_bytecode = True  # in a home it would be a file that nobody trusted
        sys.path[:] = list(dict.fromkeys([*sys.path, *born.path]))
        component = load(born.component)
        vocabulary = vocabulary_of([component])
        ports: dict[str, Any] = ports_in_child(born.home, born.config, born.settings, vocabulary)

        def emit(draft: Draft) -> None:
            send(frames, ChildFrame(emit=draft))

        host = LocalHost(lambda: construct(component, ports), vocabulary, emit, checks=False)
        host.start()
    except Exception as error:  # noqa: BLE001  # the parent tells the supervisor
        send(frames, ChildFrame(error=f"{type(error).__name__}: {error}"))
        return None
    send(frames, ChildFrame())
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
