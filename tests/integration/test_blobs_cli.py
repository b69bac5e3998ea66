"""`cortex blobs gc`: what nothing names goes, what anything names stays."""

import os
import time
from pathlib import Path

import pytest

from cortex.bus import Event
from cortex.runtime.cli import main
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.log import BlobStore

OLD_S = 3 * 24 * 3_600


class Kept(Event, frozen=True, kw_only=True, tag="x.kept.said"):
    blob: str


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / ".cortex")


def aged(home: Home, digest: str) -> str:
    """The blob, as if it had been put three days ago."""
    path = home.blobs / digest[:2] / digest[2:]
    then_s = time.time() - OLD_S
    os.utime(path, (then_s, then_s))
    return digest


def test_what_nothing_names_goes_once_it_is_old(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    store = BlobStore(home.blobs)
    inner = store.put(b"within another")
    outer = store.put(f"holds {inner}".encode())
    fresh = store.put(b"put a moment ago")
    lost = aged(home, store.put(b"given up"))
    with Runtime(home, components=[]) as runtime:
        runtime.client("me").publish(Kept(blob=outer))
    for digest in (inner, outer):
        aged(home, digest)

    assert main(["blobs", "gc", "--dry-run", "--home", str(home.path)]) == 0
    assert "would remove 1 blob," in capsys.readouterr().out
    assert store.has(lost)
    assert main(["blobs", "gc", "--home", str(home.path)]) == 0

    assert "removed 1 blob," in capsys.readouterr().out
    assert [store.has(each) for each in (inner, outer, fresh, lost)] == [True, True, True, False]


def test_a_blob_that_is_put_again_is_no_longer_old(home: Home) -> None:
    store = BlobStore(home.blobs)
    digest = aged(home, store.put(b"again"))

    store.put(b"again")

    assert not store.drop(digest, 60.0)
    assert store.get(digest) == b"again"
    assert not list(store.idle(60.0))
