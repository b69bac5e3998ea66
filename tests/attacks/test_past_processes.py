"""A client with a worker's grants has nothing run that no process asked for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import Client, Draft, Due, Event, EventInvalidError, NotGrantedError, Publish
from cortex.bus.events import (
    EffectIntended,
    EffectSettled,
    ExecutionRefused,
    LogClockJumped,
    ModelInvoke,
    ProcessRetired,
    StepExecute,
    StepFailed,
    ToolCall,
)
from cortex.runtime.kernel import Home

from .clients_world import Served, served

WORKER = {  # as the guides give them to whoever hosts components elsewhere
    "publish": ("step.*", "tool.*", "model.*", "context.*", "component.*", "knowledge.*"),
    "work": ("step.execute",),
    "names": ("Doer",),
}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Served]:
    home = Home.create(tmp_path / ".cortex")
    home.config_path.write_text('[handlers.shell]\nallow = ["touch"]\n')
    home.require_trust()
    with served(tmp_path, None) as service:
        world = Served(home, service)
        yield world
        world.close()


def asked_by(mark: Path) -> list[Event]:
    """What has a program run, a file written, and a model asked."""
    here: dict[str, Any] = {"execution_id": "e1", "step_id": "one"}
    run = {"run": ["touch", str(mark)]}
    write = {"path": mark.name, "text": "x"}
    return [
        StepExecute(**here, action="shell", parameters=run),
        StepExecute(**here, action="write_text", parameters=write, workspace=str(mark.parent)),
        ToolCall(**here, turn=1, call_id="c", tool="apply_patch", provider="PatchTools"),
        ModelInvoke(**here, model="big", prompt="0" * 64),
    ]


@pytest.mark.parametrize("carrier", ["ipc", "tls"])
@pytest.mark.parametrize("publish", [WORKER["publish"], ("*",)])
def test_no_pattern_of_topics_lets_a_client_have_work_done(
    carrier: str, publish: tuple[str, ...], hub: Served, tmp_path: Path
) -> None:
    grants: dict[str, Any] = {**WORKER, "publish": publish}
    mallory = hub.client("mallory", getattr(hub, carrier), **grants)
    mark = tmp_path / "marked"

    for event in asked_by(mark):
        for client_says in (mallory.publish, lambda e: later(mallory, e)):
            with pytest.raises(NotGrantedError, match=event.topic_name()):
                client_says(event)

    hub.owner.publish(StepFailed(execution_id="e2", step_id="x", error="a sign that all was seen"))
    assert not [r for r in hub.owner.read(0) if r.topic in ("step.execute", "effect.intended")]
    assert not mark.exists()
    mallory.publish(StepFailed(execution_id="e1", step_id="one", error="what it is there for"))


def later(client: Client, event: Event) -> None:
    """The same by a deadline."""
    client.hub.ask_one("", Publish((), due=(Due("mallory/d", 1, Draft.of(event)),)))


INTENT: dict[str, Any] = {
    "execution_id": "e1",
    "step_id": "one",
    "component": "mallory",
    "kind": "action",
    "name": "mark",
}


@pytest.mark.parametrize("granted", [True, False])
def test_an_intent_is_about_work_that_was_asked_for(granted: bool, hub: Served) -> None:
    """Else an execution would ask a person about what never began, or never begin it."""
    publish = ("effect.intended",) if granted else ("x.mallory.*",)
    mallory = hub.client("mallory", publish=publish, work=("step.execute",))
    asked = hub.owner.publish(StepExecute(execution_id="e1", step_id="one", action="none_such"))

    for cause in (None, 1, asked, hub.owner.head + 1, 1 << 40, -1, -(1 << 63), (1 << 64) - 1):
        event = EffectIntended(**INTENT, effect_key=f"{cause}/1/mallory/0")
        draft = Draft.of(event, causation=cause)
        for request in (
            Publish((draft,), sync=True),
            Publish((draft,)),
            Publish((), due=(Due("mallory/d", 1, draft),)),
            Publish((), due=(Due("mallory/d", 1, draft),), sync=True),
        ):
            with pytest.raises(EventInvalidError):
                mallory.hub.ask_one("", request)

    assert not [r for r in hub.owner.read(0) if r.topic.startswith(("effect.", "component.failed"))]


def test_what_the_runtime_alone_states_no_client_does(hub: Served) -> None:
    mallory = hub.client("mallory", publish=("*",))
    here: dict[str, Any] = {"execution_id": "e1", "step_id": "one"}
    forged: list[Event] = [
        LogClockJumped(by_ns=1, clock_ns=1, ahead_ns=10**18, skipped_ns=0),
        EffectSettled(**here, effect_key="1/1/Shell/0", outcome="happened", by="boss"),
        ExecutionRefused(execution_id="e1", asked="execution.resume", reason="no"),
        ProcessRetired(name="fix_ci_failure", reason="mine"),
    ]

    for event in forged:
        with pytest.raises(NotGrantedError, match=event.topic_name()):
            mallory.publish(event)
