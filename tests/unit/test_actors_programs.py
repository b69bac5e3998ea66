"""Programs are run from argument lists, in bounded time, with a bounded part of what they say."""

import os
import pickle
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.actors.gates import Command
from cortex.actors.handlers import RunTests, SendNotification, Shell
from cortex.bus import Draft, HubAwayError, Recorded
from cortex.runtime.code.programs import (
    KEPT_BYTES,
    Effects,
    ProgramError,
    ProgramOutcome,
    ProgramRefusedError,
    ProgramTimeoutError,
    Waiters,
    argv_of,
    run_program,
)
from cortex.runtime.kernel import Config, Home
from cortex.runtime.log import MemoryBlobs

from .actors_world import (
    PYTHON,
    completed,
    ends_with_its_group,
    gate_evaluate,
    step_execute,
    verdict,
)
from .execution_world import World

pytestmark = pytest.mark.wheel  # it starts what the wheel installs


def python(code: str, *words: str) -> list[str]:
    return [PYTHON, "-c", code, *words]


WORDS = st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), max_size=4)


@given(words=WORDS)
@settings(max_examples=200, deadline=None)
def test_a_list_is_taken_word_by_word_and_never_split(words: list[str]) -> None:
    assert argv_of(["program", *words], ()) == ("program", *words)


@pytest.mark.parametrize(
    ("written", "argv"),
    [
        ("make test", ("make", "test")),
        ("grep 'two words' $HOME;ls", ("grep", "two words", "$HOME;ls")),
        ('echo "a b" c\\ d', ("echo", "a b", "c d")),
    ],
)
def test_a_text_is_split_as_a_shell_would_and_nothing_is_expanded(
    written: str, argv: tuple[str, ...]
) -> None:
    assert argv_of(written, ()) == argv


@pytest.mark.parametrize("program", ["make", "tools/build"])
def test_a_program_is_allowed_as_it_is_listed(program: str) -> None:
    assert argv_of([program, "all"], ("make", "tools/build")) == (program, "all")


@pytest.mark.parametrize("program", ["./make", "/tmp/make", "tools/make", "build", "./tools/build"])
def test_a_file_that_is_called_like_an_allowed_program_is_not_allowed(program: str) -> None:
    with pytest.raises(ProgramRefusedError, match="is not among the programs"):
        argv_of([program, "all"], ("make", "tools/build"))


def test_what_a_program_says_is_never_split_by_a_shell(tmp_path: Path) -> None:
    outcome = run_program(
        python("import sys; print(sys.argv[1])", "$(id); `id` > x"), str(tmp_path), 30.0
    )

    assert outcome.stdout == b"$(id); `id` > x\n"
    assert list(tmp_path.iterdir()) == []


def test_output_and_errors_are_kept_apart(tmp_path: Path) -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"

    outcome = run_program(python(code), str(tmp_path), 30.0)

    assert outcome == ProgramOutcome(3, b"out\n", b"err\n")
    assert outcome.tail() == "out\nerr"


def test_of_long_output_the_end_is_kept(tmp_path: Path) -> None:
    outcome = run_program(python("for n in range(300_000): print(n)"), str(tmp_path), 30.0)

    assert len(outcome.stdout) == KEPT_BYTES
    assert outcome.stdout.endswith(b"299998\n299999\n")


def test_output_without_end_is_dropped_while_the_program_runs(tmp_path: Path) -> None:
    # Into files it would fail: the program and all beside it may write no more than that much.
    code = (
        "import resource;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20));"
        "[print('y' * 65_535) for n in range(512)]; print('end')"
    )

    outcome = run_program(python(code), str(tmp_path), 60.0)

    assert outcome.exit_code == 0
    assert len(outcome.stdout) == KEPT_BYTES
    assert outcome.stdout.endswith(b"y\nend\n")


def test_what_is_left_behind_and_goes_on_talking_is_not_listened_to(tmp_path: Path) -> None:
    outcome = run_program(["sh", "-c", "yes & echo $!"], str(tmp_path), 60.0)

    assert outcome.exit_code == 0


def test_a_program_that_closes_its_output_is_waited_for(tmp_path: Path) -> None:
    code = "import os, sys; os.close(1); os.close(2); open('late', 'w').close(); os._exit(4)"

    outcome = run_program(python(code), str(tmp_path), 60.0)

    assert outcome == ProgramOutcome(4, b"", b"")
    assert (tmp_path / "late").exists()


def test_a_program_cannot_wait_for_input(tmp_path: Path) -> None:
    outcome = run_program(python("import sys; print(repr(sys.stdin.read()))"), str(tmp_path), 30.0)

    assert outcome.stdout == b"''\n"


def test_a_signal_that_ended_a_program_is_a_negative_exit_code(tmp_path: Path) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"

    assert run_program(python(code), str(tmp_path), 30.0).exit_code == -9


def test_a_program_that_takes_too_long_ends_with_all_it_started(tmp_path: Path) -> None:
    with (
        ends_with_its_group(tmp_path) as argv,
        pytest.raises(ProgramTimeoutError, match=r"was ended after 1 s"),
    ):
        run_program(argv, str(tmp_path), 1.0)


def test_a_program_that_left_something_behind_does_not_hold_up_its_outcome(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = (
        "import subprocess, sys;"
        "p = subprocess.Popen([sys.executable, '-c', 'import threading;threading.Event().wait()']);"
        f"open({str(pid)!r}, 'w').write(str(p.pid)); p.returncode = 0"
    )

    outcome = run_program(python(code), str(tmp_path), 30.0)

    os.kill(int(pid.read_text()), 9)
    assert outcome.exit_code == 0


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="cannot be started: No such file or directory"):
        run_program(["true"], str(tmp_path / "gone"), 30.0)


def test_errors_survive_the_trip_between_processes() -> None:
    for error in (ProgramError("make", "is broken"), ProgramTimeoutError("make", 0.5)):
        again = pickle.loads(pickle.dumps(error))

        assert type(again) is type(error)
        assert str(again) == str(error)


SECRETS = [
    "ANTHROPIC_API_KEY",
    "GH_TOKEN",
    "PGPASSWORD",
    "client_secret",
    "GOOGLE_CREDENTIALS",
    "OPENAI_APIKEY",
    "APIKEY",
    "OPENAI_API_KEY_2",
    "REDISCLI_AUTH",
    "NPM_CONFIG__AUTH",
    "AZURE_DEVOPS_EXT_PAT",
    "DB_PASSWD",
    "MYSQL_PWD",
    "SSHPASS",
    "ANSIBLE_VAULT_PASS",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "SECRET_KEY_BASE",
    "DOCKER_AUTH_CONFIG",
    "AZURE_STORAGE_CONNECTION_STRING",
    "SLACK_WEBHOOK_URL",
    "SENTRY_DSN",
    "TKEY",
]
UNKNOWN = ["EDITOR", "SSH_AUTH_SOCK", "SSH_ASKPASS", "PYTHONPATH", "LD_PRELOAD", "JAVA_HOME", "XYZ"]
PLAIN = ["HOME", "LANG", "LC_TIME", "XDG_CACHE_HOME", "PATH", "VIRTUAL_ENV", "GIT_AUTHOR_NAME"]
SHOWN = "import os, sys; print(*[name for name in sys.argv[1:] if name in os.environ])"


def test_a_program_is_given_what_every_program_may_expect_and_what_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [*SECRETS, *UNKNOWN, *PLAIN]
    for name in names:
        monkeypatch.setenv(name, "/x")

    outcome = run_program(python(SHOWN, *names), str(tmp_path), 30.0)
    named = run_program(python(SHOWN, *names), str(tmp_path), 30.0, passed=["GH_TOKEN"])

    assert outcome.stdout.decode().split() == PLAIN
    assert named.stdout.decode().split() == ["GH_TOKEN", *PLAIN]


def test_a_variable_that_holds_a_configured_key_is_given_to_a_program_only_where_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLLMAUTH", "x")
    argv = python(SHOWN, "TLLMAUTH")

    hidden = run_program(argv, str(tmp_path), 30.0, hidden={"TLLMAUTH"})
    named = run_program(argv, str(tmp_path), 30.0, passed=["TLLMAUTH"], hidden={"TLLMAUTH"})

    assert (hidden.stdout, named.stdout) == (b"\n", b"TLLMAUTH\n")


CONFIGURED = """
[[models.use]]
name = "a"
provider = "openai"
base_url = "http://127.0.0.1:1/v1"
key_env = "TLLMAUTH"

[[models.use]]
name = "claude-haiku-4-5"
provider = "anthropic"

[[tools.mcp]]
name = "far"
url = "https://tools.example/mcp"
key_env = "FAR"

[[tools.mcp]]
name = "near"
command = ["near"]
env = ["NEAR", "PATH", "HOME", "LC_ALL"]

[[components]]
use = "mine:Tools"
config = { servers = [{ name = "x", key_env = "MINE" }], secret_env = "SIGNED" }
"""


def test_every_variable_that_is_configured_to_hold_a_key_is_kept_from_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["TLLMAUTH", "ANTHROPIC_API_KEY", "FAR", "NEAR", "MINE", "SIGNED"]
    plain = ["PATH", "HOME", "LC_ALL"]
    for name in (*names, "LC_ALL"):
        monkeypatch.setenv(name, "C")
    gate = Command(Config.parse(CONFIGURED))
    asked = gate_evaluate("command", str(tmp_path))
    argv = python(SHOWN, *names, *plain)

    told = verdict(gate.evaluate, msgspec.structs.replace(asked, parameters={"run": argv}))

    assert told.evidence["output"].split() == plain


@pytest.mark.parametrize("action", ["run_tests", "send_notification", "shell"])
def test_no_action_gives_the_key_of_a_model_to_its_program(
    action: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLLMAUTH", "x")
    config, blobs, home = Config.parse(CONFIGURED), MemoryBlobs(), Home(tmp_path / "home")
    carried = {
        "run_tests": RunTests(config, blobs, home).execute,
        "send_notification": SendNotification(config, home).execute,
        "shell": Shell(config, blobs, home).execute,
    }
    argv = python(f"{SHOWN}; open('told', 'w').write(str('TLLMAUTH' in os.environ))")
    given = {"run" if action == "shell" else "command": argv}

    completed(carried[action], step_execute(action, str(tmp_path), **given))

    assert (tmp_path / "told").read_text() == "False"


def test_a_program_that_nobody_wants_any_more_is_ended_with_all_it_started(tmp_path: Path) -> None:
    with (
        ends_with_its_group(tmp_path) as argv,
        pytest.raises(ProgramError, match="nothing waits for it"),
    ):
        run_program(argv, str(tmp_path), 600.0, wanted=lambda: False)


def test_a_program_may_tidy_up_when_it_is_ended(tmp_path: Path) -> None:
    argv = ["sh", "-c", "trap 'echo done > tidied; exit' TERM; sleep 600 & wait"]

    with pytest.raises(ProgramError, match="nothing waits for it"):
        run_program(argv, str(tmp_path), 600.0, wanted=lambda: False)

    assert (tmp_path / "tidied").read_text() == "done\n"


def test_a_program_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"

    with pytest.raises(ProgramError, match="nothing waits for it"):
        run_program(python(code), str(tmp_path), 600.0, wanted=lambda: False)


def test_a_program_that_is_wanted_runs_to_its_end(tmp_path: Path) -> None:
    outcome = run_program(["sleep", "0.7"], str(tmp_path), 600.0, wanted=lambda: True)

    assert outcome.exit_code == 0


@pytest.mark.parametrize(
    ("topics", "ended"),
    [
        (["execution.started", "step.completed"], False),
        (["execution.started", "execution.halted"], False),
        (["execution.completed"], True),
        (["execution.failed"], True),
        (["execution.cancelled"], True),
        ([], False),
    ],
)
def test_an_execution_has_ended_only_if_the_log_says_so(topics: list[str], ended: bool) -> None:
    world = World()
    for topic in topics:
        world.append(Draft(topic, 1, "execution/x", None, b""), "tests")

    assert Waiters(world.history).has_ended("execution/x") is ended


def test_without_a_log_no_execution_is_known_to_have_ended() -> None:
    def away(_: str) -> Iterator[Recorded]:
        raise HubAwayError("ipc:///nowhere", "nobody listens")

    assert not Waiters(None).has_ended("execution/x")
    assert not Waiters(away).has_ended("execution/x")


def test_a_shell_keeps_the_records_of_an_execution_that_is_open(tmp_path: Path) -> None:
    home, world, old_s = Home.create(tmp_path / ".cortex"), World(), time.time() - 8 * 86_400
    effects = Effects(home.path / "effects")
    for key, name in enumerate(("open", "ended", "ended")):
        effects.run(f"{key}", ["true"], str(tmp_path), 60.0, stream=f"execution/{name}")
    read: list[str] = []

    def history(stream: str) -> Iterator[Recorded]:
        read.append(stream)
        return world.history(stream)

    world.append(Draft("execution.completed", 1, "execution/ended", None, b""), "tests")
    for place in (home.path / "effects").iterdir():
        os.utime(place, (old_s, old_s))

    Shell(Config(), MemoryBlobs(), home, history).on_start()

    (left,) = (home.path / "effects").iterdir()
    assert msgspec.json.decode((left / "order").read_bytes())["stream"] == "execution/open"
    assert sorted(read) == ["execution/ended", "execution/open"]  # each once
