"""Nobody edits a prompt, skips a step or gives its result without a grant that names just that."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import Client, Event, NotGrantedError
from cortex.bus.events import (
    ContextEdit,
    ContextEdited,
    ExecutionRefused,
    ExecutionResume,
    StepCompleted,
    StepFanned,
    StepItemChanged,
    StepSettle,
    StepSettled,
    StepSkipped,
)
from cortex.runtime.kernel import Home

from .clients_world import Served, served

PROCESS = """process: guarded
version: 1
gates: [approved]
steps:
  - { id: one, action: answer_question, description: Say it., with: { question: why? } }
"""
WIDE = ("*", "execution.*", "step.*", "context.*")
EDIT = {"section": "step", "item": "", "old": "why?", "new": "who?"}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Served]:
    home = Home.create(tmp_path / ".cortex")
    home.require_trust()
    with served(tmp_path, None) as service:
        world = Served(home, service)
        world.compiled(PROCESS)
        yield world
        world.close()


def asked(execution_id: str, seen: int) -> list[Event]:
    return [
        ContextEdit(execution_id=execution_id, prompt="0" * 64, edits=(EDIT,), seen=seen),
        StepSettle(execution_id=execution_id, step_id="one", outcome="skipped", seen=seen),
        StepSettle(
            execution_id=execution_id, step_id="one", outcome="replaced", result={"x": 1}, seen=seen
        ),
    ]  # fmt: skip


def stated(execution_id: str) -> list[Event]:
    """What the engine says once it followed such a request."""
    settled: dict[str, Any] = {
        "execution_id": execution_id,
        "step_id": "one",
        "outcome": "skipped",
        "by": "owner",
    }
    edited: dict[str, Any] = {"before": "0" * 64, "prompt": "1" * 64, "edits": (), "by": "owner"}
    return [
        StepSettled(**settled),
        StepSkipped(execution_id=execution_id, step_id="one", reason="so"),
        StepFanned(execution_id=execution_id, step_id="one", items=1, at_once=1),
        StepItemChanged(execution_id=execution_id, step_id="one", item=1, status="completed"),
        ContextEdited(execution_id=execution_id, step_id="one", attempt=1, turn=0, **edited),
    ]


def denied(client: Client, event: Event) -> bool:
    with pytest.raises(NotGrantedError):
        client.publish(event)
    return True


@pytest.mark.parametrize("carrier", ["ipc", "tls"])
def test_no_pattern_lets_a_client_decide_in_a_persons_place(carrier: str, hub: Served) -> None:
    execution_id = hub.request("guarded")
    mallory = hub.client("mallory", getattr(hub, carrier), publish=WIDE)

    asking = [denied(mallory, each) for each in asked(execution_id, hub.owner.head)]
    stating = [denied(mallory, each) for each in stated(execution_id)]

    assert (len(asking), len(stating)) == (3, 5)
    kinds = {record.topic for record in hub.owner.read_stream(f"execution/{execution_id}")}
    assert not kinds & {"context.edit", "context.edited"}
    assert not kinds & {f"step.{verb}" for verb in ("settle", "settled", "fanned", "item_changed")}


def test_whoever_may_settle_a_step_passes_over_no_question_to_a_person(hub: Served) -> None:
    execution_id = hub.request("guarded")
    alice = hub.client("alice", publish=("context.edit", "step.settle", "execution.resume"))
    before = hub.owner.head

    for each in asked(execution_id, before):
        at = alice.publish(each)
        refused = hub.until(lambda event, _: isinstance(event, ExecutionRefused), at)
        assert isinstance(refused, ExecutionRefused)
        assert refused.by == "alice"
    alice.publish(ExecutionResume(execution_id=execution_id, answer="approved", seen=before))

    told = [hub.owner.vocabulary.read(r) for r in hub.owner.read(before)]
    assert not [e for e in told if isinstance(e, StepSettled | StepSkipped | StepCompleted)]
