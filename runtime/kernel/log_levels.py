"""What log lines say: their levels, their fields, and the event during whose handling they come."""

import os
from contextvars import ContextVar
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from cortex.bus import Draft

LEVEL: Final = "CORTEX_LOG"
FORMAT: Final = "CORTEX_LOG_FORMAT"
Level: TypeAlias = Literal["trace", "debug", "info", "warning", "error"]
LEVELS: Final[tuple[Level, ...]] = ("trace", "debug", "info", "warning", "error")  # lowest first
FORMATS: Final = ("text", "json")

# What is said of an event from INFO on, under the names in its body.
FIELDS: Final = (
    *("attempt", "action", "gate", "outcome", "model", "tool", "process", "child", "kind"),
    *("status", "reason", "error"),
)
LONGEST: Final = 200  # characters of one of them

_LEVELS_OF: Final[dict[Level, str]] = {
    "error": "component.failed execution.failed execution.halted plugin.crashed process.rejected "
    "step.failed",
    "warning": "component.restarted context.refused effect.unknown execution.deferred "
    "execution.ignored execution.refused model.failed model.unclaimed process.unlinked "
    "step.unclaimed tool.denied tool.failed tool.unclaimed trigger.unmatched",
    "info": "execution.breakpoints_changed execution.cancelled execution.completed "
    "execution.edited execution.paused execution.resumed execution.started context.edited "
    "gate.evaluated model.responded step.completed step.delegated step.execute step.reopened "
    "step.settled step.skipped tool.returned trigger.matched",
    "debug": "context.compile context.compiled gate.evaluate knowledge.request "
    "knowledge.requested model.invoke model.selected process.compiled process.retired "
    "process.unchanged tool.call",
}
LEVEL_OF: Final[dict[str, Level]] = {
    topic: level for level, topics in _LEVELS_OF.items() for topic in topics.split()
}


class Handled(Protocol):
    """An event that is handled in this thread or task."""

    def fields(self) -> dict[str, str]:
        """Component, execution, step and the event's id; without those that are empty."""
        ...


handled: ContextVar[Handled | None] = ContextVar("handled", default=None)


class LogsAskedFor(NamedTuple):
    """What log lines are asked for."""

    level: Level | None  # None: nobody asked
    format: str
    wrong: str = ""  # a variable that is not as it should be, in a sentence


class _Configured:
    """What the configuration of this process's home says; the environment goes before it."""

    level: Level | None = None
    format = "text"


def configure_logs(level: Level | None, form: str) -> None:
    """Take over what a home's configuration says of log lines, for this process."""
    _Configured.level, _Configured.format = level, form


def wanted_logs() -> LogsAskedFor:
    """What the environment asks for, else the configuration."""
    said, form = os.environ.get(LEVEL, ""), os.environ.get(FORMAT, "")
    level = {"warn": "warning"}.get(said.lower(), said.lower())
    found: Level | None = next((each for each in LEVELS if each == level), None)
    wrong = ""
    if said and found is None:
        wrong = f"{LEVEL}={said[:20]!r} is not a level: {', '.join(LEVELS)}"
    elif form and form not in FORMATS:
        wrong = f"{FORMAT}={form[:20]!r} is not a format: {', '.join(FORMATS)}"
    form = form if form in FORMATS else _Configured.format
    return LogsAskedFor(found if said else _Configured.level, form, wrong)


def level_of(draft: Draft, body: dict[str, Any]) -> Level:
    """The level of the line about an event that a component published."""
    level = LEVEL_OF.get(draft.topic, "trace")
    if draft.topic == "gate.evaluated" and body.get("outcome") == "failed":
        return "error"
    return level


def fields_of(body: dict[str, Any]) -> dict[str, Any]:
    """What a line from INFO on says of an event: its step, and short values of some fields."""
    step = {"step": body["step_id"]} if body.get("step_id") else {}
    said = {name: body[name] for name in FIELDS if body.get(name)}
    return {**step, **{name: _short(value) for name, value in said.items()}}


def _short(value: Any) -> Any:
    text = value if isinstance(value, int) else str(value)
    return f"{text[: LONGEST - 1]}…" if isinstance(text, str) and len(text) > LONGEST else text
