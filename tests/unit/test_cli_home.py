"""What a home gives to the command line without a runtime: completion, hints, and its health."""

import importlib
import re
from pathlib import Path

import click
import pytest
from click.shell_completion import CompletionItem, ShellComplete

from cortex.bus.events import ExecutionCompleted, ExecutionRequest
from cortex.runtime.cli import main
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.serving import Service

root: click.Group = importlib.import_module("cortex.runtime.cli.tree").root
IDS = ("aaaabbbbccccdddd", "aaaaeeeeffffgggg", "zzzzyyyyxxxxwwww")
NAMES = {"answer_from_notes", "ci_failure_response", "triage_ci_failure"}  # they come with Cortex


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home with three executions, which the working folder belongs to."""
    monkeypatch.delenv("CORTEX_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    home = Home.create(tmp_path / ".cortex")
    with Runtime(home, components=[]) as runtime:
        for execution_id in IDS:
            runtime.client("me").publish(
                ExecutionRequest(execution_id=execution_id, process="triage", goal="find it"),
                ExecutionCompleted(execution_id=execution_id),
            )
    return home


def offered(words: list[str], incomplete: str) -> list[CompletionItem]:
    return ShellComplete(root, {}, "cortex", "_CORTEX_COMPLETE").get_completions(words, incomplete)


@pytest.mark.parametrize(
    "words",
    [
        ["trace"],
        *(["execution", each] for each in ("show", "resume", "pause", "cancel", "finish", "rate")),
        ["events", "query", "--execution"],
    ],
)
def test_ids_of_executions_are_completed_the_newest_first(home: Home, words: list[str]) -> None:
    assert [item.value for item in offered(words, "")] == list(reversed(IDS))
    assert [item.value for item in offered(words, "aaaae")] == [IDS[1]]
    assert offered(words, "")[0].help == "triage find it"


@pytest.mark.parametrize(
    "words",
    [
        ["run"],
        *(["process", each] for each in ("inspect", "history", "diff", "dry-run")),
        ["execution", "list", "--process"],
    ],
)
def test_names_of_processes_are_completed_compiled_or_not(home: Home, words: list[str]) -> None:
    (home.processes / "mine.yaml").write_text("process: my_own\nversion: 1\n")

    assert {item.value for item in offered(words, "")} >= {*NAMES, "my_own"}
    assert [item.value for item in offered(words, "my")] == ["my_own"]


@pytest.mark.parametrize("words", [["run"], ["process", "dry-run"]])
def test_names_of_inputs_are_completed_for_the_process_that_is_named(
    home: Home, words: list[str]
) -> None:
    text = "process: {}\nversion: 1\ninputs:\n  log: {{type: path}}\n  level: {{type: integer}}\n"
    (home.processes / "mine.yaml").write_text(text.format("my_own"))
    Path("other.yaml").write_text(text.format("other").replace("level", "depth"))

    for named, all_ in (("my_own", ["log=", "level="]), ("other.yaml", ["log=", "depth="])):
        assert [item.value for item in offered([*words, named, "-i"], "")] == all_
    assert [item.value for item in offered([*words, "my_own", "-i"], "le")] == ["level="]
    assert [i.value for i in offered([*words, "my_own", "-i", "log=x", "-i"], "")] == ["level="]
    assert [item.value for item in offered([*words, "triage_ci_failure", "-i"], "l")] == ["log="]
    assert offered([*words, "nothing", "-i"], "") == []


def test_where_no_name_fits_a_source_is_completed_by_its_file(home: Home) -> None:
    assert [item.type for item in offered(["run"], "./")] == ["file"]


def test_completion_takes_the_home_that_is_named(home: Home, tmp_path: Path) -> None:
    assert len(offered(["trace", "--home", str(home.path)], "")) == len(IDS)
    assert offered(["trace", "--home", str(tmp_path / "other")], "") == []


def test_completion_is_silent_where_the_home_is_broken(home: Home) -> None:
    home.log_path.write_bytes(b"no log" * 1_000)

    assert offered(["trace"], "") == []


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("step.complted", "step.completed"),
        ("excution.*", "execution.*"),
        ("gate.evaluted", "gate.evaluated"),
    ],
)
def test_a_topic_that_no_event_has_is_answered_with_the_nearest(
    home: Home, capsys: pytest.CaptureFixture[str], asked: str, meant: str
) -> None:
    code = main(["events", "query", "--topic", asked])

    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    assert f"there is no topic {asked!r}: did you mean {meant}?" in said.err


def test_a_topic_that_is_like_none_is_told_without_a_guess(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["events", "tail", "--topic", "qqq"])

    assert code == 2
    assert (
        "there is no topic 'qqq': `cortex events schema` shows what is" in capsys.readouterr().err
    )


def test_a_topic_of_a_plugin_that_has_said_nothing_yet_is_no_mistake(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["events", "query", "--topic", "x.ticker.*", "--topic", "x.ticker.ticked"])

    assert (code, *capsys.readouterr()) == (0, "", "")


def test_a_topic_that_is_there_is_not_commented(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["events", "query", "--topic", "execution.*"])

    said = capsys.readouterr()
    assert said.err == ""
    assert len(said.out.splitlines()) == 2 * len(IDS)


def doctor(capsys: pytest.CaptureFixture[str], home: Path) -> tuple[int, str]:
    code = main(["doctor", "--home", str(home)])
    return code, " ".join(capsys.readouterr().out.split())


def test_a_healthy_home_has_nothing_to_be_done(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = doctor(capsys, home.path)

    assert code == 0
    assert "->" not in said
    assert f"ok home {home.path}" in said
    assert "ok runtime none runs on this home" in said


def test_that_nobody_made_a_home_yet_is_no_failure_and_init_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    code = main(["doctor"])

    said = " ".join(capsys.readouterr().out.split())
    assert code == 0
    assert "warn home" in said
    assert "`cortex init` makes it" in said


def test_a_home_that_others_may_read_is_closed_by_the_command_that_is_named(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    home.path.chmod(0o755)

    code, said = doctor(capsys, home.path)

    assert code == 0
    assert "may be read by others (mode 755)" in said
    assert f"-> chmod -R go-rwx {home.path}" in said


def test_a_config_that_is_wrong_is_a_failure_that_names_the_key(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    home.config_path.write_text("durabilty = 'full'\n")

    code, said = doctor(capsys, home.path)

    assert code == 4
    assert "fail config" in said
    assert "durabilty" in said


def test_a_setting_that_is_right_and_has_no_effect_here_is_named(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = "[models]\ndefault = 'extractiv'\n[plugins.webhok]\nport = 1\n[plugins.webhook]\n"
    home.config_path.write_text(f'[preferences]\nfix = "look_at"\nmend = "look_att"\n{tables}')
    _, fresh = doctor(capsys, home.path)  # nothing was compiled yet: which there are, nobody knows
    source = (
        "process: look_at\nversion: 1\nsteps:\n  - { id: a, action: shell, with: { run: ls } }\n"
    )
    (home.processes / "look_at.yaml").write_text(source)
    assert main(["run", "look_at", "--home", str(home.path)]) == 0
    capsys.readouterr()

    code, said = doctor(capsys, home.path)

    assert code == 0
    assert "[plugins.webhok] has no effect: there is no plugin 'webhok'" in said
    assert "did you mean `webhook`?" in said
    assert "[preferences] mend has no effect: there is no process 'look_att'" in said
    assert "did you mean `look_at`?" in said
    assert "[models] default has no effect: there is no model 'extractiv'" in said
    assert "did you mean `extractive`?" in said
    assert "[preferences] fix" not in said
    assert "[plugins.webhook]" not in said
    assert "[preferences]" not in fresh


def test_a_runtime_that_holds_the_home_is_named(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    with Runtime(home, components=[]):
        code, said = doctor(capsys, home.path)

    assert code == 0
    assert "serves no other process; commands that record are refused until it ends" in said


def test_the_home_may_be_named_before_the_command(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    other = Home.create(elsewhere / "other")

    assert main(["--home", str(home.path), "execution", "show", IDS[2]]) == 0
    assert IDS[2] in capsys.readouterr().out
    assert main(["--home", str(home.path), "execution", "show", IDS[2], "--home", str(other.path)])
    assert main(["--home", str(tmp_path / "nowhere"), "trust", "--show"]) == 4


def test_a_question_is_not_answered_with_yes_and_no_at_once(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["execution", "resume", IDS[2], "--approve", "--deny"]) == 2
    assert "give one of --approve, --deny" in capsys.readouterr().err


@pytest.mark.parametrize("command", [("run", "said"), ("trigger", "source=x")])
def test_an_input_that_would_be_masked_is_refused_and_not_shown(
    home: Home, command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a step would be run with the mask where the secret is meant."""
    home.processes.joinpath("said.yaml").write_text(
        "process: said\nversion: 1\ntrigger: {type: event, match: {source: x}}\n"
        "inputs: {word: string}\n"
        "steps:\n  - {id: a, action: shell, with: {run: [echo, '${inputs.word}']}}\n"
    )
    secret = "ghp_" + "a1B2c3D4e5F6" * 3

    assert main([*command, "-i", f"word={secret}"]) == 2
    said = capsys.readouterr().err
    assert "word holds a secret, which is never recorded" in said
    assert secret not in said


def test_a_source_that_holds_a_secret_is_refused_before_it_runs_with_a_mask(
    home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "k3yOfTheDeployment99")
    home.processes.joinpath("said.yaml").write_text(
        "process: said\nversion: 1\nsteps:\n"
        "  - {id: a, action: shell, with: {run: [echo, k3yOfTheDeployment99]}}\n"
    )

    assert main(["process", "validate"]) == 1
    validated = capsys.readouterr()
    assert main(["run", "said"]) == 1
    run = capsys.readouterr()

    assert "said.yaml:4:47: error P015 a secret is written here" in validated.out
    assert "name that in the step's `env`" in validated.out
    assert "P015: a secret is written here" in run.err
    assert "k3yOfTheDeployment99" not in validated.out + run.err + run.out


def test_trace_without_a_name_shows_the_newest_that_a_person_or_a_trigger_asked_for(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    with Runtime(home, components=[]) as runtime:
        child = ExecutionRequest(execution_id="child", process="p", goal="p", parent=IDS[0])
        runtime.client("me").publish(child)

    assert main(["trace"]) == 0

    assert f"execution {IDS[-1]}  " in capsys.readouterr().out


def test_trace_says_where_there_is_nothing_to_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["trace", "--home", str(Home.create(tmp_path / "new").path)])

    assert code == 3
    assert "execution: there is none yet, `cortex run PROCESS` makes one" in capsys.readouterr().err


def test_doctor_says_of_a_runtime_that_serves_nobody_that_commands_are_refused(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    with Runtime(home, components=[]):
        code, said = doctor(capsys, home.path)

    assert code == 0
    assert "serves no other process; commands that record are refused until it ends" in said


def test_doctor_says_of_a_hub_that_commands_use_it(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    with Service(home, components=()):
        code, said = doctor(capsys, home.path)

    assert code == 0
    assert re.search(r"process \d+ is its hub, which commands that record use", said)
    assert "refused" not in said
