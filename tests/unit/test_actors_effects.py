"""An effect happens once: whoever is killed, whoever comes again."""

import gc
import os
import signal
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cortex.runtime.code.programs import (
    KEPT_BYTES,
    EffectInterruptedError,
    Effects,
    ProgramError,
    ProgramOutcome,
    ProgramTimeoutError,
    ProgramUnwantedError,
    run_ordered,
)

from .actors_world import PYTHON, ends_with_its_group

pytestmark = pytest.mark.wheel  # it starts what the wheel installs

RUN = """
import sys
from pathlib import Path
from cortex.runtime.code.programs import Effects
Effects(Path(sys.argv[1])).run("key", sys.argv[3:], sys.argv[2], 60.0)
"""


class Program:
    """Says that it began, waits until it may end, and leaves a line for each time it was run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / "runs"
        self.began, self.may_end = folder / "began", folder / "may_end"
        os.mkfifo(self.began)
        os.mkfifo(self.may_end)
        code = (
            "import os; "
            f"open({str(self.runs)!r}, 'a').write('run\\n'); "
            f"open({str(self.began)!r}, 'w').write(str(os.getppid())); "
            f"open({str(self.may_end)!r}).read(); "
            "print('done'); raise SystemExit(3)"
        )
        self.argv = (PYTHON, "-c", code)

    def wait(self) -> int:
        """Process id of what watches over the program, once it runs."""
        return int(self.began.read_text())

    def end(self) -> None:
        self.may_end.write_text("")

    def times(self) -> int:
        return self.runs.read_text().count("run") if self.runs.exists() else 0


@pytest.fixture
def store(tmp_path: Path) -> Effects:
    return Effects(tmp_path / "effects")


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.fixture
def runtime(tmp_path: Path, program: Program) -> Iterator["subprocess.Popen[bytes]"]:
    """A process of its own that runs the program and can be killed."""
    words = [str(tmp_path / "effects"), str(tmp_path), *program.argv]
    with subprocess.Popen([PYTHON, "-c", RUN, *words]) as process:
        yield process
        process.kill()


def run(store: Effects, program: Program) -> ProgramOutcome:
    return store.run("key", program.argv, str(program.folder), 60.0)


def test_a_program_is_run_in_its_folder_and_its_end_is_told(store: Effects, tmp_path: Path) -> None:
    code = "import os, sys; print(os.getcwd()); sys.exit('oh')"

    outcome = store.run("key", [PYTHON, "-c", code], str(tmp_path), 60.0)

    assert outcome == ProgramOutcome(1, f"{tmp_path.resolve()}\n".encode(), b"oh\n")


def test_the_same_key_gives_the_same_outcome_without_a_second_run(
    store: Effects, tmp_path: Path
) -> None:
    argv = [PYTHON, "-c", "print(open('runs', 'a').write('run'))"]
    first = store.run("key", argv, str(tmp_path), 60.0)

    again = Effects(tmp_path / "effects").run("key", argv, str(tmp_path), 60.0)

    assert again == first
    assert (tmp_path / "runs").read_text() == "run"


def test_another_key_is_another_run(store: Effects, tmp_path: Path) -> None:
    argv = [PYTHON, "-c", "open('runs', 'a').write('run')"]

    store.run("7/Shell/0", argv, str(tmp_path), 60.0)
    store.run("7/Shell/1", argv, str(tmp_path), 60.0)

    assert (tmp_path / "runs").read_text() == "runrun"


def test_a_runtime_that_is_killed_in_the_middle_finds_the_outcome_when_it_is_back(
    store: Effects, program: Program, runtime: "subprocess.Popen[bytes]"
) -> None:
    program.wait()
    runtime.kill()
    runtime.wait()
    program.end()

    outcome = run(store, program)

    assert (outcome.exit_code, outcome.stdout) == (3, b"done\n")
    assert program.times() == 1


def test_a_runtime_that_comes_back_while_the_program_runs_waits_for_it(
    store: Effects, program: Program, runtime: "subprocess.Popen[bytes]"
) -> None:
    program.wait()
    runtime.kill()
    runtime.wait()
    told: list[ProgramOutcome] = []
    waiting = threading.Thread(target=lambda: told.append(run(store, program)))
    waiting.start()

    program.end()
    waiting.join()

    assert [outcome.exit_code for outcome in told] == [3]
    assert program.times() == 1


@pytest.mark.filterwarnings("error::ResourceWarning")
def test_a_call_that_cannot_wait_any_more_leaves_the_program_running_and_no_zombie(
    store: Effects, program: Program, tmp_path: Path
) -> None:
    def ended() -> bool:
        raise RuntimeError("the runtime is over")

    with pytest.raises(RuntimeError, match="is over"):
        store.run("key", program.argv, str(tmp_path), 60.0, wanted=ended)
    watcher = program.wait()
    waiting = [each for each in threading.enumerate() if each.name == "cortex-effect"]
    gc.collect()
    program.end()
    for each in waiting:
        each.join()

    with pytest.raises(ProcessLookupError):
        os.kill(watcher, 0)
    assert store.run("key", program.argv, str(tmp_path), 60.0).exit_code == 3
    assert program.times() == 1


def test_a_program_whose_end_nobody_saw_is_not_run_again(
    store: Effects, program: Program, runtime: "subprocess.Popen[bytes]"
) -> None:
    watcher = program.wait()
    runtime.kill()
    os.kill(watcher, signal.SIGKILL)
    runtime.wait()

    for _ in range(2):
        with pytest.raises(EffectInterruptedError, match="check what it did"):
            run(store, program)

    program.end()
    assert program.times() == 1


def test_a_program_that_loses_its_watcher_is_told_at_once(store: Effects, program: Program) -> None:
    problems: list[BaseException] = []

    def attempt() -> None:
        try:
            run(store, program)
        except EffectInterruptedError as error:
            problems.append(error)

    waiting = threading.Thread(target=attempt)
    waiting.start()
    os.kill(program.wait(), signal.SIGKILL)
    waiting.join()

    program.end()
    assert [str(each) for each in problems] == [f"{PYTHON} was killed: check what it did"]


def test_many_workers_with_one_key_run_it_once(store: Effects, tmp_path: Path) -> None:
    argv = ["sh", "-c", "echo run >> runs; cat runs"]
    together = threading.Barrier(8)
    told: list[bytes] = []

    def attempt() -> None:
        together.wait()
        told.append(Effects(tmp_path / "effects").run("key", argv, str(tmp_path), 60.0).stdout)

    workers = [threading.Thread(target=attempt) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert told == [b"run\n"] * 8


def test_a_program_that_takes_too_long_ends_with_all_it_started(
    store: Effects, tmp_path: Path
) -> None:
    with ends_with_its_group(tmp_path) as argv:
        for _ in range(2):  # told again, not tried again
            with pytest.raises(ProgramTimeoutError, match="was ended after 1 s"):
                store.run("key", argv, str(tmp_path), 1.0)


@pytest.mark.parametrize("argv", [["/no/such/program"], ["a\0b"], ["/"]])
def test_a_program_that_cannot_be_started_is_told(
    argv: list[str], store: Effects, tmp_path: Path
) -> None:
    with pytest.raises(ProgramError, match="cannot be started: "):
        store.run("key", argv, str(tmp_path), 60.0)


def test_a_folder_that_is_no_path_is_told(store: Effects) -> None:
    with pytest.raises(ProgramError, match="cannot be started: "):
        store.run("key", ["true"], "a\0b", 60.0)


def test_a_store_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "effects").write_text("no folder")

    with pytest.raises(ProgramError, match="cannot be started: its record cannot be kept: "):
        Effects(tmp_path / "effects").run("key", ["true"], str(tmp_path), 60.0)


def test_a_beginning_that_cannot_be_recorded_is_no_beginning(
    store: Effects, tmp_path: Path
) -> None:
    argv = ["sh", "-c", "echo run >> runs"]
    store.run("key", argv, str(tmp_path), 60.0)
    (place,) = (tmp_path / "effects").iterdir()
    (place / "outcome").unlink()
    (place / "begun").unlink()
    (place / "begun").symlink_to("nowhere/at/all")

    with pytest.raises(ProgramError, match="cannot be started: its record cannot be kept"):
        store.run("key", argv, str(tmp_path), 60.0)

    assert (tmp_path / "runs").read_text() == "run\n"
    store.run("key", argv, str(tmp_path), 60.0)
    assert (tmp_path / "runs").read_text() == "run\nrun\n"


def test_a_record_is_on_the_disk_before_the_program_starts_and_its_end_before_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, fsync = tmp_path / "effects" / "place", os.fsync
    place.mkdir(parents=True)
    argv = ["sh", "-c", "echo run >> runs"]
    order = {"argv": argv, "folder": str(tmp_path), "timeout_s": 60.0}
    (place / "order").write_bytes(msgspec.json.encode(order))
    kept: list[tuple[str, bool, bool]] = []  # which, had the program run, was its end to be seen

    def recorded(descriptor: int) -> None:
        found = os.fstat(descriptor)
        (name,) = (
            path.name
            for path in (tmp_path, *tmp_path.rglob("*"))
            if os.path.samestat(path.lstat(), found)
        )
        kept.append((name, (tmp_path / "runs").exists(), (place / "outcome").exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", recorded)

    run_ordered(place)

    assert kept == [
        ("begun", False, False),
        ("place", False, False),
        ("effects", False, False),
        (tmp_path.name, False, False),
        ("stdout", True, False),
        ("stderr", True, False),
        ("outcome.new", True, False),
        ("place", True, True),
    ]


def test_records_are_readable_by_their_owner_alone(store: Effects, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store.run("key", ["sh", "-c", "echo secret > made"], str(tmp_path), 60.0)
    finally:
        os.umask(before)

    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "effects").rglob("*")}
    assert modes == {0o700, 0o600}
    assert stat.S_IMODE((tmp_path / "effects").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o666  # the program's own umask


def test_a_key_that_was_given_to_another_program_is_not_its_outcome(
    store: Effects, tmp_path: Path
) -> None:
    first = store.run("7/Shell/0", ["echo", "before the backup"], str(tmp_path), 60.0)

    again = store.run("7/Shell/0", ["echo", "after it"], str(tmp_path), 60.0)

    assert (first.stdout, again.stdout) == (b"before the backup\n", b"after it\n")


def test_of_long_output_the_end_is_kept(store: Effects, tmp_path: Path) -> None:
    argv = [PYTHON, "-c", "for n in range(300_000): print(n)"]

    outcome = store.run("key", argv, str(tmp_path), 60.0)

    assert len(outcome.stdout) == KEPT_BYTES
    assert outcome.stdout.endswith(b"299998\n299999\n")


def test_output_without_end_is_not_written_to_the_store(store: Effects, tmp_path: Path) -> None:
    code = (
        "import resource;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20));"
        "[print('y' * 65_535) for n in range(512)]; print('end')"
    )

    outcome = store.run("key", [PYTHON, "-c", code], str(tmp_path), 60.0)

    assert outcome.exit_code == 0
    assert outcome.stdout.endswith(b"y\nend\n")


def test_workers_that_tidy_up_together_do_not_disturb_each_other(tmp_path: Path) -> None:
    for number in range(200):
        place = tmp_path / "effects" / f"{number:032x}"
        place.mkdir(parents=True)
        (place / "outcome").touch()
        order = {"argv": ["true"], "folder": "/", "timeout_s": 1.0, "stream": "execution/e"}
        (place / "order").write_bytes(msgspec.json.encode(order))
    together = threading.Barrier(4)
    problems: list[BaseException] = []

    def tidy() -> None:
        together.wait()
        try:
            Effects(tmp_path / "effects").forget(lambda _: True, older_than_s=-1.0)
        except OSError as error:
            problems.append(error)

    workers = [threading.Thread(target=tidy) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert problems == []
    assert list((tmp_path / "effects").iterdir()) == []


def test_a_program_that_is_at_work_is_not_forgotten(
    store: Effects, program: Program, runtime: "subprocess.Popen[bytes]"
) -> None:
    program.wait()
    store.forget(lambda _: True, older_than_s=-1.0)
    program.end()

    assert run(store, program).exit_code == 3
    assert program.times() == 1


def test_records_of_settled_effects_are_forgotten_after_a_while(
    store: Effects, tmp_path: Path
) -> None:
    for stream in ("execution/ended", "execution/open", ""):
        store.run(f"key of {stream}", ["true"], str(tmp_path), 60.0, stream=stream)
    asked: list[str] = []

    def has_ended(stream: str) -> bool:
        asked.append(stream)
        return stream == "execution/ended"

    store.forget(has_ended, older_than_s=3_600.0)
    kept = len(list((tmp_path / "effects").iterdir()))
    store.forget(has_ended, older_than_s=-1.0)

    assert kept == 3
    assert sorted(asked) == ["execution/ended", "execution/open"]
    assert len(list((tmp_path / "effects").iterdir())) == 2


def test_a_program_that_was_killed_long_ago_is_not_begun_again(
    store: Effects, program: Program, runtime: "subprocess.Popen[bytes]"
) -> None:
    os.killpg(program.wait(), signal.SIGKILL)
    runtime.wait()

    store.forget(lambda _: False, older_than_s=-1.0)

    with pytest.raises(EffectInterruptedError):
        run(store, program)
    assert program.times() == 1


def test_a_program_that_is_cut_is_ended_and_its_record_says_so(tmp_path: Path) -> None:
    store = Effects(tmp_path / "effects")

    with ends_with_its_group(tmp_path) as argv:
        for wanted in (lambda: False, lambda: True):  # whoever comes again finds the record
            with pytest.raises(ProgramUnwantedError, match="nothing waits for it any more"):
                store.run("key", argv, str(tmp_path), 600.0, wanted=wanted)


def test_secrets_reach_a_program_only_by_their_names(
    store: Effects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", "x")
    argv = ["sh", "-c", "echo $GH_TOKEN"]

    without = store.run("one", argv, str(tmp_path), 60.0)
    named = store.run("two", argv, str(tmp_path), 60.0, passed=["GH_TOKEN"])

    assert (without.stdout, named.stdout) == (b"\n", b"x\n")


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc here")
def test_what_watches_over_a_program_does_not_hold_the_secrets_either(
    store: Effects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", "sentinel-token")
    monkeypatch.setenv("TLLMAUTH", "sentinel-key")
    argv = ["sh", "-c", "env; cat /proc/$PPID/environ"]

    outcome = store.run("key", argv, str(tmp_path), 60.0, hidden={"TLLMAUTH"})

    assert b"PATH=" in outcome.stdout
    assert b"sentinel" not in outcome.stdout
