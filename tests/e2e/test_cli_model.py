"""`cortex model`: which models there are, whether they can be asked, and why one was."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import Event
from cortex.bus.events import (
    ContextRefused,
    ExecutionRequest,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    ModelSelected,
)
from cortex.runtime.kernel import Home, Runtime

CORTEX = Path(sys.executable).parent / "cortex"
KEY = "sk-secret-of-the-test"
ID = "k3f9q2m7"
MODELS = """
[models]
default = "sonnet"

[[models.use]]
name = "sonnet"
provider = "anthropic"
model = "claude-sonnet-5"
key_env = "TEAM_KEY"

[[models.use]]
name = "odd"
provider = "nobody_answers"
model = "m1"
base_url = "http://127.0.0.1:1"
local = true
window = 4000
"""


class Desk:
    """A folder with a home whose config.toml names two models."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = Home.create(folder / ".cortex")
        self.home.config_path.write_text(MODELS)
        self.env = {**os.environ, "XDG_DATA_HOME": str(folder / "data")}
        for name in ("CORTEX_HOME", "CORTEX_DEBUG", "TEAM_KEY"):
            self.env.pop(name, None)

    def run(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(CORTEX), *args],
            cwd=self.folder, env={**self.env, **env}, capture_output=True, text=True, timeout=120,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def json(self, *args: str, **env: str) -> Any:
        return json.loads(self.run(*args, "--json", **env).stdout)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = Desk(tmp_path_factory.mktemp("desk"))
    with Runtime(desk.home, components=[]) as runtime:
        runtime.client("tester").publish(*told())
    return desk


def told() -> Iterator[Event]:
    """A step that is asked for twice: one model is overloaded once, another has a second turn."""
    step: dict[str, Any] = {"execution_id": ID, "step_id": "write_code"}
    yield ExecutionRequest(execution_id=ID, goal="fix it")
    yield ModelSelected(
        **step,
        model="sonnet",
        provider="anthropic",
        because="set as default",
        needs={"reasoning": "high", "code": None},
        runners_up=("opus",),
        rejected=("odd lacks reasoning high",),
        cost=0.03,
    )
    yield ModelInvoke(**step, model="sonnet", provider="anthropic", prompt="0" * 64)
    yield ModelFailed(**step, model="sonnet", error="529", kind="overloaded")
    yield ModelInvoke(**step, call=2, model="sonnet", provider="anthropic", prompt="0" * 64)
    yield ModelResponded(
        **step,
        call=2,
        model="sonnet",
        prompt="0" * 64,
        answer={"text": "done"},
        cost=0.0123,
        input_tokens=2_000,
        cached_read_tokens=6_000,
        output_tokens=512,
    )
    yield ModelSelected(**step, attempt=2, turn=1, model="odd", because="the cheapest")
    yield ModelInvoke(**step, attempt=2, turn=1, model="odd", prompt="1" * 64)
    yield ContextRefused(execution_id=ID, step_id="answer", attempt=1, reason="no model fits")


def test_models_are_listed_with_what_is_known_of_them(desk: Desk) -> None:
    rows = {row["name"]: row for row in desk.json("model", "list", TEAM_KEY=KEY)}

    assert list(rows) == ["extractive", "odd", "sonnet"]
    sonnet, odd = rows["sonnet"], rows["odd"]
    assert (sonnet["default"], sonnet["local"], sonnet["window"]) == (True, False, 1_000_000)
    assert sonnet["price"]["output"] == 10.0
    assert (sonnet["key_env"], sonnet["key_set"]) == ("TEAM_KEY", True)
    assert (odd["local"], odd["window"], odd["key_set"], odd["component"]) == (
        True,
        4_000,
        None,
        "",
    )
    assert rows["extractive"]["component"] == "ExtractiveProvider"


def test_a_key_is_never_shown(desk: Desk) -> None:
    for args in (("model", "list"), ("model", "list", "--json")):
        done = desk.run(*args, TEAM_KEY=KEY)
        assert KEY not in done.stdout + done.stderr
        assert "TEAM_KEY" in done.stdout


def test_the_table_is_one_line_a_model(desk: Desk) -> None:
    header, *rows = desk.run("model", "list").stdout.splitlines()

    assert header.split("\t")[:2] == ["NAME", "PROVIDER"]
    assert [row.split("\t")[0] for row in rows] == ["extractive", "odd", "sonnet"]
    assert "2/0.2/2.5/10\tTEAM_KEY: no\tclaude-sonnet-5" in rows[2]


def test_check_ends_with_4_where_a_model_cannot_be_asked(desk: Desk) -> None:
    done = desk.run("model", "check")

    assert done.returncode == 4
    extractive, odd, sonnet = done.stdout.splitlines()
    assert extractive == "ok    extractive: announced by ExtractiveProvider"
    assert odd.startswith("fail  odd: nothing listens at 127.0.0.1:1 (")
    assert sonnet == (
        "fail  sonnet: the environment variable TEAM_KEY is not set: export TEAM_KEY=..."
    )


def test_a_default_that_is_no_model_is_told(desk: Desk, tmp_path: Path) -> None:
    home = Home.create(tmp_path / "home")
    home.config_path.write_text('[models]\ndefault = "sonett"\n')

    done = desk.run("model", "check", "--home", str(home.path))

    assert done.returncode == 4
    assert "fail  sonett: the default is not a model: correct `default` in [models]" in done.stdout


def test_that_no_model_can_be_asked_is_an_error(desk: Desk, tmp_path: Path) -> None:
    home = Home.create(tmp_path / "home")

    done = desk.run("model", "check", "--home", str(home.path))

    assert done.returncode == 4
    assert f"fail  models: none is configured: name one in {home.config_path}" in done.stdout


def test_doctor_names_a_model_that_nobody_asks(desk: Desk, tmp_path: Path) -> None:
    home = Home.create(tmp_path / "home")
    home.config_path.write_text(
        '[[models.use]]\nname = "sonnet"\nprovider = "mistral"\nprice_input = 0\nprice_output = 0\n'
    )

    done = desk.run("doctor", "--quick", "--home", str(home.path))
    checked = desk.run("model", "check", "sonnet", "--home", str(home.path))

    assert done.returncode == checked.returncode == 4
    said = "sonnet: no component answers for the provider 'mistral'"
    assert f"fail  models      {said}" in done.stdout
    assert f"fail  {said}: name one of anthropic, openai, extractive" in checked.stdout


def test_one_model_can_be_checked_alone(desk: Desk) -> None:
    assert desk.run("model", "check", "extractive").returncode == 0
    unknown = desk.run("model", "check", "sonett")
    assert (unknown.returncode, unknown.stdout) == (3, "")
    assert "model 'sonett' is not known" in unknown.stderr


def test_a_wrong_configuration_is_one_line_with_its_place(desk: Desk, tmp_path: Path) -> None:
    home = Home.create(tmp_path / "wrong")
    home.config_path.write_text(f'[[models.use]]\nname="a"\nprovider="human"\nkey_env="{KEY}"\n')

    for command in ("list", "check"):
        done = desk.run("model", command, "--home", str(home.path))
        assert done.returncode == 4
        assert done.stderr.startswith(
            f"cortex: {home.config_path}:4: `models.use.key_env` is wrong"
        )
        assert len(done.stderr.splitlines()) == 1
        assert KEY not in done.stderr


def test_why_tells_every_attempt_turn_and_call(desk: Desk) -> None:
    found = desk.json("model", "why", ID, "write_code")

    first, second = found["choices"]
    assert (first["attempt"], first["turn"], second["attempt"], second["turn"]) == (1, 0, 2, 1)
    assert (first["model"], first["because"]) == ("sonnet", "set as default")
    assert first["needs"] == {"reasoning": "high"}
    assert (first["runners_up"], first["rejected"]) == (["opus"], ["odd lacks reasoning high"])
    assert first["reckoned_cost"] == 0.03
    assert [call["status"] for call in first["calls"]] == ["failed", "answered"]
    assert first["calls"][0]["kind"] == "overloaded"
    assert [call["status"] for call in second["calls"]] == ["unclaimed"]
    assert (found["cost"], found["tokens"]) == (0.0123, 8_512)


def test_why_reads_as_an_account(desk: Desk) -> None:
    said = desk.run("model", "why", ID[:4], "write_code").stdout

    assert "attempt 1: sonnet" in said
    assert "  needs      reasoning high" in said
    assert "  rejected   odd lacks reasoning high" in said
    assert "overloaded: 529" in said
    assert "$0.0123: 2,000 in, 6,000 read from the cache, 512 out" in said
    assert "attempt 2, turn 1: odd" in said
    assert said.endswith("in all $0.0123, 8,512 tokens\n")


def test_why_says_where_no_model_was_selected(desk: Desk) -> None:
    assert desk.json("model", "why", ID, "answer")["refused"] == ["no model fits"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((ID, "deploy"), "step 'deploy' asked no model in execution k3f9q2m7: answer, write_code"),
        (("zzzz", "deploy"), "execution 'zzzz' is not in this home"),
    ],
)
def test_why_names_the_steps_that_did_ask(desk: Desk, args: tuple[str, str], said: str) -> None:
    done = desk.run("model", "why", *args)

    assert done.returncode == 3
    assert said in done.stderr


def test_names_of_models_are_completed(desk: Desk) -> None:
    done = desk.run(
        _CORTEX_COMPLETE="bash_complete", COMP_WORDS="cortex model check s", COMP_CWORD="3"
    )

    assert done.stdout.splitlines() == ["plain,sonnet"]
