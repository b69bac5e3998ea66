"""Whatever a user gets wrong ends in one clear line and the exit code that the docs promise."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

CORTEX = Path(sys.executable).parent / "cortex"
MISSPELLED = "process: greet\nversion: 1\nsteps:\n  - id: say\n    acton: shell\n"


def cortex(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "XDG_DATA_HOME": str(folder / "data"), "COLUMNS": "100"}
    env.pop("CORTEX_HOME", None)
    env.pop("CORTEX_DEBUG", None)
    command = [str(CORTEX), *args]
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def nothing(folder: Path) -> None:
    pass


def a_home(folder: Path) -> None:
    assert cortex(folder, "init").returncode == 0


def newer_home(folder: Path) -> None:
    a_home(folder)
    (folder / ".cortex" / "version").write_text("99\n")


def wrong_config(folder: Path) -> None:
    a_home(folder)
    (folder / ".cortex" / "config.toml").write_text('\n[models]\ndefalt = "x"\n')


def corrupt_log(folder: Path) -> None:
    a_home(folder)
    (folder / ".cortex" / "log.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)


def text_for_a_log(folder: Path) -> None:
    a_home(folder)
    (folder / ".cortex" / "log.db").write_text("this is a diary\n" * 100)


def home_is_a_file(folder: Path) -> None:
    (folder / "home").write_text("")


def sources(folder: Path) -> None:
    (folder / "misspelled.yaml").write_text(MISSPELLED)
    (folder / "binary.yaml").write_bytes(b"\xff\xfe\x00\x01")
    (folder / "empty.yaml").write_text("")
    (folder / "bomb.yaml").write_text(
        "a: &a [x, x]\n"
        + "".join(f"{c}: &{c} [*{b}, *{b}]\n" for b, c in zip("abcdefgh", "bcdefghi", strict=True))
    )
    (folder / "huge.yaml").write_text("# " + "x" * 2_000_000)
    (folder / "inputs.json").write_text("[1, 2]")
    (folder / "broken.json").write_text("{")


# what is prepared, the command, its exit code, and what its one line says
CASES: dict[str, tuple[Callable[[Path], None], tuple[str, ...], int, str]] = {
    "an unknown command": (nothing, ("exection",), 2, "did you mean execution?"),
    "an unknown inner command": (nothing, ("process", "lst"), 2, "did you mean list?"),
    "an unknown option": (nothing, ("run", "--hom"), 2, "No such option"),
    "a missing argument": (nothing, ("execution", "show"), 2, "Missing argument"),
    "nothing to run": (nothing, ("run",), 2, "name a PROCESS, or give a --goal"),
    "an input without a value": (nothing, ("run", "x", "-i", "log"), 2, "is not NAME=VALUE"),
    "an input twice": (nothing, ("run", "x", "-i", "a=1", "-i", "a=2"), 2, "given twice"),
    "a trigger without a value": (nothing, ("trigger", "ci"), 2, "is not FIELD=VALUE"),
    "a workspace that is not there": (nothing, ("run", "x", "--workspace", "no"), 2, "no"),
    "a time that is none": (a_home, ("events", "query", "--since", "soon"), 2, "write 90s, 15m"),
    "no home to read": (nothing, ("execution", "list"), 4, "make one with `cortex init`"),
    "a home that is a file": (home_is_a_file, ("run", "x", "--home", "home"), 2, "is a file"),
    "a home from a newer version": (newer_home, ("run", "x"), 4, "upgrade Cortex; nothing was"),
    "a newer home, read": (newer_home, ("events", "tail"), 4, "upgrade Cortex"),
    "a wrong setting": (wrong_config, ("run", "x"), 4, "toml:3: `defalt` in [models] is not"),
    "a corrupt log": (corrupt_log, ("execution", "list"), 4, "log.db"),
    "a corrupt log, written": (corrupt_log, ("run", "x"), 4, "log.db"),
    "a log that is text": (text_for_a_log, ("events", "tail"), 4, "is not an event log"),
    "no such execution": (a_home, ("trace", "nosuch"), 3, "`cortex execution list` shows what is"),
    "no such process": (a_home, ("run", "triage_ci_failur"), 3, "did you mean triage_ci_failure?"),
    "no such version": (
        a_home, ("run", "triage_ci_failure", "--version", "7"), 3, "is not here: it has 1",
    ),
    "no such process to inspect": (a_home, ("process", "inspect", "zzz"), 3, "process list"),
    "no such file": (a_home, ("run", "./no.yaml"), 3, "is not there: check the path"),
    "no such file to check": (a_home, ("process", "validate", "no.yaml"), 3, "is not there"),
    "no execution to resume": (a_home, ("execution", "resume", "zz"), 3, "is not in this home"),
    "an abstract process": (a_home, ("run", "ci_failure_response", "-i", "log=x"), 1, "abstract"),
    "a trigger that nobody answers": (
        a_home, ("trigger", "source=nobody"), 3, "no process answers a trigger with source=nobody",
    ),
    "a source with an error": (sources, ("run", "misspelled.yaml"), 1, "misspelled.yaml:4:5:"),
    "a source that is not text": (sources, ("run", "binary.yaml"), 1, "binary.yaml:1:1: error"),
    "a source that is empty": (sources, ("run", "empty.yaml"), 1, "has no process that can"),
    "a YAML bomb": (sources, ("run", "bomb.yaml"), 1, "bomb.yaml:"),
    "a source of two megabytes": (sources, ("run", "huge.yaml"), 1, "huge.yaml:1:1: error P001"),
    "inputs that are not a map": (
        sources, ("run", "triage_ci_failure", "--input-file", "inputs.json"), 2, "holds no map",
    ),
    "inputs that are not JSON": (
        sources, ("run", "triage_ci_failure", "--input-file", "broken.json"), 2, "neither JSON nor",
    ),
    "inputs that are not there": (
        sources, ("run", "triage_ci_failure", "--input-file", "no.json"), 2, "cannot be read",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_ends_in_one_clear_line(case: str, tmp_path: Path) -> None:
    prepare, args, code, says = CASES[case]
    prepare(tmp_path)

    done = cortex(tmp_path, *args)

    told = done.stdout + done.stderr
    assert says in told
    assert done.returncode == code
    assert "Traceback" not in told
    assert "defect" not in told
    if code != 1 or not done.stdout:
        lines = [line for line in done.stderr.splitlines() if line.startswith("cortex:")]
        assert len(lines) == 1


def test_a_source_that_is_wrong_shows_every_diagnostic_with_its_remedy(tmp_path: Path) -> None:
    sources(tmp_path)

    done = cortex(tmp_path, "process", "validate", "misspelled.yaml")

    assert done.returncode == 1
    assert "misspelled.yaml:5:5: error P" in done.stdout
    assert "did you mean `action`" in done.stdout
    assert "1 file, 2 errors" in done.stdout or "1 file, 1 error" in done.stdout


def test_a_rejected_source_whose_file_is_removed_is_rejected_no_more(tmp_path: Path) -> None:
    a_home(tmp_path)
    processes = tmp_path / ".cortex" / "processes"
    for name in ("one", "two"):
        text = f"process: {name}\nversion: 1\nsteps:\n  - {{ id: a, action: nosuch }}\n"
        (processes / f"{name}.yaml").write_text(text)
    rejected = cortex(tmp_path, "process", "list")
    before = cortex(tmp_path, "doctor")
    for name in ("one", "two"):
        (processes / f"{name}.yaml").unlink()
    cortex(tmp_path, "process", "list")
    after = cortex(tmp_path, "doctor")

    assert "one.yaml (and 1 more) were rejected: see `cortex process validate`" in rejected.stderr
    assert "one.yaml is rejected: P401" in before.stdout
    assert "ok    processes   all that were compiled can run" in after.stdout


def test_a_fix_is_shown_and_written(tmp_path: Path) -> None:
    sources(tmp_path)

    done = cortex(tmp_path, "process", "validate", "--fix", "misspelled.yaml")

    assert "-    acton: shell" in done.stdout
    assert "+    action: shell" in done.stdout
    assert "    action: shell" in (tmp_path / "misspelled.yaml").read_text()


@pytest.mark.parametrize(
    ("lines", "promised"),
    [("version: 1\ngaets: 3\n", False), ("versoin: 1\n", True)],
)
def test_what_validate_says_that_fix_does_is_what_it_does(
    lines: str, promised: bool, tmp_path: Path
) -> None:
    sources(tmp_path)
    text = f"process: p\n{lines}steps:\n  - {{id: a, action: shell, with: {{run: echo}}}}\n"
    (tmp_path / "p.yaml").write_text(text)

    said = cortex(tmp_path, "process", "validate", "p.yaml").stdout
    cortex(tmp_path, "process", "validate", "--fix", "p.yaml")

    assert ("--fix does it" in said) is promised
    assert ((tmp_path / "p.yaml").read_text() != text) is promised


def test_two_fixes_that_mean_one_key_leave_a_file_that_compiles(tmp_path: Path) -> None:
    sources(tmp_path)
    (tmp_path / "twice.yaml").write_text(
        "process: twice\nversoin: 1\nsteps:\n  - {id: a, action: shell, with: {run: echo}}\n"
    )

    done = cortex(tmp_path, "process", "validate", "--fix", "twice.yaml")

    assert done.returncode == 0, done.stdout
    assert (tmp_path / "twice.yaml").read_text().count("version: 1") == 1


NOT_TEXT = os.fsdecode(b"caf\xe9")


@pytest.mark.parametrize(
    "args", [("run", NOT_TEXT), ("run", "x", "-i", f"log={NOT_TEXT}"), ("--home", NOT_TEXT)]
)
def test_an_argument_that_is_not_utf_8_is_a_mistake_of_usage(
    args: tuple[str, ...], tmp_path: Path
) -> None:
    done = cortex(tmp_path, *args)

    assert done.returncode == 2
    assert done.stderr.startswith(f"cortex: argument {len(args)} is not UTF-8: ")
    assert "caf\\xe9" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "darwin", reason="its file system takes UTF-8 alone")
def test_a_working_folder_whose_name_is_not_utf_8_is_named(tmp_path: Path) -> None:
    folder = tmp_path / NOT_TEXT
    folder.mkdir()
    assert cortex(folder, "init", "--home", "../home").returncode == 0

    done = cortex(folder, "run", "--goal", "x", "--home", "../home")

    assert done.returncode == 2
    assert "caf\\xe9 is not UTF-8, and Cortex records only UTF-8: rename it" in done.stderr
    assert "defect" not in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_home_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    a_home(tmp_path)
    (tmp_path / ".cortex").chmod(0)

    done = cortex(tmp_path, "run", "x")

    (tmp_path / ".cortex").chmod(stat.S_IRWXU)
    assert done.returncode == 4
    assert "Permission denied" in done.stderr


def test_doctor_says_what_is_wrong_and_what_to_do(tmp_path: Path) -> None:
    wrong_config(tmp_path)
    (tmp_path / ".cortex").chmod(0o755)

    done = cortex(tmp_path, "doctor")

    assert done.returncode == 4
    assert "fail  config" in done.stdout
    assert "is not a key: did you mean `default`?" in done.stdout
    assert "chmod -R go-rwx" in done.stdout


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("-i", f"n={10**30}"), "n holds a whole number over 64 bits"),
        (("-i", f"l={'[' * 3000}{']' * 3000}"), "l is nested too deeply"),
        (("--max-cost", "nan"), "'nan' is not an amount of US dollars"),
        (("--max-cost", "inf"), "inf is not in the range"),
    ],
)
def test_a_value_that_cannot_be_recorded_or_compared_is_named(
    tmp_path: Path, given: tuple[str, str], said: str
) -> None:
    a_home(tmp_path)
    (tmp_path / ".cortex" / "processes" / "p.yaml").write_text(
        "process: p\nversion: 1\ninputs: {n: {type: integer, default: 1},"
        " l: {type: list, default: []}}\n"
        "steps: [{id: a, action: shell, with: {run: echo one}}]\n"
    )

    done = cortex(tmp_path, "run", "p", *given)

    assert done.returncode == 2
    assert said in done.stderr
    assert "defect" not in done.stderr
