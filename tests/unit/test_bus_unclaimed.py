"""A request that nobody takes is reported, in the transaction that records it."""

from cortex.bus import Appended, Draft, Hub, Publish, Subscribe, decode
from cortex.bus.events import VOCABULARY, ModelInvoke, StepExecute
from cortex.runtime.log import MemoryLog

STEP = StepExecute(execution_id="e1", step_id="fix", action="write_code")
MODEL = ModelInvoke(execution_id="e1", step_id="fix", model="gone", prompt="d1")


def hub_on(log: MemoryLog) -> Hub:
    return Hub(log, VOCABULARY, lambda size: b"\x01" * size)


def topics(log: MemoryLog) -> list[str]:
    return [decode(data).topic for data in log.read(0, 100, 1 << 20)]


def test_a_step_without_a_handler_is_reported_beside_the_request() -> None:
    log = MemoryLog()
    hub = hub_on(log)

    (answer,) = hub.handle([("engine", Publish((Draft.of(STEP), Draft.of(MODEL))))], 1)

    assert answer == Appended(1, 2)
    assert topics(log) == ["step.execute", "model.invoke", "step.unclaimed", "model.unclaimed"]
    report = decode(log.read(2, 1, 1 << 20)[0])
    assert (report.source, report.causation, report.correlation) == ("hub", 1, "e1")


def test_a_step_that_a_worker_takes_is_not_reported() -> None:
    log = MemoryLog()
    hub = hub_on(log)
    hub.handle([("w", Subscribe("Writer", "work", (("step.execute", "write_code"),)))], 1)

    hub.handle([("engine", Publish((Draft.of(STEP),)))], 2)

    assert topics(log) == ["step.execute"]


def test_a_step_that_a_component_with_a_cursor_answers_for_is_not_reported() -> None:
    log = MemoryLog()
    hub = hub_on(log)
    hub.handle([("w", Subscribe("Writer", "ordered", (("step.execute", "write_code"),)))], 1)

    hub.handle([("engine", Publish((Draft.of(STEP),)))], 2)

    assert topics(log) == ["step.execute"]


def test_an_observer_does_not_count_as_somebody_who_takes_it() -> None:
    log = MemoryLog()
    hub = hub_on(log)
    hub.handle([("o", Subscribe("Observer", "ordered", (("step.execute", None),)))], 1)

    hub.handle([("engine", Publish((Draft.of(STEP),)))], 2)

    assert topics(log) == ["step.execute", "step.unclaimed"]
