"""What a terminal shows while a model works, how it is interrupted, and a person in its place."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ..servers import Answer, ScriptedOpenAI, Tool

pytest.importorskip("openai", reason="needs the extra `openai`")

CORTEX = Path(sys.executable).parent / "cortex"
PROCESS = """\
process: ask
version: 1
gates:
  - file_exists: { path: notes.txt }
steps:
  - id: read
    action: read_text
    with: { path: notes.txt }
  - id: quote
    action: answer_question
    carry: [read]
    tools: [read_file]
    needs: { reasoning: high }
    with: { question: Where is the key? }
"""
MODELS = """\
[models]
default = "scripted"
[[models.use]]
name = "scripted"
provider = "openai"
model = "gpt-scripted"
base_url = "URL"
key_env = "KEY_OF_THE_TEST"
window = 32000
reasoning = "high"
price_input = 3.0
price_cached_read = 0.3
price_output = 15.0
"""
PERSON = """\
[[models.use]]
name = "anna"
provider = "human"
window = 32000
reasoning = "high"
"""
TEXT = (
    "First \x1b[2Jline\n",
    "it is \x1b]0;evil\x07und",
    "er \u202ethe mat.\n",
    "words " * 40,
    "end",
)
ANSWERS = (
    Answer(status=429, error="rate_limit_error", retry_after="0"),
    Answer(text=("I look.",), tools=(Tool("c1", "read_file", {"path": "notes.txt"}),)),
    Answer(text=TEXT, input_tokens=2_000, cached_tokens=1_500),
)


class Desk:
    """A folder with a home, at a terminal or on a pipe."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {**os.environ, "XDG_DATA_HOME": str(folder / "data"), "KEY_OF_THE_TEST": "k"}
        for name in ("CORTEX_HOME", "CORTEX_DEBUG", "NO_COLOR", "COLUMNS"):
            self.env.pop(name, None)
        (folder / "notes.txt").write_text("The key is under the mat.\n")
        self.pipe("init")
        (folder / ".cortex" / "processes" / "ask.yaml").write_text(PROCESS)

    def configure(self, text: str) -> None:
        (self.folder / ".cortex" / "config.toml").write_text(text)

    def pipe(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(CORTEX), *args],
            cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=120,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def json(self, *args: str) -> Any:
        return json.loads(self.pipe(*args, "--json").stdout)

    def terminal(
        self,
        *args: str,
        columns: int = 80,
        typed: Sequence[tuple[bytes, bytes | signal.Signals | Callable[[], None]]] = (),
    ) -> tuple[int, bytes]:
        """Exit code and all that was written; each of *typed* once the text before it was.

        A signal is sent to the command alone; what can be called is called.
        """
        mine, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen(
            [sys.executable, "-c", OWN_TERMINAL, str(CORTEX), *args],
            cwd=self.folder, env={**self.env, "TERM": "xterm"},
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        shown, waiting = b"", list(typed)
        while chunk := _read(mine):
            shown += chunk
            while waiting and waiting[0][0] in shown:
                given = waiting.pop(0)[1]
                if isinstance(given, bytes):
                    os.write(mine, given)
                elif callable(given):
                    given()
                else:
                    process.send_signal(given)
        os.close(mine)
        return process.wait(timeout=120), shown


# A Ctrl-C that is typed reaches who has the terminal for its own.
OWN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # how Linux says that the other end is closed
        return b""


def lines_of(shown: bytes, columns: int) -> list[str]:
    """What stands on the screen in the end, as a terminal of so many columns has it."""
    rows: list[list[str]] = [[]]
    row = column = 0
    for up, erase, other, back, down, text in re.findall(
        r"\x1b\[(\d*)A|(\x1b\[2?K)|(\x1b\[[?0-9;]*[a-zA-Z])|(\r)|(\n)|([^\x1b\r\n]+)",
        shown.decode(),
    ):
        if text:
            for letter in text:
                if column == columns:
                    row, column = row + 1, 0
                rows += [[] for _ in range(row + 1 - len(rows))]
                rows[row] += " " * (column + 1 - len(rows[row]))
                rows[row][column] = letter
                column += 1
        elif erase:
            rows[row] = []
        elif back or down:
            row, column = row + bool(down), 0
            rows += [[] for _ in range(row + 1 - len(rows))]
        elif not other:
            row -= int(up or 1)
    return ["".join(each).rstrip() for each in rows]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("desk"))


@pytest.fixture
def scripted(desk: Desk) -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI(*ANSWERS) as server:
        desk.configure(MODELS.replace("URL", server.base_url))
        yield server


@pytest.mark.parametrize("columns", [80, 160])
def test_a_terminal_shows_how_it_goes_and_nothing_acts_on_it(
    desk: Desk, scripted: ScriptedOpenAI, columns: int
) -> None:
    code, shown = desk.terminal("run", "ask", "--max-cost", "2", columns=columns)

    lines = lines_of(shown, columns)
    told = "\n".join(lines)
    assert code == 0, told
    for line in (
        "gate     file_exists passed",
        "model    quote: scripted, set as default",
        "again    quote: scripted, call 2",
        "  | I look.",
        "  | First line",
        "  | it is under the mat.",
    ):
        assert line in lines
    assert "rate_limited" in told
    assert re.search(r"tool     read_file notes.txt \(.*\): read notes.txt", told)
    assert "1,500 read from the cache" in re.sub(r"\n +", " ", told), told
    assert "$0" in told
    assert "of $2.0000" in shown.decode()  # below, while it ran
    assert max(map(len, lines)) <= columns
    acting = set(re.findall(r"\x1b\[[?0-9;]*[a-zA-Z]|\x1b[^\[]|[\x00-\x08\x0b\x0c\x0e-\x1a\x7f]",
        shown.decode()))  # fmt: skip
    assert {c for c in acting if not c.endswith("m")} <= {
        "\x1b[1A", "\x1b[2K", "\x1b[?25l", "\x1b[?25h",
    }  # fmt: skip
    assert "\u202e" not in shown.decode()
    assert shown.decode().rfind("\x1b[?25h") > shown.decode().rfind("\x1b[?25l")  # the cursor


def test_a_pipe_gets_a_line_for_each_event_that_matters(
    desk: Desk, scripted: ScriptedOpenAI
) -> None:
    done = desk.pipe("run", "ask")

    told = [line.split()[0] for line in done.stderr.splitlines()]
    assert done.returncode == 0, done.stderr
    assert told == [
        "gate", "done", "model", "context", "model", "again", "answered", "tool", "context",
        "answered", "done",
    ]  # fmt: skip
    assert "\x1b" not in done.stderr + done.stdout
    assert "2 turns; 3 calls (1 to ask again); tools read_file 1" in done.stdout


def test_quiet_is_quiet(desk: Desk) -> None:
    with ScriptedOpenAI(*ANSWERS[1:]) as server:  # the first would only be waited for
        desk.configure(MODELS.replace("URL", server.base_url))

        assert desk.pipe("run", "ask", "--quiet").stderr == ""


def test_a_trace_has_the_turns_the_calls_and_the_tools(
    desk: Desk, scripted: ScriptedOpenAI
) -> None:
    ran = desk.json("run", "ask")

    spans = desk.json("trace", ran["id"])["spans"]

    made = [(s["name"], s["status"]) for s in spans if s["kind"] in ("model", "tool")]
    assert made == [
        ("scripted", "failed"), ("scripted", "responded"), ("read_file", "returned"),
        ("scripted", "responded"),
    ]  # fmt: skip
    assert [s["attributes"].get("turn", 0) for s in spans if s["kind"] == "context"] == [0, 1]
    (dialogue,) = ran["dialogues"]
    assert (dialogue["turns"], dialogue["retries"], dialogue["tools"]) == (2, 1, {"read_file": 1})
    assert ran["cost"] == pytest.approx(dialogue["cost"])
    assert ran["cost"] > 0


def test_one_ctrl_c_keeps_the_answer_that_is_coming(desk: Desk) -> None:
    asked_for = threading.Event()
    answer = Answer(text=("It comes\n", "and comes\n", "end"), hold=asked_for)
    with ScriptedOpenAI(default=answer) as server:
        desk.configure(MODELS.replace("URL", server.base_url))

        code, shown = desk.terminal(
            "run", "ask", typed=[(b"It comes", b"\x03"), (b"pausing when", asked_for.set)]
        )

    told = "\n".join(lines_of(shown, 80))
    assert code in (0, 130)  # the step at hand may be the last
    assert "pausing when the model has finished its answer, which is kept" in told
    assert "answered quote: scripted" in told
    assert len(server.asked) == 1


def test_two_leave_at_once_and_the_call_is_made_anew(desk: Desk) -> None:
    slow = Answer(text=("It comes\n", "and comes\n", "end"), hold=threading.Event())
    typed = [(b"It comes", b"\x03"), (b"Ctrl-C again ends", b"\x03")]
    with ScriptedOpenAI(slow, default=Answer(text=("Under the mat.",))) as server:
        desk.configure(MODELS.replace("URL", server.base_url))

        code, shown = desk.terminal("run", "ask", typed=typed)
        (execution_id,) = re.findall(
            rb"\ncortex execution resume (\w+)", re.sub(rb"\x1b\[\d*m", b"", shown)
        )
        again = desk.pipe("execution", "resume", execution_id.decode())

    assert code == 130
    assert b"Task was destroyed" not in shown
    assert again.returncode == 0, again.stderr
    assert len(server.asked) == 2


def test_a_person_at_a_terminal_is_shown_the_prompt_and_answers(desk: Desk) -> None:
    desk.configure(PERSON)

    code, shown = desk.terminal(
        "run", "ask", typed=[(b"leaves it open)", b"It is under\nthe mat.\n\x04")]
    )

    assert code == 0, shown
    assert b"The key is under the mat." in shown  # of the prompt
    assert shown.index(b"question: Where is the key?") < shown.index(b"=== persona ===")
    assert b"It is under" in shown.partition(b"completed")[0]


def test_elsewhere_the_command_to_answer_with_is_named(desk: Desk) -> None:
    desk.configure(PERSON)

    waiting = desk.pipe("run", "ask")
    (execution_id,) = re.findall(r"cortex execution resume (\w+) --answer TEXT", waiting.stdout)
    still = desk.pipe("execution", "resume", execution_id)
    verdict = desk.pipe("execution", "resume", execution_id, "--approve")
    done = desk.pipe("execution", "resume", execution_id, "--answer", "Under the mat.")

    assert [each.returncode for each in (waiting, still, verdict, done)] == [5, 5, 1, 0]
    assert "anna is asked for the answer of quote" in waiting.stdout
    assert "is asked, for step quote; the answer has to be text:" in waiting.stdout
    first, _, rest = waiting.stdout.partition("=== persona ===")
    assert "question: Where is the key?" in first
    assert "The key is under the mat." in rest
    assert "wants an answer, not a verdict" in verdict.stderr
    assert "Under the mat." in done.stdout


def test_a_question_that_is_left_open_can_be_answered_later(desk: Desk) -> None:
    desk.configure(PERSON)

    code, shown = desk.terminal("run", "ask", typed=[(b"leaves it open)", b"It is\n\x03")])
    (execution_id,) = re.findall(rb"resume (\w+) --answer TEXT", shown)
    done = desk.pipe("execution", "resume", execution_id.decode(), "--answer", "Under the mat.")

    assert code == 130
    assert done.returncode == 0, done.stderr


def test_a_command_that_is_told_to_end_at_a_question_says_how_to_go_on(desk: Desk) -> None:
    desk.configure(PERSON)

    code, shown = desk.terminal("run", "ask", typed=[(b"leaves it open)", signal.SIGTERM)])

    assert code == 128 + signal.SIGTERM
    assert re.search(rb"cortex execution resume \w{16} --answer TEXT", shown), shown


def test_a_dry_run_says_which_model_and_why(desk: Desk, scripted: ScriptedOpenAI) -> None:
    (_, step) = desk.json("process", "dry-run", "ask")["steps"]

    assert (step["model"], step["provider"]) == ("scripted", "openai")
    assert step["because"] == "set as default"
    assert step["cost"] > 0
    assert step["tools"] == ["read_file"]
    assert "extractive" not in str((step["rejected"], step["runners_up"]))
    assert scripted.asked == []


def test_inspect_shows_what_a_step_demands(desk: Desk) -> None:
    told = desk.pipe("process", "inspect", "ask").stdout

    assert "            needs reasoning high\n            tools read_file\n" in told
