"""A read of memory does not fail because it cannot write: it says so in one line."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.memory import HomeMemory

from ..staff_world import World
from .test_memory import COMPONENTS, record

READ = """
import sys
from pathlib import Path
from cortex.runtime.kernel import Home
from cortex.runtime.memory import HomeMemory

with HomeMemory.open(Home(Path(sys.argv[1]))) as memory:
    (found,) = memory.find(["which database"], ("user",))
    print(*(hit.node.content for hit in found.hits), sep="\\n")
"""
# A disk of its own, which only this shell and its children see.
FULL = """
set -e
cp -r "$2/." "$1"
mount -t tmpfs -o size=8m,mode=700 tmpfs "$2"
cp -r "$1/." "$2"
dd if=/dev/zero of="$2/fill" bs=4k 2>/dev/null || true
"$3" -I -c "$4" "$2"
"""
READ_ONLY = """
set -e
mount --bind "$2" "$2"
mount -o remount,bind,ro "$2"
"$3" -I -c "$4" "$2"
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home.create(tmp_path / ".cortex")
    with Runtime(home, components=COMPONENTS) as runtime:
        record(World(runtime), "The database is Postgres")
    return home


def found(home: Home) -> list[str]:
    with HomeMemory.open(home) as memory:
        (result,) = memory.find(["which database"], ("user",))
        return [hit.node.content for hit in result.hits]


def the_lock(home: Home) -> None:
    (home.path / "memory.db.lock").mkdir()


def the_index(home: Home) -> None:
    (home.path / "vectors").write_text("no folder")


@pytest.mark.parametrize("blocked", [the_lock, the_index])
def test_a_file_that_cannot_be_written_is_one_warning(
    home: Home, blocked: Callable[[Home], None]
) -> None:
    for path in home.path.glob("memory.db*"):
        path.unlink()
    shutil.rmtree(home.path / "vectors", ignore_errors=True)
    blocked(home)

    with capture_logs() as lines:
        said = found(home)

    assert said == ["The database is Postgres"]
    warnings = [line["event"] for line in lines if line["log_level"] == "warning"]
    assert warnings == ["memory_not_written"]


def mounted(script: str, home: Home, disk: Path) -> subprocess.CompletedProcess[str]:
    disk.mkdir()
    command = ["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh"]
    given = [str(disk), str(home.path), sys.executable, READ]
    return subprocess.run([*command, *given], capture_output=True, text=True, check=False)


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    probe = ["unshare", "--mount", "--map-root-user", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


needs_mounts = pytest.mark.skipif(not can_mount(), reason="nothing can be mounted here")


@needs_mounts
@pytest.mark.parametrize("stored", [True, False])
def test_memory_is_read_on_a_full_disk(home: Home, tmp_path: Path, stored: bool) -> None:
    if stored:
        assert found(home)

    done = mounted(FULL, home, tmp_path / "disk")

    assert done.returncode == 0, done.stderr
    assert done.stdout == "The database is Postgres\n"
    assert len(done.stderr.splitlines()) <= 1


@needs_mounts
def test_memory_is_read_from_a_read_only_file_system(home: Home, tmp_path: Path) -> None:
    done = mounted(READ_ONLY, home, tmp_path / "disk")

    assert done.returncode == 0, done.stderr
    assert done.stdout == "The database is Postgres\n"
    assert done.stderr == ""
