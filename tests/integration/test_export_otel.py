"""Executions as OpenTelemetry spans: the leaves add up, and a collector gets what the file has."""

import gzip
import importlib.util
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from cortex.actors.providers import OpenAIProvider
from cortex.actors.tools import FileTools
from cortex.bus.events import ExecutionCompleted, ModelInvoke, ModelResponded, ToolCall
from cortex.runtime.exports import export_log, send_spans
from cortex.runtime.kernel import Home, RefusedError, Runtime

from ..servers import Answer, ScriptedOpenAI, Tool
from ..staff_world import ANSWERING, World

CHILD = """
process: child
version: 3
description: Ask about one thing
inputs: { about: { type: string, description: what } }
steps:
  - id: ask
    description: Say what it is
    action: answer_question
    with: { question: "What is ${inputs.about}?" }
"""
PARENT = """
process: parent
version: 2
description: Ask, and have others ask
steps:
  - id: look
    description: Read the note
    action: answer_question
    tools: [read_file]
    with: { question: What does note.txt say? }
  - id: many
    description: Ask about each
    for_each: [one, two, three]
    process: child
    with: { about: "${item}" }
  - id: single
    description: Ask about one more
    process: child
    with: { about: four }
  - id: say
    description: Say it
    action: shell
    with: { run: echo done }
"""
PRICES = {
    "price_input": 3.0, "price_cached_read": 0.3, "price_cached_write": 3.75, "price_output": 15.0
}  # fmt: skip
USAGE = {
    "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens",
    "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_write.input_tokens",
}  # fmt: skip


class Ran:
    """A home in which `parent` ran with its four children, and what it recorded."""

    def __init__(self, home: Home, folder: Path, server: ScriptedOpenAI) -> None:
        lines = ["[models]", 'default = "m"', "[[models.use]]", 'name = "m"', "window = 100000"]
        keys = {"provider": "openai", "base_url": server.base_url, "local": True, **PRICES}
        lines += [f"{name} = {json.dumps(value)}" for name, value in keys.items()]
        home.config_path.write_text("\n".join(lines) + "\n")
        (folder / "note.txt").write_text("Tea is served at four.\n")
        self.home = home
        components = (*ANSWERING, OpenAIProvider, FileTools)
        with Runtime(home, components=components) as runtime:
            world = World(runtime)
            world.compiled(CHILD)
            world.compiled(PARENT)
            self.run = world.run("parent", workspace=str(folder))
            self.events = [said.event for said in world.said()]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    if importlib.util.find_spec("openai") is None:
        pytest.skip("the extra openai is not installed")
    folder = tmp_path_factory.mktemp("otel")
    wants = Answer(
        tools=(Tool("call-1", "read_file", {"path": "note.txt"}),),
        input_tokens=900, cached_tokens=500, written_tokens=300,
    )  # fmt: skip
    limited = Answer(status=429, error="rate_limit", retry_after="0")
    said = Answer(text=("At ", "four."), input_tokens=1_100, cached_tokens=700, written_tokens=100)
    with ScriptedOpenAI(wants, limited, default=said) as server:
        return Ran(Home.create(folder / ".cortex"), folder, server)


@pytest.fixture(scope="module")
def document(ran: Ran) -> Any:
    out = BytesIO()
    made = export_log(ran.home, out, form="otlp")
    (line,) = out.getvalue().splitlines()
    found = json.loads(line)
    assert made.spans == len(spans_in(found))
    return found


def spans_in(document: Any) -> list[dict[str, Any]]:
    (resource,) = document["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    found: list[dict[str, Any]] = scope["spans"]
    return found


def plain(value: dict[str, Any]) -> Any:
    ((kind, inner),) = value.items()
    if kind == "arrayValue":
        return [plain(each) for each in inner["values"]]
    return int(inner) if kind == "intValue" else inner


def about(span: dict[str, Any]) -> dict[str, Any]:
    return {each["key"]: plain(each["value"]) for each in span["attributes"]}


def of(document: Any, operation: str) -> list[dict[str, Any]]:
    return [
        span for span in spans_in(document) if about(span).get("gen_ai.operation.name") == operation
    ]


def test_it_is_one_tree_of_the_conventions_spans(ran: Ran, document: Any) -> None:
    spans = spans_in(document)
    by_id = {span["spanId"]: span for span in spans}
    assert len(by_id) == len(spans)
    assert len({span["traceId"] for span in spans}) == 1

    (root,) = [span for span in spans if "parentSpanId" not in span]
    assert root["name"] == "invoke_workflow parent"
    for span in spans:
        assert len(span["traceId"]) == 32
        assert len(span["spanId"]) == 16
        if span is not root:
            around = by_id[span["parentSpanId"]]
            assert int(around["startTimeUnixNano"]) <= int(span["startTimeUnixNano"])
            assert int(around["endTimeUnixNano"]) + 1_000 >= int(span["endTimeUnixNano"]), span
    names = sorted(span["name"] for span in of(document, "invoke_workflow"))
    # An item of a step is an execution of the same process, which runs the child.
    assert names == ["invoke_workflow child"] * 4 + ["invoke_workflow parent"] * 4
    assert sorted(span["name"] for span in of(document, "invoke_agent")) == (
        ["invoke_agent ask"] * 4 + ["invoke_agent look"]
    )
    (tool,) = of(document, "execute_tool")
    assert tool["name"] == "execute_tool read_file"
    assert about(by_id[tool["parentSpanId"]])["gen_ai.agent.name"] == "look"
    asked = [event for event in ran.events if isinstance(event, ModelInvoke)]
    assert len(of(document, "chat")) == len(asked)
    assert [each for each in ran.events if isinstance(each, ToolCall)]


def test_a_call_says_what_was_asked_of_whom_and_what_it_took(ran: Ran, document: Any) -> None:
    answers = [event for event in ran.events if isinstance(event, ModelResponded)]
    calls = [span for span in of(document, "chat") if "code" not in span["status"]]
    assert len(calls) == len(answers)

    for span in calls:
        said = about(span)
        assert span["name"] == "chat m"
        assert span["kind"] == 3
        assert said["gen_ai.request.model"] == said["gen_ai.response.model"] == "m"
        assert said["gen_ai.provider.name"] == "openai"
        assert len(said["gen_ai.response.finish_reasons"]) == 1
        read = said["gen_ai.usage.cache_read.input_tokens"]
        written = said["gen_ai.usage.cache_write.input_tokens"]
        assert said["gen_ai.usage.input_tokens"] > read + written > written > 0
    failed = [span for span in of(document, "chat") if span["status"].get("code") == 2]
    assert [about(span)["error.type"] for span in failed] == ["rate_limited"]


def test_what_the_leaves_spent_adds_up_to_what_the_root_says_and_the_log_recorded(
    ran: Ran, document: Any
) -> None:
    spans = spans_in(document)
    children: dict[str, list[dict[str, Any]]] = {}
    for span in spans:
        children.setdefault(span.get("parentSpanId", ""), []).append(span)

    def leaves(span: dict[str, Any]) -> list[dict[str, Any]]:
        below = [leaf for child in children.get(span["spanId"], ()) for leaf in leaves(child)]
        return below + ([span] if about(span).get("gen_ai.operation.name") == "chat" else [])

    checked = 0
    for span in spans:
        said = about(span)
        if "cortex.cost" not in said:
            continue
        checked += 1
        below = [about(leaf) for leaf in leaves(span)]
        for name in USAGE:
            assert said[name] == sum(leaf[name] for leaf in below), span["name"]
        assert said["cortex.cost"] == pytest.approx(sum(leaf["cortex.cost"] for leaf in below))
    assert checked > 10

    (root,) = children[""]
    ended, said = ran.run.last(ExecutionCompleted), about(root)
    usage = ended.usage
    assert said["cortex.cost"] == pytest.approx(ended.cost)
    assert ended.cost > 0
    assert said["gen_ai.usage.output_tokens"] == usage["output"]
    assert said["gen_ai.usage.cache_read.input_tokens"] == usage["cached_read"]
    assert said["gen_ai.usage.cache_write.input_tokens"] == usage["cached_write"]
    assert said["gen_ai.usage.input_tokens"] == (
        usage["input"] + usage["cached_read"] + usage["cached_write"]
    )


def test_no_text_of_prompts_answers_or_results_leaves_with_the_spans(document: Any) -> None:
    text = json.dumps(document)

    for word in ("At four", "Tea is served", "What does note.txt"):
        assert word not in text


@contextmanager
def collector(status: int = 200) -> Iterator[tuple[str, list[bytes]]]:
    """A loopback server that takes what an OTLP exporter posts."""
    got: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            assert self.headers["Content-Type"] == "application/x-protobuf"
            got.append(body)
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1/traces", got
        finally:
            server.shutdown()
            thread.join()


def test_a_collector_gets_the_same_spans(ran: Ran, document: Any) -> None:
    proto = pytest.importorskip(
        "opentelemetry.proto.collector.trace.v1.trace_service_pb2",
        reason="the extra otel is not installed",
    )

    with collector() as (endpoint, got):
        made = send_spans(ran.home, endpoint)

    request = proto.ExportTraceServiceRequest()
    request.ParseFromString(b"".join(got))
    sent = [
        {
            "traceId": span.trace_id.hex(),
            "spanId": span.span_id.hex(),
            "parent": span.parent_span_id.hex(),
            "name": span.name,
            "kind": span.kind,
            "start": span.start_time_unix_nano,
            "end": span.end_time_unix_nano,
            "failed": span.status.code == 2,
            "about": {each.key: _of_proto(each.value) for each in span.attributes},
            "events": [event.name for event in span.events],
        }
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert made.spans == len(sent)
    assert sent == [
        {
            "traceId": span["traceId"],
            "spanId": span["spanId"],
            "parent": span.get("parentSpanId", ""),
            "name": span["name"],
            "kind": span["kind"],
            "start": int(span["startTimeUnixNano"]),
            "end": int(span["endTimeUnixNano"]),
            "failed": span["status"].get("code") == 2,
            "about": about(span),
            "events": [event["name"] for event in span.get("events", ())],
        }
        for span in spans_in(document)
    ]


def _of_proto(value: Any) -> Any:
    kind = value.WhichOneof("value")
    found = getattr(value, kind)
    return [_of_proto(each) for each in found.values] if kind == "array_value" else found


def test_without_the_extra_it_says_what_to_install(
    ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)

    with pytest.raises(RefusedError, match=r"pip install 'cortex-runtime\[otel\]'"):
        send_spans(ran.home, "http://127.0.0.1:9/v1/traces")


def test_a_collector_that_refuses_is_named_in_one_line(ran: Ran) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")

    with collector(400) as (endpoint, _), pytest.raises(RefusedError) as refused:
        send_spans(ran.home, endpoint)

    assert str(refused.value).startswith(f"{endpoint} does not take the spans: ")
    assert "\n" not in str(refused.value)
