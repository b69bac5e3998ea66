"""The official SDK reads every event that is exported as CloudEvents."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from cloudevents.core.base import BaseCloudEvent
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from cortex.bus import as_map, decode
from cortex.bus.events import TriggerUnmatched
from cortex.runtime.exports import export_log
from cortex.runtime.kernel import Home, Runtime

from .export_world import filled, records


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return filled(tmp_path_factory.mktemp("source"))


def written(home: Home, form: str, **part: Any) -> bytes:
    out = BytesIO()
    export_log(home, out, form=form, **part)
    return out.getvalue()


def read(text: bytes) -> BaseCloudEvent:
    return JSONFormat().read(CloudEvent, text)


def test_every_event_is_a_valid_cloud_event_with_its_body(source: Home) -> None:
    events = [read(line) for line in written(source, "cloudevents").splitlines()]

    whole = [decode(data) for data in records(source)]
    assert [event.get_data() for event in events] == [as_map(record) for record in whole]
    assert [event.get_type() for event in events] == [f"cortex.{r.topic}" for r in whole]
    assert [event.get_id().replace("-", "") for event in events] == [r.id.hex() for r in whole]
    assert [int(event.get_extension("sequence")) for event in events] == [
        record.position for record in whole
    ]
    assert {event.get_source() for event in events} == {events[0].get_source()}
    for event, record in zip(events, whole, strict=True):
        when = event.get_time()
        assert when is not None
        assert abs(when.timestamp() * 1e9 - record.time_ns) < 1e6


def test_a_batch_is_one_array_of_the_same_events(source: Home) -> None:
    lines = [json.loads(line) for line in written(source, "cloudevents").splitlines()]

    assert json.loads(written(source, "cloudevents-batch")) == lines
    part = json.loads(written(source, "cloudevents-batch", first=4, last=6))
    assert [int(each["sequence"]) for each in part] == [4, 5, 6]
    assert part == lines[3:6]


def test_names_are_as_the_specification_asks_and_nothing_is_null(source: Home) -> None:
    for line in written(source, "cloudevents").splitlines():
        event = json.loads(line)
        assert all(name.isalnum() and name.islower() and len(name) <= 20 for name in event)
        assert all(value not in (None, "") for value in event.values())


def test_an_attribute_holds_no_control_character(tmp_path: Path) -> None:
    home = Home.create(tmp_path / ".cortex")
    with Runtime(home, components=[]) as runtime:
        client = runtime.client("test")
        client.publish(TriggerUnmatched(trigger_id="a\x07\ufffe\x85b", reason="none\x07"))

    last = written(home, "cloudevents").splitlines()[-2]

    event = read(last)
    assert event.get_subject() == "trigger/a%07%EF%BF%BE%C2%85b"
    assert event.get_data()["reason"] == "none\x07"  # type: ignore[index,call-overload]
