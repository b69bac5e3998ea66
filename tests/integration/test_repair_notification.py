"""Somebody is told, once and signed; what goes wrong is one line without a secret."""

import hashlib
import hmac
import json
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.actors.handlers import SendNotification
from cortex.bus import Event
from cortex.bus.events import EffectUnknown, StepCompleted, StepExecute
from cortex.runtime.kernel import Config, Home

from .repair_world import Bench, done, only, refused

SECRET = "s3cret-of-the-hook"


class Receiver(ThreadingHTTPServer):
    """A web hook on loopback that keeps what it got, and answers as it is told."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Hook)
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.cut_off = 0  # posts that are taken and not answered
        self.url = f"http://127.0.0.1:{self.server_port}/hook/T0KEN"


class Hook(BaseHTTPRequestHandler):
    server: Receiver
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:  # as the library calls it
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((dict(self.headers), body))
        if self.server.cut_off:  # it took the post, and is gone before it answers
            self.server.cut_off -= 1
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        status, headers = self.server.answers.pop(0) if self.server.answers else (204, {})
        self.send_response(status)
        for name, value in {"Content-Length": "0", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
        """Tests are quiet."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def notify(tmp_path: Path) -> SendNotification:
    return SendNotification(Config(), Home.create(tmp_path / ".cortex"))


def send(
    notify: SendNotification, position: int = 7, *, begun: bool = False, **parameters: Any
) -> Event:
    event = StepExecute(
        execution_id="e1",
        step_id="notify",
        action="send_notification",
        goal="Make the build green",
        description="Tell the team",
        parameters=parameters,
    )
    delivery = msgspec.structs.replace(Bench.delivery(position), begun=begun)
    return only(notify.execute(event, delivery))


def writer(path: Path) -> list[str]:
    """A program that writes down what it gets, once more at each run."""
    code = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + '\\n')"
    return [sys.executable, "-c", code, str(path)]


# web hooks


def test_a_web_hook_gets_signed_json(
    notify: SendNotification, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_SECRET", SECRET)

    answered = done(
        send(notify, webhook=receiver.url, secret_env="HOOK_SECRET", data={"commit": "abc"})
    )

    ((headers, body),) = receiver.got
    mac = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    assert headers["X-Cortex-Signature-256"] == f"sha256={mac}"
    assert headers["Content-Type"] == "application/json"
    assert headers["Idempotency-Key"] == answered.result["key"]
    assert json.loads(body) == {
        "key": answered.result["key"],
        "execution": "e1",
        "step": "notify",
        "goal": "Make the build green",
        "message": "Tell the team",
        "data": {"commit": "abc"},
    }
    assert answered.result["status"] == 204
    assert SECRET not in str(answered)
    assert answered.summary == "posted to 127.0.0.1, which answered 204"


def test_the_same_notification_has_the_same_key_and_another_has_not(
    notify: SendNotification, receiver: Receiver
) -> None:
    for position, message in ((7, "a"), (8, "a"), (9, "b")):
        done(send(notify, position, webhook=receiver.url, message=message))

    first, second, other = (headers["Idempotency-Key"] for headers, _ in receiver.got)
    assert first == second != other


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(
    status: int, notify: SendNotification, receiver: Receiver
) -> None:
    receiver.answers.append((status, {"Location": receiver.url}))

    failed = refused(send(notify, webhook=receiver.url))

    assert failed.error == f"127.0.0.1 answered {status}, and redirects are not followed"
    assert len(receiver.got) == 1


@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_a_receiver_that_does_not_take_it_may_be_tried_again(
    status: int, notify: SendNotification, receiver: Receiver
) -> None:
    receiver.answers.append((status, {}))

    failed = refused(send(notify, webhook=receiver.url))

    assert failed.error == f"127.0.0.1 answered {status}"
    assert failed.retry
    assert done(send(notify, webhook=receiver.url)).result["status"] == 204


def test_a_post_that_is_cut_off_is_asked_about(
    notify: SendNotification, receiver: Receiver
) -> None:
    receiver.cut_off = 1

    asked = send(notify, webhook=receiver.url, message="It is green")

    assert isinstance(asked, EffectUnknown)
    assert asked.reason.startswith("127.0.0.1 did not answer: ")
    assert (asked.name, asked.kind, len(receiver.got)) == ("send_notification", "action", 1)


def test_a_post_that_is_cut_off_is_repeated_under_its_key_where_the_receiver_can_tell(
    notify: SendNotification, receiver: Receiver
) -> None:
    receiver.cut_off = 1
    given: dict[str, Any] = {
        "webhook": receiver.url,
        "message": "It is green",
        "effect": "idempotent",
    }

    failed = refused(send(notify, 7, **given))
    answered = done(send(notify, 8, **given))

    assert (failed.retry, failed.error[:22]) == (True, "127.0.0.1 did not answ")
    first, second = (headers["Idempotency-Key"] for headers, _ in receiver.got)
    assert first == second == answered.result["key"]


@pytest.mark.parametrize(("effect", "posts"), [("once", 0), ("idempotent", 1)])
def test_a_post_whose_sender_was_killed_is_asked_about_or_repeated(
    effect: str, posts: int, notify: SendNotification, receiver: Receiver
) -> None:
    said = send(notify, webhook=receiver.url, effect=effect, begun=True)

    assert isinstance(said, StepCompleted if posts else EffectUnknown)
    assert len(receiver.got) == posts


def test_a_receiver_that_is_not_there_is_said_without_the_secret_path(
    notify: SendNotification, receiver: Receiver
) -> None:
    receiver.server_close()

    failed = refused(send(notify, webhook="http://127.0.0.1:9/T0KEN"))

    assert failed.error.startswith("127.0.0.1 was not reached: ")
    assert "T0KEN" not in failed.error


def test_a_proxy_gets_nothing_of_what_stays_on_this_host(
    notify: SendNotification, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)

    assert done(send(notify, webhook=receiver.url)).result["status"] == 204


def test_a_secret_that_is_not_set_is_refused(
    notify: SendNotification, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOOK_SECRET", raising=False)

    failed = refused(send(notify, webhook=receiver.url, secret_env="HOOK_SECRET"))

    assert "variable HOOK_SECRET is not set" in failed.error
    assert receiver.got == []
    assert not failed.retry


# programs


def test_a_program_gets_json_on_its_input(notify: SendNotification, tmp_path: Path) -> None:
    answered = done(send(notify, command=writer(tmp_path / "got"), message="It is green"))

    assert json.loads((tmp_path / "got").read_text())["message"] == "It is green"
    assert (answered.result["by"], answered.result["status"]) == ("command", 0)


def test_a_program_is_told_once_for_one_request(notify: SendNotification, tmp_path: Path) -> None:
    for position in (7, 7, 8):
        done(send(notify, position, command=writer(tmp_path / "got")))

    assert len((tmp_path / "got").read_text().splitlines()) == 2


def test_nothing_that_was_told_stays_behind(notify: SendNotification, tmp_path: Path) -> None:
    done(send(notify, command=["cat"], message="private"))

    assert list((tmp_path / ".cortex/notifications").iterdir()) == []


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (["false"], "false ended with 1"),
        (["no-such-program"], "cannot be started: No such file"),
        (["sh", "-c", "echo no such channel; exit 3"], "sh ended with 3: no such channel"),
    ],
)
def test_a_program_that_fails_is_said(
    command: list[str], error: str, notify: SendNotification
) -> None:
    failed = refused(send(notify, command=command))

    assert error in failed.error
    assert failed.retry


def test_a_program_that_does_not_end_is_ended(notify: SendNotification) -> None:
    failed = refused(send(notify, command=["sleep", "600"], timeout_s=0.3))

    assert (failed.kind, failed.error) == ("timeout", "the program was ended after 0.3 s")


def test_a_program_that_config_does_not_allow_is_refused(tmp_path: Path) -> None:
    config = msgspec.convert({"handlers": {"shell": {"allow": ["make"]}}}, Config)

    failed = refused(send(SendNotification(config, Home.create(tmp_path)), command=["curl"]))

    assert (failed.kind, failed.retry) == ("refused", False)


def test_somebody_is_told_in_one_way(notify: SendNotification) -> None:
    two: dict[str, Any] = {"command": ["cat"], "webhook": "https://example.org/"}

    assert refused(send(notify, **two)).error.startswith(
        "a step notifies one receiver: give one of"
    )


def test_a_step_that_names_nobody_tells_the_teams_web_hook(
    notify: SendNotification, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CORTEX_WEBHOOK", raising=False)
    assert "CORTEX_WEBHOOK is not set: set it to a URL" in refused(send(notify, webhook="")).error

    monkeypatch.setenv("CORTEX_WEBHOOK", receiver.url)
    done(send(notify))

    ((_, body),) = receiver.got
    assert json.loads(body)["message"] == "Tell the team"


def test_without_a_home_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    passing = SendNotification(Config(), None)
    done(send(passing, command=["cat"]))

    passing.on_stop()

    assert list(tmp_path.iterdir()) == []
