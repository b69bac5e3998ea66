"""The command line as a user meets it: run, look, answer, interrupt, go on."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..waiting import held_by

CORTEX = Path(sys.executable).parent / "cortex"
LOG = """\
============================= test session starts ==============================
collected 2 items

tests/test_sum.py .F                                                     [100%]

=================================== FAILURES ===================================
___________________________________ test_sum ___________________________________

    def test_sum():
>       assert add(1, 2) == 4
E       assert 3 == 4

tests/test_sum.py:5: AssertionError
=========================== short test summary info ============================
FAILED tests/test_sum.py::test_sum - assert 3 == 4
========================= 1 failed, 1 passed in 0.01s ==========================
"""
NAP = held_by("awake")  # until the test has it end
SLOW = f"""\
process: slow
version: 1
steps:
  - id: first
    action: shell
    with: {{ run: {NAP} }}
  - id: second
    action: shell
    with: {{ run: echo done }}
"""


class User:
    """Somebody at a shell in a folder with a home."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {**os.environ, "XDG_DATA_HOME": str(folder / "data"), "USER": "ada"}
        for name in ("CORTEX_HOME", "CORTEX_DEBUG"):
            self.env.pop(name, None)

    def start(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(CORTEX), *args],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def cortex(self, *args: str, code: int = 0) -> str:
        with self.start(*args) as process:
            out, err = process.communicate(timeout=120)
        assert process.returncode == code, out + err
        assert "Traceback" not in out + err
        return out

    def json(self, *args: str, code: int = 0) -> Any:
        return json.loads(self.cortex(*args, "--json", code=code))


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> User:
    user = User(tmp_path_factory.mktemp("project"))
    (user.folder / "ci.log").write_text(LOG)
    (user.folder / "notes.txt").write_text("The key is under the mat.\nThe cat is called Ada.\n")
    (user.folder / "slow.yaml").write_text(SLOW)
    user.cortex("init")
    return user


@pytest.fixture(scope="module")
def triaged(user: User) -> dict[str, Any]:
    found: dict[str, Any] = user.json("run", "triage_ci_failure", "-i", "log=ci.log")
    return found


def test_run_prints_the_report_and_how_to_read_on(user: User) -> None:
    out = user.cortex("run", "triage_ci_failure", "-i", "log=ci.log")

    assert "tests/test_sum.py::test_sum" in out
    assert "assert 3 == 4" in out
    assert "context of diagnose: " in out
    assert out.splitlines()[-1].startswith("cortex trace ")


def test_run_gives_its_outcome_as_json(triaged: dict[str, Any], user: User) -> None:
    assert triaged["status"] == "completed"
    assert triaged["steps"] == dict.fromkeys(
        ("read_failure", "locate_source", "diagnose"), "completed"
    )
    assert triaged["inputs"]["log"] == str(user.folder / "ci.log")
    assert triaged["outputs"]["failing"] == ["tests/test_sum.py::test_sum"]
    assert sum(triaged["contexts"][0]["sections"].values()) == triaged["contexts"][0]["tokens"]


def test_an_execution_is_found_again_by_list_find_show_and_prefix(
    triaged: dict[str, Any], user: User
) -> None:
    found = triaged["id"]

    assert found in [row["id"] for row in user.json("execution", "list", "--status", "completed")]
    assert found in [row["id"] for row in user.json("execution", "find", "failing test")]
    assert user.json("execution", "show", found[:8])["id"] == found


def test_a_trace_tells_gates_contexts_models_and_primitives(
    triaged: dict[str, Any], user: User
) -> None:
    spans = user.json("trace", triaged["id"])["spans"]
    out = user.cortex("trace", triaged["id"])

    kinds = [span["kind"] for span in spans]
    assert kinds.count("step") == 3
    assert {"gate", "context", "model", "execution"} <= set(kinds)
    assert all(s["status"] in ("passed", "recorded") for s in spans if s["kind"] == "gate")
    parents = {span["id"]: span["parent"] for span in spans}
    model = next(span for span in spans if span["kind"] == "model")
    assert next(s for s in spans if s["id"] == parents[model["id"]])["name"] == "diagnose"
    assert "sections: " in out
    assert "orchestrate " in out


def test_a_trace_is_a_waterfall_whose_root_has_the_sums(
    triaged: dict[str, Any], user: User
) -> None:
    page = user.folder / "trace.html"

    rows = user.json("trace", triaged["id"])["waterfall"]["rows"]
    out = user.cortex("trace", triaged["id"])
    user.cortex("trace", triaged["id"], "--html", str(page))

    models = [row for row in rows if row["kind"] == "model"]
    assert sum(sum(row["own"].values()) for row in models) == triaged["tokens"] > 0
    assert sum(rows[0]["usage"].values()) == triaged["tokens"]
    (diagnose,) = (row for row in rows if (row["kind"], row["name"]) == ("step", "diagnose"))
    assert diagnose["context_tokens"] == triaged["contexts"][0]["tokens"]
    assert diagnose["model"] == models[0]["model"]
    assert re.search(r"\n  step diagnose +[▏▎▍▌▋▊▉█]+ ", out)
    assert "Content-Security-Policy" in page.read_text("utf-8")


def test_events_are_chosen_by_topic_execution_and_time(triaged: dict[str, Any], user: User) -> None:
    asked = ("events", "query", "--topic", "step.*", "--execution", triaged["id"], "--since", "1h")

    lines = [json.loads(line) for line in user.cortex(*asked, "--json").splitlines()]

    assert [line["topic"] for line in lines].count("step.completed") == 3
    assert {line["correlation"] for line in lines} == {triaged["id"]}
    assert [line["position"] for line in lines] == sorted(line["position"] for line in lines)
    assert user.cortex(*asked[:4], "--until", "1w") == ""


def test_processes_are_listed_inspected_and_have_a_history(
    triaged: dict[str, Any], user: User
) -> None:
    names = [row["name"] for row in user.json("process", "list")]
    history = user.json("process", "history", "triage_ci_failure")

    assert {"triage_ci_failure", "ci_failure_response", "answer_from_notes"} <= set(names)
    assert history[0]["runs"] == history[0]["completed"] >= 1
    assert "from ci_failure_response" in user.cortex("process", "inspect", "triage_ci_failure")
    assert "has one version, 1" in user.cortex("process", "diff", "triage_ci_failure")


def test_a_dry_run_shows_prompts_and_records_nothing(user: User) -> None:
    before = user.cortex("events", "tail", "-n", "1", "--json")

    found = user.json("process", "dry-run", "triage_ci_failure", "-i", "log=ci.log")

    assert [gate["outcome"] for gate in found["gates"]] == ["passed", "passed"]
    diagnose = found["steps"][-1]
    assert (
        diagnose["prompt"].endswith(
            "Say what failed, with which error, and what most probably caused the failure\n"
        )
        or "=== step ===" in diagnose["prompt"]
    )
    assert user.cortex("events", "tail", "-n", "1", "--json") == before


def test_a_trigger_runs_the_process_that_answers_it(user: User) -> None:
    args = ("source=ci", "status=failure", "-i", "log=ci.log", "--goal", "find out why")

    found = user.json("trigger", *args)

    assert "error" not in found, found
    assert (found["process"], found["status"]) == ("triage_ci_failure", "completed")


def test_a_breakpoint_before_no_step_is_refused_before_anything_runs(user: User) -> None:
    before = user.json("execution", "list")

    user.cortex("run", "triage_ci_failure", "-i", "log=ci.log", "--break", "diagnos", code=3)

    assert user.json("execution", "list") == before


def test_a_question_ends_with_five_until_it_is_answered(user: User) -> None:
    asked = (
        "run",
        "answer_from_notes",
        "-i",
        "question=Where is the key?",
        "-i",
        "notes=notes.txt",
    )

    waiting = user.json(*asked, "-i", "keep=true", code=5)
    user.cortex("execution", "resume", waiting["id"], code=5)
    done = user.json("execution", "resume", waiting["id"], "--approve", "--note", "fine")

    assert waiting["question"] == "Keep this answer beside the notes?"
    assert done["status"] == "completed"
    assert (user.folder / "notes.txt.answer.md").exists()


def test_a_breakpoint_shows_what_would_be_sent_and_cancel_ends_it(user: User) -> None:
    asked = ("run", "triage_ci_failure", "-i", "log=ci.log", "--break", "diagnose")

    paused = user.json(*asked, code=5)
    shown = user.cortex("execution", "show", paused["id"])
    cancelled = user.json("execution", "cancel", paused["id"], "--reason", "enough")
    user.cortex("execution", "resume", paused["id"], code=1)

    assert (paused["status"], paused["step"]) == ("paused", "diagnose")
    assert "=== step ===" in paused["prompt"]
    assert "the context that Cortex sends when step diagnose continues" in shown
    assert (cancelled["status"], cancelled["reason"]) == ("cancelled", "enough")


def test_a_verdict_is_recorded(triaged: dict[str, Any], user: User) -> None:
    user.cortex("execution", "rate", triaged["id"], "good", "--note", "right at once")

    assert user.json("execution", "show", triaged["id"])["verdict"] == "good"


def test_work_without_a_process_is_opened_and_finished(user: User) -> None:
    opened = user.json("run", "--goal", "tidy the shed", code=5)

    finished = user.json("execution", "finish", opened["id"], "--note", "it is tidy")

    assert (opened["status"], opened["reason"], opened["process"]) == ("paused", "goal", "")
    assert (finished["status"], finished["outputs"]) == ("completed", {"answer": "it is tidy"})


@pytest.fixture
def running(user: User) -> Iterator[subprocess.Popen[str]]:
    with user.start("run", "slow.yaml") as process:
        while not any(
            (each["process"], each["status"]) == ("slow", "running")
            for each in user.json("execution", "list")
        ) or "first" not in user.cortex("events", "query", "--topic", "step.execute"):
            assert process.poll() is None
        yield process
        process.kill()


@pytest.fixture
def awake(user: User) -> Iterator[Path]:
    """The file that lets the first step of `slow` and its like end; it is not there yet."""
    path = user.folder / "awake"
    path.unlink(missing_ok=True)
    yield path
    path.touch()


def interrupted(running: subprocess.Popen[str]) -> str:
    """Press Ctrl-C; what the command says to that."""
    running.send_signal(signal.SIGINT)
    assert running.stderr is not None
    return next(line for line in running.stderr if "Ctrl-C again" in line)


def test_ctrl_c_pauses_and_resume_goes_on(
    awake: Path, running: subprocess.Popen[str], user: User
) -> None:
    held = user.start("run", "slow.yaml")
    told = held.communicate(timeout=120)[1]
    interrupted(running)
    awake.touch()
    _, err = running.communicate(timeout=120)
    hint = err.strip().splitlines()[-1].split()

    done = user.json(*hint[1:])

    assert held.returncode == 4
    assert f"is held by process {running.pid}" in told
    assert f"`kill -INT {running.pid}` pauses" in told
    assert running.returncode == 130
    assert hint[:3] == ["cortex", "execution", "resume"]
    assert done["status"] == "completed"
    assert list(done["steps"]) == ["first", "second"]


def test_ctrl_c_waits_for_the_step_at_hand(awake: Path, user: User) -> None:
    (user.folder / "longer.yaml").write_text(SLOW.replace("slow", "longer"))
    with user.start("run", "longer.yaml") as running:
        _wait_for_step(running, user, "longer")
        told = interrupted(running)
        awake.touch()
        _, err = running.communicate(timeout=120)

    execution_id = err.strip().splitlines()[-1].split()[-1]
    state = user.json("execution", "show", execution_id)
    assert running.returncode == 130
    assert "pausing when the current step is done; Ctrl-C again ends the command at once" in told
    assert (state["status"], state["steps"]) == ("paused", {"first": "completed"})


@pytest.mark.usefixtures("awake")
def test_a_second_ctrl_c_leaves_the_step_at_hand(user: User) -> None:
    (user.folder / "longest.yaml").write_text(SLOW.replace("slow", "longest"))
    with user.start("run", "longest.yaml", "--json") as running:
        _wait_for_step(running, user, "longest")
        told = interrupted(running)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=120)

    last = err.strip().splitlines()[-1].split()
    state = user.json("execution", "show", last[-1])
    user.cortex("execution", "list")
    stops = user.cortex("events", "query", "--topic", "runtime.*", "-n", "2").splitlines()
    assert json.loads(out)["id"] == last[-1]
    assert [line.split("\t")[2] for line in stops] == ["runtime.started", "runtime.stopped"]
    assert "Ctrl-C again" in told
    assert running.returncode == 130
    assert last[:3] == ["cortex", "execution", "resume"]
    assert state["steps"] == {}


def _wait_for_step(running: subprocess.Popen[str], user: User, process: str) -> None:
    while True:
        rows = user.json("execution", "list", "--process", process)
        asked = ("events", "query", "--topic", "step.execute", "--execution")
        if rows and "first" in user.cortex(*asked, rows[0]["id"]):
            return
        assert running.poll() is None


def test_wrong_inputs_are_refused_before_anything_is_recorded(user: User) -> None:
    before = [found["id"] for found in user.json("execution", "list")]

    with user.start("run", "triage_ci_failure", "-i", "lgo=ci.log") as process:
        _, err = process.communicate(timeout=120)

    assert process.returncode == 2
    assert "did you mean log?" in err
    assert "-i log=" in err
    # One that an earlier test left may go on meanwhile: its row changes.
    assert [found["id"] for found in user.json("execution", "list")] == before


def test_a_process_whose_newest_source_was_rejected_does_not_run(tmp_path: Path) -> None:
    other = User(tmp_path)
    other.cortex("init")
    source = tmp_path / ".cortex" / "processes" / "slow.yaml"
    source.write_text(SLOW.replace(NAP, "echo one"))
    other.cortex("run", "slow")
    source.write_text(SLOW.replace(NAP, "echo two"))

    with other.start("run", "slow") as process:
        _, err = process.communicate(timeout=120)
    with other.start("process", "list") as listed:
        _, told = listed.communicate(timeout=120)

    assert process.returncode == 1
    assert "write `version: 2`" in err
    assert len(other.json("execution", "list")) == 1
    assert (listed.returncode, len(told.splitlines())) == (0, 1)


def test_a_halted_execution_says_why_first_and_shows_no_raw_results(user: User) -> None:
    (user.folder / "fails.yaml").write_text(
        SLOW.replace("slow", "fails").replace(NAP, "echo hello").replace("echo done", "ls /no")
    )

    out = user.cortex("run", "fails.yaml", code=1)
    shown = user.cortex("execution", "show", out.strip().split()[-1])

    assert out.startswith("halted: ls ended with 2")
    assert "completed  first" in out
    assert "stdout" not in out
    assert "completed  first" in shown
    assert shown.startswith("execution ")


def test_a_disk_that_fills_up_is_told_and_nothing_is_lost(user: User, tmp_path: Path) -> None:
    other = User(tmp_path)
    (tmp_path / "ci.log").write_text(LOG * 200)
    other.cortex("init")
    other.cortex("process", "list")
    asked = ("run", "triage_ci_failure", "-i", "log=ci.log")

    full = subprocess.run(
        ["bash", "-c", f'ulimit -f 200; exec "{CORTEX}" "$@"', "-", *asked],
        cwd=tmp_path, env=other.env, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    other.cortex("doctor")
    found = other.json("execution", "list")

    assert full.returncode == 4
    assert full.stderr.splitlines()[-1].startswith("cortex: ")
    assert "Traceback" not in full.stderr
    assert len(found) <= 1


def test_a_log_is_followed_beside_the_runtime_that_writes_it(user: User) -> None:
    user.json("run", "--goal", "look at this", code=5)
    with user.start("events", "tail", "-f", "-n", "1", "--topic", "execution.*", "--json") as tail:
        assert tail.stdout is not None
        tail.stdout.readline()  # what was there: from now on it follows
        opened = user.json("run", "--goal", "and at this", code=5)
        lines = map(json.loads, iter(tail.stdout.readline, ""))
        # An execution that an earlier test left goes on beside it; its events come too.
        first = next(line for line in lines if line["correlation"] == opened["id"])
        tail.send_signal(signal.SIGINT)
        tail.communicate(timeout=120)

    assert first["topic"] == "execution.request"
    assert tail.returncode == 130


def test_a_reader_that_goes_away_is_no_error(triaged: dict[str, Any], user: User) -> None:
    with user.start("events", "query") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        process.wait(timeout=120)
        assert process.stderr.read() == ""

    assert process.returncode in (0, 141)


def test_help_comes_at_once(user: User) -> None:
    used_s = []
    for _ in range(3):
        before_s = children_s()
        out = user.cortex("--help")
        used_s.append(children_s() - before_s)

    assert "Run a process, or work towards a goal without one." in out
    assert min(used_s) < 1.0  # a guard against an import at the top; alone it takes 0.1 s


def children_s() -> float:
    """Seconds of the processor, which others on the machine do not add to."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_nothing_that_is_written_for_a_pipe_has_colours_or_padding(
    triaged: dict[str, Any], user: User
) -> None:
    out = user.cortex("execution", "list")

    assert "\x1b" not in out
    assert out.splitlines()[0].split("\t")[:2] == ["EXECUTION", "STATUS"]
