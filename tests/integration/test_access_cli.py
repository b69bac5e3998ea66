"""`cortex client` on a home where no hub is up: what it prints, records and refuses."""

import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import Hub, LocalHub, Subscribe, SystemClock, system_entropy
from cortex.bus.events import VOCABULARY, ClientLimited
from cortex.runtime.access import digest_of, owner_token, read_certificate
from cortex.runtime.cli import main
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.log import EventLog


class Shell:
    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capture = folder, capture
        self.home = Home.create(folder / ".cortex")
        self.files: list[str] = []

    def run(self, *args: str, code: int = 0) -> tuple[str, str]:
        self._capture.readouterr()
        ended = main(["client", *args, "--home", str(self.home.path)])
        out, err = self._capture.readouterr()
        assert ended == code, (args, out, err)
        return out, err

    def json(self, *args: str, code: int = 0) -> Any:
        return json.loads(self.run(*args, "--json", code=code)[0])


@pytest.fixture
def shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)


def test_a_token_is_printed_once_and_only_its_digest_is_kept(shell: Shell) -> None:
    out, err = shell.run("add", "alice", "--publish", "step.*", "--work", "step.execute")
    token = out.strip()

    assert "shown once" in err
    assert shell.json("show", "alice")["publish"] == ["step.*"]
    kept = b"".join(p.read_bytes() for p in shell.home.path.rglob("*") if p.is_file())
    assert token.encode() not in kept
    assert digest_of(token).encode() in kept


def test_what_is_granted_can_be_listed_widened_narrowed_and_taken_back(shell: Shell) -> None:
    shell.run("add", "alice", "--publish", "step.*", "--expires", "30d", "--name", "Doer")
    shell.run("grant", "alice", "--read", "gate.*", "--publish", "gate.evaluated")

    (listed,) = shell.json("list")
    assert listed["publish"] == ["gate.evaluated", "step.*"]
    assert listed["read"] == ["gate.*"]
    assert listed["names"] == ["Doer"]
    assert listed["expires"] is not None

    only = shell.json("grant", "alice", "--only", "--subscribe", "*", "--expires", "never")
    assert (only["publish"], only["subscribe"], only["expires"]) == ([], ["*"], None)

    none = shell.json("grant", "alice", "--nothing")
    assert (none["subscribe"], none["names"], none["expires"]) == ([], [], None)

    assert shell.json("revoke", "alice", "--reason", "it left")["reason"] == "it left"
    assert shell.json("list") == []
    assert "it was revoked" in shell.run("show", "alice", code=3)[1]


def test_a_grant_may_name_a_scope_of_memory(shell: Shell) -> None:
    shell.run("add", "alice", "--publish", "memory.record=project:shop")
    granted = shell.json("grant", "alice", "--read", "memory.*=project:shop")

    assert granted["publish"] == ["memory.record=project:shop"]
    assert granted["read"] == ["memory.*=project:shop"]
    assert "memory.record=project:shop" in shell.run("show", "alice")[0]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("memory.record=projct:shop", "'projct:shop' is no scope: write user, project:NAME"),
        ("memory.recrd=project:shop", "did you mean memory.record?"),
        ("memory.undo=project:shop", "events of memory.undo have no key"),
        ("*=project:shop", "a key needs a topic or a family before it"),
    ],
)
def test_a_wrong_key_is_refused_in_one_line(shell: Shell, pattern: str, said: str) -> None:
    out, err = shell.run("add", "alice", "--publish", pattern, code=2)

    assert said in err
    assert not out
    assert "Traceback" not in err
    assert shell.json("list") == []


def test_subscriptions_of_a_revoked_client_go_unless_they_are_kept(shell: Shell) -> None:
    kept = {"alice", "alice/work", "alicia", "Doer"}
    with hub_on(shell.home) as hub:
        for name in kept:
            hub.ask_one("owner", Subscribe(name, "work", (("step.execute", None),)))
    for options in (("--keep-subscriptions",), ()):
        shell.run("add", "alice")
        said = shell.json("revoke", "alice", *options)
        gone = set() if options else {"alice", "alice/work"}
        assert set(said["removed"]) == gone
        with closing(EventLog.open(shell.home.log_path, readonly=True)) as log:
            assert {s.name for s in log.state().standings} == kept - gone


@contextmanager
def hub_on(home: Home) -> Iterator[LocalHub]:
    with closing(EventLog.open(home.log_path)) as log:
        hub = LocalHub(Hub(log, VOCABULARY, system_entropy), SystemClock())
        with closing(hub):
            yield hub


def test_a_token_and_a_certificate_go_to_private_files(shell: Shell) -> None:
    path = shell.folder / "alice.token"

    said = shell.json("add", "alice", "--token-file", str(path), "--certificate", ".")

    assert said["token"] is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    made = read_certificate(Path(said["certificate_file"]))
    assert shell.json("show", "alice")["certificate"] == made.sha256


def test_a_file_that_is_there_is_not_overwritten_and_nobody_is_added(shell: Shell) -> None:
    path = shell.folder / "alice.token"
    path.write_text("mine")

    _, err = shell.run("add", "alice", "--token-file", str(path), code=2)
    _, nowhere = shell.run("add", "alice", "--token-file", "no/such/folder/token", code=2)

    assert (
        err
        == f"cortex: no token can be written to {path}: it is there already: name another file\n"
    )
    assert nowhere.startswith("cortex: no token can be written to no/such/folder/token: No such")
    assert nowhere.count("\n") == 1
    assert path.read_text() == "mine"
    assert shell.json("list") == []


def test_where_nobody_is_added_no_file_is_left(shell: Shell) -> None:
    shell.run("add", "alice", "--token-file", "alice.token", "--publish", "no topic", code=2)

    assert not (shell.folder / "alice.token").exists()


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("add", "Alice"), 2, "small letters"),
        (("add", "owner"), 2, "the runtime's own"),
        (("add", "bob", "--publish", "a b"), 2, "--publish 'a b'"),
        (("add", "bob", "--publish", "grant.*"), 2, "only the runtime and its owner"),
        (("add", "bob", "--expires", "soon"), 2, "is not a time"),
        (("add", "bob", "--expires", "2020-01-01"), 2, "is over"),
        (("add", "bob", "--name", "../x"), 2, "a component's name"),
        (
            ("add", "bob", "--workspace", "/no/such"),
            2,
            "'/no/such' is not a folder of this machine",
        ),
        (("show", "bob"), 3, "none was added yet"),
        (("revoke", "bob"), 3, "none was added yet"),
        (("grant", "bob", "--read", "*"), 3, "none was added yet"),
        (("grant", "bob"), 2, "say what bob may do"),
        (("grant", "bob", "--only", "--expires", "30d"), 2, "or --nothing instead"),
        (("grant", "bob", "--nothing", "--read", "*"), 2, "--nothing takes all rights back"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    shell: Shell, args: tuple[str, ...], code: int, said: str
) -> None:
    out, err = shell.run(*args, code=code)

    assert out == ""
    assert said in err
    assert len(err.splitlines()) == 1
    assert json.loads(shell.run(*args, "--json", code=code)[0])["error"]["exit_code"] == code


def test_a_home_that_another_process_holds_is_named(shell: Shell) -> None:
    log = EventLog.open(shell.home.log_path)
    try:
        _, err = shell.run("add", "alice", code=4)
    finally:
        log.close()

    assert f"held by process {os.getpid()}" in err


def test_the_fingerprint_is_that_of_the_hubs_certificate(shell: Shell) -> None:
    first, _ = shell.run("fingerprint")
    said = shell.json("fingerprint")
    renewed = shell.json("fingerprint", "--renew", "--host", "hub.example")

    keys = shell.home.path / "keys"
    assert first.strip() == said["sha256"] != renewed["sha256"]
    assert read_certificate(keys / "hub.pem").sha256 == renewed["sha256"]
    assert "hub.example" in renewed["hosts"]


def test_the_owners_token_is_there_once_somebody_was_added(shell: Shell) -> None:
    shell.run("add", "alice")

    path = shell.home.path / "keys" / "owner.token"
    assert path.read_text().strip() == owner_token(path.parent)


def test_an_empty_list_says_how_one_is_let_in_and_a_time_has_its_zone(shell: Shell) -> None:
    empty, _ = shell.run("list")
    shell.run("add", "alice", "--expires", "30d")
    shown, _ = shell.run("show", "alice")

    assert empty == "no clients: `cortex client add NAME` authorises one\n"
    assert re.search(r"until +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [A-Z+\-\d]+\n", shown), shown


@pytest.mark.parametrize("verb", ["publish", "subscribe", "read", "work"])
def test_a_grant_of_a_topic_that_there_is_not_is_refused_with_the_nearest(
    shell: Shell, verb: str
) -> None:
    _, added = shell.run("add", "alice", f"--{verb}", "step.complted", code=2)
    shell.json("add", "bob", f"--{verb}", "step.completed", f"--{verb}", "x.his.*")
    _, granted = shell.run("grant", "bob", f"--{verb}", "stp.*", code=2)

    assert f"--{verb} 'step.complted': " in added
    assert "did you mean step.completed?" in added
    assert "did you mean step.*?" in granted
    assert [each["client"] for each in shell.json("list")] == ["bob"]


GATED = """process: deploy
version: 1
gates: [approved]
steps:
  - { id: one, action: shell, with: { run: echo one }, gates: [{ file_exists: { path: a } }] }
"""


def test_a_grant_to_approve_is_refused_where_nothing_of_that_name_was_written(shell: Shell) -> None:
    _, said = shell.run("add", "alice", "--approve", "deploi/approved", code=2)
    of_plugin = GATED.replace("{ file_exists: { path: a } }", "of_a_plugin")
    (shell.home.processes / "deploy.yaml").write_text(of_plugin)
    _, misspelt = shell.run("add", "alice", "--approve", "deploi/approved", code=2)
    shell.run("add", "alice", "--approve", "deploy/of_a_plugin")  # it does not compile here
    mend = "process: mend\nversion: 1\nsteps:\n  - {id: a, goal: x, may: [shell]}\n"
    (shell.home.processes / "mend.yaml").write_text(mend)
    shell.run("grant", "alice", "--approve", "mend/approved")  # which checks its goal

    assert "there is no process deploi yet" in said
    assert "did you mean deploy/approved?" in misspelt


@pytest.mark.parametrize("compiled", [True, False])
def test_a_grant_to_approve_a_gate_that_there_is_not_is_refused_with_the_nearest(
    shell: Shell, compiled: bool
) -> None:
    shell.run("add", "early", "--approve", "*/approved")
    (shell.home.processes / "deploy.yaml").write_text(GATED)
    if compiled:
        main(["run", "deploy", "--home", str(shell.home.path)])  # and asks

    def refused(verb: str, gate: str) -> str:
        return shell.run(verb, "alice" if verb == "add" else "early", "--approve", gate, code=2)[1]

    assert "did you mean deploy/approved?" in refused("add", "deploi/approved")
    assert "did you mean deploy/approved?" in refused("add", "deploy/aproved")
    assert "there are `approved`, `file_exists`" in refused("grant", "deploy/xyz")
    assert "did you mean */approved?" in refused("grant", "*/aprovd")
    for gate in ("deploy/approved", "deploy/*", "*/approved", "*", "deploy/file_exists"):
        shell.run("grant", "early", "--approve", gate)
    assert [each["client"] for each in shell.json("list")] == ["early"]


def test_how_near_its_limits_a_client_is_stands_beside_what_it_holds(shell: Shell) -> None:
    shell.run(
        "add", "alice", "--subscribe", "*", "--limit", "subscriptions=5", "--limit", "deadlines=0"
    )
    with hub_on(shell.home) as hub:
        for number in range(5):
            hub.ask_one("owner", Subscribe(f"alice/{number}", "ordered", (("step.*", None),)))

    (held,) = [shell.json("show", "alice")["holds"]["limits"]]
    shown, _ = shell.run("show", "alice")

    by_key = {each["limit"]: each for each in held}
    assert (by_key["subscriptions"]["used"], by_key["subscriptions"]["most"]) == (5, 5)
    assert by_key["subscriptions"]["near"]
    assert not by_key["filters"]["near"]
    assert "uses       subscriptions 5 of 5, filters 5 of 2,048, " in shown
    assert "deadlines 0 of any number" in shown
    assert "near       subscriptions: 5 of 5" in shown


def test_a_rate_that_a_client_reached_is_shown_without_a_use_that_nobody_keeps(
    shell: Shell,
) -> None:
    shell.run("add", "alice", "--subscribe", "*")
    with Runtime(shell.home) as runtime:
        limited = ClientLimited(client="alice", what="requests_per_s", limit=500, times=3)
        runtime.client("cortex").publish(limited)

    held = shell.json("show", "alice")["holds"]["limits"]
    shown, _ = shell.run("show", "alice")

    assert all(each.get("used", 0) is not None for each in held)
    (rate,) = [each for each in held if each["limit"] == "requests_per_s"]
    assert "used" not in rate
    assert (rate["most"], rate["near"], rate["reached"]) == (500, False, 3)
    assert "reached    requests_per_s of 500: 3 times, last at " in shown


def test_the_list_says_in_which_folders_a_client_may_ask_for_work(shell: Shell) -> None:
    shell.run("add", "alice", "--read", "*")
    shell.run("add", "bob", "--read", "*", "--workspace", str(shell.folder))

    out, _ = shell.run("list")

    header, alice, bob = (line.split("\t") for line in out.splitlines())
    at = header.index("WORKS IN")
    assert (alice[at], bob[at]) == ("any", str(shell.folder))
