"""What a client announced goes with its grant, and with nothing less."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cortex.bus import Client, connect
from cortex.bus.events import ClientLeft, ComponentAnnounced, ComponentWithdrawn
from cortex.runtime.access import Terms, change, issue, revoke
from cortex.runtime.kernel import Home
from cortex.runtime.serving import Service, connected

SOON_S = 120.0
TERMS = Terms(publish=("component.*",), read=("component.*",))


@pytest.fixture
def home() -> Iterator[Home]:
    folder = Path(tempfile.mkdtemp(prefix="cx"))  # short: a socket's path has a bound
    yield Home.create(folder / "home")
    shutil.rmtree(folder)


@pytest.fixture
def owner(home: Home) -> Iterator[Client]:
    with Service(home, components=()), connected(home) as client:
        yield client


def announcing(home: Home, owner: Client, name: str) -> Client:
    """A client that has announced an action of its own name."""
    token = issue(owner, name, TERMS)
    client = connect(f"ipc://{home.path}/bus.sock", token=token, name=f"{name}/worker")
    client.publish(ComponentAnnounced(component=name.title(), kind="action", name=name))
    return client


def withdrawn(owner: Client, count: int) -> list[str]:
    """Names of the first *count* things that were withdrawn."""
    feed = owner.follow(("component.withdrawn", None), after=0)
    names: list[str] = []
    while len(names) < count and (records := feed.next(SOON_S)):
        events = [owner.vocabulary.read(record) for record in records]
        names += [event.name for event in events if isinstance(event, ComponentWithdrawn)]
    feed.close()
    return names


def test_only_a_client_that_is_let_in_no_more_loses_what_it_announced(
    home: Home, owner: Client
) -> None:
    stays, killed, revoked, expired = (
        announcing(home, owner, name) for name in ("stays", "killed", "revoked", "expired")
    )
    killed.close()
    feed = owner.follow(("client.left", None), after=0)
    assert any(isinstance(owner.vocabulary.read(r), ClientLeft) for r in feed.next(SOON_S))
    feed.close()

    revoke(owner, "revoked")
    change(owner, "expired", lambda terms: msgspec.structs.replace(terms, expires_ns=1))

    assert withdrawn(owner, 2) == ["revoked", "expired"]
    for client in (stays, revoked, expired):
        client.close()
