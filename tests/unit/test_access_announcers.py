"""Who announced what: what one client serves, no other takes over or takes back."""

import importlib
from typing import Any

import pytest

from cortex.bus.events import ComponentAnnounced, ComponentWithdrawn, ToolListed
from cortex.runtime.access import Announcers
from cortex.runtime.tools import Tools

Offered: Any = importlib.import_module("cortex.actors.engines.offered").Offered


def announced(component: str) -> ComponentAnnounced:
    return ComponentAnnounced(component=component, kind="gate", name="tidy")


def withdrawn(component: str) -> ComponentWithdrawn:
    return ComponentWithdrawn(component=component, kind="gate", name="tidy")


@pytest.mark.parametrize(
    ("component", "source", "counts"),
    [
        ("Other", "mallory", False),
        ("Other", "alice/worker", True),
        ("Other", "owner/cli", True),
        ("Other", "runtime", True),
        ("Tidy", "mallory", True),  # who hosts the same component shares it
    ],
)
def test_only_who_announced_it_and_the_owner_put_another_in_its_place(
    component: str, source: str, counts: bool
) -> None:
    announcers = Announcers()
    announcers.take(announced("Tidy"), "alice")

    assert announcers.take(announced(component), source) is counts
    assert announcers.announcer("gate", "tidy") == (
        "owner" if source == "runtime" else {"owner/cli": "owner"}.get(source, "alice")
    )


@pytest.mark.parametrize(
    ("source", "counts"), [("mallory", False), ("alice", True), ("hub", True), ("runtime", True)]
)
def test_only_who_announced_it_and_the_owner_take_it_back(source: str, counts: bool) -> None:
    announcers = Announcers()
    announcers.take(announced("Tidy"), "alice")
    announcers.take(announced("Tidy"), "mallory")

    assert announcers.take(withdrawn("Tidy"), source) is counts
    assert announcers.take(announced("Other"), "mallory") is counts


def listed(tool: str) -> ToolListed:
    component = "McpTools" if tool == "read" else ""
    return ToolListed(server="files", tools=({"name": tool},), component=component)


@pytest.mark.parametrize("first", ["McpTools", "alice/worker", "mallory"])
@pytest.mark.parametrize("fold", [Tools, Offered])
def test_nobody_lists_other_tools_for_a_server_that_another_listed(fold: Any, first: str) -> None:
    offered = fold()
    offered.fold(listed("old"), first)
    offered.fold(listed("evil"), "mallory")

    specs = offered.specs() if isinstance(offered, Tools) else offered.tools()

    assert [spec.name for spec in specs] == ["files.evil" if first == "mallory" else "files.old"]


@pytest.mark.parametrize("fold", [Tools, Offered])
def test_the_owner_takes_over_what_a_client_listed_for_a_server(
    fold: Any,
) -> None:
    offered = fold()
    offered.fold(listed("evil"), "mallory")
    offered.fold(listed("read"), "McpTools")  # config.toml names a server of that name
    offered.fold(listed("evil"), "mallory")

    specs = offered.specs() if isinstance(offered, Tools) else offered.tools()

    assert [spec.name for spec in specs] == ["files.read"]
    if isinstance(offered, Tools):
        assert [(spec.component, spec.host) for spec in specs] == [("McpTools", "")]


def test_a_listing_in_a_snapshot_is_still_that_of_who_said_it() -> None:
    offered, later = Offered(), Offered()
    offered.fold(listed("old"), "alice")
    later.restore(offered.snapshot())
    later.fold(listed("evil"), "mallory")
    assert [spec.name for spec in later.tools()] == ["files.old"]

    later.fold(listed("new"), "alice")
    assert [spec.name for spec in later.tools()] == ["files.new"]
