"""The guide to the webhook, done as it stands: a post stops at its first gate, then completes."""

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cortex.runtime.kernel import Home

from ..ports import free_port
from ..waiting import until
from .command_lines import CORTEX
from .paper_world import UNCONFINED
from .up_world import STUCK_S

GUIDE = Path(__file__).parents[2] / "docs" / "webhook.md"
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
LOG = "FAILED tests/test_a.py::test_a - AssertionError: 1 != 2\n1 failed in 0.1s\n"

pytestmark = [
    pytest.mark.skipif(not GUIDE.is_file(), reason="docs/ is not beside these tests"),
    pytest.mark.skipif(
        not all(map(shutil.which, ("bash", "curl", "openssl"))), reason="no bash, curl or openssl"
    ),
]


class Reader:
    """Somebody who does what the guide says, with folders and a port of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = Home.create(folder / ".cortex")
        self.env = {**os.environ, "XDG_DATA_HOME": str(folder / "data")}
        self.env["PATH"] = f"{CORTEX.parent}:{self.env['PATH']}"
        for name in ("CORTEX_HOME", "CORTEX_DEBUG"):
            self.env.pop(name, None)
        self.srv = folder / "srv"
        (self.srv / "ci").mkdir(parents=True)
        (self.srv / "ci" / "build.log").write_text(LOG)
        self.port = free_port()
        page = GUIDE.read_text().partition("## What is signed")[0]
        page = page.replace("/srv", str(self.srv)).replace("8787", str(self.port))
        self.said = ""  # what the commands printed that set it up
        self.blocks = [(kind, text) for kind, text in BLOCK.findall(page)]

    def block(self, kind: str, number: int = 0) -> str:
        found: list[str] = [text for each, text in self.blocks if each == kind]
        return found[number]

    def answered(self) -> bool:
        with closing(socket.socket()) as dialled:
            return dialled.connect_ex(("127.0.0.1", self.port)) == 0

    def bash(self, script: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=self.folder, env=self.env,
            capture_output=True, text=True, timeout=STUCK_S, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, done
        return done.stdout

    def json(self, command: str) -> Any:
        return json.loads(self.bash(f"cortex {command} --json"))

    def denied(self) -> list[str]:
        """What posts were refused for, as it was recorded."""
        lines = self.bash("cortex events query --topic plugin.denied --json").splitlines()
        return [json.loads(line)["body"]["reason"] for line in lines]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    reader = Reader(tmp_path)
    (reader.home.processes / "look_into_ci.yaml").write_text(reader.block("yaml"))
    with reader.home.config_path.open("a") as file:
        file.write(f'\n[plugins.webhook]\nlisten = "127.0.0.1:{reader.port}"\n')
        file.write(reader.block("toml"))
    load = f"plugin load webhook --yes {' '.join(UNCONFINED)}"
    reader.said = reader.bash(reader.block("bash").replace("plugin load webhook --yes", load))
    until(reader.answered)
    yield reader
    reader.bash("cortex down --kill")


def test_the_documented_post_stops_at_its_first_gate_and_completes_once_it_is_approved(
    reader: Reader,
) -> None:
    answer = json.loads(reader.bash(reader.block("bash", 1)))
    ((execution,)) = until(
        lambda: [e for e in reader.json("execution list") if e["status"] == "paused"]
    )
    asked = reader.json(f"execution show {execution['id']}")
    listed = reader.bash("cortex execution list")
    reader.bash(f"cortex execution resume {execution['id']} --approve")
    ended = reader.json(f"execution show {execution['id']}")

    assert answer["said"] == "received"
    assert asked["process"] == "look_into_ci"
    assert asked["question"] == "Shall the log of this build be read?"
    assert f"for plugin.webhook: approval: {asked['question']}" in listed
    assert asked["workspace"] == str(reader.srv / "ci")
    assert asked["inputs"]["log"] == "build.log"
    assert ended["status"] == "completed"
    assert ended["steps"] == {"read": "completed"}


def test_a_post_beyond_what_the_hook_grants_is_refused_with_a_reason_that_is_recorded(
    reader: Reader,
) -> None:
    post = reader.block("bash", 1)
    elsewhere = json.loads(reader.bash(post.replace(f'"{reader.srv}/ci"', f'"{reader.folder}"')))
    missing = json.loads(reader.bash(post.replace('"log": "build.log"', '"other": 1')))
    wrong = json.loads(reader.bash(post.replace('"build.log"', "7")))
    (reader.srv / "link").symlink_to(reader.folder)
    linked = json.loads(reader.bash(post.replace(f'"{reader.srv}/ci"', '"link"')))

    recorded = "\n".join(until(lambda: len(found := reader.denied()) >= 4 and found))
    for answer, reason in (
        (elsewhere, "in none of the folders that the hook / grants"),
        (missing, "the body has nothing at inputs.log for 'log'"),
        (wrong, "the body has 7 at inputs.log for 'log', expected: path"),
        (linked, "link"),
    ):
        assert reason in answer["error"]
        assert reason in recorded
    assert reader.json("execution list") == []


def test_a_post_is_asked_for_by_the_plugin_so_that_the_user_of_the_home_may_approve_it(
    reader: Reader,
) -> None:
    path = reader.home.processes / "look_into_ci.yaml"
    path.write_text(
        path.read_text()
        .replace("be read?", "be read?", 1)
        .replace("approved: { question", "approved: { not_by_requester: true, question")
        .replace("version: 1", "version: 2")
    )
    reader.bash("cortex process list")
    reader.bash(reader.block("bash", 1))
    ((execution,)) = until(
        lambda: [e for e in reader.json("execution list") if e["status"] == "paused"]
    )
    shown = reader.bash(f"cortex execution show {execution['id']}")
    traced = reader.bash(f"cortex trace {execution['id']}")
    listed = reader.bash("cortex execution list")
    reader.bash(f"cortex execution resume {execution['id']} --approve")
    ended = reader.json(f"execution show {execution['id']}")

    assert (execution["requested_by"], ended["requested_by"]) == ("plugin.webhook",) * 2
    assert (ended["status"], ended["version"]) == ("completed", 2)
    assert [each["by"] for each in ended["answers"]] == ["owner"]
    for said in (shown, traced, listed):
        assert "plugin.webhook" in said


def test_where_it_listens_is_said_at_its_load_by_up_in_the_list_and_in_its_log(
    reader: Reader,
) -> None:
    where = f"http://127.0.0.1:{reader.port}"

    assert reader.said.count(f"listens on {where}") == 2
    assert f"plugin     webhook loaded: listens on {where}" in reader.said
    for command in ("plugin list", "status", "plugin logs webhook"):
        assert f"listens on {where}" in reader.bash(f"cortex {command}"), command


def test_a_post_whose_workspace_is_not_there_is_refused_and_sets_nothing_going(
    reader: Reader,
) -> None:
    post = reader.block("bash", 1)
    gone = reader.srv / "gone"
    with_status = post.replace("curl -s", "curl -s -w '%{http_code}'")
    answer = reader.bash(with_status.replace(f'"{reader.srv}/ci"', f'"{gone}"'))
    config = reader.home.config_path
    config.write_text(
        config.read_text()
        .replace('workspace_from = "workspace"\n', "")
        .replace(f'workspaces = ["{reader.srv}"]', f'workspace = "{gone}"')
    )
    script = "cortex down && cortex up --background"

    assert answer.endswith("422")
    assert f"the workspace {gone} is not a folder here: make it, or name another" in answer
    assert reader.json("execution list") == []
    said = reader.bash(script)
    assert "plugin     webhook denied: [plugins.webhook] in config.toml: " in said
    assert f"the workspace {gone} of the hook / is not a folder here" in said
