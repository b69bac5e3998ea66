"""What `cortex status` and `cortex doctor` find: silent servers of tools, a disk that is full."""

import importlib.util
import json
import shutil
import time

import pytest

from cortex.bus import connect
from cortex.bus.events import ToolListed
from cortex.runtime.access import Terms, issue
from cortex.runtime.cli import main
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.serving import Service, connected
from cortex.runtime.serving.doctor import silent_servers_of

PATIENCE_S = 120.0
NEVER_ASKED = '[[tools.mcp]]\nname = "idle"\ncommand = ["never-asked"]\n'
CONFIG = """
[[tools.mcp]]
name = "absent"
command = ["no-such-program"]

[[tools.mcp]]
name = "broken"
command = ["sh", "-c", "echo it lacks a key >&2; exit 3"]
"""

TERMS = Terms(publish=("tool.listed",))

needs_sdk = pytest.mark.skipif(
    importlib.util.find_spec("mcp") is None, reason="the extra `mcp` is not installed"
)


def listings(home: Home, server: str) -> list[ToolListed]:
    with History.open(home) as history:
        records = history.stream(f"tools/{server}")
        return [e for e in map(history.event, records) if isinstance(e, ToolListed)]


@pytest.fixture
def asked(home: Home) -> Home:
    """A home whose two servers were asked, and one that was configured since."""
    home.config_path.write_text(CONFIG)
    with Runtime(home):
        over_s = time.monotonic() + PATIENCE_S
        while any(len(listings(home, name)) < 2 for name in ("absent", "broken")):
            assert time.monotonic() < over_s
            time.sleep(0.05)
    home.config_path.write_text(CONFIG + NEVER_ASKED)
    return home


@needs_sdk
def test_a_server_that_offers_nothing_is_named_with_the_reason_by_status_and_doctor(
    asked: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "--home", str(asked.path)]) == 3
    status = capsys.readouterr().out
    assert main(["status", "--home", str(asked.path), "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    main(["doctor", "--home", str(asked.path), "--json"])
    checks = json.loads(capsys.readouterr().out)

    said = str(asked.path / "logs" / "mcp-broken.log")
    assert "no tools   absent: its command is not installed\n" in status
    assert "no tools   broken: it ended, or closed the connection\n" in status
    assert f"-> {said}" in status
    assert "no tools   idle: not asked yet: the next start of Cortex asks it\n" in status
    assert [(e["name"], e["log"], e["asked"]) for e in document["silent_servers"]] == [
        ("absent", "", True),
        ("broken", said, True),
        ("idle", "", False),
    ]
    tools = [check for check in checks if check["name"] == "tools"]
    assert [check["state"] for check in tools] == ["warn", "warn"]
    assert tools[0]["found"] == "absent offers none: its command is not installed"
    assert said in tools[1]["todo"]


@needs_sdk
def test_status_works_where_the_configuration_cannot_be_read(
    asked: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    asked.config_path.write_text("[tools\n")

    assert main(["status", "--home", str(asked.path), "--json"]) == 3

    assert json.loads(capsys.readouterr().out)["silent_servers"] == []


@pytest.mark.parametrize(
    ("free", "state", "said"),
    [
        (5 << 30, "ok", "5.0 GiB free"),
        (100 << 20, "warn", "100.0 MiB free"),
        (9 << 20, "fail", "9.0 MiB free"),
    ],
)
def test_doctor_says_a_small_rest_of_the_disk_in_mebibytes(
    free: int,
    state: str,
    said: str,
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    usage = shutil.disk_usage(home.path)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)

    main(["doctor", "--home", str(home.path), "--json"])

    (disk,) = [each for each in json.loads(capsys.readouterr().out) if each["name"] == "disk"]
    assert (disk["state"], disk["found"]) == (state, said)


def test_nobody_else_hides_that_a_server_is_silent(home: Home) -> None:
    home.config_path.write_text(NEVER_ASKED)
    with Service(home, components=()), connected(home) as owner:
        token = issue(owner, "other", TERMS)
        owner.publish(ToolListed(server="idle", reason="idle: it ended"))
        with connect(f"ipc://{home.path}/bus.sock", token=token, name="other") as other:
            other.publish(ToolListed(server="idle", tools=({"name": "look"},)))

    with History.open(home) as history:
        found = silent_servers_of(history)

    assert [(each.name, each.reason) for each in found] == [("idle", "it ended")]
