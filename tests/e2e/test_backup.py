"""A backup is whole whatever happens beside it, and nothing is replaced by one that is not."""

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cortex.bus import CortexError
from cortex.bus.events import KnowledgeRequested, TriggerUnmatched
from cortex.runtime.admin import back_up, restore
from cortex.runtime.kernel import Home, RefusedError, Runtime
from cortex.runtime.log import BlobStore, EventLog

from .command_lines import CORTEX, environment

KILLS = int(os.environ.get("CORTEX_CRASH_KILLS", "20")) // 4


def records(path: Path) -> list[bytes]:
    with closing(EventLog.open(path, readonly=True)) as log:
        head = log.verify()
        return [bytes(data) for data in log.read(0, head + 1, 1 << 30)]


class Busy:
    """A home whose runtime records events, each of which names a blob, until it is closed."""

    def __init__(self, folder: Path) -> None:
        self.home = Home.create(folder / ".cortex")
        self.home.processes.joinpath("mine.yaml").write_text("# mine\n")
        self._over = threading.Event()
        self.runtime = Runtime(self.home, components=[])

    def __enter__(self) -> "Busy":
        self.runtime.__enter__()
        self._thread = threading.Thread(target=self._publish)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.runtime.__exit__(None, None, None)

    def _publish(self) -> None:
        client, number = self.runtime.client("busy"), 0
        while not self._over.is_set():
            number += 1
            digest = self.runtime.blobs.put(b"found %d" % number)
            client.publish(
                KnowledgeRequested(
                    execution_id=f"e{number % 7}",
                    step_id="s",
                    turn=0,
                    call_id="",
                    query="what",
                    found=digest,
                )
            )


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Busy]:
    with Busy(tmp_path) as made:
        yield made


def test_a_backup_beside_a_hub_is_the_log_as_it_was_at_one_moment(
    busy: Busy, tmp_path: Path
) -> None:
    before, copied = 0, []
    for _ in range(5):
        made = back_up(busy.home, tmp_path / "backup")
        copied.append(made.copied)
        assert made.events > before
        assert made.missing == 0
        before = made.events
        time.sleep(0.01)

    found = restore(tmp_path / "backup", Home(tmp_path / "there" / ".cortex"))

    kept = records(Path(found.home) / "log.db")
    assert len(kept) == found.events == before
    assert records(busy.home.log_path)[: len(kept)] == kept
    assert sum(copied) == found.blobs  # each was copied once
    store = BlobStore(Path(found.home) / "blobs")
    assert [store.get(digest) for digest, _ in store.idle(0.0)]
    assert (Path(found.home) / "processes" / "mine.yaml").read_text() == "# mine\n"
    assert not (Path(found.home) / "projections.db").exists()


def test_a_kill_at_any_point_leaves_a_backup_to_restore_from(tmp_path: Path) -> None:
    dice, target = random.Random(7), tmp_path / "backup"
    with Busy(tmp_path) as busy:
        home = busy.home
        back_up(home, target)
        began_s = time.perf_counter()
        back_up(home, target)
        took_s = time.perf_counter() - began_s
        for _ in range(KILLS):
            running = subprocess.Popen(
                [str(CORTEX), "backup", str(target), "--home", str(home.path)],
                env=environment(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            time.sleep(dice.uniform(0.1, 0.3 + 3 * took_s))
            running.send_signal(signal.SIGKILL)
            running.wait()

            there = Home(tmp_path / f"there-{dice.random()}" / ".cortex")
            found = restore(target, there)
            assert len(records(there.log_path)) == found.events
        assert back_up(home, target).events


@pytest.fixture
def kept(tmp_path: Path) -> tuple[Home, Path]:
    """A home, and a backup of it."""
    with Busy(tmp_path) as busy:
        while busy.runtime.client("test").head < 50:
            time.sleep(0.01)
    back_up(busy.home, tmp_path / "backup")
    return busy.home, tmp_path / "backup"


def test_a_damaged_backup_replaces_nothing(kept: tuple[Home, Path], tmp_path: Path) -> None:
    home, backup = kept
    before = records(home.log_path)
    blob = next((backup / "blobs").glob("??/*"))
    log = backup / "log.db"

    for path in (blob, log):
        whole = path.read_bytes()
        damaged = bytearray(whole)
        place = whole.rindex(b"knowledge.requested") if path == log else len(whole) // 2
        damaged[place] ^= 0xFF
        path.write_bytes(bytes(damaged))
        with pytest.raises(CortexError):
            restore(backup, home, replace=True)
        path.write_bytes(whole)
    gone = blob.read_bytes()
    blob.unlink()
    with pytest.raises(CortexError, match="is not in this home"):
        restore(backup, home, replace=True)
    blob.write_bytes(gone)
    (backup / "backup.json").rename(backup / "elsewhere")
    with pytest.raises(RefusedError, match="never finished"):
        restore(backup, home, replace=True)

    assert records(home.log_path) == before
    assert [path.name for path in tmp_path.iterdir() if "restoring" in path.name] == []


def test_a_kill_between_two_renames_leaves_the_earlier_files(
    kept: tuple[Home, Path], tmp_path: Path
) -> None:
    _, backup = kept
    (backup / "files").rename(backup / "files.old")

    found = restore(backup, Home(tmp_path / "there" / ".cortex"))

    assert (Path(found.home) / "processes" / "mine.yaml").read_text() == "# mine\n"


def test_a_backup_without_its_log_is_refused(kept: tuple[Home, Path], tmp_path: Path) -> None:
    _, backup = kept
    (backup / "log.db").unlink()

    with pytest.raises(RefusedError, match=r"has lost its log\.db"):
        restore(backup, Home(tmp_path / "there" / ".cortex"))


def test_a_home_that_is_there_is_moved_aside_whole_with_its_keys_kept(
    kept: tuple[Home, Path],
) -> None:
    home, backup = kept
    (home.path / "keys" / "secret").write_text("x")
    (home.path / "notes").write_text("mine")

    with pytest.raises(RefusedError, match="--replace moves it aside"):
        restore(backup, home)
    with Runtime(home, components=[]), pytest.raises(CortexError, match=r"held|has the home"):
        restore(backup, home, replace=True)
    found = restore(backup, home, replace=True)

    assert (Path(found.replaced) / "notes").read_text() == "mine"
    assert (home.path / "keys" / "secret").read_text() == "x"
    assert not (home.path / "notes").exists()


def test_what_is_no_backup_of_this_home_is_left_alone(
    kept: tuple[Home, Path], tmp_path: Path
) -> None:
    _, backup = kept
    other = Home.create(tmp_path / "other" / ".cortex")
    with pytest.raises(RefusedError, match="nothing was recorded yet"):
        back_up(other, tmp_path / "of-other")
    with Runtime(other, components=[]) as runtime:
        runtime.client("test").publish(TriggerUnmatched(trigger_id="t", reason="none"))
    full = tmp_path / "full"
    full.mkdir()
    (full / "letter.txt").write_text("dear")

    for target, problem in (
        (backup, "of another home"),
        (full, "something else"),
        (other.path / "inside", "inside the home"),
        (full / "letter.txt", "is a file"),
    ):
        with pytest.raises(RefusedError, match=problem):
            back_up(other, target)

    assert (full / "letter.txt").read_text() == "dear"
    assert restore(backup, Home(tmp_path / "again" / ".cortex")).events >= 50
