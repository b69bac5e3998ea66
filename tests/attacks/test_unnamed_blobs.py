"""Blobs that a client put and no event names go in their time, whatever became of the hub."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.bus import LimitError
from cortex.runtime.access import Terms, issue
from cortex.runtime.cli import main
from cortex.runtime.kernel import Home
from cortex.runtime.log import BlobStore

from .hub_process import HubProcess, Said

KEPT_S = 8  # a hub that was killed has to be back before that
SOON_S = 60.0


def until(holds: Callable[[], bool]) -> None:
    end_s = time.monotonic() + SOON_S
    while not holds():
        assert time.monotonic() < end_s
        time.sleep(0.05)


@pytest.mark.parametrize("kill", [True, False], ids=["killed", "closed"])
def test_the_next_hub_drops_what_the_one_before_left(tmp_path: Path, *, kill: bool) -> None:
    first = HubProcess(tmp_path)
    owner = first.client()
    terms = Terms(publish=("x.*",), limits={"blob_kept_s": KEPT_S, "blob_bytes": 1_000_000})
    token = issue(owner, "greedy", terms)
    client = first.client(token=token)
    named, lost = (client.blobs.put(bytes((n,)) * 400_000) for n in range(2))
    client.publish(Said(text=named))
    began_s = time.monotonic()
    if kill:
        first.process.kill()
    first.close()
    for each in (owner, client):
        each.close()

    store = BlobStore(tmp_path / "blobs")
    assert store.has(lost)
    second = HubProcess(tmp_path)
    try:
        client = second.client(token=token)
        again = client.blobs.put(b"2" * 400_000)
        with pytest.raises(LimitError):  # what was left counts on
            client.blobs.put(b"3" * 400_000)
        until(lambda: not store.has(lost))

        assert time.monotonic() - began_s > KEPT_S - 1
        assert store.has(named)
        until(lambda: not store.has(again))
        assert store.noted() == {}
        client.close()
    finally:
        second.close()


def test_a_note_that_says_nothing_is_forgotten_and_drops_nothing(tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "blobs")
    digest = store.put(b"kept")
    store.note(digest, b"half a n")

    hub = HubProcess(tmp_path)
    hub.close()

    assert store.noted() == {}
    assert store.has(digest)


def test_collecting_in_a_home_that_was_never_used_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home.create(tmp_path / ".cortex")

    assert main(["blobs", "gc", "--home", str(home.path)]) == 0

    assert "there is nothing to remove" in capsys.readouterr().out
    assert main(["blobs", "gc", "--json", "--home", str(home.path)]) == 0
    assert '"removed":0' in capsys.readouterr().out.replace(" ", "")


def test_blobs_without_the_log_that_names_them_are_kept(tmp_path: Path) -> None:
    home = Home.create(tmp_path / ".cortex")
    digest = BlobStore(home.blobs).put(b"precious")

    assert main(["blobs", "gc", "--older", "0s", "--home", str(home.path)]) == 4

    assert BlobStore(home.blobs).has(digest)
