"""Components that compute for long run in processes of their own, which may die or hang."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import FORMAT, CortexError, Draft, Recorded
from cortex.bus.events import VOCABULARY
from cortex.runtime.kernel import Entry, Home, Runtime

from .kernel_staff import PATIENCE_S, read_all, wait_for

pytestmark = pytest.mark.wheel  # it is about the Pythons that Cortex starts

STARTED_IN_FULL = True  # it is about processes, from their start to their end


@pytest.fixture
def staff(monkeypatch: pytest.MonkeyPatch) -> Any:
    # The children look for modules where their parent does.
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "spawned"))
    return import_module("cpu_staff")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / "home")  # without one nothing is spawned


@pytest.fixture
def adding(staff: Any, home: Home) -> Iterator[Runtime]:
    adder = Entry("cpu_staff:Adder", settings={"base": 7})
    with Runtime(home, components=["cpu_staff:Listener", adder]) as runtime:
        yield runtime


@pytest.fixture
def sharing(staff: Any, home: Home) -> Iterator[Runtime]:
    with Runtime(home, components=["cpu_staff:Listener", "cpu_staff:Adders"]) as runtime:
        yield runtime


def told(runtime: Runtime, count: int) -> list[Any]:
    return read_all(runtime, wait_for(runtime.client("me"), "sum.told", count))


def test_a_ctrl_c_that_finds_its_process_starting_does_not_end_it(
    adding: Runtime, staff: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    born: list[int] = []
    start = subprocess.Popen

    def interrupted(*args: Any, **options: Any) -> "subprocess.Popen[bytes]":
        process = start(*args, **options)
        os.kill(process.pid, signal.SIGINT)  # as a terminal does, to all of its processes
        born.append(process.pid)
        return process

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    adding.client("me").publish(staff.SumAsked(of=(1,)))

    assert [event.pid for event in told(adding, 1)] == born


def test_it_handles_events_in_another_process(adding: Runtime, staff: Any) -> None:
    me = adding.client("me")
    seen = me.follow(("sum.seen", None))
    me.publish(staff.SumAsked(of=(1, 2)), staff.SumAsked(of=(3,)))

    first, second = told(adding, 2)

    assert (first.total, second.total, second.so_far) == (3, 3, 6)
    assert first.pid == second.pid != os.getpid()
    assert next(r.topic for r in seen.next(PATIENCE_S)) == "sum.seen"


def test_it_answers_queries_and_has_its_settings(adding: Runtime, staff: Any) -> None:
    me = adding.client("me")
    me.publish(staff.SumAsked(of=(1, 2)))
    told(adding, 1)

    answer = me.ask(staff.SumTotal(), PATIENCE_S)

    assert answer == staff.SumAnswer(so_far=3, settings={"base": 7})
    with pytest.raises(CortexError, match="no total today"):
        me.ask(staff.SumTotal(fail=True), PATIENCE_S)
    assert me.ask(staff.SumTotal(), PATIENCE_S) == answer


def test_a_bad_event_is_parked(adding: Runtime, staff: Any) -> None:
    me = adding.client("me")
    me.publish(staff.SumAsked(of=(1,), do="bad"), staff.SumAsked(of=(2,)))

    (good,) = told(adding, 1)
    (failed,) = read_all(adding, wait_for(me, "component.failed"))

    assert good.total == 2
    assert (failed.reason, failed.attempts) == ("ValueError: a bad sum", 3)


@pytest.mark.parametrize("do", ["exit", "kill"])
def test_an_event_that_kills_the_process_is_parked(adding: Runtime, staff: Any, do: str) -> None:
    me = adding.client("me")
    me.publish(staff.SumAsked(of=(1,)), staff.SumAsked(of=(5,), do=do), staff.SumAsked(of=(2,)))

    good = told(adding, 2)
    (failed,) = read_all(adding, wait_for(me, "component.failed"))
    restarted = read_all(adding, wait_for(me, "component.restarted"))

    assert [g.so_far for g in good] == [1, 3]
    assert failed.reason == "the process ended during it"
    assert restarted[0].component == "Adder"
    assert "the process of Adder ended with" in restarted[0].reason


def test_its_fold_is_back_after_its_death(adding: Runtime, staff: Any) -> None:
    me = adding.client("me")
    me.publish(staff.SumAsked(of=(1, 2)))
    (before,) = told(adding, 1)
    me.publish(staff.SumAsked(of=(4,), do="kill once"))

    after = told(adding, 2)[1]

    assert (after.so_far, after.attempt > 1) == (7, True)
    assert after.pid != before.pid


def test_a_fold_that_cannot_be_recalled_is_not_taken_for_whole(adding: Runtime, staff: Any) -> None:
    me = adding.client("me")
    me.publish(staff.SumAsked(of=(1,), do="unrecallable"))
    told(adding, 1)
    me.publish(staff.SumAsked(of=(4,), do="kill once"))

    restarted = read_all(adding, wait_for(me, "component.restarted", 2))

    assert "cannot recall this" in restarted[1].reason


def test_a_long_past_is_handed_to_the_process_and_not_kept_here(staff: Any, home: Home) -> None:
    spawned: Any = import_module("cortex.runtime.kernel.hosts.spawned")
    born = spawned.Born("cpu_staff:Adder", {}, str(home.path), tuple(sys.path))
    words = VOCABULARY.extended((staff.SumAsked, staff.SumTotal, staff.SumAnswer))
    host = spawned.SpawnedHost("Adder", born, words, lambda _: None)
    draft = Draft.of(staff.SumAsked(of=(1,) * 50))
    page = [recorded(draft, position) for position in range(1, 1_001)]

    host.recall(page)
    assert host._process is None  # the past of most components is short: no process for that
    for _ in range(19):
        host.recall(page)
        assert host._kept_bytes <= spawned.KEEP_BYTES

    assert not host._before
    assert host.answer(staff.SumTotal()).so_far == 20 * 1_000 * 50
    host.stop()


def test_a_process_that_is_started_while_its_host_is_abandoned_is_ended(
    staff: Any, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawned: Any = import_module("cortex.runtime.kernel.hosts.spawned")
    born = spawned.Born("cpu_staff:Adder", {}, str(home.path), tuple(sys.path))
    words = VOCABULARY.extended((staff.SumAsked, staff.SumTotal, staff.SumAnswer))
    host = spawned.SpawnedHost("Adder", born, words, lambda _: None)
    made: list[Any] = []
    start = spawned.ChildProcess

    def started(*args: Any) -> Any:
        host.abandon()  # as a supervisor does in its own thread: there is no process to kill yet
        made.append(start(*args))
        return made[0]

    monkeypatch.setattr(spawned, "ChildProcess", started)

    with pytest.raises(spawned.ChildDiedError):
        host.answer(staff.SumTotal())

    assert made[0].has_ended()
    assert not host.is_kept()


def recorded(draft: Draft, position: int) -> Recorded:
    return Recorded(
        FORMAT, position, "sums", position, b"", 0, draft.topic, draft.schema, None, None, "me",
        None, None, draft.body,
    )  # fmt: skip


def test_the_work_of_a_process_that_hangs_goes_to_another(sharing: Runtime, staff: Any) -> None:
    me = sharing.client("me")
    # The lease of an event lasts its timeout and five seconds of grace.
    me.publish(staff.SumAsked(of=(1,), do="hang once", timeout_s=-2.0))
    me.publish(staff.SumAsked(of=(2,)))

    done = told(sharing, 2)

    assert {(d.total, d.attempt > 1) for d in done} == {(1, True), (2, False)}


def test_workers_die_alone(sharing: Runtime, staff: Any) -> None:
    me = sharing.client("me")
    me.publish(*[staff.SumAsked(of=(n,), do="kill once" if n == 3 else "") for n in range(8)])

    done = told(sharing, 8)

    assert sorted(d.total for d in done) == list(range(8))


def test_one_that_does_not_start_says_why(staff: Any, home: Home) -> None:
    with Runtime(home, components=["cpu_staff:Listener", "cpu_staff:NotStarting"]) as runtime:
        me = runtime.client("me")
        with pytest.raises(CortexError, match="no such device"):
            me.ask(staff.SumTotal(), PATIENCE_S)
        me.publish(staff.SumAsked(of=(1,)))
        (failed,) = read_all(runtime, wait_for(me, "component.failed"))

    assert failed.component == "NotStarting"


def test_a_child_that_dies_of_a_query_comes_back(adding: Runtime, staff: Any) -> None:
    me = adding.client("me")
    me.publish(staff.SumAsked(of=(1, 2)))
    (before,) = told(adding, 1)
    os.kill(before.pid, 9)
    with pytest.raises(CortexError, match="the process of Adder ended with -9"):
        me.ask(staff.SumTotal(), PATIENCE_S)
    wait_for(me, "component.restarted")

    answer: Any = me.ask(staff.SumTotal(), PATIENCE_S)
    assert answer.so_far == 3


PARENT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import cpu_staff
from cortex.runtime.kernel import Home, Runtime

home = Home.create(Path(sys.argv[2]))
runtime = Runtime(home, components=["cpu_staff:Listener", "cpu_staff:Adder"])
runtime.start()
me = runtime.client("me")
feed = me.follow(("sum.told", None), ("sum.seen", None))
me.publish(cpu_staff.SumAsked(of=(1,)))
pid = 0
while not pid:
    for record in feed.next(20):
        if record.topic == "sum.told":
            pid = runtime.vocabulary.read(record).pid
me.publish(cpu_staff.SumAsked(of=(1,), do="hang once"))
while not [r for r in feed.next(20) if r.topic == "sum.seen"]:
    pass
print(pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks processes up in /proc")
def test_a_child_that_hangs_does_not_outlive_its_parent(tmp_path: Path) -> None:
    folder = str(Path(__file__).parent / "spawned")
    command = [sys.executable, "-c", PARENT, folder, str(tmp_path / "home")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        status = Path(f"/proc/{child}/status")
        assert status.exists()
        parent.kill()

    waited = subprocess.run(
        ["timeout", "20", "tail", f"--pid={child}", "-f", "/dev/null"], check=False
    )

    assert waited.returncode == 0
