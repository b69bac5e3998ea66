"""Finds processes and executions by their descriptions, not by their names.

The descriptions are stored like passages of knowledge, in `vectors/` of the home. A query reads
only what is new since the last one; a deleted folder is built again from the log.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from cortex.bus.events import ExecutionRated, StepCompleted, StepFailed
from cortex.runtime.kernel import Config, RefusedError
from cortex.runtime.log import BlobError
from cortex.runtime.processes import EventTrigger, LinkedInterface, LinkedProcess
from cortex.runtime.processes.catalog import Catalog
from cortex.runtime.projections import STREAM, Selection

if TYPE_CHECKING:
    from cortex.runtime.retrieval import RecordText, SearchResult

from .history import History, rows_of
from .summary import row_of

FOUND: Final = 10
VALUE_CHARS: Final = 200  # of an input
ERROR_CHARS: Final = 600
CHANGES: Final = Selection(topics=("execution.*",))

# "the process that handles ..." names what is searched, and does not describe it.
_KIND = re.compile(
    r"^\s*(?:(?:the|a|an|any|all|which|what|find)\s+)*(?:process|execution|run)(?:e?s)?\s+"
    r"(?:(?:that|which|who|where|in which|to|for|with|about)\s+)",
    re.IGNORECASE,
)


class MeaningHit(msgspec.Struct, frozen=True):
    """A process or an execution that was found."""

    key: str  # its name, or its id
    score: float  # 1 is the best by words and meaning; links may add to it
    why: dict[str, float]  # the parts of the score


class Hits(msgspec.Struct, frozen=True):
    """What was found, best first, and what was not as it should be."""

    hits: tuple[MeaningHit, ...]
    notes: tuple[str, ...] = ()


def find_processes(history: History, question: str, limit: int = FOUND) -> Hits:
    """The processes and interfaces that have most to do with *question*.

    Names, descriptions, inputs, steps, triggers and topics of the newest versions are looked into.

    Raises:
        RetrievalError: The index cannot be read or written, or there is no such embedder.
    """
    # Here, not at the top: numpy and faiss take their time to load.
    from cortex.runtime.knowledge import embedder_of
    from cortex.runtime.retrieval import RecordFinder, RecordText

    catalog = Catalog(history)
    wanted = {name: catalog.get(name) for name in catalog.names()}
    unreadable: list[str] = []

    def records(known: dict[str, str]) -> "Iterator[RecordText]":
        for name, compiled in wanted.items():
            stamp = compiled.event.digest
            if known.get(name) == stamp:
                continue
            try:
                text = said_of_process(catalog.linked(compiled))
            except (BlobError, RefusedError) as error:
                unreadable.append(f"{name} is found by its name alone: {error}")
                stamp = text = ""  # so that it is retried
            yield RecordText(name, stamp, _plain(name), text)

    embedder = embedder_of(Config.load(history.home).knowledge)
    with RecordFinder.open(history.home.path, "processes", embedder) as finder:
        known = finder.stamps()
        gone = [name for name in known if name not in wanted]
        notes = finder.update(records(known), gone)
        found = finder.find(_about(question), limit)
    return _hits(found, (*unreadable, *notes))


def find_executions(history: History, question: str, limit: int = FOUND) -> Hits:
    """The executions that have most to do with *question*.

    Goal, process, inputs, status, reason, verdict, and what steps said and failed of are looked
    into, as they were when an execution last began, stopped or was rated.

    Raises:
        RetrievalError: The index cannot be read or written, or there is no such embedder.
    """
    from cortex.runtime.knowledge import embedder_of
    from cortex.runtime.retrieval import RecordFinder, RecordText

    embedder = embedder_of(Config.load(history.home).knowledge)
    with RecordFinder.open(history.home.path, "executions", embedder) as finder:
        known = finder.stamps()
        after = _seen_through(history, known.values())
        gone = () if after else tuple(known)
        stamps: dict[str, str] = {}
        for record in history.select(CHANGES, after):
            execution_id = record.stream.removeprefix(STREAM)
            stamps.pop(execution_id, None)  # the newest last: a killed run continues behind it
            stamps[execution_id] = f"{record.position}:{record.id.hex()}"
        records = (
            RecordText(each, stamp, *said_of_execution(history, each))
            for each, stamp in stamps.items()
        )
        notes = finder.update(records, gone)
        found = finder.find(_about(question), limit)
    return _hits(found, notes)


def said_of_process(linked: LinkedProcess | LinkedInterface) -> str:
    """What is said about a process, a line a thing, all names as words."""
    lines = [linked.description]
    lines += [f"{_plain(f.name)}: {f.description}" for f in (*linked.inputs, *linked.outputs)]
    if isinstance(linked, LinkedInterface):
        lines += [f"{_plain(step)}: {told}" for step, told in linked.required_steps]
        lines += map(_plain, (*linked.required_gates, *linked.required_knowledge))
        return "\n".join(filter(None, lines))
    for step in linked.steps:
        runs = step.action.name if step.action else ""
        if step.child is not None:
            runs = step.child.process or step.child.interface or ""
        lines.append(f"{_plain(step.id)}, {_plain(runs)}: {step.description}")
    for trigger in linked.triggers:
        if isinstance(trigger, EventTrigger):
            fields = ((name, " ".join(map(str, values))) for name, values in trigger.match)
            lines.append(", ".join(f"{_plain(name)} {_plain(values)}" for name, values in fields))
    lines += [_plain(topic.topic) for topic in linked.knowledge]
    lines += [_plain(name) for name, _ in linked.implements]
    return "\n".join(filter(None, lines))


def said_of_execution(history: History, execution_id: str) -> tuple[str, str]:
    """The title of an execution, and what is said about it, a line a thing."""
    rows = rows_of(history, execution_id)
    state = history.execution(execution_id)
    row = row_of(state, rows)
    lines = [row.goal, f"{row.status} {row.reason[:ERROR_CHARS]}", row.verdict]
    inputs = state.started.inputs if state.started else {}
    lines += [f"{_plain(name)}: {_value(value)}" for name, value in inputs.items()]
    for _, event in rows:
        match event:
            case StepCompleted():
                lines.append(f"{_plain(event.step_id)}: {event.summary}")
            case StepFailed():
                lines.append(f"{_plain(event.step_id)} failed: {event.error[:ERROR_CHARS]}")
            case ExecutionRated():
                lines.append(event.note)
    told = dict.fromkeys(line.strip() for line in lines)
    return _plain(row.process), "\n".join(filter(None, told))


def _seen_through(history: History, stamps: Iterable[str]) -> int:
    """The position up to which the index is complete; 0 if it belongs to another log."""
    newest = max(stamps, key=lambda stamp: int(stamp.partition(":")[0]), default="")
    position, _, event_id = newest.partition(":")
    record = history.at(int(position)) if position else None
    return record.position if record is not None and record.id.hex() == event_id else 0


def _about(question: str) -> str:
    """*question* without the words that say what kind of thing is looked for."""
    return _KIND.sub("", question) or question


def _plain(name: str) -> str:
    return name.replace("_", " ").replace("-", " ").replace(".", " ").replace("/", " ").strip()


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text[:VALUE_CHARS]


def _hits(found: "SearchResult", notes: Iterable[str]) -> Hits:
    hits = tuple(MeaningHit(one.path, one.score, one.why) for one in found.passages)
    return Hits(hits, tuple(dict.fromkeys((*notes, *found.notes_and_caution()))))
