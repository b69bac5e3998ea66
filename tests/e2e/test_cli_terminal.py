"""The command line at a terminal: it asks, aligns and colours; elsewhere it does not."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

CORTEX = Path(sys.executable).parent / "cortex"
MARKED = """\
process: marked
version: 1
description: '{text}'
steps:
  - {{ id: say, action: shell, with: {{ run: [printf, said] }} }}
"""


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

    _, shown = terminal.run("execution", "list", NO_COLOR="1", COLUMNS="66")

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


def test_markup_in_data_is_shown_as_it_is(terminal: Terminal) -> None:
    text = "[red]x[/red] [link=https://example.com]y[/link] [/]"
    source = MARKED.format(text=text)
    (terminal.folder / ".cortex" / "processes" / "marked.process.yaml").write_text(source)
    terminal.run("run", "--goal", text)

    _, listed = terminal.run("process", "list", COLUMNS="160")
    _, traced = terminal.run("trace", COLUMNS="160")

    assert text in listed
    assert text in traced
    assert "\x1b]8;" not in listed + traced  # a link
    assert "\x1b[31m" not in listed + traced  # red


LOOK = """\
process: look
version: 1
steps:
  - { id: first, action: shell, with: { run: echo one } }
  - id: look
    action: answer_question
    description: Say what is asked.
    with: { question: What colour is the sky? }
    breakpoint: true
  - { id: last, action: shell, with: { run: echo done } }
"""


def test_at_a_breakpoint_a_person_looks_changes_steps_and_continues(terminal: Terminal) -> None:
    (terminal.folder / "look.yaml").write_text(LOOK)
    editor = "sed -i s/colour/hue/"

    typed = "what\nd\ne\ns\nc\n"
    code, shown = terminal.run("run", "look.yaml", typed=typed, EDITOR=editor, NO_COLOR="1")

    assert code == 0, shown
    asks = (
        "[s]tep, [c]ontinue, [e]dit what is sent, [d]ebug: show all, or Enter to leave it paused:"
    )
    assert shown.count(asks) == 4  # at first, not understood, shown, and changed
    assert "answer s, c, e or d" in shown
    first, whole, changed, last = shown.split("at the breakpoint before step ")[1:]
    assert first.startswith("look")
    assert "the prompt for extractive has 96 of 24,000 tokens (persona 41," in first
    assert "| question: What colour is the sky?" in whole
    assert "the context of look: the step itself; by owner" in whole
    assert changed.startswith("look")
    assert last.startswith("last")
    assert "it continues with shell run=echo done" in last
    assert "completed" in last


@pytest.mark.parametrize("typed", ["\n", "\x04"])
def test_a_breakpoint_that_is_left_alone_stays(terminal: Terminal, typed: str) -> None:
    (terminal.folder / "look.yaml").write_text(LOOK)

    code, shown = terminal.run("run", "look.yaml", typed=typed, NO_COLOR="1")

    assert code == 5, shown
    assert "paused: breakpoint at step look" in shown
    assert "cortex execution resume" in shown


def test_a_run_for_a_program_and_one_with_yes_ask_nothing_at_a_breakpoint(
    terminal: Terminal,
) -> None:
    (terminal.folder / "look.yaml").write_text(LOOK)

    for option in ("--json", "-y"):
        code, shown = terminal.run("run", "look.yaml", option)

        assert code == 5, shown
        assert "[s]tep" not in shown
