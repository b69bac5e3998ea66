"""Which process runs for a request or a trigger, and what is said where none does."""

from typing import Any

import msgspec
import pytest

from cortex.actors.managers import ProcessManager
from cortex.bus.events import (
    ExecutionDeferred,
    ExecutionFailed,
    ExecutionRequest,
    ExecutionStarted,
    ProcessCompiled,
    ProcessRetired,
    ProcessUnlinked,
    TriggerMatched,
    TriggerReceived,
    TriggerUnmatched,
)
from cortex.runtime.executions import DECIDER
from cortex.runtime.kernel import Config
from cortex.runtime.processes import (
    EventTrigger,
    Field,
    LinkedInterface,
    LinkedProcess,
    ManualTrigger,
)

from .execution_world import World, action_step, process_of

CI = EventTrigger(match=(("source", ("ci",)),))
CI_FAILED = EventTrigger(match=(("source", ("ci",)), ("status", ("failure", "error"))))


class Office:
    """A world whose executions are begun by the real manager."""

    def __init__(self, *processes: LinkedProcess, **settings: Any) -> None:
        self.world = World()
        self.world.begin_requests = False
        self.settings = settings
        self.manager = self.new_manager()
        self.compile(*processes)

    def new_manager(self) -> ProcessManager:
        return ProcessManager(
            self.world.blobs,
            Config(preferences=self.settings.get("project", {})),
            self.world.history,
            user_preferences=self.settings.get("user", {}),
        )

    def compile(self, *processes: LinkedProcess | LinkedInterface) -> None:
        self.add(*processes)
        self.play()

    def add(self, *processes: LinkedProcess | LinkedInterface) -> None:
        """As `compile`, but that nobody handles it yet."""
        for process in processes:
            self.world.publish(
                ProcessCompiled(
                    name=process.name,
                    process_version=process.version,
                    digest=process.digest,
                    source_digest="s",
                    linked=self.world.blobs.put(msgspec.json.encode(process)),
                    source="s",
                )
            )

    def publish(self, *events: Any) -> None:
        self.world.publish(*events)
        self.play()

    def play(self) -> None:
        self.world.play(self.manager)

    def request(self, process: str = "p", **more: Any) -> ExecutionStarted | ExecutionFailed:
        """Ask for an execution; how that was answered."""
        self.publish(ExecutionRequest(execution_id="x", process=process, **more))
        answers = self.world.said(ExecutionStarted, ExecutionFailed)
        assert len(answers) == 1
        answer: ExecutionStarted | ExecutionFailed = answers[0]
        return answer

    def trigger(self, **fields: Any) -> TriggerMatched | TriggerUnmatched:
        """Let something happen; what came of it."""
        self.publish(TriggerReceived(trigger_id="t", fields=fields))
        answer: TriggerMatched | TriggerUnmatched = self.world.said(
            TriggerMatched, TriggerUnmatched
        )[-1]
        return answer


def reason(answer: ExecutionStarted | ExecutionFailed) -> str:
    assert isinstance(answer, ExecutionFailed)
    return answer.reason


def one(name: str = "p", **more: Any) -> LinkedProcess:
    return process_of(action_step("one"), name=name, **more)


def test_a_request_begins_the_newest_version_with_checked_inputs() -> None:
    fields = (
        Field(name="n", type="integer"),
        Field(name="mode", type="string", required=False, default="quick"),
    )
    office = Office(one(), one(version=2, inputs=fields))

    started = office.request(inputs={"n": 3}, goal="g", workspace="/w", breakpoints=("one",))

    assert isinstance(started, ExecutionStarted)
    assert (started.process, started.process_version) == ("p", 2)
    assert started.inputs == {"n": 3, "mode": "quick"}
    assert (started.goal, started.workspace, started.breakpoints) == ("g", "/w", ("one",))
    assert office.world.blobs.has(started.linked)
    assert started.decider == DECIDER


def test_a_request_may_name_an_older_version() -> None:
    office = Office(one(), one(version=2))

    started = office.request(process_version=1)

    assert isinstance(started, ExecutionStarted)
    assert started.process_version == 1


def test_a_request_without_a_process_opens_an_adhoc_execution() -> None:
    started = Office().request("", goal="look", inputs={"a": 1})

    assert isinstance(started, ExecutionStarted)
    assert (started.process, started.process_version, started.goal) == ("", 0, "look")


def test_the_whole_execution_runs_on_what_the_manager_began() -> None:
    office = Office(one())

    office.request()
    office.world.answer()
    office.play()

    assert office.world.state().status == "completed"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "n is missing: it is required, as integer"),
        ({"n": "3"}, "n is '3', expected: integer"),
        ({"n": True}, "n is True, expected: integer"),
        ({"n": 9}, "n is 9, expected one of 1, 2, 3"),
        ({"n": 1, "m": 1}, "m is not an input of this process: it has n"),
        ({"n": 1, "nn": 1}, "nn is not an input of this process: did you mean n?"),
    ],
)
def test_wrong_inputs_are_refused_and_named(given: dict[str, Any], expected: str) -> None:
    office = Office(one(inputs=(Field(name="n", type="integer", enum=(1, 2, 3)),)))

    assert expected in reason(office.request(inputs=given))


def test_a_process_that_is_not_there_is_refused_with_the_nearest_name() -> None:
    office = Office(one("triage_ci_failure"))

    assert "did you mean triage_ci_failure?" in reason(office.request("triage_ci_failur"))


def test_a_version_that_is_not_there_is_refused_with_those_that_are() -> None:
    office = Office(one(), one(version=4))

    answer = office.request(process_version=3)

    assert reason(answer) == "there is no version 3 of p: it has 1, 4"


def test_an_abstract_process_is_refused_with_those_that_extend_it() -> None:
    child = msgspec.structs.replace(one("concrete"), chain=("concrete", "base"))
    office = Office(one("base", abstract=True), child)

    assert reason(office.request("base")).endswith("cannot be run: run concrete")


def test_an_unlinked_process_is_refused_at_once_where_nobody_waits_for_it() -> None:
    process = one()
    office = Office(process)
    unlinked = ProcessUnlinked(name="p", digest=process.digest, missing=("action work",))

    office.publish(unlinked, ExecutionRequest(execution_id="a", process="p", wait_s=0.0))
    office.compile(process)
    office.publish(ExecutionRequest(execution_id="b", process="p"))

    failed, started = office.world.said(ExecutionFailed, ExecutionStarted)
    assert "p is unlinked: action work is not there" in failed.reason
    assert started.execution_id == "b"


def test_a_retired_version_is_not_chosen_and_what_runs_on_it_goes_on() -> None:
    office = Office(one(triggers=(CI,)), one(version=2, triggers=(CI,)))
    running = office.request()
    retired = ProcessRetired(name="p", reason="gone", process_version=2)

    office.publish(retired)
    office.publish(ExecutionRequest(execution_id="y", process="p", process_version=2))
    matched = office.trigger(source="ci")
    office.world.answer()
    office.play()

    assert isinstance(running, ExecutionStarted)
    assert isinstance(matched, TriggerMatched)
    started = {e.execution_id: e.process_version for e in office.world.said(ExecutionStarted)}
    assert started == {"x": 2, matched.execution_id: 1}
    assert reason(office.world.said(ExecutionFailed)[0]).startswith("there is no version 2 of p")
    assert office.world.state("x").status == "completed"


def test_a_version_is_still_retired_after_a_restart_and_back_with_its_file() -> None:
    office = Office(one(), one(version=2))
    office.publish(ProcessRetired(name="p", reason="gone", process_version=2))
    waiting = office.manager.snapshot()
    office.manager = office.new_manager()
    office.manager.restore(waiting)

    office.publish(ExecutionRequest(execution_id="a", process="p"))
    office.compile(one(version=2))
    office.publish(ExecutionRequest(execution_id="b", process="p"))

    assert [e.process_version for e in office.world.said(ExecutionStarted)] == [1, 2]


def test_a_retired_process_is_refused() -> None:
    office = Office(one())

    office.publish(ProcessRetired(name="p", reason="old"))

    assert "there is no process or interface p" in reason(office.request())


def test_a_process_whose_linked_form_is_gone_is_named_as_such() -> None:
    office = Office()
    compiled = ProcessCompiled(
        name="p", process_version=1, digest="d", source_digest="s", linked="0" * 64, source="s"
    )

    office.publish(compiled)

    assert "p was compiled and cannot be read" in reason(office.request())


IMPLEMENTS = (("change", "d"),)


def test_an_interface_runs_the_one_process_that_implements_it() -> None:
    interface = LinkedInterface(name="change", version=1, digest="d")
    office = Office(one("fix", implements=IMPLEMENTS))
    office.compile(interface)

    started = office.request("change")

    assert isinstance(started, ExecutionStarted)
    assert started.process == "fix"


CONTRACT = LinkedInterface(
    name="change",
    version=1,
    digest="d",
    required_gates=("branch_clean",),
    required_steps=(("implement", "Make it"), ("verify", "Check it")),
    required_knowledge=("engineering.reviews",),
)


def test_an_interface_that_nothing_implements_is_refused_with_what_would() -> None:
    office = Office(one("fix"))
    office.compile(CONTRACT)

    refused = reason(office.request("change"))

    assert refused.startswith("nothing implements the interface change: ")
    assert "a process with `implements: change`" in refused
    assert "the steps implement, verify" in refused
    assert "the gate branch_clean" in refused
    assert "the topic engineering.reviews" in refused


def test_an_interface_is_still_known_after_a_restart_and_no_longer_once_it_is_retired() -> None:
    office = Office()
    office.compile(CONTRACT)
    snapshot = office.manager.snapshot()

    office.manager = office.new_manager()
    office.manager.restore(snapshot)

    assert "nothing implements the interface change" in reason(office.request("change"))
    office.publish(ProcessRetired(name="change", reason="old"))
    office.publish(ExecutionRequest(execution_id="y", process="change"))
    assert "no process or interface change" in office.world.said(ExecutionFailed)[-1].reason


def test_an_interface_that_only_abstract_processes_implement_names_them() -> None:
    office = Office(one("base", implements=IMPLEMENTS, abstract=True))
    office.compile(CONTRACT)

    refused = reason(office.request("change"))

    assert refused == "only base implements change, which is abstract: extend it and run that"


def test_a_name_close_to_an_interface_that_nothing_implements_is_asked_back() -> None:
    office = Office()
    office.compile(CONTRACT)

    assert "did you mean change?" in reason(office.request("chnage"))


def test_an_interface_with_two_implementations_is_refused_unless_one_is_preferred() -> None:
    processes = (one("fix", implements=IMPLEMENTS), one("mend", implements=IMPLEMENTS))

    tie = Office(*processes).request("change")
    started = Office(*processes, user={"change": "mend"}).request("change")

    assert "fix, mend fit equally well" in reason(tie)
    assert isinstance(started, ExecutionStarted)
    assert started.process == "mend"


def test_a_trigger_starts_the_most_specific_match_with_the_inputs_it_declares() -> None:
    specific = one("failed", triggers=(CI_FAILED,), inputs=(Field(name="log", type="path"),))
    office = Office(one("any", triggers=(CI,)), specific)
    happened = TriggerReceived(
        trigger_id="t",
        fields={"source": "ci", "status": "error", "branch": "main"},
        inputs={"log": "/tmp/log", "other": 1},
        goal="find out",
        workspace="/w",
    )

    office.publish(happened)

    matched = office.world.said(TriggerMatched)[0]
    assert (matched.process, matched.because) == ("failed", "most specific match")
    assert matched.runners_up == ("any",)
    started = office.world.said(ExecutionStarted)[0]
    assert started.execution_id == matched.execution_id
    assert (started.trigger, started.goal, started.workspace) == ("t", "find out", "/w")
    assert started.inputs == {"log": "/tmp/log"}


@pytest.mark.parametrize(
    ("inputs", "taken"), [({}, "/from/fields"), ({"log": "/from/inputs"}, "/from/inputs")]
)
def test_what_steps_need_of_a_trigger_may_stand_among_its_fields_and_nothing_else(
    inputs: dict[str, Any], taken: str
) -> None:
    fields = (Field(name="log", type="path"), Field(name="status", type="string", required=False))
    office = Office(one("failed", triggers=(CI,), inputs=fields, from_trigger=("log",)))
    said = {"source": "ci", "status": "error", "log": "/from/fields"}

    office.publish(TriggerReceived(trigger_id="t", fields=said, inputs=inputs))

    assert office.world.said(ExecutionStarted)[0].inputs == {"log": taken}


def test_a_trigger_that_fits_two_processes_equally_is_refused_and_names_them() -> None:
    office = Office(one("a", triggers=(CI,)), one("b", triggers=(CI,)))

    unmatched = office.trigger(source="ci")

    assert isinstance(unmatched, TriggerUnmatched)
    assert unmatched.candidates == ("a", "b")
    assert "a, b fit equally well" in unmatched.reason
    assert office.world.said(ExecutionRequest) == []


@pytest.mark.parametrize(
    ("settings", "process", "because"),
    [
        ({"user": {"source=ci": "a"}}, "a", "named by the user's configuration"),
        (
            {"user": {"source=ci": "a"}, "project": {"source=ci": "b"}},
            "b",
            "named by the project's configuration",
        ),
        (
            {"project": {"source=ci": "a", "source=ci status=failure": "b"}},
            "b",
            "named by the project's configuration",
        ),
    ],
)
def test_a_tie_is_settled_by_the_project_and_then_by_the_user(
    settings: dict[str, Any], process: str, because: str
) -> None:
    office = Office(one("a", triggers=(CI,)), one("b", triggers=(CI,)), **settings)

    matched = office.trigger(source="ci", status="failure")

    assert isinstance(matched, TriggerMatched)
    assert (matched.process, matched.because) == (process, because)


def test_a_trigger_that_nothing_answers_says_so() -> None:
    unmatched = Office(one()).trigger(source="ci", status="failure")

    assert isinstance(unmatched, TriggerUnmatched)
    assert "no process answers a trigger with source=ci status=failure" in unmatched.reason


def test_a_trigger_that_is_sent_twice_starts_one_execution() -> None:
    office = Office(one(triggers=(CI,)))

    office.trigger(source="ci")
    office.trigger(source="ci")

    assert len(office.world.said(ExecutionStarted)) == 1


def test_a_manual_trigger_names_its_process() -> None:
    office = Office(one("by_hand", triggers=(ManualTrigger(),)), one())

    matched = office.trigger(source="manual", process="by_hand")
    refused = Office(one()).trigger(source="manual", process="p")

    assert isinstance(matched, TriggerMatched)
    assert matched.because == "named by the trigger"
    assert isinstance(refused, TriggerUnmatched)
    assert refused.reason.startswith("p has no manual trigger")


def test_after_a_restart_the_manager_knows_the_same_processes() -> None:
    process = one("gone", triggers=(CI,))
    office = Office(one(), process)
    office.publish(ProcessUnlinked(name="gone", digest=process.digest, missing=("gate g",)))
    snapshot = office.manager.snapshot()

    office.manager = office.new_manager()
    office.manager.restore(snapshot)

    assert isinstance(office.request(), ExecutionStarted)
    matched = office.trigger(source="ci")
    assert isinstance(matched, TriggerMatched)
    assert office.world.said(ExecutionDeferred)[-1].missing == ("gate g",)
