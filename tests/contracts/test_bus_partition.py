"""The promises between two network namespaces whose link is slow, loses packets, and goes down."""

import contextlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cortex.bus import Event, connect

pytestmark = pytest.mark.wheel  # it starts what the wheel installs

LONG_S = 120.0
NUMBER = os.getpid() % 250
SPACE, NEAR, FAR = f"cortex{os.getpid()}", f"cxn{os.getpid()}", f"cxf{os.getpid()}"
HERE, THERE = f"10.213.{NUMBER}.1", f"10.213.{NUMBER}.2"
BAD = ("delay", "3ms", "2ms", "loss", "2%")


class Sent(Event, frozen=True, kw_only=True, tag="x.partition.sent"):
    number: int


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=LONG_S)


@pytest.fixture(scope="module")
def far_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a hub in a network namespace of its own."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("network namespaces need root and iproute2")
    folder = tmp_path_factory.mktemp("far")
    folder.chmod(0o700)
    try:
        try:
            run("ip", "netns", "add", SPACE)
            run("ip", "link", "add", NEAR, "type", "veth", "peer", "name", FAR, "netns", SPACE)
            run("ip", "addr", "add", f"{HERE}/30", "dev", NEAR)
            run("ip", "-n", SPACE, "addr", "add", f"{THERE}/30", "dev", FAR)
            run("ip", "link", "set", NEAR, "up")
            run("ip", "-n", SPACE, "link", "set", FAR, "up")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespace can be made here: {error.stderr.decode().strip()}")
        program = str(Path(__file__).with_name("hub_elsewhere.py"))
        command = ["ip", "netns", "exec", SPACE, sys.executable, program, str(folder), THERE]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as hub:
            assert hub.stdout is not None
            assert hub.stdin is not None
            url = hub.stdout.readline().strip()
            assert url, "the hub ended"
            yield url
            hub.stdin.close()
            hub.wait(LONG_S)
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            run("ip", "netns", "del", SPACE)
        with contextlib.suppress(subprocess.CalledProcessError):
            run("ip", "link", "del", NEAR)


def publish_all(url: str, name: str, count: int, at: int, cut: threading.Event) -> list[int]:
    with connect(url, name=name, events=(Sent,), away_s=LONG_S) as client:
        positions = []
        for number in range(count):
            if number == at:
                cut.set()
            positions.append(client.publish(Sent(number=number)))
        return positions


def check(url: str, positions: list[int], count: int) -> None:
    with connect(url, name="reader", events=(Sent,), away_s=LONG_S) as reader:
        kept = list(reader.read(after=positions[0] - 1))
    assert [r.position for r in kept] == positions == sorted(positions)
    assert [msgspec.msgpack.decode(r.body)["number"] for r in kept] == list(range(count))


def test_a_link_that_goes_down_loses_nothing_and_doubles_nothing(far_hub: str) -> None:
    cut, positions = threading.Event(), list[int]()
    work = threading.Thread(
        target=lambda: positions.extend(publish_all(far_hub, "cut", 200, 100, cut))
    )
    work.start()
    assert cut.wait(LONG_S)
    run("ip", "link", "set", NEAR, "down")
    threading.Event().wait(0.3)  # how long it is down changes nothing of what must hold
    run("ip", "link", "set", NEAR, "up")
    work.join(LONG_S)

    check(far_hub, positions, 200)


def test_a_link_that_is_slow_and_loses_packets_loses_nothing(far_hub: str) -> None:
    try:
        run("tc", "qdisc", "add", "dev", NEAR, "root", "netem", *BAD)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this kernel has no netem: no delay and no loss can be made here")
    try:
        positions = publish_all(far_hub, "lossy", 100, -1, threading.Event())

        check(far_hub, positions, 100)
    finally:
        run("tc", "qdisc", "del", "dev", NEAR, "root")
