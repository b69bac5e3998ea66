"""The paper's other files, untouched: what is concrete runs to its end, what is not refuses to."""

import difflib
import json
from pathlib import Path
from typing import Any

import pytest

from ..integration.repair_world import CART, CART_TEST, git
from ..servers import Answer, ScriptedServer
from .paper_world import MISSING, SEEDS, UNCONFINED, hub, install, keep
from .repair_world import PYTHON, Shop, User, checkout_of, model, pieces, print_of, server, use

__all__ = ["server"]  # a fixture

REPORT = "The total of a cart is negative: it has to add prices up."
SPECIFICATION = "The cart has to know the highest of its prices, 0 where it is empty."
CAUSE = "The loop subtracts each price where it has to add it."
DESIGN = "Another function of the cart, beside the total."
SUM = CART.replace("-= price", "+= price")
HIGHEST = "\n\ndef highest(prices):\n    return max(prices, default=0)\n"
HIGHEST_TEST = """\
import unittest

from cart import highest


class HighestTest(unittest.TestCase):
    def test_the_highest_price_is_known(self):
        self.assertEqual([highest([1, 3, 2]), highest([])], [3, 0])
"""
WISH = Shop(
    {"cart.py": SUM, "test_cart.py": CART_TEST, "test_highest.py": HIGHEST_TEST},
    "cart.py",
    SUM,
    SUM + HIGHEST,
    PYTHON.test,
    (),
)
TOPICS = ("engineering.pull_request", "project.code_conventions", "engineering.design_review")
FILES = (
    "code_change_interface.yaml",
    "standard_code_change.yaml",
    "fix_bug_and_add_feature.yaml",
    "fix_ci_failure.yaml",
    "fix_ci_failure_with_notification.yaml",
)
UNMET = "fix_bug_implements_code_change.yaml"

pytestmark = pytest.mark.skipif(not SEEDS.is_dir(), reason=MISSING)


def diff(old: str, new: str) -> str:
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), "a/cart.py", "b/cart.py"
    )
    return "".join(lines)


def says(text: str) -> Answer:
    return Answer(text=pieces(text))


def patches(old: str, new: str) -> Answer:
    return says(json.dumps({"summary": "as asked", "patch": diff(old, new)}))


def settled(shop: Shop, folder: Path, server: ScriptedServer) -> User:
    """Somebody with a red checkout, a model, and the team's plugin."""
    user = User(checkout_of(shop, folder))
    use(user.home, model("scripted", server))
    install(user, folder / "site")
    user.cortex("plugin", "load", "team", "--yes", *UNCONFINED)
    return user


def copied(user: User) -> User:
    """The same with the files of the paper whose names do not collide."""
    for name in FILES:
        keep(user, name, *TOPICS, "project.ci_pipeline", "team.notification_preferences")
    return user


def assert_committed(user: User, shop: Shop, ended: dict[str, Any], goal: str) -> None:
    branch = f"cortex/{ended['id']}"
    assert git(user.checkout, "log", "--format=%s", f"main..{branch}") == f"{goal}\n"
    assert git(user.checkout, "diff", "--name-only", "main", branch) == f"{shop.source}\n"


@pytest.mark.parametrize(
    ("name", "shop", "goal", "said", "new"),
    [
        ("fix_bug", PYTHON, REPORT, CAUSE, SUM),
        ("add_feature", WISH, SPECIFICATION, DESIGN, SUM + HIGHEST),
    ],
)
def test_a_change_of_the_papers_runs_from_the_report_to_a_green_commit_with_a_hub_up(
    name: str,
    shop: Shop,
    goal: str,
    said: str,
    new: str,
    server: ScriptedServer,
    tmp_path: Path,
) -> None:
    user = copied(settled(shop, tmp_path, server))
    before = print_of(user.checkout)
    server.script.answers[:] = [says(said), patches(shop.files["cart.py"], new)]

    with hub(user):
        ended = user.json("run", name, "--goal", goal)

    assert (ended["process"], ended["status"]) == (name, "completed"), ended
    steps = ("analyze", "implement", "verify", "commit")
    assert ended["steps"] == dict.fromkeys(steps, "completed")
    assert_committed(user, shop, ended, goal)
    git(tmp_path, "clone", "--quiet", "--branch", f"cortex/{ended['id']}", "shop", "merged")
    assert (tmp_path / "merged" / "cart.py").read_text() == new
    assert print_of(user.checkout) == before
    analyzed, implemented = (json.dumps(each.body) for each in server.asked)
    assert goal in analyzed
    assert said in implemented  # bound by its name: the file says nothing of it


def test_a_fix_whose_tests_are_red_is_not_committed(server: ScriptedServer, tmp_path: Path) -> None:
    user = copied(settled(PYTHON, tmp_path, server))
    server.script.answers[:] = [says(CAUSE), patches(CART, CART.replace("-=", "*="))]

    ended = user.json("run", "fix_bug", "--goal", REPORT, code=1)

    assert ended["status"] == "halted"
    assert "tests_pass did not pass" in ended["reason"]
    assert git(user.checkout, "log", "--format=%s", "--all") == "first\n"


def test_an_abstract_process_and_an_interface_that_nothing_implements_refuse_to_run(
    server: ScriptedServer, tmp_path: Path
) -> None:
    user = copied(settled(PYTHON, tmp_path, server))

    template = user.json("run", "standard_code_change", code=1)
    interface = user.json("run", "code_change", code=1)

    assert "is abstract and cannot be run: run add_feature or fix_bug" in template["reason"]
    assert interface["reason"].startswith("nothing implements the interface code_change: ")
    assert "the steps analyze, implement, verify" in interface["reason"]
    assert server.asked == []


def test_without_the_plugin_a_process_names_the_actions_that_are_not_there(
    server: ScriptedServer, tmp_path: Path
) -> None:
    user = User(checkout_of(PYTHON, tmp_path))
    use(user.home, model("scripted", server))
    copied(user)

    with user.start("run", "fix_bug", "--goal", REPORT) as process:
        _, err = process.communicate()

    assert process.returncode != 0
    assert "`read_bug_report`" in err
    assert server.asked == []


def test_the_process_that_lacks_what_its_interface_requires_fails_with_a_remedy_that_works(
    server: ScriptedServer, tmp_path: Path
) -> None:
    user = settled(PYTHON, tmp_path, server)
    keep(user, "code_change_interface.yaml", *TOPICS)
    keep(user, UNMET)

    document = user.json("process", "validate", code=1)
    user.cortex("run", "fix_bug", "--goal", REPORT, code=1)

    found = {each["code"]: each for each in document["diagnostics"]}
    assert set(found) == {"P307", "P309"}
    assert "`branch_clean`, `execution_context_exists`" in found["P307"]["message"]
    assert "`engineering.pull_request`" in found["P309"]["message"]
    assert all(each["remedy"] for each in found.values())
    user.cortex("process", "validate", "--fix")
    server.script.answers[:] = [says(CAUSE), patches(CART, SUM)]
    ended = user.json("run", "code_change", "--goal", REPORT)
    assert (ended["process"], ended["status"]) == ("fix_bug", "completed")
    assert ended["steps"] == dict.fromkeys(("analyze", "implement", "verify"), "completed")
