"""Triggers: what starts a process."""

import re
from datetime import UTC, datetime
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from ..executable.linked import EventTrigger, FileTrigger, ManualTrigger, ScheduleTrigger, Trigger
from .forms import Choice, Key, ListOf, MapForm, Name, OneOf, Text, wrong_type
from .nodes import MappingNode, Node, Reporter, ScalarNode, SequenceNode, describe
from .readers import any_map, read_value

_TRIGGERS = Choice(("event", "schedule", "file", "manual"))
_PATHS = Name(
    # Nothing outside the folder: who writes a process does not watch a machine.
    re.compile(r"(?![/~])(?!(?:.*/)?\.\.(?:/|$))[^\x00-\x1f]{1,500}"),
    "a path or pattern below the folder that the home belongs to",
)


def _read_match(node: Node, reporter: Reporter, label: str) -> Any:
    if not isinstance(node, MappingNode) or not node.entries:
        wrong_type(node, reporter, label, "a map of fields to values")
        return None
    match = []
    read_value(node, reporter, label)  # reports what readers disagree on
    for name, (_, value) in sorted(node.entries.items()):
        items = value.items if isinstance(value, SequenceNode) else [value]
        scalars = tuple(item.value for item in items if isinstance(item, ScalarNode))
        if len(scalars) != len(items) or not items:
            wrong_type(value, reporter, name, "a value or a list of values")
        match.append((name, scalars))
    return tuple(match)


def _read_cron(node: Node, reporter: Reporter, label: str) -> str | None:
    text = Text("a cron line").read(node, reporter, label)
    if text is None:
        return None
    problem = _cron_problem(text)
    if problem:
        reporter.report("P109", f"`{label}` is {describe(node)}: {problem}", node)
        return None
    return text


@cache
def _cron_problem(text: str) -> str | None:
    if len(text.split()) != 5:
        return f"it has {len(text.split())} fields, not five"
    try:
        CronSim(text, datetime(2000, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        return str(error)
    return None


def _read_timezone(node: Node, reporter: Reporter, label: str) -> str | None:
    text = Text("the name of a time zone").read(node, reporter, label)
    if text is None or _is_timezone(text):
        return text
    reporter.report("P109", f"`{label}` is {describe(node)}, not a known time zone", node)
    return None


@cache
def _is_timezone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


_TYPE = Key(_TRIGGERS, "what fires: event, schedule, file or manual", required=True, field="kind")
_TRIGGER_RECORDS = {
    "event": MapForm(
        "an event trigger",
        lambda kind, match: EventTrigger(match),  # noqa: ARG005
        {
            "type": _TYPE,
            "match": Key(
                OneOf(_read_match, (any_map,)),
                "fields of the event and the value, or list of values, each has to have",
                required=True,
            ),
        },
        with_node=False,
    ),
    "schedule": MapForm(
        "a schedule trigger",
        lambda kind, **values: ScheduleTrigger(**values),  # noqa: ARG005
        {
            "type": _TYPE,
            "cron": Key(OneOf(_read_cron, (Text().schema,)), "five fields", required=True),
            "timezone": Key(OneOf(_read_timezone, (Text().schema,)), "UTC unless given"),
            "missed": Key(
                Choice(("skip", "once", "all")),
                "what happens to times that passed while the runtime was down; once unless given",
            ),
        },
        with_node=False,
    ),
    "file": MapForm(
        "a file trigger",
        lambda kind, paths, changes=None: (  # noqa: ARG005
            FileTrigger(tuple(paths), tuple(changes)) if changes else FileTrigger(tuple(paths))
        ),
        {
            "type": _TYPE,
            "paths": Key(
                ListOf(_PATHS, or_one=True, minimum=1),
                "the files, as `*.csv` or `inbox/**/*.pdf`: one pattern, or a list",
                required=True,
            ),
            "changes": Key(
                ListOf(Choice(("added", "modified", "deleted")), or_one=True, minimum=1),
                "which changes count; all unless given",
            ),
        },
        with_node=False,
    ),
    "manual": MapForm(
        "a manual trigger",
        lambda kind: ManualTrigger(),  # noqa: ARG005
        {"type": _TYPE},
        with_node=False,
    ),
}


def _read_trigger(node: Node, reporter: Reporter, label: str) -> Trigger | None:
    if isinstance(node, ScalarNode) and node.value == "manual":
        return ManualTrigger()
    if not isinstance(node, MappingNode):
        wrong_type(node, reporter, label, "a map with `type:`")
        return None
    kind_node = node.get("type")
    if kind_node is None:
        reporter.report("P102", "a trigger needs `type:`", node)
        return None
    kind = _TRIGGERS.read(kind_node, reporter, "type")
    if kind is None:
        return None
    trigger: Trigger | None = _TRIGGER_RECORDS[kind].read(node, reporter, label)
    return trigger


TRIGGER = OneOf(_read_trigger, tuple(record.schema for record in _TRIGGER_RECORDS.values()))
