"""Workers that are killed, missed, or told to end while the hub is away."""

import json
import signal
from pathlib import Path
from typing import Any

from cortex.bus.events import StepUnclaimed
from cortex.runtime.serving import connected, found

from ..waiting import until
from .up_world import STUCK_S, Desk, desk

__all__ = ["desk"]  # a fixture

TYPED = """process: typed
version: 1
inputs: { count: integer }
steps:
  - { id: hello, action: greet, with: { who: "${inputs.count}" } }
"""


def unclaimed(desk: Desk) -> StepUnclaimed | None:
    with connected(desk.home) as client:
        events = [client.vocabulary.read(r) for r in client.read() if r.topic == "step.unclaimed"]
    return next((event for event in events if isinstance(event, StepUnclaimed)), None)


def validated(desk: Desk, path: Path) -> tuple[str, str]:
    """Code and message of the one diagnostic of a source."""
    ((_, document, _),) = desk.many(("process", "validate", str(path)))
    (told,) = document["diagnostics"]
    return told["code"], told["message"]


def test_a_step_whose_worker_was_killed_is_told_pauses_at_once_and_goes_on_with_the_next(
    desk: Desk,
) -> None:
    worker = desk.worker("steps:Greet")
    desk.many(("process", "list"))  # compiles what needs it
    worker.kill()
    worker.communicate()
    running = desk.begin("run", "greeting", "--json")

    told: Any = until(lambda: unclaimed(desk))
    ((_, paused, _),) = desk.many(("execution", "pause", told.execution_id))
    out, _ = running.communicate(timeout=STUCK_S)
    resumed = desk.begin("execution", "resume", told.execution_id, "--json")
    desk.worker("steps:Greet")
    ended, _ = resumed.communicate(timeout=STUCK_S)

    assert (told.action, told.step_id) == ("greet", "hello")
    assert paused["status"] == json.loads(out)["status"] == "paused"
    assert json.loads(ended)["status"] == "completed"
    assert desk.topics().count("step.execute") == 1


def test_a_step_that_waits_is_shown_and_is_carried_out_by_nobody_once_it_is_cancelled(
    desk: Desk,
) -> None:
    desk.worker("steps:Greet")
    for worker in desk.workers:
        worker.kill()
        worker.communicate()
    before = desk.topics().count("step.unclaimed")
    following = desk.begin("run", "greeting", "--json")
    until(lambda: desk.topics().count("step.unclaimed") > before)

    ((_, (row, *_), _),) = desk.many(("execution", "list"))
    shown = desk.run("execution", "show", row["id"]).stdout
    listed = desk.run("execution", "list").stdout
    _, (_, standing, _) = desk.many(("execution", "cancel", row["id"]), ("status",))
    _, told_of = following.communicate(timeout=STUCK_S)
    desk.worker("steps:Greet")
    ((_, later, _),) = desk.many(("run", "greeting"))  # the worker takes the oldest first

    assert "hello: no component runs greet" in told_of
    assert "start the worker that hosts Greet: cortex worker MODULE:NAME" in told_of
    assert row["waiting"] == "no component runs greet"
    assert "waiting    hello: no component runs greet" in shown
    assert "no component runs greet" in listed
    assert [s["lag"] for s in standing["subscriptions"] if s["name"] == "Greet"] == [0]
    assert later["status"] == "completed"
    with connected(desk.home) as client:
        told = [record.topic for record in client.read_stream(f"execution/{row['id']}")]
    assert told[-1] == "execution.cancelled"


def test_a_source_is_checked_against_what_only_a_worker_serves(desk: Desk) -> None:
    path = desk.folder / "typed.yaml"
    path.write_text(TYPED)

    desk.worker("steps:Greet")

    code, message = validated(desk, path)
    assert (code, "takes a string" in message) == ("P407", True), message


def test_a_dry_run_sees_what_workers_serve_as_validate_and_run_do_and_asks_none_of_them(
    desk: Desk,
) -> None:
    desk.worker("steps:Greet")
    before = desk.topics().count("step.execute")
    source = desk.home.processes / "greeting.yaml"

    (checked, rehearsed, ran) = desk.many(
        ("process", "validate", str(source)),
        ("process", "dry-run", "greeting"),
        ("run", "greeting"),
    )

    assert [code for code, _, _ in (checked, rehearsed, ran)] == [0, 0, 0]
    assert [step["runs"] for step in rehearsed[1]["steps"]] == ["greet"]
    assert desk.topics().count("step.execute") == before + 1


def test_a_worker_that_is_told_to_end_while_the_hub_is_away_does_not_wait_for_it(
    desk: Desk,
) -> None:
    worker = desk.worker("steps:Hold")
    running = desk.begin("run", "holding")
    until(lambda: (desk.folder / "held").exists())  # it has a step in hand
    desk.run("down", "--timeout", "0", "--kill")

    worker.send_signal(signal.SIGTERM)
    _, said = worker.communicate(timeout=STUCK_S)
    running.kill()

    assert worker.returncode == 0
    last = said.splitlines()[-1]
    assert last.startswith("ended while the hub is away: its work goes to another worker")


def test_where_no_hub_is_up_it_is_said_that_a_worker_must_serve_it(desk: Desk) -> None:
    path = desk.folder / "typed.yaml"
    path.write_text(TYPED)
    if found(desk.home):
        desk.run("down", "--kill")

    code, message = validated(desk, path)

    assert code == "P401"
    assert message == "no component here serves the action `greet`: a worker or a plugin must"
