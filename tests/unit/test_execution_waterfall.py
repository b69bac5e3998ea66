"""The waterfall of a trace: its leaves add up to its root, whatever an execution did."""

import random
import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import Batch, Row, encode
from cortex.bus.events import (
    ExecutionCancel,
    ModelFailed,
    ModelInvoke,
    ModelUnclaimed,
    StepExecute,
    StepFailed,
)
from cortex.runtime.executions.view import (
    ExecutionDocument,
    History,
    Span,
    TraceDocument,
    Waterfall,
    WaterfallRow,
    page_of,
    trace_of,
    waterfall_of,
)
from cortex.runtime.executions.view import (
    document_of as spoken_of,
)
from cortex.runtime.kernel import Home
from cortex.runtime.log import MemoryBlobs, MemoryLog
from cortex.runtime.models import Usage, plus
from cortex.runtime.processes import Continue, Field, Retry

from .execution_fan_world import each_of, started
from .execution_world import ASKED, World, action_step, answer_to, child_step, process_of

drawing = import_module("cortex.runtime.cli.terminal.waterfall")
COUNTED = Usage.__struct_fields__
HOSTILE = '</pre><script>alert(1)</script>" onload="x\u202egnp.\x1b[2J<img src=//evil>'


def history_of(world: World, folder: Path) -> History:
    log = MemoryLog()
    rows = [Row(r.position, r.stream, r.version, encode(r)) for r in world.records]
    log.write(Batch(rows=rows))
    return History(Home(folder / "none"), log, MemoryBlobs())


def leaves(waterfall: Waterfall) -> tuple[Usage, float]:
    """What all rows spent by themselves."""
    usage, cost = Usage(), 0.0
    for row in waterfall.rows:
        usage, cost = plus(usage, row.own), cost + row.own_cost
    return usage, cost


def spent_at_random(seed: int, items: int, *, at_once: int = 3) -> World:
    """A step over *items*, each of which asks its model; some calls fail and are repeated."""
    chance = random.Random(seed)
    world = started(each_of(asks_model=True, at_once=at_once), items=list(range(items)))
    while found := world.open(*ASKED):
        position, request = found[chance.randrange(len(found))]
        more: dict[str, Any] = {}
        if isinstance(request, ModelInvoke):
            more = {f"{name}_tokens": chance.randrange(5_000) for name in Usage.__struct_fields__}
            more["cost"] = chance.choice((0.0, chance.random(), -1.0))
        world.settle(position, answer_to(request, **more))
    return world


@pytest.mark.parametrize("items", [1, 2, 7])
@pytest.mark.parametrize("seed", range(3))
def test_leaves_add_up_to_the_root_and_to_what_the_execution_says(
    seed: int, items: int, tmp_path: Path
) -> None:
    world = spent_at_random(seed, items)

    whole = trace_of(history_of(world, tmp_path), "x", full=True)

    waterfall, state = waterfall_of(whole), world.state()
    usage, cost = leaves(waterfall)
    assert state.status == "completed"
    assert waterfall.root is not None
    assert waterfall.root.usage == usage
    assert waterfall.root.tokens == state.tokens > 0
    assert waterfall.root.cost == pytest.approx(cost)
    assert waterfall.root.cost == pytest.approx(state.cost)
    assert len([row for row in waterfall.rows if row.kind == "model"]) == items


def called_at_random(chance: random.Random, asked: int) -> World:
    """A step that asks, a child that asks and has items that ask; some calls and steps fail."""
    inner = process_of(
        action_step("think", asks_model=True, retry=Retry(attempts=2)),
        each_of(asks_model=True, failures="collect"),
        name="q",
        inputs=(Field(name="list", type="list", required=False, default=[1, 2, 3]),),
    )
    outer = process_of(
        action_step("first", asks_model=True, on_failure=Continue()),
        child_step("call", "q", on_failure=Continue(), retry=Retry(attempts=2)),
        action_step("last", asks_model=True, on_failure=Continue()),
    )
    world = World(outer, inner)
    world.start()
    for _ in range(asked):
        if not (found := world.open(*ASKED)):
            if not world.fire():
                break
            world.play()
            continue
        position, request = found[chance.randrange(len(found))]
        world.settle(position, _answered_at_random(chance, request))
    return world


def _answered_at_random(chance: random.Random, request: Any) -> Any:
    place = {"execution_id": request.execution_id, "step_id": getattr(request, "step_id", "")}
    spent: dict[str, Any] = {f"{each}_tokens": chance.randrange(900) for each in COUNTED}
    spent["cost"] = chance.choice((0.0, chance.random()))
    if isinstance(request, ModelInvoke):
        if chance.random() < 0.3:
            where = {name: getattr(request, name) for name in ("attempt", "turn", "call", "model")}
            kind, retry = chance.choice((("overloaded", True), ("garbage", False)))
            return ModelFailed(**place, **where, error="no", kind=kind, retry=retry, **spent)
        return answer_to(request, **spent)
    if isinstance(request, StepExecute) and chance.random() < 0.3:
        return StepFailed(**place, attempt=request.attempt, error="it broke")
    return answer_to(request)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60), st.booleans())
def test_whatever_fails_is_tried_again_or_cancelled_the_leaves_add_up_to_the_root(
    seed: int, asked: int, cancelled: bool
) -> None:
    world = called_at_random(random.Random(seed), asked)
    if cancelled:
        world.publish(ExecutionCancel(execution_id="x"))
        world.play()

    with TemporaryDirectory() as folder:
        waterfall = waterfall_of(trace_of(history_of(world, Path(folder)), "x", full=True))

    usage, cost = leaves(waterfall)
    state = world.state()
    assert waterfall.root is not None
    assert waterfall.root.usage == usage
    assert waterfall.root.cost == pytest.approx(cost)
    assert sum(row.own_cost for row in waterfall.rows if row.kind == "model") == pytest.approx(cost)
    if state.over and not cancelled:
        assert state.usage == usage
        assert state.cost == pytest.approx(cost)


def test_items_that_are_left_out_are_counted_by_what_they_were_charged(tmp_path: Path) -> None:
    world = spent_at_random(1, 20)
    history = history_of(world, tmp_path)

    short = waterfall_of(trace_of(history, "x", full=False))
    whole = waterfall_of(trace_of(history, "x", full=True))

    assert short.root is not None
    assert whole.root is not None
    assert len(short.rows) < len(whole.rows)
    assert (short.root.usage, short.root.tokens) == (whole.root.usage, world.state().tokens)
    assert short.root.cost == pytest.approx(whole.root.cost)


def test_a_call_that_failed_and_one_that_nobody_took_at_first_are_counted(tmp_path: Path) -> None:
    world = started(each_of(asks_model=True, at_once=1), items=[1])
    while not isinstance((found := world.open(*ASKED)[0])[1], ModelInvoke):
        world.settle(found[0], answer_to(found[1]))
    position, request = found
    place = {"execution_id": request.execution_id, "step_id": request.step_id}
    world.publish(ModelUnclaimed(**place, model=request.model, reason="no provider"))
    failed = ModelFailed(
        **place, model=request.model, error="cut", kind="garbage", retry=False, cost=0.5,
        input_tokens=11,
    )  # fmt: skip
    world.settle(position, failed)

    waterfall = waterfall_of(trace_of(history_of(world, tmp_path), "x", full=True))

    (row,) = (row for row in waterfall.rows if row.kind == "model")
    assert (row.status, row.own, row.cost) == ("failed", Usage(input=11), 0.5)
    assert leaves(waterfall)[0] == Usage(input=11)


spans_ = st.lists(
    st.tuples(
        st.integers(0, 30),  # which of those before it is around it
        st.sampled_from(("step", "model", "gate", "context", "tool", "item")),
        st.tuples(*[st.integers(-5, 10**6)] * 4),
        st.floats(0, 50),
        st.integers(0, 10**12),
        st.integers(0, 10**9),
    ),
    max_size=30,
)


def document_of(told: Sequence[tuple[Any, ...]]) -> TraceDocument:
    names = [f"{name}_tokens" for name in Usage.__struct_fields__]
    spans = [span("1", "", "execution", 0, 10.0, {})]
    for number, (around, kind, counts, cost, begin, took) in enumerate(told, 2):
        parent = spans[around % len(spans)]
        said = {**dict(zip(names, counts, strict=True)), "cost": cost, "tokens": 9}
        spans.append(span(str(number), parent.id, kind, begin, took / 1e6, said))
    return TraceDocument(execution(), spans, [])


def span(id_: str, parent: str, kind: str, begin: int, took_s: float, said: dict[str, Any]) -> Span:
    return Span(
        id=id_, parent=parent, primitive="execute", kind=kind, name=HOSTILE, status="completed",
        position=int(id_), last_position=int(id_), started="", started_ns=begin,
        duration_s=took_s, attributes={**said, "note": HOSTILE},
    )  # fmt: skip


def execution() -> ExecutionDocument:
    found = spoken_of(started(each_of(), items=[1]).state(), [], MemoryBlobs())
    found.status = "completed"
    found.process = found.goal = found.workspace = found.reason = HOSTILE
    return found


@settings(max_examples=60, deadline=None)
@given(spans_, st.integers(30, 200))
def test_any_tree_of_spans_adds_up_and_is_drawn_in_the_width(told: Any, width: int) -> None:
    waterfall = waterfall_of(document_of(told))

    usage, cost = leaves(waterfall)
    assert waterfall.root is not None
    assert len(waterfall.rows) == len(told) + 1
    assert waterfall.root.usage == usage
    assert waterfall.root.cost == pytest.approx(cost)
    lines = [line.text for line in drawing.waterfall_lines(waterfall, width)]
    assert len(lines) == len(waterfall.rows) + 1
    assert max(map(len, lines)) <= width


def row(**fields: Any) -> WaterfallRow:
    plain: dict[str, Any] = {
        "span": "1", "execution": "x", "depth": 0, "kind": "step", "name": "s",
        "status": "completed", "begin_s": 0.0, "duration_s": 1.0, "own": Usage(), "usage": Usage(),
        "own_cost": 0.0, "cost": 0.0,
    }  # fmt: skip
    return WaterfallRow(**{**plain, **fields})


def test_a_bar_begins_and_ends_where_its_row_does() -> None:
    rows = [
        row(), row(begin_s=0.5, duration_s=0.5), row(begin_s=1.0, duration_s=0.0),
        row(begin_s=0.25, duration_s=0.25),
    ]  # fmt: skip

    lines = [line.text for line in drawing.waterfall_lines(Waterfall(1.0, rows), 60)][1:]

    bars = [re.sub(r"[^ █▏▎▍▌▋▊▉]", "", line[8:]) for line in lines]
    filled = [(len(bar) - len(bar.lstrip()), len(bar.strip())) for bar in bars]
    whole = filled[0][1]
    assert filled[0][0] == 0
    assert filled[1] == (whole // 2, whole - whole // 2)
    assert filled[2] == (whole - 1, 1)
    assert filled[3][0] == whole // 4


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, ""), (7, "7"), (999, "999"), (1_000, "1.0k"), (99_949, "99.9k"), (99_950, "100k"),
        (999_499, "999k"), (999_500, "1.0M"), (12_345_678, "12.3M"), (2_500_000_000, "2.5G"),
    ],
)  # fmt: skip
def test_a_count_of_tokens_is_brief(count: int, shown: str) -> None:
    assert drawing.brief(count) == shown


class Page(HTMLParser):
    """What a browser finds in a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_page_shows_hostile_text_as_text_and_loads_nothing() -> None:
    told = [(0, "step", (1, 2, 3, 4), 0.5, 0, 10**6), (1, "model", (1, 2, 3, 4), 0.5, 0, 10**6)]

    text = page_of(document_of(told))

    page = Page(text)
    names = {tag for tag, _ in page.tags}
    assert names.isdisjoint({"script", "img", "link", "iframe", "object", "form", "base", "a"})
    attributes = {name for _, said in page.tags for name in said}
    assert not {name for name in attributes if name.startswith("on")} | attributes & {
        "src", "href", "style", "action",
    }  # fmt: skip
    assert "</pre><script>alert(1)</script>" in page.text
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", text)
    assert "//evil" in page.text


def test_the_policy_of_a_page_allows_its_own_style_and_nothing_else() -> None:
    text = page_of(document_of([]))

    (policy,) = (
        said["content"] for tag, said in Page(text).tags
        if tag == "meta" and said.get("http-equiv") == "Content-Security-Policy"
    )  # fmt: skip
    style = text[text.index("<style>") + 7 : text.index("</style>")]
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert text.index("Content-Security-Policy") < text.index("<style>")
    assert "url(" not in style
    assert "@import" not in style
