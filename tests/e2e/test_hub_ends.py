"""A hub that ends while clients publish, follow and ask ends in good order, and keeps its word.

Five times here, as often as `CORTEX_HUB_ENDS` says; `CORTEX_HUB_ENDS_REPORT` is a file that gets
the figures.
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cortex.bus import Client, CortexError, Query, connect, decode
from cortex.runtime.log import EventLog

from . import hub_world
from .hub_world import WORDS, Doubled, Said, Twice, url_in

ENDS = int(os.environ.get("CORTEX_HUB_ENDS", "5"))
REPORT = os.environ.get("CORTEX_HUB_ENDS_REPORT", "")
STUCK_S = 60.0
PUBLISHERS = 3
STARTED_IN_FULL = True


class Traffic:
    """Clients in threads of this process, each until the hub is gone."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.acknowledged: list[tuple[int, int]] = []  # position, number
        self.followed, self.answered = 0, 0
        self._numbers = iter(range(1 << 30))
        self._threads = [
            threading.Thread(target=self._until_gone, args=(name, does))
            for name, does in (
                *((f"publisher-{n}", self._publish) for n in range(PUBLISHERS)),
                ("follower", self._follow),
                ("answerer", self._answer),
                ("asker", self._ask),
            )
        ]
        self._over = threading.Event()
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        """Wait for all of them."""
        self._over.set()
        for thread in self._threads:
            thread.join(STUCK_S)
        assert not [each.name for each in self._threads if each.is_alive()]

    def _until_gone(self, name: str, does: Callable[[Client], None]) -> None:
        with (
            suppress(CortexError),
            connect(self.url, name=name, vocabulary=WORDS, away_s=0.1) as client,
        ):
            does(client)

    def _publish(self, client: Client) -> None:
        while True:
            number = next(self._numbers)
            self.acknowledged.append((client.publish(Said(number=number)), number))

    def _follow(self, client: Client) -> None:
        feed = client.follow((Said.topic_name(), None))
        while True:
            self.followed += len(feed.next(STUCK_S))

    def _answer(self, client: Client) -> None:
        def doubled(asked: Query, _: float) -> Doubled:
            assert isinstance(asked, Twice)
            return Doubled(number=2 * asked.number)

        client.hub.answer(Twice, doubled)
        self._over.wait(STUCK_S)

    def _ask(self, client: Client) -> None:
        while not self._over.is_set():
            with suppress(CortexError):  # nobody answers yet, or not any more
                assert client.ask(Twice(number=21), 1.0) == Doubled(number=42)
                self.answered += 1


@contextmanager
def hub_of(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A hub that listens."""
    process = subprocess.Popen(
        [sys.executable, hub_world.__file__, str(folder)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "listening\n"
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_hub_that_ends_under_traffic_ends_clean_and_has_all_that_it_acknowledged(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o700)
    chance = random.Random(5)
    slowest_s, acknowledged, followed, answered = 0.0, 0, 0, 0
    for _ in range(ENDS):
        with hub_of(tmp_path) as hub:
            traffic = Traffic(url_in(tmp_path))
            deadline_s = time.monotonic() + STUCK_S
            while not (traffic.followed and traffic.answered) and time.monotonic() < deadline_s:
                time.sleep(0.01)
            time.sleep(chance.uniform(0.0, 0.3))

            began_s = time.monotonic()
            hub.send_signal(signal.SIGTERM)
            said, errors = hub.communicate(timeout=STUCK_S)
            slowest_s = max(slowest_s, time.monotonic() - began_s)
            traffic.join()

        assert (hub.returncode, said, errors) == (0, "", "")
        log = EventLog.open(tmp_path / "log.db")
        try:
            there = {
                record.position: WORDS.read(record)
                for record in map(decode, log.read(0, 1 << 30, 1 << 40))
                if record.topic == Said.topic_name()
            }
            unclean = log.state().unclean
        finally:
            log.close()
        assert not unclean
        assert traffic.followed
        assert traffic.answered
        for position, number in traffic.acknowledged:
            assert there[position] == Said(number=number)
        acknowledged += len(traffic.acknowledged)
        followed, answered = followed + traffic.followed, answered + traffic.answered
    if REPORT:
        Path(REPORT).write_text(
            f"{ENDS} ends of a hub under traffic, all clean: {acknowledged:,} events acknowledged, "
            f"{followed:,} followed, {answered:,} answers; the slowest end took {slowest_s:.1f} s\n"
        )
