"""A hub under systemd: what it tells, and the unit that comes with Cortex."""

import configparser
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortex.runtime.serving import tell_systemd

UNIT = Path(__file__).parents[2] / "examples" / "cortex.service"
LONG_S = 120.0


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Where systemd listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.settimeout(LONG_S)
        listening.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield listening


def test_what_is_told_arrives_as_one_datagram(told: socket.socket) -> None:
    tell_systemd("READY=1")
    tell_systemd("STOPPING=1")

    assert [told.recv(64), told.recv(64)] == [b"READY=1", b"STOPPING=1"]


@pytest.mark.parametrize("variable", ["", "/nobody/listens/here", "@cortex-nobody-listens"])
def test_where_nobody_wants_to_know_nothing_is_said(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", variable)

    tell_systemd("READY=1")  # and raises nothing


def test_the_unit_is_one_that_systemd_takes() -> None:
    if not UNIT.exists():
        pytest.skip("examples/ is not beside these tests")
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("there is no systemd-analyze here")

    done = subprocess.run(
        [analyze, "verify", str(UNIT)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG_S,
    )

    complaints = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert (done.returncode, complaints) == (0, [])
    unit = UNIT.read_text()
    assert "Type=notify" in unit  # `cortex up` says when it is ready


def test_the_unit_leaves_nothing_running_where_its_hub_is_killed() -> None:
    if not UNIT.exists():
        pytest.skip("examples/ is not beside these tests")
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]  # systemd minds the case
    unit.read(UNIT)

    # What is left of its control group is killed: programs, workers, plugins, tool servers. With
    # `process` or `none` they would go on beside the next hub.
    assert unit["Service"]["KillMode"] in ("control-group", "mixed")
    assert unit["Service"].get("SendSIGKILL", "yes") == "yes"
    assert float(unit["Service"]["TimeoutStopSec"]) >= 30  # it is asked before, in good order
