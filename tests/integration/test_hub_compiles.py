"""A hub that is up has the processes of its home compiled, from the first moment on."""

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import Client, Event
from cortex.bus.events import (
    ComponentAnnounced,
    ExecutionCompleted,
    ProcessAnswer,
    ProcessCompiled,
    ProcessList,
    ProcessRejected,
    TriggerReceived,
    TriggerUnmatched,
)
from cortex.runtime.cli import main
from cortex.runtime.kernel import Home
from cortex.runtime.serving import Service, connected

from ..waiting import until

LONG_S = 120.0
PUSHED = """process: {name}
version: {version}
trigger: {{ type: event, match: {{ source: push }} }}
steps:
  - {{ id: say, action: {action}, with: {{ run: echo one }} }}
"""


def source(name: str = "pushed", version: int = 1, action: str = "shell") -> str:
    return PUSHED.format(name=name, version=version, action=action)


@pytest.fixture
def home() -> Iterator[Home]:
    folder = Path(tempfile.mkdtemp(prefix="cx"))  # short: a socket's path has a bound
    yield Home.create(folder / ".cortex")
    shutil.rmtree(folder)


def events(client: Client, *kinds: type[Event]) -> list[Any]:
    """Those of *kinds* in the log, in order."""
    topics = {kind.topic_name() for kind in kinds}
    return [client.vocabulary.read(r) for r in client.read() if r.topic in topics]


def versions(client: Client, name: str) -> list[int]:
    """The versions of the process *name* that are offered."""
    answer = client.ask(ProcessList(name=name))
    assert isinstance(answer, ProcessAnswer)
    return [each["version"] for each in answer.processes if not each["retired"]]


def test_a_fresh_home_answers_what_happens_as_soon_as_its_hub_listens(home: Home) -> None:
    (home.processes / "pushed.yaml").write_text(source())

    with Service(home), connected(home) as client:
        client.publish(TriggerReceived(trigger_id="t", fields={"source": "push"}))
        until(lambda: events(client, ExecutionCompleted))

        assert not events(client, TriggerUnmatched)


def test_what_changed_while_the_hub_was_down_is_compiled_when_it_comes_up(home: Home) -> None:
    file = home.processes / "pushed.yaml"
    file.write_text(source())
    with Service(home), connected(home) as client:
        assert versions(client, "pushed") == [1]

    file.unlink()
    (home.processes / "other.yaml").write_text(source("other"))

    with Service(home), connected(home) as client:
        assert (versions(client, "pushed"), versions(client, "other")) == ([], [1])


def test_nothing_is_compiled_again_where_nothing_changed(home: Home) -> None:
    (home.processes / "pushed.yaml").write_text(source())
    (home.processes / "wrong.yaml").write_text(source("wrong", action="nope"))
    with Service(home), connected(home) as client:
        before = events(client, ProcessCompiled, ProcessRejected)

    with Service(home), connected(home) as client:
        after = events(client, ProcessCompiled, ProcessRejected)

    assert after == before


def test_a_process_that_is_written_changed_or_removed_under_a_hub_is_compiled(home: Home) -> None:
    file = home.processes / "pushed.yaml"

    with Service(home), connected(home) as client:
        file.write_text(source())
        until(lambda: versions(client, "pushed") == [1])
        file.write_text(source(version=2))
        until(lambda: versions(client, "pushed")[-1:] == [2])
        file.unlink()
        until(lambda: versions(client, "pushed") == [])


def test_what_does_not_compile_is_one_event_for_each_change(home: Home) -> None:
    file = home.processes / "wrong.yaml"
    file.write_text(source("wrong", action="nope"))

    with Service(home), connected(home) as client:
        (first,) = events(client, ProcessRejected)
        (home.processes / "pushed.yaml").write_text(source())
        until(lambda: versions(client, "pushed") == [1])
        once = events(client, ProcessRejected)
        file.write_bytes(b"process: \xff\n")
        until(lambda: len(events(client, ProcessRejected)) == 2)
        file.write_text(source("wrong"))
        until(lambda: versions(client, "wrong") == [1])

    assert first.file == str(file)
    assert [each["code"] for each in first.diagnostics] == ["P401"]
    assert once == [first]


def test_what_was_rejected_is_compiled_when_what_it_lacks_is_announced(home: Home) -> None:
    (home.processes / "later.yaml").write_text(source("later", action="nope"))

    with Service(home), connected(home) as client:
        client.publish(ComponentAnnounced(component="Late", kind="action", name="nope"))
        until(lambda: versions(client, "later") == [1])


@pytest.mark.skipif(sys.platform == "darwin", reason="its file system takes UTF-8 alone")
def test_a_file_whose_name_is_not_utf_8_is_rejected_and_the_others_run(home: Home) -> None:
    (home.processes / "pushed.yaml").write_text(source())
    (home.processes / os.fsdecode(b"caf\xe9.yaml")).write_text(source("other"))
    folder = home.processes / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    (folder / "one.yaml").write_text(source("another"))

    with Service(home), connected(home) as client:
        assert versions(client, "pushed") == [1]
        assert not versions(client, "other")
        assert not versions(client, "another")
        rejected = {Path(each.file).name: each for each in events(client, ProcessRejected)}
        shutil.rmtree(folder)
        folder.with_suffix(".yaml").rename(home.processes / "cafe.yaml")
        until(lambda: versions(client, "other") == [1])

    assert set(rejected) == {"caf\\xe9.yaml", "one.yaml"}
    (found,) = rejected["caf\\xe9.yaml"].diagnostics
    assert (found["code"], found["remedy"]) == ("P003", "rename it")
    with Service(home), connected(home) as client:
        answer = client.ask(ProcessList())
        assert isinstance(answer, ProcessAnswer)
        assert not answer.rejected


def test_no_process_is_watched_where_it_is_switched_off(home: Home) -> None:
    (home.path / "config.toml").write_text("[processes]\nwatch = false\n")
    (home.processes / "pushed.yaml").write_text(source())

    with Service(home), connected(home) as client:
        (home.processes / "other.yaml").write_text(source("other"))
        time.sleep(1.0)  # a watch would have told of it within half a second

        assert (versions(client, "pushed"), versions(client, "other")) == ([1], [])


def test_status_and_doctor_say_what_does_not_compile(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    (home.processes / "pushed.yaml").write_text(source())
    (home.processes / "wrong.yaml").write_text(source("wrong", action="nope"))

    def said(command: str, *options: str) -> str:
        main([command, "--home", str(home.path), *options])
        return capsys.readouterr().out

    with Service(home):
        document = json.loads(said("status", "--json"))
        text, checks = said("status"), json.loads(said("doctor", "--quick", "--json"))
        (home.processes / "wrong.yaml").unlink()
        with connected(home) as client:
            until(lambda: not rejected(client))
        after = said("status")

    (row,) = document["not_ready"]
    assert (row["kind"], row["name"]) == ("rejected", str(home.processes / "wrong.yaml"))
    assert "P401: no component serves the action `nope`" in text
    (check,) = [each for each in checks if each["name"] == "processes"]
    assert check["state"] == "warn"
    assert "wrong.yaml is rejected: P401" in check["found"]
    assert "wrong.yaml" not in after


def rejected(client: Client) -> dict[str, str]:
    """Digests of what the compiler holds for rejected, by file."""
    answer = client.ask(ProcessList(sources=True))
    assert isinstance(answer, ProcessAnswer)
    return answer.rejected
