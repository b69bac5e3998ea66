"""The registry of metrics: folded from the log, the same in any spans, and bounded."""

import os
import sqlite3
import tempfile
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import FORMAT, Batch, Draft, Event, Recorded, Row, encode
from cortex.bus.events import (
    VOCABULARY,
    ComponentFailed,
    GateEvaluate,
    GateEvaluated,
    ModelInvoke,
    ModelResponded,
)
from cortex.runtime.log import MemoryLog
from cortex.runtime.metrics import (
    METRICS,
    OTHER,
    SERIES_MOST,
    MetricRow,
    MetricsDocument,
    MetricsProjection,
    MetricsRegistry,
    document_of,
    stored,
)
from cortex.runtime.projections import Runner, digest_of, snapshot

from .execution_world import World
from .test_execution_waterfall import spent_at_random

registry_: Any = import_module("cortex.runtime.metrics.registry")
SECOND_NS = 1_000_000_000


def recorded(position: int, event: Event, time_ns: int, causation: int | None = None) -> Recorded:
    draft = Draft.of(event)
    return Recorded(
        FORMAT, position, draft.stream, 1, position.to_bytes(16, "big"), time_ns, draft.topic,
        draft.schema, draft.correlation, causation, "t", draft.key, None, draft.body,
    )  # fmt: skip


def folded(*events: tuple[Event, float]) -> MetricsDocument:
    """The metrics of events, each with its time in seconds."""
    registry = MetricsRegistry()
    for position, (event, at_s) in enumerate(events, 1):
        registry.take(recorded(position, event, round(at_s * SECOND_NS)))
    return document_of(registry, len(events))


def rows(document: MetricsDocument, name: str, **labels: str) -> list[MetricRow]:
    return [
        row for row in document.metrics
        if row.name == name and labels.items() <= row.labels.items()
    ]  # fmt: skip


def total(document: MetricsDocument, name: str, **labels: str) -> float:
    return sum(row.value for row in rows(document, name, **labels))


def document_of_world(world: World) -> MetricsDocument:
    registry = MetricsRegistry()
    for record in world.records:
        registry.take(record)
    return document_of(registry, len(world.records))


def test_tokens_and_costs_are_those_of_the_execution() -> None:
    world = spent_at_random(5, 6)

    found, state = document_of_world(world), world.state()

    assert total(found, "tokens") == total(found, "model_tokens") == state.tokens > 0
    assert total(found, "cost_usd") == pytest.approx(state.cost, abs=1e-6)
    assert total(found, "model_calls") == 6
    assert {row.count for row in rows(found, "model_call_seconds")} == {6}
    assert total(found, "executions", outcome="completed") == 7  # and its items
    assert sum(row.count for row in rows(found, "step_duration_seconds")) == 7
    assert total(found, "events") == len(world.records)


def digest(path: Path) -> str:
    with snapshot(path, MetricsProjection.name) as view:
        return digest_of(view.connection, MetricsProjection.name)[0]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 50), st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_the_same_log_gives_the_same_rows_in_any_spans(seed: int, sizes: list[int]) -> None:
    world = spent_at_random(seed, 4)
    data = [Row(r.position, r.stream, r.version, encode(r)) for r in world.records]
    with tempfile.TemporaryDirectory() as name:
        log, parts = MemoryLog(), Runner.open(Path(name) / "parts.db", [MetricsProjection()])
        done = 0
        for size in [*sizes, len(data)]:
            log.write(Batch(rows=data[done : done + size]))
            done += size
            parts.advance(log)
            if done >= len(data):
                break
        parts.close()
        whole = Runner.open(Path(name) / "whole.db", [MetricsProjection()])
        whole.advance(log)
        whole.close()

        assert digest(Path(name) / "parts.db") == digest(Path(name) / "whole.db")
        with snapshot(Path(name) / "parts.db", MetricsProjection.name) as view:
            kept = document_of(stored(view.connection), view.position)
        assert kept == document_of_world(world)


def test_label_values_are_bounded_and_nothing_is_lost() -> None:
    many = 3 * SERIES_MOST
    names = [f"c{number}" + "x" * 500 for number in range(many)]
    found = folded(*((ComponentFailed(component=name, reason="r"), 1.0) for name in names))

    failures = rows(found, "component_failures")

    assert len(failures) == SERIES_MOST + 1
    assert total(found, "component_failures") == many
    assert total(found, "component_failures", component=OTHER) == many - SERIES_MOST
    assert max(len(row.labels["component"]) for row in failures) == 80


def test_a_second_answer_and_one_that_nobody_asked_for_spend_nothing() -> None:
    place: dict[str, Any] = {"execution_id": "x", "step_id": "s", "model": "m"}
    answer = ModelResponded(**place, prompt="p", answer={}, input_tokens=5, cost=0.5)
    asked = ModelInvoke(**place, prompt="p")

    found = folded((answer, 1.0), (asked, 2.0), (answer, 4.0), (answer, 5.0))

    assert total(found, "tokens") == 5
    assert total(found, "cost_usd") == 0.5
    (seconds,) = rows(found, "model_call_seconds")
    assert (seconds.count, seconds.value, seconds.mean) == (1, 2.0, 2.0)


def test_durations_are_put_into_the_bucket_that_holds_them() -> None:
    events: list[tuple[Event, float]] = []
    for number, took_s in enumerate((0.004, 0.005, 0.2, 40.0, 10_000.0)):
        place: dict[str, Any] = {"execution_id": "x", "gate": "g", "index": number}
        events += [
            (GateEvaluate(**place), 100.0),
            (GateEvaluated(**place, outcome="passed"), 100.0 + took_s),
        ]

    (row,) = rows(folded(*events), "gate_duration_seconds")

    assert row.count == 5
    assert row.buckets == [2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 4, 5]
    assert (row.quantile(0.4), row.quantile(0.8)) == (0.005, 60.0)
    assert row.quantile(1.0) == float("inf")


def test_each_source_of_a_submit_is_measured_from_it() -> None:
    registry = MetricsRegistry()
    first = msgspec.msgpack.encode({})
    base = recorded(1, GateEvaluate(execution_id="x", gate="g", index=0), SECOND_NS)
    registry.take(msgspec.structs.replace(base, topic="process.submit", body=first))
    for position in (2, 3):
        registry.take(
            msgspec.structs.replace(
                base, position=position, topic="process.compiled", body=first, causation=1,
                time_ns=position * SECOND_NS,
            )
        )  # fmt: skip

    (row,) = rows(document_of(registry, 3), "process_compile_seconds")

    assert (row.count, row.value) == (2, 3.0)


def test_what_is_read_of_a_body_has_the_types_of_its_event() -> None:
    wanted = {field.name: field.type for field in msgspec.structs.fields(registry_.Seen)}
    for topic in registry_.TAKEN:
        cls = VOCABULARY.classes()[topic]  # every topic is one that there is
        for field in msgspec.structs.fields(cls):
            if field.name in wanted:
                either = (field.type, field.type | None)  # a missing number counts as none
                assert wanted[field.name] in either, f"{topic}.{field.name}"


def test_every_metric_of_the_catalogue_is_counted_somewhere() -> None:
    text = Path(str(registry_.__file__)).read_text("utf-8")
    told = {name for name in METRICS if f'"{name}"' in text}

    assert METRICS.keys() - told == {"component_failures", "component_restarts"}
    assert MetricsProjection.version == 1


def test_label_values_are_bounded_in_any_spans(tmp_path: Path) -> None:
    names = [f"c{number % (2 * SERIES_MOST)}" for number in range(3 * SERIES_MOST)]
    events = [
        recorded(position, ComponentFailed(component=name, reason="r"), position)
        for position, name in enumerate(names, 1)
    ]
    whole = MetricsRegistry()
    for event in events:
        whole.take(event)
    log, runner = MemoryLog(), Runner.open(tmp_path / "p.db", [MetricsProjection()])
    for start in range(0, len(events), 70):
        part = events[start : start + 70]
        log.write(Batch(rows=[Row(r.position, f"s{r.position}", 1, encode(r)) for r in part]))
        runner.advance(log)
    runner.close()

    with snapshot(tmp_path / "p.db", MetricsProjection.name) as view:
        assert stored(view.connection).values == whole.values


def test_a_span_reads_the_series_that_it_changes_and_no_others() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in MetricsProjection.tables:
            connection.execute(statement)
        for number in range(3_000):
            values = (f"m{number % 20}", f'["{number}"]', "[1]")
            connection.execute("insert into metrics values (?, ?, ?)", values)
        steps = [0]
        connection.set_progress_handler(lambda: steps.__setitem__(0, steps[0] + 1), 100)
        span = MetricsProjection().begin()
        span.apply([recorded(1, ComponentFailed(component="c", reason="r"), 1)])
        span.flush(connection)

    assert steps[0] < 30  # hundreds of instructions; all rows would take 30,000


# What the paper asks for in its section on observability, and which metrics answer it; for what
# has none, the documentation says why.
PAPER: dict[str, tuple[str, ...]] = {
    "Cache hit rates per tier (L1/L2/L3)": (),
    "GC pause times and collection counts per generation": (),
    "Compilation times (parse, validate, link, emit)": (
        "process_compile_seconds", "process_compilations", "context_compile_seconds", "contexts",
    ),
    "Token usage per step and per process": ("tokens", "context_tokens", "model_tokens"),
    "Execution duration per step": ("step_duration_seconds", "execution_duration_seconds"),
    "Model selection decisions and latency": ("model_selections", "model_call_seconds"),
    "Memory pressure and allocation rates": (),
}  # fmt: skip
LACKING = ("hit rates of the tiers L1 to L3", "collections by generation", "memory of the process")
ROOT = Path(__file__).parents[2]
SEEDS = Path(os.environ.get("CORTEX_SEEDS", ROOT.parent / "shared" / "seeds" / "processes")).parent


def test_each_metric_of_the_paper_is_there_or_the_documentation_says_why_it_is_not() -> None:
    wanted = {name for names in PAPER.values() for name in names}
    labels = {name: set(METRICS[name].labels) for name in wanted}

    assert labels["tokens"] >= {"process", "step"}
    assert labels["step_duration_seconds"] >= {"process", "step"}
    assert labels["model_selections"] == labels["model_call_seconds"] == {"model"}
    page = ROOT / "docs" / "observability.md"
    if page.is_file():
        text = " ".join(page.read_text("utf-8").split())
        assert [each for each in LACKING if each not in text] == []
        assert [name for name in sorted(wanted) if f"`{name}`" not in text] == []
    assert len(LACKING) == len([names for names in PAPER.values() if not names])


def test_these_are_all_that_the_paper_asks_for() -> None:
    paper = SEEDS / "1-compiled-context-runtime.txt"
    if not paper.is_file():
        pytest.skip(f"no paper at {paper} (CORTEX_SEEDS)")

    listed = paper.read_text("utf-8").split("The runtime exposes metrics for monitoring:\n")[1]
    asked = [line[2:].strip() for line in listed.split("\n\n")[0].splitlines()]

    assert asked == list(PAPER)
