"""Files of a home that somebody else wrote or may write: bounded, named, and refused."""

import os
import subprocess
import sys
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
import zstandard

from cortex.bus import CortexError
from cortex.runtime.kernel import Home
from cortex.runtime.knowledge import Knowledge, KnowledgeConfig, Root, TopicIndex
from cortex.runtime.log import BlobCorruptError, BlobStore, EventLog
from cortex.runtime.processes import KnowledgeTopics

STARTED_IN_FULL = True  # it is about what happens between `exec` and the first import

CORTEX = Path(sys.executable).parent / "cortex"
BOMB_BYTES = 2 << 30  # of zeros, which pack into some 65 kB
MOST_MIB = 200  # that looking at it may take
LOOK = """
import resource, sys
from pathlib import Path
from cortex.runtime.log import BlobError, BlobStore
for look in (BlobStore(sys.argv[1]).get, BlobStore(sys.argv[1]).check):
    try:
        look(sys.argv[2])
    except BlobError as error:
        print(error)
# On Linux `ru_maxrss` begins with what the parent held: the tests that ran before.
status = Path("/proc/self/status")
most_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if status.exists():
    most_kib = int(status.read_text().partition("VmHWM:")[2].split()[0])
print(most_kib // 1024)
"""


def plant(folder: Path, packed: bytes) -> str:
    """Put a file where a blob of some digest would be."""
    digest = sha256(packed).hexdigest()
    path = folder / digest[:2] / digest[2:]
    path.parent.mkdir(parents=True)
    path.write_bytes(packed)
    return digest


def bomb(claimed: int) -> bytes:
    """Zeros without end, under a header that claims some size."""
    packer = zstandard.ZstdCompressor(19).compressobj(size=claimed)
    piece = bytes(1 << 24)
    made = [packer.compress(piece) for _ in range(claimed >> 24)]
    return b"".join((*made, packer.flush()))


def test_a_small_blob_that_unpacks_to_gigabytes_takes_no_memory(tmp_path: Path) -> None:
    packed = bomb(BOMB_BYTES)
    digest = plant(tmp_path, packed)

    words = [sys.executable, "-I", "-c", LOOK, str(tmp_path), digest]
    ended = subprocess.run(words, check=True, capture_output=True, text=True, timeout=120)

    *said, took_mib = ended.stdout.splitlines()
    assert len(packed) < 1 << 18
    assert len(said) == 2
    assert all("its header claims 2,147,483,648 bytes, over the limit" in line for line in said)
    assert int(took_mib) < MOST_MIB


def test_a_header_that_claims_less_than_there_is_is_not_believed(tmp_path: Path) -> None:
    data = bytes(1 << 20)
    digest = sha256(data).hexdigest()
    path = tmp_path / digest[:2] / digest[2:]
    path.parent.mkdir(parents=True)
    path.write_bytes(zstandard.ZstdCompressor().compress(data[:-1]) + b"more")

    with pytest.raises(BlobCorruptError):
        BlobStore(tmp_path).check(digest)


@pytest.mark.parametrize("name", ["config.toml", "keys", "plugins", "processes", "keys/secrets/K"])
def test_code_and_keys_that_everybody_may_write_are_named_and_nothing_runs(
    name: str, tmp_path: Path
) -> None:
    home = Home.create(tmp_path / ".cortex")
    path = home.path / name
    if name == "keys/secrets/K":
        path.parent.mkdir(mode=0o700)
    if not path.exists():
        path.write_text("")
    path.chmod(0o777 if path.is_dir() else 0o666)

    with pytest.raises(CortexError, match="may be written by everybody"):
        home.open()

    words = [str(CORTEX), "doctor", "--home", str(home.path), "--json"]
    ended = subprocess.run(words, check=False, capture_output=True, text=True, timeout=120)
    assert ended.returncode
    assert f"{path} may be written by everybody" in ended.stdout


def test_a_hub_whose_lock_was_removed_ends_with_one_clear_line(tmp_path: Path) -> None:
    home = Home.create(tmp_path / ".cortex")
    words = [str(CORTEX), "up", "--home", str(home.path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as hub:
        assert hub.stdout is not None
        for line in hub.stdout:
            if "listening" in line:
                break
        (home.path / "log.db.lock").unlink()

        _, said = hub.communicate(timeout=120)

    assert hub.returncode not in (0, None)
    assert "log.db.lock was removed or replaced" in said.replace("\n", " ")
    assert "Traceback" not in said


def test_a_folder_that_cannot_be_listed_is_told_with_its_path_and_reason(tmp_path: Path) -> None:
    """Root may read everything, so that the folder here has a path that is too long to be asked."""
    root = tmp_path / "knowledge"
    root.mkdir()
    (root / "fine.md").write_text("# Fine\n\nThis page is fine.\n")
    descriptor = os.open(root, os.O_RDONLY)
    for _ in range(17):  # of 250 characters: more than a path may have
        os.mkdir("d" * 250, dir_fd=descriptor)  # no Path can name it
        inner = os.open("d" * 250, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    roots = [Root(str(root), "home")]

    knowledge = Knowledge.open(tmp_path, roots, KnowledgeConfig())
    knowledge.update()
    notes = knowledge.statistics().notes
    knowledge.close()

    (note,) = notes
    assert "it cannot be looked at: File name too long" in note
    assert str(root) in note


def test_a_topic_whose_file_cannot_be_read_is_told_with_its_path_and_reason(tmp_path: Path) -> None:
    (tmp_path / "rules.md").write_text("more than may be read\n")
    topics = KnowledgeTopics(TopicIndex([Root(str(tmp_path), "home")], largest_bytes=4))

    assert topics.resolve("rules") is None
    assert f"{tmp_path}/rules.md" in topics.problem("rules")
    assert topics.problem("nothing") == topics.problem("no..name") == ""


@pytest.mark.parametrize("missing", ["version", "config.toml"])
def test_a_home_of_which_a_file_could_not_be_finished_is_made_again(
    missing: str, tmp_path: Path
) -> None:
    """As by a full disk, or a kill between the file and what is in it."""
    home = Home.create(tmp_path / ".cortex")
    (home.path / missing).unlink()
    done = subprocess.run(
        [sys.executable, "-Ic", _NO_ROOM, str(home.path)], capture_output=True, text=True
    )
    assert "File too large" in done.stdout, done.stderr

    again = Home.create(home.path)

    again.open()
    assert again.version_path.read_text() == "1\n"
    assert again.config_path.read_text()


@pytest.mark.parametrize("name", ["log.db", "log.db-wal"])
@pytest.mark.parametrize("command", ["doctor", "status", "execution list"])
def test_a_pipe_in_the_place_of_the_log_holds_nobody_up(
    command: str, name: str, tmp_path: Path
) -> None:
    home = Home.create(tmp_path / ".cortex")
    if name != "log.db":
        with closing(EventLog.open(home.log_path)):
            pass
        for each in home.path.glob("log.db-*"):
            each.unlink()
    os.mkfifo(home.path / name)

    done = subprocess.run(
        [str(CORTEX), *command.split()], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )

    assert "Traceback" not in done.stderr
    assert "not a plain file" in done.stdout + done.stderr


_NO_ROOM = """
import resource, sys
from pathlib import Path
from cortex.runtime.kernel import Home, HomeError
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
try:
    Home.create(Path(sys.argv[1]))
except HomeError as error:
    print(error)
"""
