"""Whatever runs by a name is shown, rehearsed and explained by it, and says why it does not run."""

import json
import sys
from pathlib import Path

import pytest

from cortex.bus.events import ToolListed
from cortex.runtime.cli import main
from cortex.runtime.kernel import Home, Runtime

STEP = "steps:\n  - { id: say, description: Say it, action: shell, with: { run: echo hello } }\n"
OWN = f"process: triage_ci_failure\nversion: 7\n{STEP}"
CONTRACT = (
    "interface: change\nversion: 1\ndescription: What changes code\n"
    "required_steps: [{id: say, description: Say it}]\ninputs: {ticket: string}\n"
)
MEETS = f"process: NAME\nversion: 1\nimplements: change\ninputs: {{ticket: string}}\n{STEP}"
ASKING = (
    "process: asking\nversion: 1\nsteps:\n  - id: answer\n    action: answer_question\n"
    "    description: Say what the sum is\n    with: { question: What is the sum? }\n"
    "    tools: [tiny.add]\n"
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.delenv("CORTEX_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Home.create(folder / ".cortex")


def keep(home: Home, **sources: str) -> None:
    for name, text in sources.items():
        (home.processes / f"{name}.yaml").write_text(text)


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main([*words]) == code
    told = capsys.readouterr()
    return told.out + told.err


def test_a_shipped_process_goes_by_its_name_under_library_beside_one_of_the_users(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(home, own=OWN)
    Path("ci.log").write_text("FAILED tests/x.py::t - assert 1 == 2\n")
    shipped = "library/triage_ci_failure"

    ran = json.loads(said(capsys, "run", shipped, "-i", "log=ci.log", "--json", "--quiet"))
    dry = said(capsys, "process", "dry-run", shipped, "-i", "log=ci.log")

    assert (ran["process"], ran["status"]) == (shipped, "completed")
    assert dry.startswith(f"{shipped} version 1\n")


def test_a_name_with_a_slash_is_a_process_unless_there_is_such_a_file(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(home, own=f"process: team/tell\nversion: 1\n{STEP}")
    assert main(["run", "team/tell"]) == 0

    missing = said(capsys, "run", "team/tall", code=3)
    no_file = said(capsys, "run", "./team/tall", code=3)
    Path("team").mkdir()
    Path("team/tell").write_text(f"process: filed\nversion: 1\n{STEP}")
    filed = json.loads(said(capsys, "run", "team/tell", "--json", "--quiet"))

    assert "process 'team/tall' is not here: did you mean team/tell?" in missing
    assert "file 'team/tall' is not there: check the path" in no_file
    assert filed["process"] == "filed"


def test_a_dry_run_of_an_interface_is_that_of_what_would_run(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(home, contract=CONTRACT)
    alone = said(capsys, "process", "dry-run", "change", code=3)
    keep(home, one=MEETS.replace("NAME", "one"))
    only = said(capsys, "process", "dry-run", "change", "-i", "ticket=7")
    keep(home, two=MEETS.replace("NAME", "two"))
    both = said(capsys, "process", "dry-run", "change", code=1)
    home.config_path.write_text('[preferences]\nchange = "two"\n')
    preferred = said(capsys, "process", "dry-run", "change", "-i", "ticket=7")

    assert "is an interface, and no process that can run implements it" in alone
    assert only.startswith("one version 1\n")
    assert "change is an interface: one, two fit equally well" in both
    assert preferred.startswith("two version 1\n")


def test_a_dry_run_of_what_cannot_be_run_says_so_and_ends_as_the_run_would(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(home, base=f"process: base\nversion: 1\nabstract: true\n{STEP}")

    ran = said(capsys, "run", "base", code=1)
    dry = said(capsys, "process", "dry-run", "base", code=1)

    assert "is abstract and cannot be run: extend it and run that" in ran
    assert dry.splitlines()[1] == "it is abstract and cannot be run: extend it and run that"


def test_an_interface_is_shown_as_what_it_asks_for(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(home, contract=CONTRACT)

    shown = said(capsys, "process", "inspect", "change").splitlines()

    assert shown[0] == "What changes code"
    assert shown[1].startswith("input       ticket: string, required")
    assert shown[2].startswith("change 1  ")
    assert shown[3] == "step        say  Say it"


def test_what_a_process_lacks_is_said_wherever_it_is_shown_with_what_brings_it_back(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    page = home.knowledge / "team" / "rota.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text("Ada\n")
    keep(home, own=f"process: rota\nversion: 1\nknowledge: [team.rota]\n{STEP}")
    assert main(["run", "rota"]) == 0
    page.unlink()

    (row,) = [
        line for line in said(capsys, "process", "list").splitlines() if line.startswith("rota\t")
    ]
    inspected = said(capsys, "process", "inspect", "rota")
    status = said(capsys, "status", code=3)
    main(["doctor"])
    doctor = capsys.readouterr().out

    lacks = "topic team.rota is not there"
    assert row.split("\t")[3:] == ["unlinked", lacks]
    assert f"unlinked: {lacks}\n" in inspected
    assert f"unlinked   rota: {lacks}\n-> put topic team.rota back\n" in status
    assert f"rota is unlinked: {lacks}" in doctor
    assert "-> put topic team.rota back" in doctor
    assert "worker" not in doctor.partition(lacks)[2].partition("-> ")[2].partition("\n")[0]


def test_a_dry_run_starts_no_server_of_tools_and_shows_what_it_listed_or_that_it_is_missing(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = Path("begun").absolute()
    code = f"import pathlib; pathlib.Path({str(begun)!r}).touch()"
    command = json.dumps([sys.executable, "-c", code])
    home.config_path.write_text(
        f'[tools]\nwait_s = 7\n[[tools.mcp]]\nname = "tiny"\ncommand = {command}\n'
    )
    keep(home, own=ASKING)

    never = said(capsys, "process", "dry-run", "asking")
    with Runtime(home, components=()) as runtime:
        runtime.client("cortex").publish(ToolListed(server="tiny", tools=({"name": "add"},)))
    listed = said(capsys, "process", "dry-run", "asking")
    with Runtime(home, components=()) as runtime:
        runtime.client("cortex").publish(ToolListed(server="tiny", reason="tiny: it ended"))
    dead = said(capsys, "process", "dry-run", "asking")

    missing = "; a run waits for it, 7 s at most, and then fails this step"
    assert f"missing    tiny.add: no component or server offers it now{missing}" in never
    assert "tools      tiny__add" in listed
    assert "missing" not in listed
    assert (
        f"missing    tiny.add: no component or server offers it now (tiny: it ended){missing}"
        in dead
    )
    assert not begun.exists()
