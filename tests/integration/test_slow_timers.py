"""Over ipc and TLS a run takes no longer where every timer of ours takes a thousand times as long.

What waits is woken by what it waits for. A run that got on by a timer, say by the second after
which a connection looks up, would take a thousand seconds here.
"""

import ast
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from cortex.actors.library import library_sources
from cortex.bus import Client, Event, slowed
from cortex.bus.events import (
    ExecutionCompleted,
    ExecutionRequest,
    ProcessCompiled,
    ProcessSubmit,
)
from cortex.runtime.kernel import Home
from cortex.runtime.serving import Hub, Service, hosted, hub_of

ROOT = Path(__file__).parents[2]
TIMES = 1_000
ENOUGH_S = 45.0  # the shortest timer that a run could wait for is 50 ms, and that is 50 s here
CARRIERS = ("ipc", "tls")
AT_THE_HUB = (
    "cortex.actors.accessors:ProcessDefinitionAccessor",
    "cortex.actors.managers:ProcessManager",
    "cortex.actors.engines:ProcessExecutionEngine",
)
ELSEWHERE = (  # ordered and work, of this process and of spawned ones
    "cortex.actors.engines:CompilationEngine",
    "cortex.actors.providers:ExtractiveProvider",
    "cortex.actors.gates:ExecutionContextExists",
    "cortex.actors.gates:FileExists",
    "cortex.actors.handlers:AnalyzeFailure",
    "cortex.actors.handlers:AnswerQuestion",
    "cortex.actors.handlers:FindRelevantCode",
    "cortex.actors.handlers:ReadCiLog",
    "cortex.actors.handlers:TextFiles",
    # Links against all that the library names, and is not asked here.
    "cortex.actors.gates:Approved",
    "cortex.actors.tools.mcp:McpTools",
)
PROCESSES = ("triage_ci_failure", "answer_from_notes")
INPUTS = {
    "triage_ci_failure": {"log": "ci.log"},
    "answer_from_notes": {"question": "When is tea?", "notes": "house.md"},
}
RUNS = 2


@contextmanager
def served(carrier: str) -> Iterator[tuple[Client, Path]]:
    """A client of a hub whose handlers, gates and providers come by *carrier*, and a workspace."""
    folder = Path(tempfile.mkdtemp(prefix="cx"))  # short: a socket's path has a bound
    (folder / "ci.log").write_text("FAILED tests/test_cart.py::test_total - assert 3 == 4\n")
    (folder / "house.md").write_text("Tea is served at four in the garden.\n")
    home = Home.create(folder / ".cortex")
    try:
        with Service(home, ("tls+tcp://127.0.0.1:0",), components=AT_THE_HUB) as service:
            local = hub_of(home)
            remote = next(url for url in service.note.addresses if url.startswith("tls+tcp"))
            hub = local if carrier == "ipc" else Hub(remote, local.token, home)
            with hosted(ELSEWHERE, hub, name="elsewhere"), hub.dial("tests") as client:
                yield client, folder
    finally:
        shutil.rmtree(folder)


def compiled(client: Client) -> None:
    """Have the library compiled, as far as it can be linked."""
    feed = client.follow((ProcessCompiled.topic_name(), None))
    assert client.blobs is not None
    sources = {
        file: client.blobs.put(text.encode())
        for file, text in library_sources().items()
        if "fix_ci" not in file
    }
    client.publish(ProcessSubmit(sources=sources))
    names: set[str] = set()
    while not names.issuperset(PROCESSES):
        for record in feed.next(ENOUGH_S):
            event = client.vocabulary.read(record)
            names.add(event.name if isinstance(event, ProcessCompiled) else "")
    feed.close()


def run(client: Client, workspace: Path, number: int) -> float:
    """Seconds that one run of each process takes."""
    began_s = time.monotonic()
    ends = [(f"execution.{verb}", None) for verb in ("completed", "failed", "halted", "paused")]
    feed = client.follow(*ends)
    for process in PROCESSES:
        request = ExecutionRequest(
            execution_id=f"{process}{number}",
            process=process,
            inputs=INPUTS[process],
            workspace=str(workspace),
            goal="see it work",
            trigger="tests",
        )
        client.publish(request)
        ended: list[Event] = []
        while not ended:
            ended = [client.vocabulary.read(record) for record in feed.next(ENOUGH_S)]
        assert [type(event) for event in ended] == [ExecutionCompleted], ended
    feed.close()
    return time.monotonic() - began_s


@pytest.mark.timeout(200)
@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_run_takes_no_longer_where_every_timer_does(carrier: str) -> None:
    took_s: dict[int, float] = {}
    for times in (1, TIMES):
        with ExitStack() as pace:
            if times > 1:
                pace.enter_context(slowed(times))
            with served(carrier) as (client, workspace), pace:  # it ends at the usual pace
                compiled(client)
                took_s[times] = sum(run(client, workspace, number) for number in range(RUNS))

    assert took_s[TIMES] < took_s[1] + ENOUGH_S, took_s


def test_every_wait_with_a_time_is_a_timer_that_can_be_slowed() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)}"
        for folder in ("bus", "runtime/kernel")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.name not in UNTIMED
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and not is_slowed(node)
    ]

    assert not found, "\n".join(found)


# The clock itself.
UNTIMED = ("clock.py",)
WAITS = {"acquire", "call_later", "get", "join", "settimeout", "sleep", "wait"}


def is_slowed(call: ast.Call) -> bool:
    """Whether a call waits for no time, or asks `lasting` how long that is."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return True
    if ast.unparse(function) in ("time.monotonic", "time.monotonic_ns"):
        return False
    if function.attr not in WAITS:
        return True
    times = [each.value for each in call.keywords if each.arg in ("timeout", "timeout_s")]
    alone = not times and function.attr not in ("acquire", "get", "join")
    if function.attr == "call_later":
        return is_lasting(call.args[0])
    joined = function.attr == "join" and "thread" in ast.unparse(function.value)
    times += call.args if alone or joined else []
    return all(is_lasting(each) for each in times)


def is_lasting(time: ast.expr) -> bool:
    if isinstance(time, ast.IfExp):  # -1 stands for no time at all
        return is_lasting(time.orelse)
    if isinstance(time, ast.Constant):
        return time.value is None
    return isinstance(time, ast.Call) and ast.unparse(time.func) == "lasting"
