"""The seven paths of the page on the architecture are the ones that work travels on."""

import contextlib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cortex.actors.accessors import KnowledgeStoreAccessor
from cortex.actors.engines import CompilationEngine
from cortex.actors.handlers import ReadCiLog
from cortex.bus import Client, Event
from cortex.bus.events import (
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionList,
    ExecutionPaused,
    ExecutionRequest,
    ProcessCompiled,
    ProcessRejected,
    ProcessSubmit,
)
from cortex.runtime.kernel import Component, Delivery, Home, Runtime, on

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
LOG = ROOT / "examples" / "tomlkit-ci-failure.log"
FUNCTION = re.compile(r"^\d+\. `([\w/]+)\.py` `([\w.]+)`", re.MULTILINE)
ENDS = (ExecutionCompleted, ExecutionFailed, ExecutionHalted, ExecutionPaused)
SPAWNED = (CompilationEngine, KnowledgeStoreAccessor, ReadCiLog)

ASKS = """
process: ask_about_tea
version: 1
description: Answer a question about tea
knowledge: [tea]
inputs:
  question: { type: string }
steps:
  - id: answer
    action: answer_question
    description: Answer it
    find: { text: "${inputs.question}", under: [tea] }
    with: { question: "${inputs.question}" }
"""
READS = """
process: read_it
version: 1
description: Read a log
inputs:
  log: { type: string }
steps:
  - { id: read, action: read_ci_log, description: Read it, with: { log: "${inputs.log}" } }
"""


class Ping(Event, frozen=True, kw_only=True, tag="x.page.ping"):
    """Something that is answered."""


class Pong(Event, frozen=True, kw_only=True, tag="x.page.pong"):
    """The answer."""


class Answers(Component):
    """Answers each ping."""

    @on(Ping)
    def answer(self, _: Ping, __: Delivery) -> Iterator[Event]:
        yield Pong()


Trace = Any  # the class in dev/call_trace.py


@pytest.fixture
def trace(monkeypatch: pytest.MonkeyPatch) -> Trace:
    if not (ROOT / "dev" / "call_trace.py").is_file() or not PAGE.is_file():
        pytest.skip("dev/ and docs/ are not beside these tests")
    monkeypatch.syspath_prepend(str(ROOT / "dev"))
    for component in SPAWNED:  # in this process, where their calls are seen
        monkeypatch.setattr(component, "cpu", False)
    return importlib.import_module("call_trace").Trace()


def drawn(number: int) -> list[tuple[str, str]]:
    """Module and name of each function in the page's list of that number."""
    _, _, rest = PAGE.read_text().partition(f"### {number}. ")
    return FUNCTION.findall(rest.partition("\n## ")[0].partition("\n### ")[0])


def passed(trace: Trace) -> list[tuple[str, str]]:
    return [(call.file.removesuffix(".py"), call.name) for call in trace.calls]


def is_drawn_as_it_was(number: int, trace: Trace) -> None:
    found = set(passed(trace))
    assert [each for each in drawn(number) if each not in found] == []
    assert len(drawn(number)) >= 5


def until(client: Client, *kinds: type[Event]) -> Callable[[], type[Event]]:
    feed = client.follow(*((kind.topic_name(), None) for kind in kinds))

    def ended() -> type[Event]:
        (record, *_) = feed.next(60.0)
        return next(kind for kind in kinds if kind.topic_name() == record.topic)

    return ended


def test_publish(trace: Trace, home: Home) -> None:
    with trace.installed(), Runtime(home, components=[Answers]) as runtime:
        client = runtime.client("tests")
        answered = until(client, Pong)
        client.publish(Ping())
        answered()
        with trace.recording():
            client.publish(Ping())
            answered()

    is_drawn_as_it_was(1, trace)
    # In this order, but for what the component's thread does while the publisher's goes on.
    order = [passed(trace).index(each) for each in drawn(1)[:9]]
    assert order == sorted(order)


def test_ask(trace: Trace, home: Home) -> None:
    components = ["cortex.actors.accessors:ExecutionRecordAccessor"]
    with trace.installed(), Runtime(home, components=components) as runtime, trace.recording():
        runtime.client("tests").ask(ExecutionList())

    is_drawn_as_it_was(2, trace)


RUNS = """
import json, sys
sys.path.insert(0, sys.argv.pop(1))
from call_trace import Trace
from cortex.actors.handlers import ReadCiLog
from cortex.runtime.cli import main
ReadCiLog.cpu = False
trace = Trace()
with trace.installed(), trace.recording():
    code = main()
with open("calls.json", "w") as file:
    json.dump(trace.calls, file)
sys.exit(code)
"""


def test_run(trace: Trace, tmp_path: Path) -> None:
    shutil.copy(LOG, tmp_path / "log.txt")
    (tmp_path / "read_it.yaml").write_text(READS)
    words = ["run", "read_it.yaml", "-i", "log=log.txt"]

    # In a process of its own: the command makes the one that it runs in its own.
    subprocess.run(
        [sys.executable, "-c", RUNS, str(ROOT / "dev"), *words],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        check=True,
        timeout=120,
    )

    trace.calls = [
        SimpleNamespace(file=file, name=name)
        for file, name, _ in json.loads((tmp_path / "calls.json").read_text())
    ]
    is_drawn_as_it_was(3, trace)


def test_the_functions_of_a_plugins_event_are_there() -> None:
    if not PAGE.is_file():
        pytest.skip("docs/ is not beside these tests")
    for module, name in drawn(4):
        found = importlib.import_module(f"cortex.{module.replace('/', '.')}")
        assert callable(reduce(getattr, name.split("."), found)), name
    assert len(drawn(4)) >= 5


@pytest.fixture
def ran(trace: Trace, home: Home) -> Callable[..., type[Event]]:
    """Compile and run one process; what is called meanwhile is recorded, *compiling* it or not."""

    def run(source: str, process: str, *, compiling: bool = False, **inputs: str) -> type[Event]:
        with trace.installed(), Runtime(home) as runtime:
            client = runtime.client("tests")
            compiled = until(client, ProcessCompiled, ProcessRejected)
            over = until(client, *ENDS)
            with trace.recording() if compiling else contextlib.nullcontext():
                asked = ProcessSubmit(sources={"p.yaml": runtime.blobs.put(source.encode())})
                client.publish(asked)
                assert compiled() is ProcessCompiled
            with trace.recording():
                client.publish(
                    ExecutionRequest(execution_id="e", process=process, inputs=dict(inputs))
                )
                return over()

    return run


def test_a_process_from_yaml(trace: Trace, ran: Callable[..., type[Event]]) -> None:
    assert ran(READS, "read_it", compiling=True, log=str(LOG)) is ExecutionCompleted

    is_drawn_as_it_was(6, trace)


def test_a_log(trace: Trace, ran: Callable[..., type[Event]]) -> None:
    assert ran(READS, "read_it", log=str(LOG)) is ExecutionCompleted

    is_drawn_as_it_was(7, trace)


def test_knowledge(trace: Trace, home: Home, ran: Callable[..., type[Event]]) -> None:
    (home.path / "knowledge").mkdir(exist_ok=True)
    (home.path / "knowledge" / "tea.md").write_text("# Tea\n\nTea is served at four.\n")

    ended = ran(ASKS, "ask_about_tea", question="When is tea served?")

    assert ended is ExecutionCompleted
    is_drawn_as_it_was(5, trace)
