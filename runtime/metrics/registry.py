"""The registry of metrics: a fold of the log into counters and histograms; pure.

All sums are whole numbers, so that equal records give equal values in however many spans they are
folded. Label values come from the log, that is from models and strangers too: each metric has at
most `SERIES_MOST` combinations of them, and the rest counts as `OTHER`.
"""

from bisect import bisect_left
from typing import Protocol, TypeAlias

import msgspec

from cortex.bus import Recorded

from .catalogue import BUCKETS_S, CLASSES, LABEL_CHARS, METRICS, NS, OTHER, SERIES_MOST

Labels: TypeAlias = tuple[str, ...]
Series: TypeAlias = tuple[str, Labels]  # of a metric
SUBMITS_KEPT = 32  # newest submits of sources, of which a file may still be compiled
_BOUNDS_NS = [round(bound * NS) for bound in BUCKETS_S]

# What begins and what ends a span, and the fields that make both the same.
_KEYS = {
    "step": ("step_id",),
    "gate": ("step_id", "index"),
    "context": ("step_id", "attempt", "turn"),
    "model": ("step_id", "attempt", "turn", "call"),
    "tool": ("step_id", "call_id"),
    "execution": (),
    "process": (),
}
_BEGIN = {
    "gate.evaluate": "gate",
    "context.compile": "context",
    "model.invoke": "model",
    "tool.call": "tool",
    "execution.started": "execution",
    "process.submit": "process",
}
_END = {
    "step.completed": "step", "step.failed": "step", "step.skipped": "step",
    "gate.evaluated": "gate",
    "context.compiled": "context", "context.refused": "context",
    "model.responded": "model", "model.failed": "model",
    "tool.returned": "tool", "tool.failed": "tool", "tool.denied": "tool",
    "execution.completed": "execution", "execution.failed": "execution",
    "execution.cancelled": "execution",
    "process.compiled": "process", "process.rejected": "process", "process.unchanged": "process",
}  # fmt: skip
# A step begins with the first of these after it was settled, or at all; its gates come before.
_WORK = frozenset(
    ("knowledge.request", "context.compile", "step.execute", "step.delegated", "step.fanned")
)
_SINGLE = frozenset(
    ("model.selected", "knowledge.requested", "component.failed", "component.restarted")
)
TAKEN = frozenset((*_BEGIN, *_END, *_WORK, *_SINGLE))


class Seen(msgspec.Struct, frozen=True):
    """What metrics read of a body; whatever else it has is skipped."""

    execution_id: str = ""
    process: str = ""
    step_id: str = ""
    attempt: int = 1
    turn: int = 0
    call: int = 1
    call_id: str = ""
    index: int = 0
    gate: str = ""
    outcome: str = ""
    model: str = ""
    tool: str = ""
    topics: tuple[str, ...] = ()
    problem: str = ""
    component: str = ""
    tokens: int | None = 0
    cost: float = 0.0
    recorded: int = 0  # nothing was sent for it: the answer is on record
    input_tokens: int = 0
    cached_read_tokens: int = 0
    cached_write_tokens: int = 0
    output_tokens: int = 0


class OpenExecution(msgspec.Struct):
    """What has to be known of an execution to count what comes of it."""

    process: str = ""
    begun: dict[str, int] = {}  # when what has not ended yet began, in nanoseconds, by its key


read = msgspec.msgpack.Decoder(Seen).decode


class Stored(Protocol):
    """What was folded before, and is read only where something comes of it."""

    def execution(self, execution_id: str) -> OpenExecution | None:
        """What is known of an execution; None if it was not seen."""
        ...

    def numbers(self, series: Series) -> list[int] | None:
        """The numbers of *series*; None if it has none."""
        ...

    def series(self, name: str) -> int:
        """How many combinations of labels the metric *name* has."""
        ...


class MetricsRegistry:
    """Counters and histograms by metric and labels.

    Args:
        stored: What was folded before; None if nothing was.
    """

    def __init__(self, stored: Stored | None = None) -> None:
        # A counter is one number; a histogram its buckets, the one above, and the sum.
        self.values: dict[Series, list[int]] = {}
        self.changed: set[Series] = set()
        self.executions: dict[str, OpenExecution] = {}  # those that were looked at
        self._series: dict[str, int] = {}  # how many each metric has, as far as that was asked
        self._stored = stored

    def put(self, series: Series, numbers: list[int]) -> None:
        """Take over a value that was folded before."""
        self.values[series] = numbers
        self._series[series[0]] = self._count(series[0]) + 1

    def take(self, record: Recorded) -> None:
        """Count one event, which comes after those before."""
        self.count_event(record.topic)
        if record.topic in TAKEN:
            self.take_seen(record, read(record.body))

    def count_event(self, topic: str, times: int = 1) -> None:
        """Count events of a topic as what they are: events."""
        self._add("events", (topic.partition(".")[0],), times)

    def take_seen(self, record: Recorded, seen: Seen) -> None:
        """Count what one of the `TAKEN` events says."""
        topic = record.topic
        if topic in _WORK:
            begun = self._execution(seen.execution_id).begun
            begun.setdefault(_key("step", seen, 0), record.time_ns)
        if (kind := _BEGIN.get(topic)) is not None:
            execution = self._execution(seen.execution_id)
            if topic == "execution.started":
                execution.process = seen.process
            execution.begun[_key(kind, seen, record.position)] = record.time_ns
        elif (kind := _END.get(topic)) is not None:
            self._end(kind, record, seen)
        elif topic == "model.selected":
            self._add("model_selections", (seen.model,))
        elif topic == "knowledge.requested":
            outcome = "failed" if seen.problem else "found" if seen.topics else "nothing"
            self._add("knowledge_searches", (outcome,))
        elif topic.startswith("component."):
            what = "failures" if topic == "component.failed" else "restarts"
            self._add(f"component_{what}", (seen.component,))

    def _execution(self, execution_id: str) -> OpenExecution:
        found = self.executions.get(execution_id)
        if found is None:
            known = self._stored.execution(execution_id) if self._stored else None
            found = self.executions[execution_id] = known or OpenExecution()
        return found

    def _end(self, kind: str, record: Recorded, seen: Seen) -> None:
        execution = self._execution(seen.execution_id)
        key = _key(kind, seen, record.causation or 0)
        if kind == "process":  # several files may be submitted at once
            began_ns = execution.begun.get(key)
            _forget_oldest(execution.begun)
        else:
            began_ns = execution.begun.pop(key, None)
        took_ns = None if began_ns is None else record.time_ns - began_ns
        outcome = seen.outcome or record.topic.partition(".")[2]
        process = execution.process
        match kind:
            case "execution":
                self._ended(
                    "executions", "execution_duration_seconds", (process,), outcome, took_ns
                )
                execution.begun.clear()  # nothing more comes of it
            case "step":
                where = (process, seen.step_id)
                self._ended("steps", "step_duration_seconds", where, outcome, took_ns)
            case "gate":
                self._ended("gates", "gate_duration_seconds", (seen.gate,), outcome, took_ns)
            case "tool":
                self._ended("tool_calls", "tool_call_seconds", (seen.tool,), outcome, took_ns)
            case "process":
                self._ended("process_compilations", "process_compile_seconds", (), outcome, took_ns)
            case "context":
                self._ended("contexts", "context_compile_seconds", (), outcome, took_ns)
                self._add("context_tokens", (process, seen.step_id), seen.tokens or 0)
            # A second answer to one call is none, and one from the record was counted before.
            case _ if took_ns is not None and not seen.recorded:
                self._ended("model_calls", "model_call_seconds", (seen.model,), outcome, took_ns)
                self._spent(process, seen)

    def _spent(self, process: str, seen: Seen) -> None:
        for name in CLASSES:
            if (tokens := getattr(seen, f"{name}_tokens")) > 0:
                self._add("tokens", (process, seen.step_id, name), tokens)
                self._add("model_tokens", (seen.model, name), tokens)
        if seen.cost > 0:
            self._add("cost_usd", (process, seen.model), round(seen.cost * NS))

    def _ended(
        self, count: str, histogram: str, labels: Labels, outcome: str, took_ns: int | None
    ) -> None:
        self._add(count, (*labels, outcome))
        if took_ns is not None:
            numbers = self._numbers(histogram, labels, len(_BOUNDS_NS) + 2)
            numbers[bisect_left(_BOUNDS_NS, took_ns)] += 1
            numbers[-1] += took_ns

    def _add(self, name: str, labels: Labels, more: int = 1) -> None:
        if more > 0:
            self._numbers(name, labels, 1)[0] += more

    def _numbers(self, name: str, labels: Labels, length: int) -> list[int]:
        series = name, tuple(label[:LABEL_CHARS] for label in labels)
        if not self._has(series) and self._count(name) >= SERIES_MOST:
            series = name, tuple(OTHER for _ in METRICS[name].labels)
        if not self._has(series):
            self.put(series, [0] * length)
        self.changed.add(series)
        return self.values[series]

    def _has(self, series: Series) -> bool:
        """Whether there is such a series; one that was stored is read."""
        if series not in self.values and self._stored is not None:
            numbers = self._stored.numbers(series)
            if numbers is not None:
                self.values[series] = numbers
        return series in self.values

    def _count(self, name: str) -> int:
        if name not in self._series:
            self._series[name] = self._stored.series(name) if self._stored else 0
        return self._series[name]


def _forget_oldest(submits: dict[str, int]) -> None:
    for key in sorted(submits, key=int)[:-SUBMITS_KEPT]:
        del submits[key]


def _key(kind: str, seen: Seen, position: int) -> str:
    """What a request and its answer have in common; of a source, the position of its request."""
    if kind == "process":
        return str(position)
    return "/".join((kind, *(str(getattr(seen, name)) for name in _KEYS[kind])))
