"""With --json every command prints JSON and nothing else on standard output, also when it fails."""

import importlib
import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import pytest

from .command_lines import CORTEX, environment, run_many

root: click.Group = importlib.import_module("cortex.runtime.cli.tree").root
ECHO = """\
process: echo
version: 1
trigger: { type: event, match: { source: test } }
steps:
  - id: say
    action: shell
    with: { run: echo one }
  - id: rest
    action: shell
    when: steps.say.exit_code == 1
    with: { run: echo two }
"""
ASKS = """\
process: asks
version: 1
trigger: { type: event, match: { source: nobody } }
steps:
  - id: read
    action: shell
    with: { run: echo The harbour closes at nine }
  - id: say
    action: answer_question
    description: When does the harbour close?
    with: { question: When does the harbour close? }
    carry: [read]
"""
FIELDS = Path(__file__).parents[1] / "fixtures" / "surface" / "json_fields.txt"
WITHOUT_JSON = {"completion"}  # its output is a script


class Desk:
    """A folder with a home, in which a process ran once and another execution waits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = environment(folder)

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(CORTEX), *args],
            cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=120,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def json(self, *args: str, code: int = 0) -> Any:
        done = self.run(*args, "--json")
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout)

    def many(self, calls: Iterable[Sequence[str]]) -> list[tuple[int, str, str]]:
        """Exit code, standard output and standard error of each of *calls*, one after the other."""
        return run_many(self.folder, self.env, ([*call, "--json"] for call in calls))

    @property
    def source(self) -> Path:
        return self.folder / ".cortex" / "processes" / "echo.yaml"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = Desk(tmp_path_factory.mktemp("desk"))
    desk.json("init")
    desk.source.write_text(ECHO)
    desk.source.with_name("asks.yaml").write_text(ASKS)
    return desk


@pytest.fixture(scope="module")
def ids(desk: Desk) -> dict[str, str]:
    """Of an execution that is done, of two that are open, and of one that asked a model."""
    opened = ("run", "--goal", "tidy the shed")
    runs = [("run", "echo"), opened, opened, ("run", "asks")]
    found = [json.loads(out)["id"] for _, out, _ in desk.many(runs)]
    return dict(zip(("DONE", "OPEN", "WORK", "ASKED"), found, strict=True))


def commands(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def test_every_command_takes_json() -> None:
    for path, command in commands(root, ()):
        taken = {name for option in command.params for name in option.opts}
        assert ("--json" in taken) == (path[0] not in WITHOUT_JSON), path


CALLS: list[tuple[str, ...]] = [
    ("init",),
    ("doctor",),
    ("doctor", "--quick"),
    ("execution", "list"),
    ("execution", "find", "echo"),
    ("execution", "find", "nothing-has-this"),
    ("execution", "show", "DONE"),
    ("execution", "rate", "DONE", "good"),
    ("trace", "DONE"),
    ("knowledge", "index"),
    ("knowledge", "find", "a failing test"),
    ("knowledge", "list"),
    ("knowledge", "stats"),
    ("model", "list"),
    ("model", "check", "extractive"),
    ("prompt", "list"),
    ("prompt", "list", "ASKED"),
    ("prompt", "show", "ASKED"),
    ("prompt", "diff", "ASKED", "ASKED"),
    ("prompt", "why", "read"),
    ("prompt", "why", "read", "--in", "ASKED"),
    ("prompt", "stats"),
    ("context", "health"),
    ("context", "health", "ASKED"),
    ("ctx", "encode", ".cortex/processes/echo.yaml"),
    ("ctx", "stats", ".cortex/processes/echo.yaml"),
    ("process", "list"),
    ("process", "find", "echo"),
    ("process", "inspect", "echo"),
    ("process", "inspect", "triage_ci_failure"),
    ("process", "history", "echo"),
    ("process", "diff", "echo"),
    ("process", "validate"),
    ("process", "validate", "--strict"),
    ("process", "dry-run", "echo"),
    ("trigger", "source=test"),
    ("trigger", "source=test", "--no-wait"),
    ("execution", "do", "OPEN", "read_text", "-i", "path=.cortex/processes/echo.yaml"),
    ("execution", "finish", "OPEN", "--note", "tidy"),
]


@pytest.fixture(scope="module")
def ended(desk: Desk, ids: dict[str, str]) -> list[tuple[int, str, str]]:
    """What each of CALLS ended with."""
    return desk.many([[ids.get(word, word) for word in call] for call in CALLS])


def test_every_document_is_json_and_nothing_else(ended: list[tuple[int, str, str]]) -> None:
    for call, (code, out, err) in zip(CALLS, ended, strict=True):
        waits = call[:2] == ("execution", "do")  # for what the person does next
        assert code == (5 if waits else 0), (call, out, err)
        assert json.loads(out) is not None, call


def test_every_document_has_the_fields_that_it_always_had(
    ended: list[tuple[int, str, str]],
) -> None:
    there = [
        f"{' '.join(call)}: {field}\n"
        for call, (_, out, _) in zip(CALLS, ended, strict=True)
        for field in sorted(set(fields(json.loads(out))))
    ]

    if os.environ.get("CORTEX_WRITE_SURFACE"):
        FIELDS.write_text("".join(there))
    missing = [line for line in FIELDS.read_text().splitlines(keepends=True) if line not in there]
    assert not missing, "fields may be added; none is renamed or removed"


def fields(document: Any, path: str = "") -> Iterator[str]:
    """The path of every field in *document*; items of a list have one path."""
    if isinstance(document, list):
        for item in document:
            yield from fields(item, f"{path}[]")
    elif isinstance(document, dict):
        for name, value in document.items():
            yield from (f"{path}.{name}", *fields(value, f"{path}.{name}"))


def test_events_are_a_document_a_line(desk: Desk, ids: dict[str, str]) -> None:
    calls = [("query",), ("tail",), ("tail", "-n", "3"), ("query", "--execution", ids["DONE"])]

    for code, out, _ in desk.many([("events", *call) for call in calls]):
        lines = [json.loads(line) for line in out.splitlines()]
        assert code == 0
        assert len(lines) >= 3
        assert all({"position", "topic", "body"} <= line.keys() for line in lines)


def test_diagnostics_are_in_the_document_of_validate(desk: Desk) -> None:
    wrong = desk.folder / "wrong.yaml"
    wrong.write_text("process: wrong\nversion: 1\nsteps:\n  - id: a\n    action: no_such\n")

    found = desk.json("process", "validate", str(wrong), code=1)

    assert found["errors"] >= 1
    (first, *_) = found["diagnostics"]
    assert (first["file"], first["severity"]) == (str(wrong), "error")
    assert first["span"]["line"] == 5


FAILURES: list[tuple[tuple[str, ...], int, str]] = [
    (("execution", "show", "zzzz"), 3, "NotFoundError"),
    (("trace", "zzzz"), 3, "NotFoundError"),
    (("process", "inspect", "no_such"), 3, "NotFoundError"),
    (("prompt", "show", "zzzz"), 3, "NotFoundError"),
    (("prompt", "why", "no_such"), 3, "NotFoundError"),
    (("context", "health", "DONE"), 3, "NotFoundError"),
    (("ctx", "encode", "--kind", "toml", ".cortex/processes/echo.yaml"), 1, "CtxSourceError"),
    (("run", "no_such"), 3, "NotFoundError"),
    (("run",), 2, "UsageError"),
    (("run", "echo", "--frob"), 2, "UsageError"),
    (("frob",), 2, "UsageError"),
    (("execution", "frob"), 2, "UsageError"),
    (("events", "query", "--since", "soon"), 2, "UsageError"),
    (("trigger", "nothing=fits"), 3, "UnmatchedError"),
    (("events", "tail", "--home", "/nowhere/at/all"), 4, "HomeError"),
    (("execution", "resume", "DONE"), 1, "RefusedError"),
    (("execution", "finish", "WORK", "-o", "a=b"), 1, "RefusedError"),
    (("execution", "do", "WORK", "fly"), 1, "RefusedError"),
]


def test_a_failure_is_a_document_beside_its_line(desk: Desk, ids: dict[str, str]) -> None:
    ended = desk.many([[ids.get(word, word) for word in call] for call, _, _ in FAILURES])

    for (call, code, kind), (left, out, err) in zip(FAILURES, ended, strict=True):
        error = json.loads(out)["error"]
        assert (left, error["exit_code"], error["kind"]) == (code, code, kind), call
        assert err.startswith("cortex: ")
        assert " ".join(error["message"].split())[:40] in err
        assert len(out.splitlines()) == 1


def test_without_json_a_failure_leaves_standard_output_alone(desk: Desk) -> None:
    assert desk.run("run", "no_such").stdout == ""


def test_the_fields_of_a_failure_say_what_a_program_needs(desk: Desk) -> None:
    found = desk.json("run", "echo", "--version", "7", code=3)

    assert found["error"]["fields"]["what"] == "process"


def test_an_older_version_answers_a_trigger_only_where_it_is_named(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.many([("init",)])
    desk.source.write_text(ECHO)
    desk.many([("process", "list")])
    desk.source.write_text(ECHO.replace("one", "other"))  # without another version: rejected

    ended = desk.many(
        [
            ("trigger", "source=test"),
            ("trigger", "source=test", "--version", "2"),
            ("trigger", "source=test", "--version", "1"),
            ("trigger", "source=elsewhere"),
            ("execution", "list"),
        ]
    )

    refused, wrong, named, other, listed = (json.loads(out) for _, out, _ in ended)
    assert [code for code, _, _ in ended] == [1, 1, 0, 3, 0], ended
    assert refused["error"]["kind"] == "RejectedError"
    assert "answers this trigger in version 1, not 2" in wrong["error"]["message"]
    assert (named["status"], named["version"]) == ("completed", 1)
    assert other["error"]["kind"] == "UnmatchedError"
    assert [row["id"] for row in listed] == [named["id"]]


def test_a_condition_is_compared_as_it_is_written(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.many([("init",)])
    desk.source.write_text(ECHO)
    desk.many([("process", "list")])
    changed = ECHO.replace("version: 1", "version: 2").replace("== 1", "> 0 and not (1 == 2)")
    desk.source.write_text(changed)

    told = desk.run("process", "diff", "echo").stdout

    assert (
        'step `rest`: when was "steps.say.exit_code == 1", '
        'is "steps.say.exit_code > 0 and not 1 == 2"'
    ) in told
