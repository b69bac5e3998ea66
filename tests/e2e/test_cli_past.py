"""`--at` shows what was there at a position or a time; every command that reads the log has it."""

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest

from cortex.runtime.kernel import Home
from cortex.runtime.projections import HomeLog

from .command_lines import environment, run_many

ROOT: click.Group = import_module("cortex.runtime.cli.tree").root

# What acts on a home or on the world.
ACTS = {
    "audit erase", "audit key new", "audit sign", "audit witness accept", "audit witness add",
    "audit witness init", "audit witness remove", "audit witness serve", "backup", "blobs gc",
    "cache clear", "client add", "client grant", "client revoke", "completion",
    "directive branch", "directive import", "directive merge", "directive pin", "directive redo",
    "directive repl", "directive step", "directive undo", "down",
    "events drop", "events retry", "execution approve", "execution break", "execution cancel",
    "execution do", "execution edit", "execution finish", "execution pause", "execution rate",
    "execution resume", "fork", "gc run", "import", "init", "knowledge index", "log seal",
    "memory consolidate", "memory correct", "memory forget", "memory import", "memory link",
    "memory pin", "memory record", "memory restore", "memory reword", "memory undo",
    "package compile", "plugin dev",
    "plugin load", "plugin new", "plugin reload", "plugin unload", "projections rebuild", "restore",
    "run", "trigger", "trust", "up", "what-if", "worker",
}  # fmt: skip
# What shows something else than the log: files, keys, programs, a hub that is up, a whole log, or
# two moments.
SHOWS_THE_PRESENT = {
    "audit consistency", "audit key list", "audit prove", "audit record", "audit subjects",
    "audit verify", "audit witness list", "audit witness logs", "cache stats", "client fingerprint",
    "client show", "ctx check", "ctx decode", "ctx encode", "ctx stats", "diff", "doctor",
    "events schema", "knowledge find", "knowledge list", "knowledge stats", "log state",
    "model check", "model list", "plugin info", "plugin list", "plugin logs", "process dry-run",
    "process validate", "projections list", "projections verify", "status",
}  # fmt: skip


def leaves(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        whole = f"{path} {name}".strip()
        if isinstance(command, click.Group):
            yield from leaves(command, whole)
        elif command is not None:
            yield whole, command


def test_every_command_that_reads_the_log_can_show_the_past() -> None:
    commands = dict(leaves(ROOT))
    past = {
        name
        for name, command in commands.items()
        if any("--at" in parameter.opts for parameter in command.params)
    }

    assert commands.keys() - past == ACTS | SHOWS_THE_PRESENT


class Ran:
    """A home in which one execution ran, and where its events are."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.env = folder, environment(folder)
        self.home = Home(folder / ".cortex")
        source = "process: greet\nversion: 1\nsteps:\n  - id: say\n    action: shell\n"
        source += "    with: {run: echo hello}\n"
        self.done("init")
        (self.home.processes / "greet.yaml").write_text(source)
        self.done("run greet --quiet -y")
        with HomeLog.open(self.home) as past:
            self.at = {record.topic: record.position for record in past.read()}
            self.time_ns = {record.topic: record.time_ns for record in past.read()}

    def call(self, line: str) -> tuple[int, str, str]:
        ((code, out, err),) = run_many(self.folder, self.env, [line.split()])
        return code, out, err

    def done(self, line: str) -> str:
        code, out, err = self.call(line)
        assert code == 0, out + err
        return out


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp("past"))


def test_an_execution_is_shown_as_it_was(ran: Ran) -> None:
    def status(topic: str) -> list[str]:
        listed = json.loads(ran.done(f"execution list --json --at {ran.at[topic]}"))
        return [row["status"] for row in listed]

    assert status("runtime.started") == []
    assert status("step.execute") == ["running"]
    assert status("execution.completed") == ["completed"]
    began = json.loads(ran.done(f"trace --json --at {ran.at['step.execute']}"))
    whole = json.loads(ran.done("trace --json"))
    assert began["execution"]["status"] == "running"
    assert len(began["spans"]) < len(whole["spans"])
    assert "resume" not in ran.done(f"execution show --at {ran.at['step.execute']}".replace(
        "show", f"show {whole['execution']['id']}"
    ))  # fmt: skip


def test_the_present_and_the_head_of_the_log_are_the_same(ran: Ran) -> None:
    head = max(ran.at.values())

    for command in ("execution list", "trace", "events query", "process list", "prompt list"):
        assert ran.done(f"{command} --json") == ran.done(f"{command} --json --at {head}"), command


def test_a_time_stands_for_the_newest_event_until_then(ran: Ran) -> None:
    from cortex.runtime.kernel import iso

    then = iso(ran.time_ns["step.execute"] + 1_000)

    found = [json.loads(line) for line in ran.done(f"events query --json --at {then}").splitlines()]

    assert found[-1]["topic"] == "step.execute"
    assert ran.done("events query --at 2020-01-01") == ""


def test_what_is_not_there_yet_or_no_moment_is_said_in_one_line(ran: Ran) -> None:
    for line, code in (
        ("trace --at 999999", 3),
        ("trace --at yesterday", 2),
        ("trace --at -1", 2),
        (f"execution show nonesuch --at {ran.at['step.execute']}", 3),
        ("events tail -f --at 1", 2),
        ("context health -f --at 1", 2),
    ):
        ended, out, err = ran.call(line)
        assert (ended, out) == (code, ""), line
        assert len([each for each in err.splitlines() if "as of position" not in each]) == 1, err


def test_nothing_acts_on_the_past(ran: Ran) -> None:
    from cortex.runtime.kernel import HomeError

    with pytest.raises(HomeError, match="nothing acts on it"):
        ran.home.at(3).open()
