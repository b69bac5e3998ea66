"""Every handler carries out its step, or says in one line why not."""

import gzip
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cortex.actors.handlers import (
    AnalyzeFailure,
    AnswerQuestion,
    FindRelevantCode,
    ReadCiLog,
    Shell,
    TextFiles,
)
from cortex.bus import Event
from cortex.bus.events import StepExecute
from cortex.runtime.context import (
    ContextCompiler,
    PromptStep,
    Request,
    items_of,
    passages_of,
)
from cortex.runtime.kernel import Component, Config, Delivery, Home
from cortex.runtime.log import MemoryBlobs

from .actors_world import PYTHON, completed, delivery, refused, step_execute

Execute = Callable[[StepExecute, Delivery], Iterable[Event]]

BLOBS = MemoryBlobs()
READ_CI_LOG = ReadCiLog()  # counting tokens takes a moment to set up
LOG = """\
collected 2 items
FAILED tests/test_cart.py::test_total - assert 3 == 4
=== 1 failed, 1 passed in 0.1s ===
"""


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    made = Shell(Config(), BLOBS, Home(tmp_path / "home"))
    made.on_start()
    yield made
    made.on_stop()


def python(code: str) -> list[str]:
    return [PYTHON, "-c", code]


# shell


def test_shell_gives_what_a_program_said(shell: Shell, tmp_path: Path) -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr)"

    done = completed(shell.execute, step_execute("shell", str(tmp_path), run=python(code)))

    assert done.summary == f"{PYTHON} ended with 0"
    assert (done.result["exit_code"], done.result["stdout"]) == (0, "out\n")
    assert BLOBS.get(done.result["stderr_blob"]) == b"err\n"


def test_shell_runs_in_a_folder_of_the_workspace(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    run = python("import os; print(os.getcwd())")

    event = step_execute("shell", str(tmp_path), run=run, folder="sub")

    assert completed(shell.execute, event).result["stdout"] == f"{tmp_path.resolve()}/sub\n"


def test_shell_runs_a_program_once_for_one_delivery(shell: Shell, tmp_path: Path) -> None:
    event = step_execute("shell", str(tmp_path), run=python("open('runs', 'a').write('run')"))

    for position in (7, 7, 8):
        completed(shell.execute, event, position=position)

    assert (tmp_path / "runs").read_text() == "runrun"


def test_shell_fails_in_one_line_with_the_end_of_what_was_said(
    shell: Shell, tmp_path: Path
) -> None:
    code = "import sys; print('one\\ntwo'); print('x' * 9_999); sys.exit('three')"

    failed = refused(shell.execute, step_execute("shell", str(tmp_path), run=python(code)))

    assert failed.error.startswith(f"{PYTHON} ended with 1: two | {'x' * 200} | three")
    assert (failed.kind, failed.retry) == ("failed", True)


def test_shell_says_the_exit_code_of_a_program_that_said_nothing(
    shell: Shell, tmp_path: Path
) -> None:
    failed = refused(shell.execute, step_execute("shell", str(tmp_path), run="false"))

    assert failed.error == "false ended with 1"


def test_shell_takes_a_failure_as_a_result_where_it_may_fail(shell: Shell, tmp_path: Path) -> None:
    event = step_execute("shell", str(tmp_path), run="false", may_fail=True)

    assert completed(shell.execute, event).result["exit_code"] == 1


def test_shell_keeps_all_of_long_output_in_a_blob_and_its_end_in_the_event(
    shell: Shell, tmp_path: Path
) -> None:
    run = python("print('é' * 40_000)")

    result = completed(shell.execute, step_execute("shell", str(tmp_path), run=run)).result

    assert len(result["stdout"].encode()) <= 16 * 1024
    assert BLOBS.get(result["stdout_blob"]).decode() == "é" * 40_000 + "\n"


def test_shell_says_that_time_ran_out(shell: Shell, tmp_path: Path) -> None:
    run = python("import threading; threading.Event().wait()")

    event = step_execute("shell", str(tmp_path), run=run, timeout_s=0.5)
    failed = refused(shell.execute, event)

    assert (failed.kind, failed.retry) == ("timeout", True)
    assert failed.error == f"{PYTHON} was ended after 0.5 s"


@pytest.mark.parametrize("run", ["", [], "'open", "rm -rf /"])
def test_shell_refuses_what_is_no_program_that_may_run(run: Any, tmp_path: Path) -> None:
    only_make = msgspec.convert({"handlers": {"shell": {"allow": ["make"]}}}, Config)
    shell = Shell(only_make, BLOBS, Home(tmp_path / "home"))

    failed = refused(shell.execute, step_execute("shell", str(tmp_path), run=run))

    assert (failed.kind, failed.retry) == ("refused", False)


@pytest.mark.parametrize(
    "given", [{"run": "/no/such/program"}, {"run": ["a\0b"]}, {"run": "true", "folder": "gone"}]
)
def test_shell_says_what_cannot_be_started(
    given: dict[str, Any], shell: Shell, tmp_path: Path
) -> None:
    failed = refused(shell.execute, step_execute("shell", str(tmp_path), **given))

    assert "cannot be started: " in failed.error


def test_shell_without_a_home_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shell = Shell(Config(), BLOBS, None)
    shell.on_start()
    completed(shell.execute, step_execute("shell", "/", run="true"))

    shell.on_stop()

    assert list(tmp_path.iterdir()) == []


# read_text, write_text


def test_read_text_offers_the_whole_file(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Tea at four.\n")

    done = completed(TextFiles().read, step_execute("read_text", str(tmp_path), path="notes.txt"))

    assert done.result["text"] == "Tea at four.\n"
    assert [item.text for item in items_of("s1", done.result)] == ["Tea at four.\n"]


def test_read_text_reads_what_is_no_utf_8_as_well_as_it_can(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"caf\xe9")

    done = completed(TextFiles().read, step_execute("read_text", str(tmp_path), path="a.txt"))

    assert done.result["text"] == "caf\ufffd"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("gone.txt", "cannot be read: No such file or directory"),
        (".", "cannot be read: Is a directory"),
        ("fifo", "cannot be read: it is not a plain file"),
        ("/dev/zero", "cannot be read: it is not a plain file"),
        ("large.txt", "cannot be read: it is larger than 128 kB: cut it into parts"),
        ("a\0b", "cannot be read: "),
        ("x" * 300, "cannot be read: File name too long"),
    ],
)
def test_read_text_says_why_a_file_cannot_be_read(path: str, reason: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "large.txt").write_bytes(b"x" * (128 * 1024 + 1))

    failed = refused(TextFiles().read, step_execute("read_text", str(tmp_path), path=path))

    assert reason in failed.error
    assert not failed.retry


@given(text=st.text(max_size=200))
@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_what_is_written_is_read_again_as_it_was(text: str, tmp_path: Path) -> None:
    text = text.encode(errors="replace").decode()
    files = TextFiles()

    wrote = completed(files.write, step_execute("write_text", str(tmp_path), path="a", text=text))
    read = completed(files.read, step_execute("read_text", str(tmp_path), path="a"))

    assert read.result["text"] == text
    assert wrote.result["digest"] == hashlib.sha256(text.encode()).hexdigest()


def test_write_text_replaces_a_file_and_leaves_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before")

    completed(
        TextFiles().write, step_execute("write_text", str(tmp_path), path="a.txt", text="after")
    )

    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"a.txt": "after"}


@pytest.mark.parametrize("path", ["", "/", "gone/a.txt", "file/a.txt", "folder", "a\0b", "x" * 300])
def test_write_text_says_why_a_file_cannot_be_written(path: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()

    event = step_execute("write_text", str(tmp_path), path=path, text="x")
    failed = refused(TextFiles().write, event)

    assert "cannot be written: " in failed.error
    assert not failed.retry
    assert {p.name for p in tmp_path.iterdir()} == {"file", "folder"}


def test_write_text_writes_no_mask_over_the_secret_that_it_stands_for(tmp_path: Path) -> None:
    (tmp_path / "a.env").write_text("KEY=wJalrXUtnFEMI1")

    event = step_execute("write_text", str(tmp_path), path="a.env", text="KEY=⟦secret**⟧\nA=1\n")
    failed = refused(TextFiles().write, event)

    assert failed.kind == "masked"
    assert "contains ⟦secret**⟧, the mask of a secret that was not shown" in failed.error
    assert (tmp_path / "a.env").read_text() == "KEY=wJalrXUtnFEMI1"


def write(workspace: Path, path: object) -> None:
    event = step_execute("write_text", str(workspace), path=str(path), text="after")
    completed(TextFiles().write, event)


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o664])
def test_write_text_keeps_the_mode_of_what_it_replaces(mode: int, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("before")
    (tmp_path / "run.sh").chmod(mode)

    write(tmp_path, "run.sh")

    assert (tmp_path / "run.sh").read_text() == "after"
    assert stat.S_IMODE((tmp_path / "run.sh").stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_write_text_keeps_the_owner_of_what_it_replaces(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    os.chown(tmp_path / "a.txt", 65_534, 65_534)

    write(tmp_path, "a.txt")

    assert (tmp_path / "a.txt").stat().st_uid == 65_534


@pytest.mark.parametrize("target", ["real/a.txt", "real/new.txt"])
def test_write_text_writes_through_a_link_that_stays_in_the_workspace(
    target: str, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.txt").write_text("before")
    (tmp_path / "link").symlink_to(target)

    write(tmp_path, "link")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / target).read_text() == "after"


@pytest.mark.parametrize("name", ["link", "folder/a.txt", "folder/../link"])
@pytest.mark.parametrize("absolute", [False, True])
def test_write_text_refuses_a_link_out_of_the_workspace(
    name: str, absolute: bool, tmp_path: Path
) -> None:
    workspace, outside = tmp_path / "work", tmp_path / "outside"
    workspace.mkdir()
    outside.mkdir()
    (outside / "a.txt").write_text("before")
    (workspace / "link").symlink_to(outside / "a.txt")
    (workspace / "folder").symlink_to(outside)
    (outside / "link").symlink_to("a.txt")

    path = workspace / name if absolute else name
    event = step_execute("write_text", str(workspace), path=str(path), text="after")
    failed = refused(TextFiles().write, event)

    assert "it is a link out of the workspace, to " in failed.error
    assert (outside / "a.txt").read_text() == "before"
    assert (workspace / "link").is_symlink()


def test_write_text_writes_a_file_outside_the_workspace_that_is_named_as_such(
    tmp_path: Path,
) -> None:
    (tmp_path / "work").mkdir()

    write(tmp_path / "work", tmp_path / "a.txt")
    write(tmp_path / "work", "../b.txt")

    assert {p.name for p in tmp_path.iterdir()} == {"work", "a.txt", "b.txt"}


def test_write_text_works_in_a_workspace_that_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "work").symlink_to("real")

    write(tmp_path / "work", "a.txt")

    assert (tmp_path / "real" / "a.txt").read_text() == "after"


def test_write_text_refuses_what_is_no_plain_file_and_links_in_a_circle(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")

    for name in ("pipe", "one"):
        event = step_execute("write_text", str(tmp_path), path=name, text="after")
        assert "cannot be written: " in refused(TextFiles().write, event).error

    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert (tmp_path / "one").is_symlink()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_write_text_refuses_a_file_that_may_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before")
    (tmp_path / "a.txt").chmod(0o444)

    event = step_execute("write_text", str(tmp_path), path="a.txt", text="after")

    assert "it may not be written" in refused(TextFiles().write, event).error
    assert (tmp_path / "a.txt").read_text() == "before"


# read_ci_log


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_read_ci_log_gives_findings_and_an_excerpt(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    (tmp_path / "ci.log").write_bytes(pack(LOG.encode()))

    done = completed(READ_CI_LOG.execute, step_execute("read_ci_log", str(tmp_path), log="ci.log"))

    assert done.result["findings"][0]["title"] == "tests/test_cart.py::test_total"
    assert done.result["lines"] == 3
    (item,) = items_of("s1", done.result)
    assert item.text.splitlines()[item.line_numbers.index(2)] in LOG


def test_read_ci_log_of_an_empty_log_finds_nothing(tmp_path: Path) -> None:
    (tmp_path / "ci.log").touch()

    done = completed(READ_CI_LOG.execute, step_execute("read_ci_log", str(tmp_path), log="ci.log"))

    assert (done.result["findings"], done.result["context"]) == ([], [])
    assert done.summary


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ("gone.log", "No such file or directory"),
        (".", "Is a directory"),
        ("binary.log", "not a text log"),
        ("fifo", "it is not a plain file"),
        ("/dev/zero", "it is not a plain file"),
        ("cut.log.gz", "fetch it again"),
        ("a\0b", "cannot read the log"),
    ],
)
def test_read_ci_log_says_why_a_log_cannot_be_read(log: str, reason: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "binary.log").write_bytes(bytes(range(256)) * 99)
    (tmp_path / "cut.log.gz").write_bytes(gzip.compress(LOG.encode() * 99)[:-9])

    failed = refused(READ_CI_LOG.execute, step_execute("read_ci_log", str(tmp_path), log=log))

    assert reason in failed.error
    assert not failed.retry


# find_relevant_code


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "cart.py").write_text("def total():\n    raise ValueError('no cart')\n")
    return tmp_path


TRACE = """\
Traceback (most recent call last):
  File "/build/shop/cart.py", line 2, in total
    raise ValueError('no cart')
ValueError: no cart
"""


def test_find_relevant_code_names_the_line_and_offers_it(checkout: Path) -> None:
    event = step_execute("find_relevant_code", str(checkout), text=TRACE)
    done = completed(FindRelevantCode().execute, event)

    assert done.summary == "the failure points at shop/cart.py:2"
    (item,) = items_of("s1", done.result)
    assert (item.id, item.kind, item.line_numbers) == ("s1/shop/cart.py", "code", (1, 2))


def test_find_relevant_code_says_that_it_found_nothing(checkout: Path) -> None:
    event = step_execute("find_relevant_code", str(checkout), text="all is well")
    done = completed(FindRelevantCode().execute, event)

    assert done.summary == "the failure points at no file of the checkout"
    assert done.result == {"locations": [], "context": []}


@pytest.mark.parametrize("ending", ["", "\n", "\n\n", "\n\n\n"])
def test_an_error_near_the_end_of_a_short_file_comes_through_to_the_prompt(
    ending: str, tmp_path: Path
) -> None:
    code = "RATES = {}\n\n\ndef rate(name):\n    return RATES[name]"
    (tmp_path / "rates.py").write_text(code + ending)
    text = 'File "rates.py", line 5, in rate'
    event = step_execute("find_relevant_code", str(tmp_path), text=text)

    shown = prompted(completed(FindRelevantCode().execute, event).result)

    assert shown == dict(enumerate((code + ending).removesuffix("\n").split("\n"), 1))


@settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    lines=st.lists(st.sampled_from(["", "", " ", "x = 1", "\tpass"]), min_size=1, max_size=40),
    at=st.lists(st.integers(1, 40), min_size=1, max_size=3),
    end=st.sampled_from(["", "\n", "\r\n"]),
)
def test_whatever_lines_of_a_file_are_blank_each_keeps_its_number(
    lines: list[str], at: list[int], end: str, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_bytes(("\n".join(lines) + end).encode())
    text = "\n".join(f'File "a.py", line {line}, in f' for line in at)
    event = step_execute("find_relevant_code", str(tmp_path), text=text)

    shown = prompted(completed(FindRelevantCode().execute, event).result)

    whole = ("\n".join(lines) + end).replace("\r", "").split("\n")
    assert all(whole[number - 1] == line for number, line in shown.items())


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.sampled_from(["", "", "E   ValueError: 1", "FAILED a.py::test_x - no", "    ", "ok"]),
        max_size=40,
    )
)
def test_whatever_lines_of_a_log_are_blank_each_keeps_its_number(lines: list[str]) -> None:
    with TemporaryDirectory() as folder:
        Path(folder, "ci.log").write_text("\n".join(lines))
        event = step_execute("read_ci_log", folder, log="ci.log")
        shown = prompted(completed(READ_CI_LOG.execute, event).result)

    assert all(lines[number - 1].rstrip() == line.rstrip() for number, line in shown.items())


def prompted(result: dict[str, Any]) -> dict[int, str]:
    """The lines of what a result offers, by number, as a prompt shows them."""
    step = PromptStep(process="p", id="s2", description="Say why.")
    items = items_of("s1", result) if result["context"] else ()
    request = Request(step=step, window=100_000, items=items, carry=("s1",))
    return {
        number: line
        for passage in passages_of(ContextCompiler().compile(request).blocks).passages
        for number, line in enumerate(passage.lines, passage.first_line)
    }


@pytest.mark.parametrize("checkout_path", ["gone", "shop/cart.py", "a\0b", "x" * 300])
def test_find_relevant_code_says_why_a_checkout_cannot_be_read(
    checkout_path: str, checkout: Path
) -> None:
    event = step_execute("find_relevant_code", str(checkout), text=TRACE, checkout=checkout_path)

    assert not refused(FindRelevantCode().execute, event).retry


# analyze_failure, answer_question


def test_analyze_failure_puts_the_answer_beside_what_the_log_proves() -> None:
    finding = {
        "kind": "failing_test",
        "title": "test_total",
        "message": "assert 3 == 4",
        "framework": "pytest",
        "score": 1.0,
        "seen": 1,
        "evidence": [{"first": 2, "last": 2, "role": "title", "text": "FAILED test_total"}],
        "references": [],
    }
    location = {"path": "shop/cart.py", "line": 2, "why": "w" * 999, "score": 1.0}
    event = step_execute(
        "analyze_failure", summary="1 test failed", findings=[finding], locations=[location]
    )
    answer = {"text": "It adds up wrongly.", "extractive": True}
    done = completed(AnalyzeFailure().execute, msgspec.structs.replace(event, answer=answer))

    report = done.result["report"]
    assert done.result["failing"] == ["test_total"]
    assert done.result["locations"] == ["shop/cart.py:2"]
    assert done.result["extractive"]
    assert report.startswith("1 test failed")
    assert "2  FAILED test_total" in report
    assert "It adds up wrongly." in report
    assert max(map(len, report.splitlines())) <= 180


def test_a_report_names_a_place_once_and_tells_a_message_once() -> None:
    said = "ValueError: not enough values to unpack (expected 2, got 1) " + "of a long line " * 9
    finding = {
        "kind": "failing_test",
        "title": "test_split",
        "message": said,
        "framework": "pytest",
        "score": 1.0,
        "seen": 1,
        "evidence": [
            {"first": 2, "last": 2, "role": "title", "text": "___ test_split ___"},
            {"first": 4, "last": 4, "role": "message", "text": "    assert one == 1"},
            {"first": 5, "last": 5, "role": "message", "text": ">   a, b = split(text)"},
            {"first": 6, "last": 6, "role": "message", "text": "E   ValueError: not enough"},
            {"first": 8, "last": 8, "role": "frame", "text": "test_a.py:7: ValueError"},
        ],
        "references": [],
    }
    place = {"path": "test_a.py", "symbol": "test_split", "score": 1.0}
    raised = {**place, "line": 7, "why": f"where it was raised in this project: {said[:200]}"}
    defined = {**place, "line": 2, "why": "defines the failing test test_split that the log names"}
    event = step_execute("analyze_failure", findings=[finding], locations=[raised, defined])

    report = completed(AnalyzeFailure().execute, event).result["report"]

    assert f"   error: {said.strip()}" in report
    assert report.count("of a long line " * 8) == 1
    assert "   test_a.py:7 in test_split (where it was raised in this project)" in report
    assert "test_a.py:2" not in report
    assert [line[19:25].strip() for line in report.splitlines()[4:7]] == ["5", "6", "8"]


def test_analyze_failure_makes_do_without_the_steps_that_failed_before_it() -> None:
    event = step_execute("analyze_failure", summary="1 test failed", findings=[], locations=None)

    assert completed(AnalyzeFailure().execute, event).result["locations"] == []


def test_answer_question_gives_the_answer_as_it_stands() -> None:
    event = step_execute("answer_question", question="When is tea?")
    answer = {"text": "Tea at four.", "extractive": True}

    done = completed(AnswerQuestion().execute, msgspec.structs.replace(event, answer=answer))

    assert done.result == {"text": "Tea at four.", "extractive": True}


# Parameters that an interpolation gave a wrong type.


@pytest.mark.parametrize(
    ("action", "execute", "parameters"),
    [
        ("analyze_failure", AnalyzeFailure().execute, {"findings": "many"}),
        ("analyze_failure", AnalyzeFailure().execute, {"locations": [{"path": "a"}]}),
        ("answer_question", AnswerQuestion().execute, {"question": 3}),
        ("answer_question", AnswerQuestion().execute, {}),
        ("find_relevant_code", FindRelevantCode().execute, {"text": None}),
        ("find_relevant_code", FindRelevantCode().execute, {"text": "x", "limit": 0}),
        ("find_relevant_code", FindRelevantCode().execute, {"text": "x", "limit": "all"}),
        ("read_ci_log", READ_CI_LOG.execute, {"log": 3}),
        ("read_ci_log", READ_CI_LOG.execute, {"log": "x", "excerpt_tokens": -1}),
        ("read_text", TextFiles().read, {"path": ["a"]}),
        ("write_text", TextFiles().write, {"path": "a", "text": {"b": 1}}),
        ("shell", Shell(Config(), BLOBS, Home(Path("/nowhere"))).execute, {"run": 3}),
        (
            "shell",
            Shell(Config(), BLOBS, Home(Path("/nowhere"))).execute,
            {"run": "true", "timeout_s": -1},
        ),
        (
            "shell",
            Shell(Config(), BLOBS, Home(Path("/nowhere"))).execute,
            {"run": "true", "folder": 3},
        ),
    ],
)
def test_a_step_is_refused_in_one_line_where_its_parameters_are_wrong(
    action: str, execute: Execute, parameters: dict[str, Any]
) -> None:
    failed = refused(execute, step_execute(action, **parameters))

    assert failed.error.startswith(f"{action}: ")
    assert (failed.kind, failed.retry) == ("refused", False)


@pytest.mark.parametrize("component", [AnalyzeFailure, AnswerQuestion, ReadCiLog, Shell, TextFiles])
def test_a_result_is_what_its_action_announced(component: type[Component]) -> None:
    assert all(serves.result is not None for serves in component.serves)
    assert all(serves.parameters is not None for serves in component.serves)


def test_ids_and_effect_keys_of_a_delivery_are_the_same_when_it_is_repeated() -> None:
    assert delivery(7).effect_key() == delivery(7, attempt=2).effect_key()
    assert delivery(7).new_id() == delivery(7, attempt=2).new_id()
    assert delivery(7).new_id() != delivery(8).new_id()
