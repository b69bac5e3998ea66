"""Blobs that a client put and no event names go in their time, whatever became of the hub."""

import os
from pathlib import Path

import pytest

from cortex.bus import LimitError
from cortex.runtime.access import Terms, issue
from cortex.runtime.cli import main
from cortex.runtime.kernel import Home
from cortex.runtime.log import BlobStore

from ..waiting import until
from .hub_process import HubProcess, Said

KEPT_S = 3_600


def let_pass(hub: HubProcess, seconds: int) -> None:
    """Move the hub's clock on, and back the times at which the store wrote its files."""
    for path in (hub.folder / "blobs").rglob("*"):
        if path.is_file():
            before_s = path.stat().st_mtime - seconds
            os.utime(path, (before_s, before_s))
    hub.let_pass(seconds)


@pytest.mark.parametrize("kill", [True, False], ids=["killed", "closed"])
def test_the_next_hub_drops_what_the_one_before_left(tmp_path: Path, *, kill: bool) -> None:
    first = HubProcess(tmp_path)
    owner = first.client()
    terms = Terms(publish=("x.*",), limits={"blob_kept_s": KEPT_S, "blob_bytes": 1_000_000})
    token = issue(owner, "greedy", terms)
    client = first.client(token=token)
    named, lost = (client.blobs.put(bytes((n,)) * 400_000) for n in range(2))
    client.publish(Said(text=named))
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
        let_pass(second, KEPT_S - 600)
        kept = store.has(lost)
        client.blobs.put(b"3" * 1_000)  # the hub has looked at what is due
        let_pass(second, 600)
        until(lambda: not store.has(lost))

        assert kept
        assert store.has(named)
        let_pass(second, KEPT_S)
        until(lambda: not store.has(again))
        until(lambda: store.noted() == {})
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
