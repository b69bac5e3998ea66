"""The command line at a terminal: it asks, aligns and colours; elsewhere it does not."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

CORTEX = Path(sys.executable).parent / "cortex"


class Terminal:
    """A terminal of 100 columns, and what is typed into it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *args: str, typed: str = "", **env: str) -> tuple[int, str]:
        """Exit code and all that appears on the screen."""
        mine, theirs = pty.openpty()
        environment = {
            **os.environ,
            "XDG_DATA_HOME": str(self.folder / "data"),
            "TERM": "xterm",
            "COLUMNS": "100",
            **env,
        }
        environment.pop("CORTEX_HOME", None)
        os.write(mine, typed.encode())  # the terminal keeps it until somebody reads
        process = subprocess.Popen(
            [str(CORTEX), *args],
            cwd=self.folder,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        shown = b""
        while chunk := _read(mine):
            shown += chunk
        os.close(mine)
        return process.wait(timeout=120), shown.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # how Linux says that the other end is closed
        return b""


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    terminal = Terminal(tmp_path_factory.mktemp("desk"))
    (terminal.folder / "notes.txt").write_text("The key is under the mat.\n")
    assert terminal.run("init")[0] == 0
    return terminal


@pytest.mark.parametrize(("typed", "code", "ends"), [("y\n", 0, "completed"), ("n\n", 1, "halted")])
def test_a_question_is_asked_where_somebody_can_answer(
    terminal: Terminal, typed: str, code: int, ends: str
) -> None:
    inputs = ("-i", "question=Where is the key?", "-i", "notes=notes.txt", "-i", "keep=true")

    ended, shown = terminal.run("run", "answer_from_notes", *inputs, typed=typed)

    assert "Keep this answer beside the notes? [y/N]" in shown
    assert ended == code
    assert ends in shown


def test_what_is_asked_about_is_shown_first(terminal: Terminal) -> None:
    inputs = ("-i", "question=Where is the key?", "-i", "notes=notes.txt", "-i", "keep=true")

    ended, shown = terminal.run("run", "answer_from_notes", *inputs, typed="\x04")

    asked = shown.index("Keep this answer beside the notes? [y/N]")
    assert "under the mat" in shown[:asked]
    assert ended == 130
    assert re.search(r"cortex execution resume \w{16} --approve", shown[asked:])


def test_no_line_of_a_list_or_a_trace_is_wider_than_the_terminal(terminal: Terminal) -> None:
    terminal.run("run", "--goal", "a goal that is far too long for the line " * 5)
    _, listed = terminal.run("execution", "list", NO_COLOR="1")
    found = listed.split("\n")[1].split()[0]

    _, traced = terminal.run("trace", found, NO_COLOR="1")
    _, events = terminal.run("events", "tail", NO_COLOR="1")

    assert max(map(len, (listed + traced + events).splitlines())) <= 100


def test_eighty_columns_are_enough(terminal: Terminal) -> None:
    terminal.run("run", "--goal", "a goal that is far too long for the line " * 5)
    commands = [
        ("execution", "list"), ("execution", "--help"), ("process", "list"), ("events", "tail"),
        ("process", "inspect", "answer_from_notes"), ("process", "history", "answer_from_notes"),
    ]  # fmt: skip

    shown = {args: terminal.run(*args, NO_COLOR="1", COLUMNS="80")[1] for args in commands}

    wide = [line for out in shown.values() for line in out.splitlines() if len(line) > 80]
    assert [line for line in wide if len(line.split()) > 1] == []  # a long path stands alone
    assert "paused  " in shown["execution", "list"]  # a status is whole
    assert "..." not in shown["execution", "--help"].partition("Commands:")[2]


def test_a_table_is_aligned_and_every_id_is_whole(terminal: Terminal) -> None:
    terminal.run("run", "--goal", "a goal that is far too long for the line " * 5)

    _, shown = terminal.run("execution", "list", NO_COLOR="1")

    lines = shown.splitlines()
    assert len({len(line) for line in lines if line.endswith("…")}) == 1
    assert all(len(line.split()[0]) == 16 for line in lines[1:])
    assert "\t" not in shown


def test_colours_are_for_terminals_that_want_them(terminal: Terminal) -> None:
    assert "\x1b[" in terminal.run("doctor", "--quick")[1]
    assert "\x1b[" not in terminal.run("doctor", "--quick", NO_COLOR="1")[1]
    assert "\x1b[" not in terminal.run("doctor", "--quick", TERM="dumb")[1]


def test_what_a_log_holds_cannot_act_on_the_terminal(terminal: Terminal) -> None:
    terminal.run("run", "--goal", "wipe \x1b[2J\x1b]0;title\x07 the screen")

    _, listed = terminal.run("execution", "list", NO_COLOR="1")
    _, events = terminal.run("events", "tail", NO_COLOR="1")

    assert "\x1b[2J" not in listed + events
    assert "\x07" not in listed + events
