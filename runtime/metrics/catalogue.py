"""The metrics that there are: names, labels and what they count."""

from typing import Final, Literal

import msgspec

PREFIX: Final = "cortex_"
# Upper bounds in seconds, from a gate in the hub to a person's answer; one more bucket is above.
BUCKETS_S: Final = (
    0.005,
    0.01,
    0.05,
    0.1,
    0.5,
    1.0,
    5.0,
    10.0,
    30.0,
    60.0,
    300.0,
    1_800.0,
    7_200.0,
)
NS: Final = 1_000_000_000  # nanoseconds in a second, and billionths in a US dollar
SERIES_MOST: Final = 200  # of one metric; what more there is counts as OTHER
LABEL_CHARS: Final = 80
OTHER: Final = "other"


class Metric(msgspec.Struct, frozen=True):
    """One metric."""

    name: str  # without the prefix and without "_total"
    kind: Literal["counter", "histogram"]
    help: str
    labels: tuple[str, ...] = ()
    scale: int = 1  # sums are whole numbers of this part of their unit, so that no order matters


def _counter(name: str, about: str, *labels: str, scale: int = 1) -> Metric:
    return Metric(name, "counter", about, labels, scale)


def _seconds(name: str, about: str, *labels: str) -> Metric:
    return Metric(name, "histogram", about, labels, NS)


_ALL = (
    _counter("events", "Events in the log, by family of topics.", "family"),
    _counter("executions", "Executions that ended.", "process", "outcome"),
    _seconds("execution_duration_seconds", "From begin to end, with all waits.", "process"),
    _counter("steps", "Steps that were settled.", "process", "step", "outcome"),
    _seconds("step_duration_seconds", "From its first request to its end.", "process", "step"),
    _counter("gates", "Gates that were evaluated.", "gate", "outcome"),
    _seconds("gate_duration_seconds", "From a gate's request to its outcome.", "gate"),
    _counter("contexts", "Prompts that were compiled or refused.", "outcome"),
    _seconds("context_compile_seconds", "Time to compile a prompt."),
    _counter("context_tokens", "Tokens of compiled prompts.", "process", "step"),
    _counter("process_compilations", "Sources of processes that were compiled.", "outcome"),
    _seconds("process_compile_seconds", "Time to parse, validate, link and emit a process."),
    _counter("model_selections", "Choices of a model for a step.", "model"),
    _counter("model_calls", "Calls of models that ended.", "model", "outcome"),
    _seconds("model_call_seconds", "From a request to the model's answer.", "model"),
    _counter("model_tokens", "Tokens by model and class; cached_read are hits.", "model", "class"),
    _counter("tokens", "Tokens by step and class.", "process", "step", "class"),
    _counter("cost_usd", "US dollars, by the prices of the models.", "process", "model", scale=NS),
    _counter("tool_calls", "Calls of tools that ended.", "tool", "outcome"),
    _seconds("tool_call_seconds", "From a request to a tool's result.", "tool"),
    _counter("knowledge_searches", "Searches for knowledge.", "outcome"),
    _counter("component_failures", "Events that a component could not handle.", "component"),
    _counter("component_restarts", "Restarts of components.", "component"),
)
METRICS: Final = {metric.name: metric for metric in _ALL}
CLASSES: Final = ("input", "cached_read", "cached_write", "output")  # of tokens
