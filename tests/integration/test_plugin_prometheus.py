"""The metrics over HTTP, on a runtime: the official parser reads them, nobody from elsewhere."""

import socket
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from cortex.actors.accessors import ExecutionRecordAccessor
from cortex.bus import Event, Query, UnansweredError
from cortex.bus.events import ExecutionCancelled, ExecutionStarted, ModelInvoke, ModelResponded
from cortex.plugins import PluginRefusedError
from cortex.plugins.prometheus import PLUGIN, Prometheus, Scrape, Scraped, settings_of
from cortex.runtime.kernel import Entry, Home, Runtime
from cortex.runtime.metrics import METRICS, metrics_of

pytest.importorskip("prometheus_client", reason="the extra prometheus is not installed")

HOSTILE = 'p"} 1\n# TYPE evil counter\nevil_total{a="\\'
PLACE: dict[str, Any] = {"execution_id": "x", "step_id": "s", "model": "small"}


class World:
    """An endpoint at work, and a home whose log has one execution."""

    def __init__(self, home: Home, runtime: Runtime) -> None:
        self.home = home
        self.client = runtime.client("test")
        self.endpoint = Prometheus({"listen": "127.0.0.1:0"}, runtime.client("p").ask)
        self.endpoint.on_start()

    def get(
        self, path: str = "/metrics", method: str = "GET", **headers: str
    ) -> tuple[int, str, str]:
        connection = HTTPConnection(*self.endpoint.address, timeout=60.0)
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, answer.headers["Content-Type"], text


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    home = Home.create(tmp_path_factory.mktemp("prometheus") / ".cortex")
    with Runtime(home, components=[ExecutionRecordAccessor]) as runtime:
        world = World(home, runtime)
        for event in (
            ExecutionStarted(
                execution_id="x", process=HOSTILE, process_version=1, digest="", linked="",
                inputs={}, goal="", workspace="", trigger="",
            ),
            ModelInvoke(**PLACE, prompt="p"),
            ModelResponded(
                **PLACE, prompt="p", answer={}, input_tokens=70, cached_read_tokens=30,
                output_tokens=9, cost=0.125,
            ),
            ExecutionCancelled(execution_id="x", reason="enough"),
        ):  # fmt: skip
            world.client.publish(event)
        yield world
        world.endpoint.on_stop()


def unanswered(query: Query, *_: float) -> Event:
    raise UnansweredError(query.topic_name())


def families(text: str) -> dict[str, Any]:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    found = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    return {family.name: family for family in found}


def sample(text: str, name: str, **labels: str) -> float:
    found = [
        each.value for family in families(text).values() for each in family.samples
        if each.name == name and labels.items() <= each.labels.items()
    ]  # fmt: skip
    assert len(found) == 1, (name, labels, found)
    return float(found[0])


def test_the_official_parser_reads_what_the_log_says(world: World) -> None:
    status, content_type, text = world.get()

    assert status == 200
    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    assert text.endswith("# EOF\n")
    known = {f"cortex_{name}" for name in METRICS} | {"cortex_log_position"}
    assert families(text).keys() <= known
    assert sample(text, "cortex_model_tokens_total", **{"class": "cached_read"}) == 30
    assert sample(text, "cortex_cost_usd_total", model="small") == 0.125
    assert sample(text, "cortex_model_call_seconds_count", model="small") == 1
    assert sample(text, "cortex_model_call_seconds_bucket", model="small", le="+Inf") == 1
    assert sample(text, "cortex_executions_total", outcome="cancelled") == 1


def test_a_hostile_name_is_a_label_and_nothing_else(world: World) -> None:
    text = world.get()[2]

    assert not any("evil" in name for name in families(text))
    assert sample(text, "cortex_executions_total", process=HOSTILE) == 1


def test_the_page_has_the_numbers_of_the_command_line(world: World) -> None:
    text = world.get()[2]

    own = {(row.name, tuple(row.labels.values())): row for row in metrics_of(world.home).metrics}

    counters = {name for name, metric in METRICS.items() if metric.kind == "counter"}
    shown = [
        (each.name, each.labels, each.value) for family in families(text).values()
        for each in family.samples if each.name.endswith("_total")
    ]  # fmt: skip
    assert len(shown) == len([key for key in own if key[0] in counters])
    for full, labels, value in shown:
        name = full.removeprefix("cortex_").removesuffix("_total")
        row = own[name, tuple(labels[label] for label in METRICS[name].labels)]
        assert row.value == value


@pytest.mark.parametrize(
    ("path", "method", "host", "status", "said"),
    [
        ("/", "GET", "", 404, "metrics are at /metrics"),
        ("/metrics", "POST", "", 405, "only GET is answered here"),
        ("/metrics", "GET", "evil.example:9464", 403, "ask for localhost by its own name"),
        ("/metrics", "GET", "127.0.0.1.evil.example", 403, "ask for localhost"),
        ("/metrics?a=b", "GET", "[::1]:9464", 200, "# EOF"),
        ("/metrics", "GET", "LOCALHOST", 200, "# EOF"),
    ],
)
def test_every_other_request_has_one_clear_answer(
    world: World, path: str, method: str, host: str, status: int, said: str
) -> None:
    answered, _, text = world.get(path, method, **({"Host": host} if host else {}))

    assert answered == status
    assert said in text


def test_connections_that_say_nothing_keep_nobody_out(world: World) -> None:
    idle = [socket.create_connection(world.endpoint.address, timeout=60.0) for _ in range(80)]
    try:
        status, _, _ = world.get()
    finally:
        for each in idle:
            each.close()

    assert status == 200


def test_metrics_that_cannot_be_read_are_a_503(tmp_path: Path) -> None:
    with Runtime(Home.create(tmp_path / ".cortex"), components=[]) as runtime:
        world = World(Home(tmp_path / ".cortex"), runtime)
        status, _, text = world.get()
        world.endpoint.on_stop()

    assert status == 503
    assert "metrics.get" in text


def test_the_same_page_comes_over_the_bus(tmp_path: Path) -> None:
    home = Home.create(tmp_path / ".cortex")
    entry = Entry("cortex.plugins.prometheus:Prometheus", settings={"listen": "127.0.0.1:0"})
    with Runtime(home, components=[ExecutionRecordAccessor, entry]) as runtime:
        page = runtime.client("test").ask(Scrape(), 60.0)

    assert isinstance(page, Scraped)
    assert page.content_type.startswith("application/openmetrics-text")
    assert sample(page.text, "cortex_events_total", family="runtime") >= 1


def test_it_is_off_and_on_the_loopback_address_unless_somebody_says_otherwise() -> None:
    assert settings_of({}).address == ("127.0.0.1", 9464)
    assert Prometheus.listens({}) == "http://127.0.0.1:9464/metrics"
    assert PLUGIN.check().parts() == (
        "subscribe:metrics.get", "subscribe:x.prometheus.scrape", "network",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"listen": "everywhere"}, "listen is 'everywhere': write '127.0.0.1:9464'"),
        ({"listen": "127.0.0.1:99999"}, "listen is"),
        ({"listen": 1}, "Expected `str`"),
        ({"patience_s": 0}, "give up to 300"),
        ({"port": 1}, "unknown field `port`"),
    ],
)
def test_settings_that_are_wrong_are_refused_in_one_line(
    settings: dict[str, Any], problem: str
) -> None:
    with pytest.raises(PluginRefusedError, match=r"^\[plugins.prometheus\] in config") as refused:
        settings_of(settings)

    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_address_that_is_taken_is_said_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        endpoint = Prometheus({"listen": listen}, unanswered)
        with pytest.raises(PluginRefusedError, match=r"cannot listen on 127\.0\.0\.1:"):
            endpoint.on_start()


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "cortex.plugins.prometheus.text", raising=False)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)

    with pytest.raises(PluginRefusedError, match=r"pip install 'cortex-runtime\[prometheus\]'"):
        Prometheus({}, unanswered).on_start()
