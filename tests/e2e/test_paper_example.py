"""The paper's own example, untouched: a signed post about a red build becomes a green commit."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from cortex.plugins.webhook import signature_of

from ..ports import free_port
from ..servers import ScriptedServer
from ..waiting import until
from .paper_world import MISSING, SEEDS, UNCONFINED, keep
from .repair_world import (
    DIAGNOSIS,
    PYTHON,
    User,
    assert_green,
    checkout_of,
    diagnosis,
    model,
    patch,
    print_of,
    server,
    use,
)

__all__ = ["server"]  # a fixture

SECRET = "a secret of the test"
HOOK = """
[plugins.webhook]
listen = "127.0.0.1:{port}"

[[plugins.webhook.hooks]]
path = "/"
workspace = "{workspace}"
"""

pytestmark = pytest.mark.skipif(not SEEDS.is_dir(), reason=MISSING)


class Team(BaseHTTPRequestHandler):
    """A web hook that keeps what it was told."""

    told: ClassVar[list[Any]] = []

    def do_POST(self) -> None:  # as the library calls it
        self.told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
        """Tests are quiet."""


@pytest.fixture
def team() -> Iterator[str]:
    """The URL of the team's web hook."""
    Team.told.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Team) as opened:
        thread = threading.Thread(target=opened.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{opened.server_port}/team"
        opened.shutdown()
        thread.join()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository whose one test fails, beside the log of the build that said so."""
    return checkout_of(PYTHON, tmp_path)


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def user(checkout: Path, server: ScriptedServer, port: int) -> User:
    """Somebody who has copied the paper's file into a home that takes up posts."""
    user = User(checkout)
    use(user.home, model("scripted", server), HOOK.format(port=port, workspace=checkout))
    keep(user, "fix_ci_failure.yaml", "project.ci_pipeline")
    secret = user.home.path / "keys" / "secrets" / "CORTEX_WEBHOOK_SECRET"
    secret.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    secret.write_text(f"{SECRET}\n")
    secret.chmod(0o600)
    user.cortex("plugin", "load", "webhook", "--yes", *UNCONFINED)
    return user


def post(port: int, what: dict[str, Any]) -> int:
    body = json.dumps(what).encode()
    signed = {"X-Cortex-Signature": signature_of("/", body, SECRET, int(time.time()))}
    with closing(HTTPConnection("127.0.0.1", port, timeout=120)) as connection:
        connection.request("POST", "/", body, signed)
        return connection.getresponse().status


def answered(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.fixture
def hub(user: User, port: int) -> Iterator[None]:
    """Their hub, which takes posts."""
    user.cortex("up", "--background")
    until(lambda: answered(port))
    yield
    user.cortex("down", "--kill")


@pytest.mark.usefixtures("hub")
def test_the_papers_example_as_it_stands_repairs_a_red_repository_after_a_post(
    user: User, server: ScriptedServer, checkout: Path, port: int, tmp_path: Path
) -> None:
    before = print_of(checkout)
    server.script.answers[:] = [diagnosis(), patch(PYTHON.fix)]

    status = post(
        port,
        {
            "fields": {"source": "ci", "status": "failure"},
            "inputs": {"log": str(checkout.parent / "ci.log")},
            "goal": "make main green",
        },
    )
    ended = until(
        lambda: [
            row
            for row in user.json("execution", "list")
            if row["status"] not in ("running", "requested")
        ]
    )

    assert status == 202
    (execution,) = ended
    shown = user.json("execution", "show", execution["id"], code=0)
    assert (shown["process"], shown["version"], shown["status"]) == (
        "fix_ci_failure",
        3,
        "completed",
    ), shown
    assert_green(PYTHON, checkout, f"cortex/{execution['id']}", tmp_path)
    assert print_of(checkout) == before
    diagnosed, written = (json.dumps(each.body) for each in server.asked)
    assert "AssertionError" in diagnosed
    assert DIAGNOSIS in written
    assert "result -= price" in written


def test_the_papers_child_as_it_stands_repairs_it_and_tells_the_team(
    user: User, server: ScriptedServer, checkout: Path, team: str, tmp_path: Path
) -> None:
    keep(user, "fix_ci_failure_with_notification.yaml", "team.notification_preferences")
    user.env["CORTEX_WEBHOOK"] = team
    server.script.answers[:] = [diagnosis(), patch(PYTHON.fix)]

    ended = user.json("run", "fix_ci_failure_with_notification", "-i", "log=../ci.log")

    assert ended["status"] == "completed"
    assert_green(PYTHON, checkout, f"cortex/{ended['id']}", tmp_path)
    (told,) = Team.told
    assert told["message"] == "Notify the team that the CI failure has been fixed"
