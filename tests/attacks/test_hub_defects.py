"""A defect in the hub: whoever asked is told so, everybody else goes on, and it is recorded."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from cortex.bus import (
    Answer,
    Client,
    Draft,
    Hub,
    HubFailedError,
    HubServer,
    LocalHub,
    Log,
    Publish,
    SystemClock,
    connect,
    system_entropy,
)
from cortex.bus.events import ComponentFailed
from cortex.runtime.log import AgentWork, MemoryLog

from .hub_process import WORDS, Said


class BrokenLog(MemoryLog):
    """A log with a defect: it cannot find out the version of one stream."""

    def stream_version(self, stream: str) -> int:
        if stream == "broken/all":
            raise ZeroDivisionError("a defect")
        return super().stream_version(stream)


class Defective:
    def __init__(self, folder: Path) -> None:
        folder.chmod(0o700)
        self.log: Log = BrokenLog()
        self.hub = LocalHub(Hub(self.log, WORDS, system_entropy, policy=AgentWork()), SystemClock())
        self.server = HubServer(self.hub, self.log)
        self.url = self.server.listen(f"ipc://{folder}/bus.sock")

    def client(self, name: str) -> Client:
        return connect(self.url, name=name, vocabulary=WORDS)

    def close(self) -> None:
        self.server.close()
        self.hub.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Defective]:
    made = Defective(tmp_path)
    yield made
    made.close()


def broken() -> Draft:
    return Draft("x.broken.said", 1, "broken/all", None, b"\x80")


def recorded(client: Client) -> list[ComponentFailed]:
    events = map(client.vocabulary.read, client.read())
    return [event for event in events if isinstance(event, ComponentFailed)]


@pytest.mark.parametrize("asks", ["publish", "read"])
def test_whoever_asked_is_told_that_the_hub_failed_and_it_is_recorded(
    served: Defective, asks: str
) -> None:
    with capture_logs() as logged, served.client("me") as client, served.client("other") as other:
        ask: Callable[[], int] = {
            "publish": lambda: client.publish_drafts([broken()]),
            "read": lambda: client.log.stream_version("broken/all"),
        }[asks]
        with pytest.raises(HubFailedError, match=r"a defect in .*component\.failed") as failed:
            ask()

        other.publish(Said(number=1))
        (event,) = recorded(other)

    assert event.component == "hub"
    assert failed.value.failure in event.reason
    assert "ZeroDivisionError" in event.reason
    (line,) = [each for each in logged if each["event"] == "hub_failed"]
    assert line["failure"] == failed.value.failure
    assert "stream_version" in line["traceback"]


def test_a_client_that_goes_is_no_defect(served: Defective) -> None:
    with capture_logs() as logged:
        with served.client("me") as client:
            client.publish(Said(number=1))
        served.server.close()

    assert not [each for each in logged if each["event"] == "hub_failed"]


def test_neighbours_in_the_same_transaction_are_done(served: Defective) -> None:
    good = Publish((Draft.of(Said(number=1)),))
    answers: list[Any] = []

    def submit(hub: LocalHub) -> list[Answer]:
        return hub.submit("neighbour", (good,))

    with served.hub._writer:  # so that both wait for the same turn
        raised: list[BaseException] = []

        def ask() -> None:
            try:
                served.hub.submit("me", (Publish((broken(),)),))
            except BaseException as error:  # noqa: BLE001  # looked at below
                raised.append(error)

        threads = [
            threading.Thread(target=ask),
            threading.Thread(target=lambda: answers.extend(submit(served.hub))),
        ]
        for thread in threads:
            thread.start()
        while len(served.hub._combiner) < len(threads):
            threading.Event().wait(0.001)
    for thread in threads:
        thread.join()

    assert [type(error) for error in raised] == [ZeroDivisionError]
    assert [answer.last for answer in answers] == [1]
