"""Processes that start when files change: which, for what, and what they are told."""

from typing import Any

import msgspec
import pytest

from cortex.actors.managers import Change, fitting, folders_of, received
from cortex.bus.events import ExecutionStarted, ProcessRetired, TriggerMatched, TriggerUnmatched
from cortex.runtime.processes import Field, FileTrigger, LinkedProcess, parse

from .test_manager_requests import Office, one

INBOX = FileTrigger(("inbox/*.csv",))
SOURCE = """\
process: import
version: 1
trigger:
  type: file
  PATHS
steps:
  - id: say
    action: shell
    with: { run: echo one }
"""


def watching(trigger: FileTrigger = INBOX, name: str = "p", **more: Any) -> LinkedProcess:
    return one(name, triggers=(trigger,), **more)


def added(*paths: str) -> list[Change]:
    return [Change(path, "added") for path in paths]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("inbox/*.csv", ["inbox/a.csv"]),
        ("inbox/**", ["inbox/a.csv", "inbox/deep/b.csv", "inbox/note.md"]),
        ("*.csv", ["inbox/a.csv", "inbox/deep/b.csv", "top.csv"]),
        ("**/*.{md,txt}", ["inbox/note.md"]),
        ("top.csv", ["top.csv"]),
        ("inbox/[a.csv", []),
    ],
)
def test_a_pattern_means_the_files_that_it_means_to_tools(pattern: str, found: list[str]) -> None:
    changes = added("top.csv", "inbox/a.csv", "inbox/deep/b.csv", "inbox/note.md")

    fits = fitting([FileTrigger((pattern,))], changes)

    assert [change.path for change in fits] == found


def test_only_the_changes_that_are_named_count() -> None:
    trigger = FileTrigger(("*",), ("deleted",))

    fits = fitting([trigger], [*added("a"), Change("b", "deleted"), Change("c", "modified")])

    assert [change.path for change in fits] == ["b"]


def test_what_is_watched_is_no_more_than_the_patterns_can_mean() -> None:
    paths = ("inbox/*.csv", "docs/en/**/*.md", "*.txt", "a/b/c.txt", "x*/y/z")

    folders = folders_of([FileTrigger(paths)])

    assert folders == {"inbox", "docs/en", "", "a/b"}


def test_many_changes_at_once_are_one_trigger_for_each_process() -> None:
    processes = {"b": (INBOX,), "a": (INBOX,), "c": (FileTrigger(("*.md",)),)}

    events = list(received(processes, added("inbox/2.csv", "inbox/1.csv"), "/w", "t"))

    assert [event.fields["process"] for event in events] == ["a", "b"]
    assert len({event.trigger_id for event in events}) == 2
    assert events[0].inputs == {"path": "inbox/1.csv", "paths": ["inbox/1.csv", "inbox/2.csv"]}
    assert events[0].goal == "inbox/1.csv and 1 more changed"


@pytest.mark.parametrize("length", [10, 4_000])
def test_of_very_many_changes_every_one_is_named(length: int) -> None:
    paths = [f"inbox/{number:0{length}}.csv" for number in range(2_500 if length < 100 else 100)]

    events = list(received({"p": (INBOX,)}, added(*paths), "/w", "t"))

    assert [path for event in events for path in event.inputs["paths"]] == paths
    assert len({event.trigger_id for event in events}) == len(events) > 1
    assert all(len(msgspec.msgpack.encode(event)) < 128 * 1024 for event in events)


def test_the_process_runs_with_what_it_declares_of_the_paths() -> None:
    fields = (Field(name="paths", type="list"),)
    office = Office(watching(inputs=fields))
    (event,) = received({"p": (INBOX,)}, added("inbox/1.csv"), "/w", "t")

    office.publish(event)

    (matched,) = office.world.said(TriggerMatched)
    (started,) = office.world.said(ExecutionStarted)
    assert (matched.process, matched.because) == ("p", "its file trigger")
    assert (started.inputs, started.workspace) == ({"paths": ["inbox/1.csv"]}, "/w")


def test_a_process_that_no_longer_watches_files_is_not_run() -> None:
    office = Office(watching(), one("q"))
    events = received({"p": (INBOX,), "q": (INBOX,)}, added("inbox/1.csv"), "/w", "t")
    office.publish(ProcessRetired(name="p", reason="its file is gone"))

    office.publish(*events)

    reasons = [event.reason for event in office.world.said(TriggerUnmatched)]
    assert reasons == ["p no longer watches files", "q no longer watches files"]


@pytest.mark.parametrize(
    ("written", "trigger"),
    [
        ("paths: inbox/*.csv", INBOX),
        ('paths: [a.txt, "b/**"]', FileTrigger(("a.txt", "b/**"))),
        ("paths: x\n  changes: [added]", FileTrigger(("x",), ("added",))),
    ],
)
def test_it_is_written_as_one_pattern_or_a_list(written: str, trigger: FileTrigger) -> None:
    found = parse(SOURCE.replace("PATHS", written), "p.yaml")

    assert found.diagnostics == ()
    definition: Any = found.definitions[0]
    assert tuple(definition.triggers) == (trigger,)


@pytest.mark.parametrize("path", ["/etc/passwd", "../other", "a/../../b", "~/notes", '"a\\nb"'])
def test_nothing_outside_the_folder_is_watched(path: str) -> None:
    found = parse(SOURCE.replace("PATHS", f"paths: [{path}]"), "p.yaml")

    assert {diagnostic.code for diagnostic in found.diagnostics} == {"P105"}


def test_the_trigger_survives_in_the_linked_form() -> None:
    process = watching(FileTrigger(("a", "b"), ("added",)))

    again = msgspec.json.decode(msgspec.json.encode(process), type=LinkedProcess)

    assert again.triggers == process.triggers
