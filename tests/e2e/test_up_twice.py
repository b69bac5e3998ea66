"""Who comes second where a hub begins or is up: what is said, and what stays as it is."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cortex.runtime.kernel import Home
from cortex.runtime.log import EventLog
from cortex.runtime.serving import stop

from .command_lines import CORTEX
from .up_world import STUCK_S


def begin(folder: Path, *args: str) -> "subprocess.Popen[str]":
    env = {**os.environ, "XDG_DATA_HOME": str(folder / "data")}
    return subprocess.Popen(
        [str(CORTEX), *args], cwd=folder, env=env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    out, _ = process.communicate(timeout=STUCK_S)
    return process.returncode, out


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        (("up",), "look with `cortex status`"),
        (("up", "--background"), "look with `cortex status`"),
        (("run", "--goal", "g"), "repeat this in a moment"),
        (("client", "add", "c"), "repeat this in a moment"),
    ],
)
def test_a_home_that_a_hub_is_about_to_serve_is_said_to_be_held_by_a_hub(
    command: tuple[str, ...], remedy: str, tmp_path: Path
) -> None:
    home = Home.create(tmp_path / ".cortex")

    with closing(EventLog.open(home.log_path, held_for="hub")):
        code, said = ended(begin(tmp_path, *command))

    assert code == 4
    between = f"process {os.getpid()}, a hub that is just starting or ending: {remedy}"
    assert between in said
    assert "runtime of its own" not in said


def test_of_hubs_that_begin_together_one_is_up_and_each_other_says_so_in_one_line(
    tmp_path: Path,
) -> None:
    home = Home.create(tmp_path / ".cortex")
    said = home.path / "up.log"
    said.write_text("what the last hub wrote\n")

    ends = [ended(each) for each in [begin(tmp_path, "up", "--background") for _ in range(3)]]
    late = ended(begin(tmp_path, "up", "--background"))
    stop(home, STUCK_S)

    assert sorted(code for code, _ in ends) == [0, 4, 4]
    for code, out in (*ends, late):
        if code:
            assert out.startswith(f"cortex: the hub of {home.path} did not come up: {home.path} is")
            assert "a hub that is just starting" in out or "is up already, in process" in out
            assert out.count("\n") == 1
    written = said.read_text()
    assert written.startswith("what the last hub wrote\n")
    assert "listening  ipc:" in written  # nobody who came second took it away
    assert "\0" not in written


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of 2 MiB."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a disk can be mounted by root only")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_hub_whose_disk_is_full_is_said_to_be_without_room(small: Path) -> None:
    Home.create(small / ".cortex")
    (small / "filler").write_bytes(b"x" * shutil.disk_usage(small).free)

    code, said = ended(begin(small, "up", "--background"))

    assert code == 4
    assert "did not come up: its disk has 0 KiB left: free some space" in said


def test_the_status_of_a_home_whose_disk_is_full_says_so(small: Path) -> None:
    Home.create(small / ".cortex")

    before = ended(begin(small, "status"))[1]
    (small / "filler").write_bytes(b"x" * shutil.disk_usage(small).free)
    after = ended(begin(small, "status"))[1]

    assert "is full" not in before
    assert "the disk of this home is full: nothing can be recorded" in after
