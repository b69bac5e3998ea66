"""Directives through a hub: many clients lose no update, and a kill leaves all of it or nothing."""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cortex.bus import Client, CortexError
from cortex.bus.events import DirectiveSubmit
from cortex.runtime.directives import HomeDirectives
from cortex.runtime.kernel import Home
from cortex.runtime.serving import connected, found

from ..waiting import until
from .command_lines import CORTEX
from .up_world import Desk, opened

pytestmark = pytest.mark.once  # kills, and thousands of updates

CLIENTS, UPDATES = 8, 300
POLICIES = 20_000


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened(tmp_path) as desk:
        yield desk


def items(home: Home, scope: str = "user") -> set[str]:
    with HomeDirectives.open(home) as directives:
        return {each.name for each in directives.state(scope).directives}


def lay_down(client: Client, number: int, acknowledged: list[str]) -> None:
    for n in range(UPDATES):
        item = f"item {n} of {number}"
        client.publish(DirectiveSubmit(text=f"use {item}"))
        acknowledged.append(item)


def from_clients(home: Home, acknowledged: list[str]) -> list[threading.Thread]:
    """Clients that lay down what they have, each on a connection and a thread of its own."""

    def work(number: int) -> None:
        with suppress(CortexError), connected(home) as client:
            lay_down(client, number, acknowledged)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    return threads


def test_eight_clients_with_300_updates_each_lose_none(desk: Desk) -> None:
    desk.serve()
    acknowledged: list[str] = []

    for thread in from_clients(desk.home, acknowledged):
        thread.join()

    assert len(acknowledged) == CLIENTS * UPDATES
    until(lambda: len(items(desk.home)) == CLIENTS * UPDATES, look_s=0.5)
    assert items(desk.home) == set(acknowledged)


def test_what_was_acknowledged_before_a_kill_is_laid_down_once(desk: Desk) -> None:
    desk.serve()
    acknowledged: list[str] = []

    threads = from_clients(desk.home, acknowledged)
    until(lambda: len(acknowledged) > CLIENTS * UPDATES // 4)
    desk.workers[0].send_signal(signal.SIGKILL)
    for thread in threads:
        thread.join()
    desk.workers.pop().communicate()
    desk.serve()

    until(lambda: set(acknowledged) <= items(desk.home), look_s=0.5)
    with HomeDirectives.open(desk.home) as directives:
        requests = [row.request for row in directives.history("user")]
    assert len(requests) == len(set(requests))


def kill_where(folder: Path, blobs: int) -> None:
    """Kill an import when as many blobs are there as *blobs* says, or after its end."""
    begun = subprocess.Popen(
        [str(CORTEX), "directive", "import", "big.json"], cwd=folder, stdout=subprocess.DEVNULL
    )
    until(lambda: begun.poll() is not None or kept(folder) >= blobs, look_s=0.001)
    with suppress(ProcessLookupError):
        os.kill(begun.pid, signal.SIGKILL)
    begun.wait()


def kept(folder: Path) -> int:
    return len(list((folder / ".cortex" / "blobs").glob("??/*")))


def test_a_killed_import_of_many_policies_is_there_as_a_whole_or_not_at_all(desk: Desk) -> None:
    policies = ",".join(f'"item {n}":"prohibit"' for n in range(POLICIES))
    (desk.folder / "big.json").write_text(
        f'{{"policies":{{{policies}}},"premise":null,"version":2}}'
    )
    assert desk.run("directive", "step", "use vim").returncode == 0

    for blobs in (1, 2):  # that of the request, and that of its changes, which no event names yet
        kill_where(desk.folder, kept(desk.folder) + blobs)
        assert len(items(desk.home)) in (1, POLICIES)
    assert not found(desk.home)
    assert desk.run("directive", "import", "big.json").returncode == 0

    assert len(items(desk.home)) == POLICIES
    assert desk.run("directive", "undo").returncode == 0
