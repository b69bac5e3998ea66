"""What is laid down to use makes a choice among the tools and packages that a step may have."""

import pytest

from cortex.bus.events import MemoryRequest
from cortex.runtime.directives import InForce, LaidDown
from cortex.runtime.executions import (
    skills_to_use,
    steered,
    steering_notes,
    with_packages_laid_down,
)
from cortex.runtime.memory import Preferred, RecalledNodes, UsablePackage, with_packages
from cortex.runtime.registry import ToolSpec
from cortex.runtime.tools import ENABLE_PACK, Allowed, Skill, allowed, check_call, shown

from .package_world import COUNTER, PackageWorld
from .test_memory_packages import recalled_node


def in_force(*texts: str) -> InForce:
    pairs = [text.split(" ", 1) for text in texts]
    return InForce(
        directives=tuple(
            LaidDown(kind="policy", name=name, value=value, scope="user", position=n)
            for n, (value, name) in enumerate(pairs, 1)
        )
    )


def spec(name: str, pack: str = "") -> ToolSpec:
    return ToolSpec(name, f"does {name}", {"type": "object"}, pack or name, pack)


READ, RUN = spec("read_file", "files"), spec("run_command", "commands")
ISSUES, PULLS = spec("github.issues", "github"), spec("github.pulls", "github")
TICKETS = spec("gitlab.issues", "gitlab")
THERE = (READ, RUN, ISSUES, PULLS, TICKETS)


def names(may: Allowed, *enabled: str) -> list[str]:
    return [tool.name for tool in shown(may, enabled).tools]


@pytest.mark.parametrize(
    ("laid_down", "first"),
    [
        ("use run_command", ["run_command", "read_file"]),
        ("use Run Command", ["run_command", "read_file"]),
        ("use commands", ["run_command", "read_file"]),
        ("use podman", ["read_file", "run_command"]),
        ("prohibit nothing", ["read_file", "run_command"]),
    ],
)
def test_of_tools_that_are_shown_the_one_that_is_laid_down_comes_first(
    laid_down: str, first: list[str]
) -> None:
    may = allowed(("read_file", "run_command"), THERE)

    assert names(steered(may, in_force(laid_down))) == first


def test_a_pack_or_one_tool_of_it_is_shown_without_being_enabled_and_may_be_called() -> None:
    may = allowed(("github", "gitlab"), THERE)
    assert names(may) == [ENABLE_PACK.name]

    whole, one = steered(may, in_force("use github")), steered(may, in_force("use github.pulls"))

    assert names(whole) == [ENABLE_PACK.name, "github.issues", "github.pulls"]
    assert names(one) == [ENABLE_PACK.name, "github.pulls"]
    assert check_call("github.pulls", {}, one) is PULLS
    assert isinstance(check_call("github.issues", {}, one), str)
    assert check_call("enable_pack", {"pack": "gitlab"}, whole) is ENABLE_PACK


def test_it_grants_nothing() -> None:
    may = allowed(("read_file",), THERE)

    assert steered(may, in_force("use github", "use run_command")) == may


def test_a_note_says_why_a_tool_comes_first() -> None:
    may = allowed(("read_file", "gitlab"), THERE)

    assert steering_notes(may, in_force("use gitlab", "prohibit read_file")) == (
        "first among the tools: gitlab.issues: `use gitlab` of the scope user (event 1)",
    )


def test_a_skill_that_is_laid_down_is_in_the_prompt_from_the_first_turn_on() -> None:
    may = allowed(("style",), THERE, (Skill("style", "how we write", "/home/ada/SKILL.md"),))

    assert skills_to_use(may, in_force("use Style", "use github")) == ("style",)
    assert skills_to_use(may, in_force("prohibit style")) == ()


def test_a_request_of_memory_names_the_packages_that_are_laid_down() -> None:
    asked = MemoryRequest(execution_id="e", step_id="s", texts=("?",), scopes=("user",))

    found = with_packages_laid_down(
        asked,
        in_force(
            "use abcdefghijklmnop",
            "use package qrstuvwx",
            "use podman",
            "prohibit zzzzzzzz22222222",
        ),
    )

    assert found.preferred_packages == ("abcdefghijklmnop", "qrstuvwx")
    assert found.avoided_packages == ("zzzzzzzz22222222",)
    assert with_packages_laid_down(asked, in_force("use two words")) is asked


def two_packages() -> tuple[PackageWorld, str, UsablePackage, UsablePackage]:
    """A node that two packages have, of which the second saves less than nothing."""
    world = PackageWorld()
    tea, coffee = world.record("Tea is out"), world.record("Coffee is out, and so is cake")
    short = world.row(world.package([tea]))
    long = world.row(world.package([tea, coffee]))
    return world, tea, UsablePackage(short, False), UsablePackage(long, False)


def test_of_packages_that_fit_the_one_that_is_laid_down_is_used() -> None:
    world, tea, short, long = two_packages()
    found = RecalledNodes(nodes=(recalled_node(world, tea),), position=9)

    def used(preferred: Preferred) -> list[str]:
        made = with_packages(found, [short, long], str, COUNTER.count, preferred)
        return [each.package_id for each in made.packages]

    assert long.package.id not in used(Preferred())
    assert used(Preferred((long.package.id,), 500)) == [long.package.id]
    assert used(Preferred((long.package.id[:8],), 500)) == [long.package.id]
    assert used(Preferred((long.package.id,), long.tokens - 1)) == used(Preferred())
