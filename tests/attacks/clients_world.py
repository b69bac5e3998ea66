"""A home served on ipc and on TLS, and clients of it with real tokens and grants."""

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cortex.bus import Client, Event, connect
from cortex.bus.events import (
    ClientDenied,
    ExecutionRequest,
    ProcessCompiled,
    ProcessRejected,
    ProcessSubmit,
)
from cortex.runtime.access import Terms, issue
from cortex.runtime.kernel import Home
from cortex.runtime.serving import Service

from ..staff_world import QUICK
from .hub_process import MovedClock

SOON_S = 120.0


class Served:
    """A service of *home*, and whoever dials it."""

    _count = itertools.count(1)

    def __init__(self, home: Home, service: Service) -> None:
        self.home, self.service = home, service
        self.ipc = service.note.url
        (tls,) = (url for url in service.note.urls if url.startswith("tls"))
        self.tls = f"{tls}#{service.note.fingerprint}"
        token = (home.path / "keys" / "owner.token").read_text().strip()
        self.owner = connect(self.ipc, token=token, name="owner/tests")
        self._clients = [self.owner]

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def let_pass(self, clock: MovedClock, seconds: float) -> None:
        """Move the clock of the hub on: what is due by then comes."""
        assert self.service._runtime is not None
        clock.move(seconds, self.service._runtime.hub)

    def client(self, name: str, url: str = "", **terms: Any) -> Client:
        """Let a client in, and connect it."""
        token = issue(self.owner, name, Terms(**terms))
        client = connect(url or self.ipc, token=token, name=name)
        self._clients.append(client)
        return client

    def compiled(self, source: str) -> None:
        """Submit a process that must compile."""
        # Over the wire, as everything here.
        digest = self.owner.blobs.put(source.encode())
        after = self.owner.publish(ProcessSubmit(sources={f"f{next(self._count)}": digest})) - 1
        said = self.until(lambda e, _: isinstance(e, ProcessCompiled | ProcessRejected), after)
        assert isinstance(said, ProcessCompiled), said

    def request(self, process: str, asker: Client | None = None, **fields: Any) -> str:
        """Ask for an execution; its id comes back once it stops."""
        execution_id = f"run{next(self._count)}"
        request = ExecutionRequest(execution_id=execution_id, process=process, **fields)
        self.stopped(execution_id, (asker or self.owner).publish(request) - 1)
        return execution_id

    def stopped(self, execution_id: str, after: int) -> Event:
        """What an execution stops with after position *after*."""
        stops = ("paused", "halted", "completed", "failed", "cancelled")
        return self.until(
            lambda event, topic: (
                getattr(event, "execution_id", "") == execution_id
                and topic in [f"execution.{verb}" for verb in stops]
            ),
            after,
        )

    def until(self, accept: Callable[[Event, str], bool], after: int = 0) -> Event:
        """The first event after position *after* that *accept* takes."""
        feed = self.owner.follow(after=after)
        ends = time.monotonic() + SOON_S
        try:
            while (left_s := ends - time.monotonic()) > 0:
                for record in feed.next(left_s):
                    event = self.owner.vocabulary.read(record)
                    if record.position and accept(event, record.topic):
                        return event
        finally:
            feed.close()
        heard = [record.topic for record in self.owner.read(after)]
        raise AssertionError(f"it did not come; after {after} there is {heard}")

    def events(self, kind: type[Any], execution_id: str) -> list[Any]:
        """Every event of *kind* in an execution, in order."""
        records = self.owner.read_stream(f"execution/{execution_id}")
        return [self.owner.vocabulary.read(r) for r in records if r.topic == kind.topic_name()]

    def denials(self, client: str) -> list[ClientDenied]:
        """What a client was denied so far."""
        records = self.owner.read_stream(f"client/{client}")
        events = [self.owner.vocabulary.read(r) for r in records]
        return [event for event in events if isinstance(event, ClientDenied)]


def served(folder: Path, components: Any = QUICK, clock: MovedClock | None = None) -> Service:
    """The service of the home in *folder*, not entered yet."""
    home = Home(folder / ".cortex")
    return Service(
        home if home.path.exists() else Home.create(home.path),
        listen=("tls+tcp://127.0.0.1:0",),
        components=components,
        clock=clock,
    )
