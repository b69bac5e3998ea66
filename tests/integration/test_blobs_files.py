"""Blobs on a real disk: damage is named, a kill leaves no half blob, many may put at once."""

import os
import random
import resource
import stat
import subprocess
import sys
import threading
from hashlib import sha256
from pathlib import Path

import pytest

from cortex.runtime.log import BlobCorruptError, BlobDiskError, BlobStore

PUT = """
import sys
from cortex.runtime.log import BlobStore

blobs = BlobStore(sys.argv[1])
for number in range(1_000_000):
    print(blobs.put(b"%d" % number * 20_000), flush=True)
"""


def only_file(folder: Path) -> Path:
    (found,) = (path for path in folder.glob("??/*") if path.is_file())
    return found


def test_blobs_are_compressed_and_named_by_digest(tmp_path: Path) -> None:
    digest = BlobStore(tmp_path).put(b"the same line\n" * 10_000)

    path = only_file(tmp_path)

    assert path.relative_to(tmp_path).parts == (digest[:2], digest[2:])
    assert path.stat().st_size < 1_000


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_a_damaged_blob_is_never_handed_out(tmp_path: Path, damage: bytes | None) -> None:
    blobs = BlobStore(tmp_path)
    digest = blobs.put(b"evidence" * 100)
    other = BlobStore(tmp_path / "other")
    other.put(b"forged")
    path = only_file(tmp_path)

    path.write_bytes(only_file(tmp_path / "other").read_bytes() if damage is None else damage)

    with pytest.raises(BlobCorruptError, match="restore it from a backup"):
        blobs.get(digest)


def test_putting_the_bytes_of_a_damaged_blob_again_mends_it(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    digest = blobs.put(b"evidence")
    only_file(tmp_path).write_bytes(b"")

    blobs.put(b"evidence")

    assert blobs.get(digest) == b"evidence"


def test_threads_that_put_the_same_bytes_all_get_them_back(tmp_path: Path) -> None:
    blobs, payloads = BlobStore(tmp_path), [bytes([n]) * 50_000 for n in range(20)]
    wrong: list[bytes] = []

    def put_all() -> None:
        wrong.extend(data for data in payloads if blobs.get(blobs.put(data)) != data)

    threads = [threading.Thread(target=put_all) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("durability", ["normal", "full"])
def test_a_disk_without_room_leaves_nothing_behind(tmp_path: Path, durability: str) -> None:
    blobs = BlobStore(tmp_path, durability="full" if durability == "full" else "normal")
    data = random.Random(1).randbytes(200_000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        with pytest.raises(BlobDiskError, match="free some space"):
            blobs.put(data)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert not blobs.has(sha256(data).hexdigest())
    assert list((tmp_path / "tmp").iterdir()) == []
    assert blobs.get(blobs.put(data)) == data


def test_blobs_are_readable_by_their_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        BlobStore(tmp_path / "blobs").put(b"secret")
    finally:
        os.umask(before)

    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {0o700, 0o600}


def test_what_a_killed_put_left_is_removed_once_it_is_old(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    old, young = tmp_path / "tmp" / "old", tmp_path / "tmp" / "young"
    old.write_bytes(b"half a blob")
    young.write_bytes(b"being written")
    os.utime(old, (0, 0))

    BlobStore(tmp_path).put(b"the next one")

    assert list((tmp_path / "tmp").iterdir()) == [young]


def test_a_kill_leaves_no_half_blob(tmp_path: Path) -> None:
    moments, blobs = random.Random(7), BlobStore(tmp_path)
    acknowledged: set[str] = set()

    for _ in range(10):
        command = [sys.executable, "-c", PUT, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(moments.randrange(1, 30)):
                acknowledged.add(process.stdout.readline().strip())
            process.kill()

    for digest in acknowledged:
        assert blobs.get(digest)
    for path in tmp_path.glob("[0-9a-f][0-9a-f]/*"):
        assert blobs.get(path.parent.name + path.name)
