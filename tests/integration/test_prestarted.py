"""A `cortex` that a test starts is a process like any other, forked or not."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortex.runtime.kernel import VERSION

from ..prestarted import CORTEX, Prestarted, in_full

FORKED = pytest.mark.skipif(subprocess.Popen is not Prestarted, reason="all start in full here")


@pytest.fixture(params=[False, pytest.param(True, marks=FORKED)])
def forked(request: pytest.FixtureRequest) -> Iterator[bool]:
    with in_full(not request.param):
        yield request.param


def command(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "XDG_DATA_HOME": str(folder), "CORTEX_HOME": "nowhere"}
    return subprocess.run(
        [CORTEX, *words], cwd=folder, env=env, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_it_has_its_words_and_writes_to_its_own_streams(forked: bool, tmp_path: Path) -> None:
    done = command(tmp_path, "--version")

    assert (done.returncode, done.stderr) == (0, "")
    assert VERSION in done.stdout


def test_it_ends_with_its_code_and_has_its_folder_and_environment(
    forked: bool, tmp_path: Path
) -> None:
    done = command(tmp_path, "process", "list")

    assert done.returncode != 0
    assert str(tmp_path / "nowhere") in done.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_is_killed_as_its_number_says(
    forked: bool, number: signal.Signals, tmp_path: Path
) -> None:
    with subprocess.Popen(
        [CORTEX, "ctx", "encode", "-"], cwd=tmp_path, stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    ) as process:  # fmt: skip
        assert os.getsid(process.pid) == process.pid
        process.send_signal(number)

        assert process.wait(60) == -number


@FORKED
def test_only_what_is_ours_is_forked() -> None:
    with subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.DEVNULL) as other:
        assert isinstance(other, Prestarted)
        assert other.wait() == 0
