"""What is shown of an execution that is followed, across Ctrl-C."""

import os
import signal
from collections.abc import Iterator

import pytest

from cortex.bus import Client, Hub, LocalHub, SystemClock, system_entropy
from cortex.bus.events import (
    VOCABULARY,
    ExecutionCompleted,
    ExecutionRefused,
    ExecutionStarted,
    StepCompleted,
    StepExecute,
    StepSettle,
)
from cortex.runtime.cli.extensions import Screen
from cortex.runtime.cli.terminal import Interrupts, Terminal
from cortex.runtime.executions import ENGINE
from cortex.runtime.executions.view import LiveState
from cortex.runtime.log import AgentWork, MemoryLog
from cortex.runtime.sessions import Ailments, Progress

STARTED = ExecutionStarted(
    execution_id="x", process="p", process_version=1, digest="", linked="", inputs={}, goal="",
    workspace="", trigger="",
)  # fmt: skip


def asked(step: str) -> StepExecute:
    return StepExecute(execution_id="x", step_id=step, action="a", component=ENGINE)


def following(client: Client, interrupts: Interrupts) -> Progress:
    front = Terminal(Screen(), interrupts)
    return Progress(client, "x", Ailments(), front, front.progress("x", LiveState()))


@pytest.fixture
def client() -> Iterator[Client]:
    log = MemoryLog()
    hub = LocalHub(Hub(log, VOCABULARY, system_entropy, policy=AgentWork()), SystemClock())
    yield Client(ENGINE, hub, log, VOCABULARY)
    hub.close()


def test_what_was_recorded_before_ctrl_c_and_not_shown_yet_is_shown_after_it(
    client: Client, capfd: pytest.CaptureFixture[str]
) -> None:
    with Interrupts() as interrupts:
        progress = following(client, interrupts)
        client.publish(STARTED, asked("one"), StepCompleted(execution_id="x", step_id="one"))
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            progress.until_stopped(0)
        before = capfd.readouterr().err

        client.publish(asked("two"), StepCompleted(execution_id="x", step_id="two"))
        client.publish(ExecutionCompleted(execution_id="x"))
        stopped = progress.until_stopped()

    assert before == ""
    assert stopped is not None
    assert isinstance(stopped.event, ExecutionCompleted)
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("done")]
    assert [line.split()[1] for line in lines] == ["one", "two"]


@pytest.mark.parametrize("of_own", [True, False])
def test_only_what_the_command_itself_asked_for_is_refused_to_it(
    of_own: bool, client: Client, capfd: pytest.CaptureFixture[str]
) -> None:
    """Two terminals change an execution at the same moment: one is followed, the other refused."""
    own, other = (StepSettle(execution_id="x", step_id=step, outcome="skipped") for step in "ab")
    refused = ExecutionRefused(execution_id="x", asked="step.settle", reason="it goes on")
    client.publish(STARTED)
    mine = client.publish(own)
    theirs = client.publish(other)
    client.publish(refused, causation=mine if of_own else theirs)
    client.publish(ExecutionCompleted(execution_id="x"))

    with Interrupts() as interrupts:
        progress = following(client, interrupts)
        stopped = progress.until_stopped(mine - 1)

    assert stopped is not None
    assert isinstance(stopped.event, ExecutionRefused if of_own else ExecutionCompleted)
    assert ("it goes on" in capfd.readouterr().err) is of_own
