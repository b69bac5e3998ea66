"""A hub that is up: commands, workers and programs share it, and it is found again after a kill."""

import json
import os
import signal
import time
from functools import partial
from pathlib import Path

from cortex.bus import Client, Recorded
from cortex.bus.events import (
    ComponentWithdrawn,
    ProcessAnswer,
    ProcessList,
    StepProgress,
    TriggerReceived,
)
from cortex.runtime.kernel import Home
from cortex.runtime.serving import connected, found, note

from ..waiting import until
from .up_world import STUCK_S, Desk, desk, up

__all__ = ["desk"]  # a fixture

GRANTS = (
    *("--name", "Far", "--work", "step.execute", "--publish", "step.*"),
    *("--publish", "component.*", "--read", "component.*"),
    *("--subscribe", "component.*", "--subscribe", "runtime.started"),
)


def test_the_document_says_where_it_listens(desk: Desk) -> None:
    ipc, tls, tcp = desk.up["urls"]

    assert ipc == f"ipc://{desk.home.path}/bus.sock"
    assert tls.startswith("tls+tcp://127.0.0.1:")
    assert tcp.startswith("tcp://127.0.0.1:")
    assert len(desk.up["fingerprint"]) == 64
    assert (desk.home.path / "bus.sock").stat().st_mode & 0o077 == 0


def test_commands_use_the_hub_and_start_no_runtime_of_their_own(desk: Desk) -> None:
    ran, triggered, listed = desk.many(
        ("run", "echo"), ("trigger", "source=test"), ("execution", "list")
    )

    assert [code for code, _, _ in (ran, triggered, listed)] == [0, 0, 0]
    assert ran[1]["status"] == triggered[1]["status"] == "completed"
    assert {row["id"] for row in listed[1]} >= {ran[1]["id"], triggered[1]["id"]}
    assert desk.topics().count("runtime.started") == 1


def test_a_second_hub_and_a_taken_port_are_one_line_each(desk: Desk, tmp_path: Path) -> None:
    port = desk.up["urls"][2]
    other = str(Home.create(tmp_path / ".cortex").path)

    second, taken, open_net, shared = desk.many(
        ("up",),
        ("up", "--home", other, "--listen", port, "--insecure"),
        ("up", "--home", other, "--listen", "tcp://0.0.0.0:0", "--insecure"),
        ("up", "--home", other, "--listen", desk.up["urls"][0]),
    )

    assert (second[0], second[1]["error"]["kind"]) == (4, "AlreadyUpError")
    assert "is up already, in process" in second[1]["error"]["message"]
    assert "address already in use" in taken[1]["error"]["message"]
    assert "would send tokens in the clear" in open_net[1]["error"]["message"]
    assert "another hub listens there" in shared[1]["error"]["message"]
    assert all(err.count("\n") == 1 for _, _, err in (second, taken, open_net, shared))


def test_a_worker_serves_an_action_and_its_work_goes_to_another_when_it_is_killed(
    desk: Desk,
) -> None:
    first = desk.worker("steps:Hold")
    second = desk.worker("steps:Hold", "steps:Greet")
    holding = desk.begin("run", "holding", "--json")

    holder = until(lambda: _pid(desk.folder / "held"))
    os.kill(holder, signal.SIGKILL)
    out, err = holding.communicate(timeout=STUCK_S)

    assert holder in (first.pid, second.pid)
    ended = json.loads(out)
    assert (ended["status"], ended["results"]["held"]["text"]) == ("completed", "attempt 2"), err


def _pid(path: Path) -> int:
    try:
        return int(path.read_text() or 0)
    except FileNotFoundError:
        return 0


def test_a_worker_elsewhere_does_what_it_was_granted_and_ends_when_that_is_revoked(
    desk: Desk,
) -> None:
    url = f"{desk.up['urls'][1]}#{desk.up['fingerprint']}"
    desk.many(("client", "add", "far", *GRANTS, "--token-file", "far.token"))
    far = desk.worker("steps:Far", "--url", url, "--token-file", "far.token")

    served, revoked = desk.many(("run", "far"), ("client", "revoke", "far"))
    _, said = far.communicate(timeout=STUCK_S)

    assert (served[0], served[1]["status"]) == (0, "completed")
    assert revoked[0] == 0
    assert far.returncode == 1
    assert said == "cortex: the hub does not admit this client: its grant was revoked\n"


def test_ctrl_c_while_following_pauses_what_the_hub_runs(desk: Desk) -> None:
    following = desk.run_sleeping("--json")

    following.send_signal(signal.SIGINT)
    until(lambda: "execution.pause" in desk.topics())
    desk.wake()
    out, _ = following.communicate(timeout=STUCK_S)

    assert (following.returncode, json.loads(out)["status"]) == (130, "paused")
    (resumed,) = desk.many(("execution", "resume", json.loads(out)["id"]))
    assert (resumed[0], resumed[1]["status"]) == (0, "completed")


def test_sigterm_while_following_leaves_what_the_hub_runs_to_the_hub(desk: Desk) -> None:
    following = desk.run_sleeping()

    following.send_signal(signal.SIGTERM)
    _, said = following.communicate(timeout=STUCK_S)

    ((_, listed, _),) = desk.many(("execution", "list"))
    found = listed[0]["id"]
    assert following.returncode == 143
    assert f"execution {found} continues on the hub" in said
    assert f"cortex execution show {found}\ncortex execution pause {found}\n" in said
    assert "execution resume" not in said
    desk.wake()
    until(lambda: desk.many(("execution", "show", found))[0][1]["status"] == "completed")


def test_a_program_of_the_owner_is_a_client_in_one_line(desk: Desk) -> None:
    with connected(desk.home, "notes") as client:
        answer = client.ask(ProcessList(name="echo"))
        feed = client.follow(("step.progress", None))
        client.publish(StepProgress(execution_id="e", step_id="s", note="half"))
        (heard,) = feed.next(STUCK_S)

    assert isinstance(answer, ProcessAnswer)
    assert answer.processes[0]["name"] == "echo"
    assert (heard.topic, heard.source) == ("step.progress", "owner/notes")


def test_status_tells_of_clients_subscriptions_and_rates(desk: Desk) -> None:
    with connected(desk.home, "someone"):
        ((code, document, _),) = desk.many(("status",))

    assert (code, document["up"], document["pid"]) == (0, True, desk.up["pid"])
    assert "owner/someone" in {client["name"] for client in document["clients"]}
    assert {row["name"] for row in document["subscriptions"]} > {"ProcessManager", "Shell"}
    assert [rate["over_s"] for rate in document["rates"]] == [10, 60, 900]


def test_files_that_change_start_the_process_that_watches_them(desk: Desk) -> None:
    counted = iter(range(10_000))

    def dropped() -> list[str]:
        # Until it is seen: the watch begins a moment after the process is compiled.
        (desk.folder / "inbox" / f"{next(counted)}.csv").write_text("1")
        (desk.folder / "inbox" / "note.txt").write_text("no")
        time.sleep(0.2)
        with connected(desk.home) as client:
            found = (r for r in client.read() if r.topic == "trigger.received")
            events = [client.vocabulary.read(record) for record in found]
        received = [event for event in events if isinstance(event, TriggerReceived)]
        return [str(e.inputs["path"]) for e in received if e.fields["source"] == "file"]

    paths = until(dropped)

    assert paths[0].startswith("inbox/")
    assert paths[0].endswith(".csv")


def test_what_a_killed_hub_was_at_is_said_to_wait_and_how_to_go_on(desk: Desk) -> None:
    following = desk.run_sleeping()
    os.kill(desk.up["pid"], signal.SIGKILL)
    until(lambda: found(desk.home) is None)

    _, said = following.communicate(timeout=STUCK_S)
    ((_, listed, _),) = desk.many(("execution", "list"))
    shown = desk.run("execution", "show", listed[0]["id"]).stdout
    desk.up = json.loads(up(desk, "--json").stdout)

    unheld = "no hub is up, and no command has the home"
    assert following.returncode == 4
    assert f"execution {listed[0]['id']} continues when a hub is up again" in said
    assert (listed[0]["status"], listed[0]["waiting"]) == ("running", unheld)
    assert f"waiting    nap: {unheld}" in shown
    assert f"cortex execution resume {listed[0]['id']}" in shown
    desk.wake()
    until(lambda: desk.many(("execution", "show", listed[0]["id"]))[0][1]["status"] == "completed")


def test_after_a_kill_the_hub_comes_up_again_and_its_workers_are_there(desk: Desk) -> None:
    desk.worker("steps:Greet")
    os.kill(desk.up["pid"], signal.SIGKILL)
    until(lambda: found(desk.home) is None)
    left_behind = (desk.home.path / "bus.sock").exists() and note.read(desk.home) is not None

    ((down, document, _),) = desk.many(("status",))
    desk.up = json.loads(up(desk, "--json").stdout)
    until(partial(_linked_again, desk))
    (greeted,) = desk.many(("run", "greeting"))

    assert left_behind
    assert (down, document["up"]) == (3, False)
    assert document["subscriptions"]
    assert (greeted[0], greeted[1]["status"]) == (0, "completed")


def _linked_again(desk: Desk) -> bool:
    """Whether the worker has announced again what the new hub's runtime withdrew."""
    with connected(desk.home) as client:
        withdrawn = [r.position for r in client.read_stream("registry") if _withdraws(client, r)]
        newest = list(client.read_stream("process/greeting"))[-1]
    return newest.topic == "process.compiled" and newest.position > max(withdrawn)


def _withdraws(client: Client, record: Recorded) -> bool:
    event = client.vocabulary.read(record)
    return isinstance(event, ComponentWithdrawn) and event.component == "Greet"


def test_down_ends_it_in_good_order(desk: Desk) -> None:
    ended, again = desk.many(("down",), ("down",))

    assert (ended[0], ended[1]["pid"]) == (0, desk.up["pid"])
    assert (again[0], again[1]["error"]["kind"]) == (3, "NotUpError")
    assert not (desk.home.path / "bus.sock").exists()
    assert note.read(desk.home) is None
    workers = [p for p in desk.workers if p.poll() is None]
    for process in workers:
        process.send_signal(signal.SIGTERM)
    assert [process.wait(STUCK_S) for process in workers] == [0] * len(workers)
