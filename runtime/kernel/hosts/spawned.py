"""A host that runs a component in a spawned process, for long computations.

One process has one GIL; beside the hub run only deciders and waiting shells. The sides exchange
frames, as `ChildProcess` does. Nothing is pickled or forked.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from cortex.bus import (
    CortexError,
    Draft,
    Event,
    EventError,
    Recorded,
    TopicUnknownError,
    Vocabulary,
    with_fields,
)
from cortex.runtime.isolation import ChildProcess

from ..home.config import Config
from .host import Outcome

KEEP_BYTES = 4 << 20  # of recalled events before the process is started
RECORD_BYTES = 512  # about the size of a record without its body
QUIT_S = 5.0  # how long a child may take to end by itself
CHILD = "cortex.runtime.kernel.hosts.spawned_child"


class Born(msgspec.Struct, frozen=True):
    """The first frame: the component that the child runs."""

    component: str  # import string
    settings: dict[str, Any]
    home: str  # path; "" for none
    path: tuple[str, ...]  # the parent's module search path
    config: Config = Config()  # the parent's configuration


class Ask(msgspec.Struct, frozen=True):
    """A frame to the child; it answers each with one `ChildFrame`, after any with an `emit`."""

    do: str  # "handle", "answer", "recall", "restore", "snapshot", "stop"
    records: tuple[Recorded, ...] = ()
    attempt: int = 1
    data: bytes = b""
    begun: bool = False  # the effect of its only record began before


class ChildFrame(msgspec.Struct, frozen=True):
    """A frame from the child."""

    emit: Draft | None = None  # an ephemeral event to send at once; more frames follow
    outcome: Outcome | None = None
    data: bytes = b""
    topic: str = ""  # of the answer in data
    error: str = ""


@with_fields
class ChildDiedError(CortexError):
    """A spawned component's process ended."""

    component: str
    code: int | None

    says = "the process of {component} ended with {code}; it is started again"


def search_path() -> tuple[str, ...]:
    """The module search path of this process, without entries relative to the working folder."""
    return tuple(path for path in sys.path if Path(path).is_absolute())


class SpawnedHost:
    """Runs one component in its own process, which is killed when it hangs."""

    def __init__(
        self, name: str, born: Born, vocabulary: Vocabulary, emit: Callable[[Draft], None]
    ) -> None:
        self._name = name
        self._born = born
        self._vocabulary = vocabulary
        self._emit = emit
        self._process: ChildProcess | None = None
        self._before: list[Ask] = []  # frames for the process once it has started
        self._kept_bytes = 0  # of the events among them
        self._turn = threading.Lock()  # one exchange at a time on the pipe
        self._abandoned = False

    def start(self) -> None:
        """Do nothing yet: the process is spawned with its first work.

        A kept process that ended meanwhile is forgotten: it had no event, so none failed.
        """
        self._abandoned = False
        if self._process is not None and self._process.has_ended():
            self.stop()

    def _spawn(self) -> ChildProcess:
        process = self._process = ChildProcess(CHILD, os.environ)
        try:
            if self._abandoned:  # while it was being started: whoever abandoned it saw none
                raise ChildDiedError(self._name, None)
            for frame in (self._born, *self._before):
                self._exchange_with(process, frame)
        except BaseException:
            self.stop()
            raise
        self._before, self._kept_bytes = [], 0
        return process

    def is_ready(self) -> bool:
        """Whether the process is running."""
        return self._process is not None

    def make_ready(self) -> None:
        """Start the process; errors show when an event is handled."""
        with contextlib.suppress(CortexError, OSError), self._turn:
            if self._process is None:
                self._spawn()

    def handle(self, records: Sequence[Recorded], attempt: int, *, begun: bool = False) -> Outcome:
        """Run the handlers over a page, in order, until one fails."""
        asked = Ask("handle", tuple(records), attempt, begun=begun)
        outcome = self._exchange(asked).outcome
        if outcome is None:
            return Outcome([], "the child process returned no outcome")
        for index, effects in enumerate(outcome.done):
            try:  # the child does not have all event classes of the hub
                for draft in (*effects.events, *(due.draft for due in effects.due)):
                    self._vocabulary.check(draft)
            except EventError as error:
                return Outcome(outcome.done[:index], f"{type(error).__name__}: {error}")
        return outcome

    def answer(self, query: Event) -> Event:
        """Run the handler of a query."""
        data = msgspec.msgpack.encode(query)
        said = self._exchange(Ask("answer", data=data))
        known = self._vocabulary.classes().get(said.topic)
        if known is None:
            raise TopicUnknownError(said.topic)
        return msgspec.msgpack.decode(said.data, type=known)

    def recall(self, records: Iterable[Recorded]) -> None:
        """Fold events that were handled before this start.

        A few are kept until the first work; more than those start the process.
        """
        found = tuple(records)
        if not found:
            return
        if self._process is not None:
            self._exchange(Ask("recall", found))
            return
        self._before.append(Ask("recall", found))
        self._kept_bytes += sum(len(record.body) + RECORD_BYTES for record in found)
        if self._kept_bytes > KEEP_BYTES:
            with self._turn:
                self._spawn()

    def restore(self, snapshot: bytes) -> None:
        """Restore an earlier fold."""
        self._before = [Ask("restore", data=snapshot)]

    def share(self) -> None:
        """Do nothing: queries come through the mailbox, which waits until the fold is complete."""

    def snapshot(self) -> bytes:
        """The fold so far; empty if nothing was added since it was restored."""
        return self._exchange(Ask("snapshot")).data if self._process is not None else b""

    def stop(self) -> None:
        """Let the process end, or kill it."""
        process, self._process = self._process, None
        if process is not None:
            process.end(QUIT_S)

    def is_kept(self) -> bool:
        """Whether the process is running."""
        return self._process is not None

    def abandon(self) -> None:
        """Kill the process, also one that is just being started; its leases lapse."""
        self._abandoned = True
        process = self._process
        if process is not None:
            process.kill()

    def _exchange(self, frame: msgspec.Struct) -> ChildFrame:
        with self._turn:
            return self._exchange_with(self._process or self._spawn(), frame)

    def _exchange_with(self, process: ChildProcess, frame: msgspec.Struct) -> ChildFrame:
        with contextlib.suppress(OSError):  # equivalent to the end of its output
            process.send(frame)
            while data := process.frames.receive():
                said = msgspec.msgpack.decode(data, type=ChildFrame)
                if said.error:
                    raise CortexError(said.error)
                if said.emit is None:
                    return said
                self._emit(said.emit)
        raise ChildDiedError(self._name, process.wait())
