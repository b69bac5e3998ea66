"""Somebody in a checkout with a goal, and a model that answers from a script."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortex.testing import replay

from ..servers import Answer, ScriptedOpenAI
from ..servers.http import Tool
from .repair_world import PYTHON, User, checkout_of, model, need_sdk, use

# Without bytecode: a file that is changed within a second keeps that of before.
TESTS = f"{sys.executable} -B -m unittest discover"
DIFF = """\
--- a/cart.py
+++ b/cart.py
@@ -1,5 +1,5 @@
 def total(prices):
     result = 0
     for price in prices:
-        result -= price
+        result += price
     return result
"""


def call(name: str, number: int, **arguments: Any) -> Answer:
    return Answer(tools=(Tool(f"call-{number}", name, arguments),))


ANY_TESTS = ("--may", "run_tests=any")  # the model names the command
LOOK = call("read_file", 1, path="cart.py")
TEST = call("run_tests", 2, command=TESTS)
MEND = call("apply_patch", 3, patch=DIFF)
AGAIN = call("run_tests", 4, command=TESTS)
DONE = call("goal_reached", 5, summary="prices are added up")
EARLY = call("goal_reached", 6, summary="nothing is wrong")


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    """Somebody whose work, whatever it was, is decided again at the end."""
    need_sdk("openai")
    user = User(checkout_of(PYTHON, tmp_path))
    yield user
    replay(user.home.path)


def scripted(user: User, server: ScriptedOpenAI, *answers: Answer) -> None:
    server.script.answers[:] = answers
    use(user.home, model("smith", server))
