"""Checkouts whose tests fail, the logs of that, and models that answer from a script."""

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
import pytest

from cortex.runtime.kernel import Home

from ..integration.repair_world import CART, CART_TEST, git, repository
from ..servers import Answer, ScriptedAnthropic, ScriptedOpenAI, ScriptedServer

Shape: TypeAlias = Literal["openai", "anthropic"]
SERVERS: Mapping[str, type[ScriptedServer]] = {
    "openai": ScriptedOpenAI,
    "anthropic": ScriptedAnthropic,
}
SHAPES: tuple[Shape, ...] = ("openai", "anthropic")
CORTEX = Path(sys.executable).parent / "cortex"
PATIENCE_S = 120.0
KEY_ENV, KEY = "TEAM_MODEL_KEY", "sk-secret-of-the-test"
DIAGNOSIS = "The loop subtracts each price where it has to add it."
SUMMARY = "Add prices up"

CART_JS = """\
function total(prices) {
  let result = 0;
  for (const price of prices) {
    result -= price;
  }
  return result;
}

module.exports = { total };
"""
CART_JS_TEST = """\
const assert = require("node:assert");
const test = require("node:test");
const { total } = require("./cart");

test("total adds up", () => {
  assert.strictEqual(total([1, 2]), 3);
});
"""
CART_C = """\
int total(const int *prices, int count) {
    int result = 0;
    for (int i = 0; i < count; i++) {
        result -= prices[i];
    }
    return result;
}
"""
CART_C_TEST = """\
#include <assert.h>

int total(const int *prices, int count);

int main(void) {
    int prices[] = {1, 2};
    assert(total(prices, 2) == 3);
    return 0;
}
"""
MAKEFILE = """\
test: test_cart
\t./test_cart

test_cart: cart.c test_cart.c
\t$(CC) -o test_cart cart.c test_cart.c

.PHONY: test
"""


class Shop(msgspec.Struct, frozen=True):
    """A small project in one language whose one test fails."""

    files: dict[str, str]
    source: str  # the file that is wrong
    wrong_line: str
    right_line: str
    test: tuple[str, ...]
    tools: tuple[str, ...]

    @property
    def fix(self) -> dict[str, str]:
        """The edit that makes the test pass."""
        return {"path": self.source, "old": self.wrong_line, "new": self.right_line}

    @property
    def wrong(self) -> dict[str, str]:
        """An edit that applies and repairs nothing."""
        return {**self.fix, "new": self.right_line.replace("+=", "*=")}


SHOPS = {
    "python": Shop(
        {"cart.py": CART, "test_cart.py": CART_TEST},
        "cart.py",
        "        result -= price\n",
        "        result += price\n",
        (sys.executable, "-m", "unittest", "discover"),
        (),
    ),
    "javascript": Shop(
        {"cart.js": CART_JS, "cart.test.js": CART_JS_TEST},
        "cart.js",
        "    result -= price;\n",
        "    result += price;\n",
        ("node", "--test"),
        ("node",),
    ),
    "c": Shop(
        {"cart.c": CART_C, "test_cart.c": CART_C_TEST, "Makefile": MAKEFILE},
        "cart.c",
        "        result -= prices[i];\n",
        "        result += prices[i];\n",
        ("make", "test"),
        ("make", "cc"),
    ),
}
PYTHON = SHOPS["python"]


def patch(*edits: dict[str, str], **options: Any) -> Answer:
    """A model's answer with *edits*."""
    return Answer(text=pieces(json.dumps({"summary": SUMMARY, "edits": edits})), **options)


def diagnosis(text: str = DIAGNOSIS, **options: Any) -> Answer:
    """A model's answer about the cause."""
    return Answer(text=pieces(text), **options)


def pieces(text: str, size: int = 24) -> tuple[str, ...]:
    """*text* as it is streamed."""
    return tuple(text[at : at + size] for at in range(0, len(text), size))


def checkout_of(shop: Shop, folder: Path) -> Path:
    """A checkout of *shop* at FOLDER/shop, and beside it the log of the CI run that failed."""
    for name in shop.tools:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")
    checkout = repository(folder / "shop", shop.files)
    git(folder, "clone", "--quiet", str(checkout), "ci")
    ran = subprocess.run(
        shop.test, cwd=folder / "ci", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    assert ran.returncode, "its test fails"
    (folder / "ci.log").write_bytes(ran.stdout)
    return checkout


@pytest.fixture
def server() -> Iterator[ScriptedOpenAI]:
    """An endpoint whose model answers from a script."""
    with ScriptedOpenAI() as opened:
        yield opened


def need_sdk(shape: str) -> None:
    """Skip visibly where the SDK of *shape* is not installed."""
    if importlib.util.find_spec(shape) is None:
        pytest.skip(f"the extra {shape} is not installed")


def model(name: str, server: ScriptedServer, **keys: str | int | float | bool) -> str:
    """A model of `config.toml` that *server* answers for; it meets every need unless told."""
    shape = "anthropic" if isinstance(server, ScriptedAnthropic) else "openai"
    need_sdk(shape)
    levels = dict.fromkeys(("reasoning", "code", "speed"), "high")
    written = {
        "name": name,
        "provider": shape,
        "model": f"{name}-1",
        "base_url": server.base_url,
        "key_env": KEY_ENV,
        "window": 100_000,
        "local": True,
        **levels,
        **keys,
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in written.items()]
    return "\n".join(["[[models.use]]", *lines, ""])


def use(home: Home, *models: str, default: str = "") -> Home:
    """*home*, whose config.toml names *models* and nothing else."""
    head = f"[models]\ndefault = {json.dumps(default)}\n\n"
    # In the file: what computes in a process of its own reads it there.
    home.config_path.write_text(head + "\n".join(models))
    return home


class User:
    """Somebody at a shell in a checkout, with a home of their own in it."""

    def __init__(self, checkout: Path) -> None:
        self.checkout = checkout
        self.home = Home.create(checkout / ".cortex")
        self.env = {
            **os.environ,
            "XDG_DATA_HOME": str(checkout.parent / "data"),
            "USER": "ada",
            KEY_ENV: KEY,
        }
        for name in ("CORTEX_HOME", "CORTEX_DEBUG"):
            self.env.pop(name, None)

    def start(self, *args: str) -> subprocess.Popen[str]:
        """Begin a command."""
        return subprocess.Popen(
            [str(CORTEX), *args],
            cwd=self.checkout,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def cortex(self, *args: str, code: int = 0) -> str:
        """What a command prints."""
        with self.start(*args) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == code, out + err
        assert "Traceback" not in err
        assert KEY not in out + err
        return out

    def json(self, *args: str, code: int = 0) -> Any:
        """The same as data."""
        return json.loads(self.cortex(*args, "--json", code=code))


def print_of(checkout: Path) -> str:
    """A digest of everything of the user's: files, modes, index, branches but ours."""
    state = hashlib.sha256()
    for path in sorted(checkout.rglob("*")):
        inside = path.relative_to(checkout)
        if path.is_file() and not {".git", ".cortex"} & set(inside.parts):
            state.update(f"{inside} {path.stat().st_mode}\0".encode() + path.read_bytes())
    refs = git(checkout, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    own = [line for line in refs if not line.startswith("refs/heads/cortex/")]
    head = (checkout / ".git/HEAD").read_text()
    staged = git(checkout, "ls-files", "--stage")
    state.update("\0".join([*own, head, staged]).encode())
    return state.hexdigest()


def assert_green(shop: Shop, checkout: Path, branch: str, folder: Path) -> None:
    """The branch holds one commit more than main, with nothing but the fix, and its test passes."""
    assert git(checkout, "log", "--format=%s", f"main..{branch}") == f"{SUMMARY}\n"
    assert git(checkout, "diff", "--name-only", "main", branch) == f"{shop.source}\n"
    right = shop.files[shop.source].replace(shop.wrong_line, shop.right_line)
    assert git(checkout, "show", f"{branch}:{shop.source}") == right
    git(folder, "clone", "--quiet", "--branch", branch, str(checkout), "merged")
    subprocess.run(shop.test, cwd=folder / "merged", check=True, capture_output=True)
