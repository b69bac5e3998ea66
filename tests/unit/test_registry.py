"""The registry: what one client serves, no other takes over or takes back, whoever asks."""

from functools import reduce

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.bus import Event
from cortex.bus.events import ComponentAnnounced, ComponentWithdrawn, ToolListed
from cortex.runtime.models import announced_models
from cortex.runtime.registry import Registry, evolve

SOURCES = ("runtime", "owner/cli", "alice", "alice/worker", "mallory", "plugin.lint/Lint")
OWNERS = ("runtime", "owner/cli")


def announced(component: str, kind: str = "gate", name: str = "tidy") -> ComponentAnnounced:
    return ComponentAnnounced(component=component, kind=kind, name=name)


def withdrawn(component: str, kind: str = "gate", name: str = "tidy") -> ComponentWithdrawn:
    return ComponentWithdrawn(component=component, kind=kind, name=name)


def listed(*tools: str, component: str = "") -> ToolListed:
    found = tuple({"name": tool} for tool in tools)
    return ToolListed(server="files", tools=found, component=component)


def after(*said: tuple[Event, str]) -> Registry:
    return reduce(lambda registry, each: evolve(registry, *each), said, Registry())


@pytest.mark.parametrize(
    ("component", "source", "by"),
    [
        ("Other", "mallory", None),
        ("Other", "alice/worker", "alice"),
        ("Other", "owner/cli", "owner"),
        ("Other", "runtime", "owner"),
        ("Tidy", "mallory", "alice"),  # who hosts the same component shares it
    ],
)
def test_only_who_announced_it_and_the_owner_put_another_in_its_place(
    component: str, source: str, by: str | None
) -> None:
    before = after((announced("Tidy"), "alice"))

    found = evolve(before, announced(component), source).registrations["gate", "tidy"]

    counts = (component, by) if by else ("Tidy", "alice")
    assert (found.announced.component, found.by) == counts


@pytest.mark.parametrize(
    ("source", "counts"), [("mallory", False), ("alice", True), ("hub", True), ("runtime", True)]
)
def test_only_who_announced_it_and_the_owner_withdraw_it(source: str, counts: bool) -> None:
    registry = after((announced("Tidy"), "alice"), (announced("Tidy"), "mallory"))

    registry = evolve(registry, withdrawn("Tidy"), source)

    assert (registry.get("gate", "tidy") is None) is counts


@pytest.mark.parametrize("source", SOURCES)
def test_a_withdrawal_takes_nothing_from_another_component(source: str) -> None:
    registry = after((announced("Old"), "alice"), (announced("New"), "alice"))

    assert evolve(registry, withdrawn("Old"), source) is registry


def test_a_model_stays_where_somebody_else_withdraws_it() -> None:
    traits = {"name": "fast", "window": 1_000, "local": True}
    model = msgspec.structs.replace(announced("Models", "model", "fast"), traits=traits)
    registry = after((model, "alice"))

    for source in ("mallory", "plugin.lint"):
        registry = evolve(registry, withdrawn("Models", "model", "fast"), source)

    assert [each.name for each in announced_models(registry)] == ["fast"]


def test_an_announcement_of_another_kind_takes_no_tool_server() -> None:
    registry = after((announced("Evil", "server", "files"), "mallory"), (listed("read"), "alice"))

    assert [(spec.name, spec.host) for spec in registry.tools] == [("files.read", "alice")]


@pytest.mark.parametrize("first", ["McpTools", "alice/worker", "mallory"])
def test_nobody_lists_other_tools_for_a_server_that_another_listed(first: str) -> None:
    registry = after((listed("old"), first), (listed("evil"), "mallory"))

    found = "files.evil" if first == "mallory" else "files.old"
    assert [spec.name for spec in registry.tools] == [found]


def test_the_owner_takes_over_what_a_client_listed_for_a_server() -> None:
    registry = after(
        (listed("evil"), "mallory"),
        (listed("read", component="McpTools"), "McpTools"),  # config.toml names such a server
        (listed("evil"), "mallory"),
    )

    found = [(spec.name, spec.component, spec.host) for spec in registry.tools]
    assert found == [("files.read", "McpTools", "")]


def test_a_plugin_that_is_lost_serves_until_it_is_withdrawn() -> None:
    registry = after((announced("Lint"), "plugin.lint"))

    found = registry.registrations["gate", "tidy"]

    assert (found.plugin, found.host) == ("lint", "plugin.lint")
    assert evolve(registry, found.withdrawal(), "runtime") == Registry()


COMPONENTS, KINDS, NAMES = ("A", "B"), ("action", "gate", "model", "tool"), ("x", "y")
EVENTS = st.one_of(
    st.builds(announced, *map(st.sampled_from, (COMPONENTS, KINDS, NAMES))),
    st.builds(withdrawn, *map(st.sampled_from, (COMPONENTS, KINDS, NAMES))),
    st.builds(listed, st.sampled_from(("read", "write"))),
    st.builds(listed),
)
SAID = st.lists(st.tuples(EVENTS, st.sampled_from(SOURCES)), max_size=30)


class Model:
    """The rules of the fold, written down a second time and as plainly as can be."""

    def __init__(self) -> None:
        self.served: dict[tuple[str, str], tuple[str, str]] = {}  # component and client
        self.tools: tuple[str, tuple[str, ...]] | None = None  # the lister, and what it listed

    def take(self, event: Event, source: str) -> None:
        who = "owner" if source in OWNERS else source.split("/")[0]
        if isinstance(event, ToolListed):
            if self.tools is None or who in (self.tools[0], "owner"):
                self.tools = who, tuple(tool["name"] for tool in event.tools)
        elif isinstance(event, ComponentAnnounced):
            component, by = self.served.get((event.kind, event.name), (event.component, who))
            if who in (by, "owner"):
                self.served[event.kind, event.name] = event.component, who
            elif component == event.component:
                self.served[event.kind, event.name] = component, by
        elif isinstance(event, ComponentWithdrawn):
            component, by = self.served.get((event.kind, event.name), ("", ""))
            if component == event.component and who in (by, "owner"):
                del self.served[event.kind, event.name]


@given(SAID)
def test_any_interleaving_gives_what_the_rules_say(said: list[tuple[Event, str]]) -> None:
    model = Model()
    for each in said:
        model.take(*each)

    registry = after(*said)

    found = {k: (e.announced.component, e.by) for k, e in registry.registrations.items()}
    assert found == model.served
    assert set(registry.actions) == {name for kind, name in model.served if kind == "action"}
    assert set(registry.gates) == {name for kind, name in model.served if kind == "gate"}
    tools = {name for kind, name in model.served if kind == "tool"}
    if model.tools:
        tools |= {f"files.{name}" for name in model.tools[1]}
    assert {spec.name for spec in registry.tools} == tools


@given(SAID, SAID)
def test_a_fold_goes_on_from_a_snapshot_as_if_it_had_never_stopped(
    before: list[tuple[Event, str]], later: list[tuple[Event, str]]
) -> None:
    kept = msgspec.msgpack.encode(after(*before))
    restored = msgspec.msgpack.decode(kept, type=Registry)

    resumed = reduce(lambda registry, each: evolve(registry, *each), later, restored)

    assert resumed == after(*before, *later)
    assert list(resumed.registrations) == list(after(*before, *later).registrations)
