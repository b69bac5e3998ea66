"""Nobody passes a gate as somebody else: who approves is who the hub authenticated."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from cortex.bus import Client, Draft, Due, Event, NotGrantedError, Publish
from cortex.bus.events import (
    ComponentAnnounced,
    ComponentWithdrawn,
    ExecutionCompleted,
    ExecutionHalted,
    ExecutionPaused,
    ExecutionRated,
    ExecutionRefused,
    ExecutionRequest,
    ExecutionResume,
    ExecutionResumed,
    GateEvaluate,
    GateEvaluated,
    GrantGiven,
)
from cortex.runtime.access import GrantInvalidError, Terms, issue
from cortex.runtime.cli import main
from cortex.runtime.kernel import Home

from ..staff_world import World as InProcess
from .clients_world import Served, served

ALL_BEFORE = 1 << 62  # of a resume: whoever sends it has seen what was recorded before it

ASKS = """
process: {name}
version: 1
{more}
steps:
  - id: one
    action: read_text
    with: {{path: a.txt}}
    gates:
      - approved: {rule}
"""
RESUMES: dict[str, Any] = {
    "publish": ("execution.*", "gate.*"),
    "read": ("*",),
    "subscribe": ("*",),
}


@pytest.fixture(scope="module")
def hub() -> Iterator[Served]:
    folder = Path(tempfile.mkdtemp(prefix="cx"))  # short: a socket's path has a bound
    (folder / "a.txt").write_text("hello")
    with served(folder) as service:
        world = Served(Home(folder / ".cortex"), service)
        yield world
        world.close()
    shutil.rmtree(folder)


def asking(hub: Served, name: str, rule: str = "{}", **fields: Any) -> str:
    """An execution that waits at the gate of the process *name*."""
    hub.compiled(ASKS.format(name=name, rule=rule, more=""))
    return hub.request(name, workspace=str(hub.home.path.parent), **fields)


def tried(hub: Served, execution_id: str, client: Client, *events: Event) -> list[GateEvaluated]:
    """What the gate said once *client* has published, and the owner has resumed after it."""
    for event in events:
        client.publish(event)
    # The owner's resume without an answer comes after whatever was published before it.
    after = hub.owner.publish(ExecutionResume(seen=ALL_BEFORE, execution_id=execution_id)) - 1
    hub.stopped(execution_id, after)
    return hub.events(GateEvaluated, execution_id)


@pytest.mark.parametrize("carrier", ["ipc", "tls"])
def test_text_in_the_body_names_nobody(carrier: str, hub: Served) -> None:
    execution_id = asking(hub, f"text_{carrier}")
    mallory = hub.client(f"mallory-{carrier}", getattr(hub, carrier), **RESUMES)

    forged = ExecutionResume(
        seen=ALL_BEFORE, execution_id=execution_id, answer="approved", by="owner"
    )
    verdicts = tried(hub, execution_id, mallory, forged)

    assert {verdict.outcome for verdict in verdicts} == {"waiting"}


@pytest.mark.parametrize("carrier", ["ipc", "tls"])
def test_a_grant_to_publish_everything_approves_nothing(carrier: str, hub: Served) -> None:
    name = f"everything_{carrier}"
    execution_id = asking(hub, name)
    terms: dict[str, Any] = {"publish": ("*",), "approve": ("another/approved", f"{name}/another")}
    mallory = hub.client(f"mallory-of-{carrier}", getattr(hub, carrier), **terms)
    answer = ExecutionResume(
        seen=ALL_BEFORE, execution_id=execution_id, answer="approved", gate=f"{name}/approved"
    )
    due = Due("later", 1, Draft.of(answer))

    with pytest.raises(NotGrantedError, match="approve"):
        mallory.publish(answer)
    with pytest.raises(NotGrantedError, match="approve"):  # behind one that takes no such grant
        mallory.publish(ExecutionResume(seen=ALL_BEFORE, execution_id=execution_id), answer)
    with pytest.raises(NotGrantedError, match="approve"):
        mallory.hub.ask_one(mallory.name, Publish((), due=(due,)))

    assert {verdict.outcome for verdict in tried(hub, execution_id, mallory)} == {"waiting"}
    denied = [(each.verb, each.about) for each in hub.denials(f"mallory-of-{carrier}")]
    assert denied[0] == ("approve", f"{name}/approved")


@pytest.mark.parametrize("carrier", ["ipc", "tls"])
def test_who_is_granted_a_gate_answers_it_under_the_authenticated_name(
    carrier: str, hub: Served
) -> None:
    name = f"granted_{carrier}"
    execution_id = asking(hub, name)
    alice = hub.client(f"alice-{carrier}", getattr(hub, carrier), approve=(f"{name}/*",))

    with pytest.raises(NotGrantedError):  # she may approve, and no more
        alice.publish(ExecutionResume(seen=ALL_BEFORE, execution_id=execution_id))
    after = alice.publish(
        ExecutionResume(
            seen=ALL_BEFORE,
            execution_id=execution_id,
            answer="approved",
            by="boss",
            gate=f"{name}/approved",
        )
    )

    assert isinstance(hub.stopped(execution_id, after), ExecutionCompleted)
    assert hub.events(GateEvaluated, execution_id)[-1].evidence["by"] == f"alice-{carrier}"
    assert hub.events(ExecutionResumed, execution_id)[-1].by == f"alice-{carrier}"


def test_a_gate_says_who_may_answer_it(hub: Served, capsys: pytest.CaptureFixture[str]) -> None:
    rule = "{by: [carol]}"
    execution_id = asking(hub, "for_carol", rule)
    (asked,) = hub.events(ExecutionPaused, execution_id)
    bob, carol = (hub.client(name, approve=("for_carol/approved",)) for name in ("bob", "carol"))
    answer = ExecutionResume(
        seen=ALL_BEFORE,
        execution_id=execution_id,
        answer="approved",
        by="carol",
        gate="for_carol/approved",
    )

    after = bob.publish(answer)
    refused = hub.stopped(execution_id, after)
    for_owner = hub.stopped(execution_id, hub.owner.publish(answer))
    ended = hub.stopped(execution_id, carol.publish(answer))

    assert asked.question.endswith("(carol may answer)")
    assert isinstance(refused, ExecutionPaused)
    assert "not bob: carol may answer" in refused.question
    assert isinstance(for_owner, ExecutionPaused)
    assert "not owner" in for_owner.question
    assert isinstance(ended, ExecutionCompleted)
    at = ["--home", str(hub.home.path)]
    assert main(["execution", "show", execution_id, *at]) == 0
    shown = capsys.readouterr().out
    assert "answered   approved at one, which the gate does not take, by bob" in shown
    assert "answered   approved at one by carol" in shown


def test_what_is_neither_approved_nor_denied_answers_no_gate(hub: Served) -> None:
    execution_id = asking(hub, "yes_or_no")
    carol = hub.client("carol-of-yes", approve=("yes_or_no/approved",))
    answer = ExecutionResume(
        seen=ALL_BEFORE, execution_id=execution_id, answer="yes", gate="yes_or_no/approved"
    )

    carol.publish(answer)
    after = carol.publish(msgspec.structs.replace(answer, answer="denied"))
    ended = hub.stopped(execution_id, after)

    assert isinstance(ended, ExecutionHalted)
    assert [e.answer for e in hub.events(ExecutionResumed, execution_id)] == ["denied"]
    (refused,) = hub.events(ExecutionRefused, execution_id)
    assert refused.reason == "'yes' does not answer a gate: approved or denied does"


def test_who_asked_for_it_may_be_kept_from_approving_it(hub: Served) -> None:
    terms: dict[str, Any] = {
        "publish": ("execution.request",),
        "approve": ("*/approved",),
        "names": ("Helper",),
    }
    dave = hub.client("dave", **terms)
    execution_id = asking(
        hub, "four_eyes", "{not_by_requester: true}", asker=dave, requested_by="somebody"
    )
    answer = ExecutionResume(
        seen=ALL_BEFORE, execution_id=execution_id, answer="approved", gate="four_eyes/approved"
    )

    refused = hub.stopped(execution_id, dave.publish(answer))
    with pytest.raises(NotGrantedError, match="hold"):  # nor in the name of what he hosts
        dave.hub.ask_one("Helper", Publish((Draft.of(answer),)))
    ended = hub.stopped(execution_id, hub.owner.publish(answer))

    assert isinstance(refused, ExecutionPaused)
    assert "not dave, who requested it" in refused.question
    assert isinstance(ended, ExecutionCompleted)
    evidence = hub.events(GateEvaluated, execution_id)[-1].evidence
    assert (evidence["by"], evidence["requested_by"]) == ("owner", "dave")


def test_nobody_asks_in_the_name_of_a_component_and_then_approves(hub: Served) -> None:
    terms: dict[str, Any] = {
        "publish": ("execution.request",),
        "approve": ("*",),
        "names": ("Robot",),
    }
    erin = hub.client("erin", **terms)
    hub.compiled(ASKS.format(name="by_robot", rule="{not_by_requester: true}", more=""))
    request = ExecutionRequest(
        execution_id="robots", process="by_robot", workspace=str(hub.home.path.parent)
    )
    asked = erin.hub.ask_one("Robot", Publish((Draft.of(request),)))
    hub.stopped("robots", asked.first)  # type: ignore[attr-defined]  # Appended

    after = erin.publish(
        ExecutionResume(
            seen=ALL_BEFORE, execution_id="robots", answer="approved", gate="by_robot/approved"
        )
    )

    stopped = hub.stopped("robots", after)
    assert isinstance(stopped, ExecutionPaused)
    assert "not erin, who requested it" in stopped.question


FORGED: list[Event] = [
    GateEvaluated(execution_id="?", gate="approved", outcome="passed", step_id="one", attempt=2),
    GateEvaluate(
        execution_id="?", gate="approved", step_id="one", attempt=2, answer="approved", by="owner"
    ),
    ExecutionResumed(execution_id="?", step_id="one", answer="approved", by="owner"),
    ExecutionPaused(execution_id="?", reason="approval", question="Lunch?", gate="x/approved"),
    ExecutionCompleted(execution_id="?"),
]


@pytest.mark.parametrize("forged", FORGED, ids=lambda event: event.topic_name())
def test_the_facts_of_a_gate_come_from_the_runtime_alone(forged: Event, hub: Served) -> None:
    kind = forged.topic_name().replace(".", "_")
    execution_id = asking(hub, f"facts_{kind}")
    forged = msgspec.structs.replace(forged, execution_id=execution_id)
    mallory = hub.client(f"mallory.{kind}", names=("Other",), **RESUMES)
    # The question of the second attempt is answered before it is asked, and after.
    resume = ExecutionResume(seen=ALL_BEFORE, execution_id=execution_id)

    for source in ("", "Other"):
        try:
            mallory.hub.ask_one(source or mallory.name, Publish((Draft.of(forged),)))
        except NotGrantedError:
            assert not isinstance(forged, GateEvaluated)
        mallory.publish(resume)
    for source in ("Approved", "ProcessExecutionEngine", "owner/x", "runtime"):
        with pytest.raises(NotGrantedError):
            mallory.hub.ask_one(source, Publish((Draft.of(forged),)))

    verdicts = tried(hub, execution_id, mallory)
    real = [v for v in verdicts if v.outcome == "passed"]
    assert [v for v in real if "question" in v.evidence] == []
    assert hub.events(ExecutionCompleted, execution_id) == []
    assert not [e for e in hub.events(ExecutionResumed, execution_id) if e.answer]


def test_no_client_takes_the_place_of_the_gate_that_asks(hub: Served) -> None:
    grants = {"publish": ("component.*", "gate.*"), "work": ("gate.evaluate",), "names": ("Evil",)}
    mallory = hub.client("mallory.evil", **cast("dict[str, Any]", grants))
    mine = ComponentAnnounced(component="Evil", kind="gate", name="approved")

    mallory.publish(mine)
    mallory.publish(ComponentWithdrawn(component="Approved", kind="gate", name="approved"))
    mallory.publish(ComponentWithdrawn(component="Evil", kind="gate", name="approved"), mine)
    execution_id = asking(hub, "mine_alone")

    (asked,) = hub.events(GateEvaluate, execution_id)
    assert asked.component == "Approved"


def test_grants_to_approve_are_given_by_the_owner_alone_and_checked(hub: Served) -> None:
    mallory = hub.client("mallory", publish=("*",))
    given = GrantGiven(client="mallory", token_sha256="0" * 64, approve=("*",))

    with pytest.raises(NotGrantedError):
        mallory.publish(given)
    for pattern in ("approved", "a/b/c", "deploy/", "/approved", "deploy/app*"):
        with pytest.raises(GrantInvalidError, match="--approve"):
            issue(hub.owner, "frank", Terms(approve=(pattern,)))
    with pytest.raises(GrantInvalidError, match=r"execution\.resumed"):
        issue(hub.owner, "frank", Terms(publish=("execution.resumed",)))


def test_a_parent_hands_an_answer_on_in_the_name_of_who_gave_it(hub: Served) -> None:
    hub.compiled(ASKS.format(name="inner", rule="{by: [grace]}", more=""))
    hub.compiled("process: outer\nversion: 1\nsteps:\n  - id: all\n    process: inner\n")
    grace = hub.client("grace", approve=("inner/approved",))
    heidi = hub.client("heidi", approve=("outer/*",))
    execution_id = hub.request("outer", workspace=str(hub.home.path.parent))
    answer = ExecutionResume(
        seen=ALL_BEFORE, execution_id=execution_id, answer="approved", by="grace"
    )
    asked = hub.events(ExecutionPaused, execution_id)[-1].gate

    with pytest.raises(NotGrantedError):
        heidi.publish(msgspec.structs.replace(answer, gate=asked))
    heidi.publish(msgspec.structs.replace(answer, gate="outer/approved"))
    after = grace.publish(msgspec.structs.replace(answer, by="", gate=asked))

    assert asked == "inner/approved"
    assert isinstance(hub.stopped(execution_id, after), ExecutionCompleted)
    assert [e.by for e in hub.events(ExecutionResumed, execution_id)] == ["grace"]


def test_whatever_shows_a_name_shows_the_authenticated_one(
    hub: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    nina = hub.client(
        "nina", approve=("shown/*",), publish=("execution.request", "execution.rated")
    )
    execution_id = asking(hub, "shown", asker=nina, requested_by="boss")
    answer = ExecutionResume(
        seen=ALL_BEFORE,
        execution_id=execution_id,
        answer="approved",
        by="boss",
        note="read",
        gate="shown/approved",
    )
    hub.stopped(execution_id, nina.publish(answer))
    nina.publish(ExecutionRated(execution_id=execution_id, verdict="good", by="boss"))
    at = ["--home", str(hub.home.path)]

    shown: list[str] = []
    for command in (["execution", "show"], ["trace"], ["trace", "--full"]):
        for form in ([], ["--json"]):
            assert main([*command, execution_id, *form, *at]) == 0
            shown.append(capsys.readouterr().out)
    document = json.loads(shown[1])

    assert (document["requested_by"], document["answers"][0]["by"]) == ("nina", "nina")
    assert "answered   approved at one by nina: read" in shown[0]
    assert all("nina" in each and "boss" not in each for each in shown)


def test_in_one_process_the_name_is_the_clients_too(tmp_path: Path) -> None:
    from cortex.runtime.kernel import Runtime

    from ..staff_world import QUICK

    (tmp_path / "a.txt").write_text("hello")
    with Runtime(Home.create(tmp_path / ".cortex"), components=QUICK) as runtime:
        world = InProcess(runtime)
        world.compiled(ASKS.format(name="mine", rule="{by: [ivan]}", more=""))
        run = world.run("mine", workspace=str(tmp_path))
        gate = run.last(ExecutionPaused).gate
        answer = ExecutionResume(
            seen=ALL_BEFORE, execution_id=run.execution_id, answer="denied", by="ivan", gate=gate
        )

        refused = world.stopped(run.execution_id, runtime.client("judy").publish(answer))
        denied = world.stopped(run.execution_id, runtime.client("ivan").publish(answer))

    assert refused.outcome == "paused"
    assert denied.last(ExecutionHalted).reason.endswith("ivan denied it")
