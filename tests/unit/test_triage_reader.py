"""Whatever bytes a log is made of, it becomes numbered lines or one clear error."""

import codecs
import gzip
import io
import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.code.triage import (
    LogBinaryError,
    LogUnreadableError,
    parse_log,
    read_log,
    triage,
)


def texts_of(data: bytes) -> list[str]:
    return list(read_log(io.BytesIO(data)).texts)


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("\x1b[31;1mFAIL\x1b[0m src/a.test.js", "FAIL src/a.test.js"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07 end", "link end"),
        ("\x1b_bk;t=1709374272000\x07npm test", "npm test"),
        ("\ufeff2024-03-02T10:11:12.1234567Z ##[error]no", "##[error]no"),
        ("test\tRun tests\t2024-03-02T10:11:12.1234567Z E   boom", "E   boom"),
        ("[2024-03-02T10:11:12.123Z] + make", "+ make"),
        ("2024-03-02T10:11:12.123456Z 01O $ make", "$ make"),
        ("[task 2024-03-02T10:11:12.123Z] 10:11:12     INFO - TEST-UNEXPECTED-FAIL | a",
         "TEST-UNEXPECTED-FAIL | a"),
        ("[task 2024-03-02T10:11:12.123Z] 10:11:12    ERROR - boom", "ERROR - boom"),
        ("10%\r50%\r100% done", "100% done"),
        ("10%\rerror: disk\r100% done", "error: disk 100% done"),
        ("travis_fold:end:git.1\r\x1b[0KThe command exited", "The command exited"),
        ("nul\x00led", "nulled"),
    ],
)  # fmt: skip
def test_a_line_is_what_a_reader_would_have_seen(raw: str, clean: str) -> None:
    log = parse_log(f"first\n{raw}\nlast\n")

    assert log.texts[1] == clean
    assert list(log.numbers) == [1, 2, 3]


def test_gzip_and_plain_files_give_the_same_lines(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.log", tmp_path / "b"
    plain.write_bytes(b"one\r\ntwo\n")
    packed.write_bytes(gzip.compress(b"one\r\ntwo\n"))

    assert list(read_log(plain).texts) == list(read_log(packed).texts) == ["one", "two"]


def test_bytes_that_are_no_utf_8_are_replaced_and_the_rest_is_kept() -> None:
    assert texts_of(b"caf\xe9 failed\nok") == ["caf\ufffd failed", "ok"]


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, b""])
def test_utf_16_as_powershell_writes_it_is_read(mark: bytes) -> None:
    assert texts_of(mark + "error: boom\nend\n".encode("utf-16-le")) == ["error: boom", "end"]


def test_a_line_longer_than_the_chunk_keeps_its_beginning_and_its_number() -> None:
    texts = texts_of(b"FAIL: big " + b"x" * 5_000_000 + b"\nnext\n")

    assert texts[0].startswith("FAIL: big xxx")
    assert len(texts[0]) <= 2_000
    assert texts[0].endswith("…")
    assert texts[1] == "next"


def test_an_empty_log_gives_a_report_that_says_so() -> None:
    report = triage(parse_log(""))

    assert report.findings == ()
    assert "empty" in report.summary


@pytest.mark.parametrize(
    ("data", "named"),
    [(b"PK\x03\x04rest", "zip"), (bytes(range(256)) * 50, "binary"), (b"\0" * 100, "binary")],
)
def test_a_binary_file_is_refused_by_name(data: bytes, named: str) -> None:
    with pytest.raises(LogBinaryError, match=named):
        read_log(io.BytesIO(data))


def test_a_missing_log_is_one_clear_message(tmp_path: Path) -> None:
    with pytest.raises(LogUnreadableError, match=r"gone\.log: No such file"):
        read_log(tmp_path / "gone.log")


def test_a_gzip_log_that_ends_early_is_refused() -> None:
    whole = gzip.compress(b"line\n" * 1000)

    with pytest.raises(LogUnreadableError, match="fetch it again"):
        read_log(io.BytesIO(whole[:-20]))


def test_a_log_that_is_cut_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"line\n" * 1000)

    class Cutting(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            data = super().read(size) or b""
            path.write_bytes(b"")
            return data

    with Cutting(path) as file, pytest.raises(LogUnreadableError, match="cut to 0 bytes"):
        read_log(file)


def test_an_error_survives_the_trip_between_processes() -> None:
    error = LogUnreadableError("a.log", "gone")

    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_tokens_of_the_whole_log_are_counted_where_a_counter_is_given() -> None:
    assert read_log(io.BytesIO(b"a b\nc d\n"), count=len).tokens == 8


def test_of_an_endless_log_the_failure_and_the_end_are_kept() -> None:
    lines = [f"compiling unit {n}" for n in range(1, 50_001)]
    lines[20_050] = "AssertionError: ring.front() is 7"

    log = read_log(io.BytesIO("\n".join(lines).encode()), max_lines=1_000)

    assert len(log.texts) <= 1_000
    assert log.lines - len(log.texts) == log.omitted
    assert triage(log).findings[0].evidence[0].first == 20_051
    assert log.texts[-1] == "compiling unit 50000"


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=60)))
def test_every_line_keeps_its_number(lines: list[str]) -> None:
    log = parse_log("".join(line + "\n" for line in lines))

    assert log.lines == len(lines)
    assert list(log.numbers) == list(range(1, log.lines + 1))


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=2_000))
def test_any_bytes_give_lines_or_a_typed_error(data: bytes) -> None:
    try:
        log = read_log(io.BytesIO(data))
    except (LogBinaryError, LogUnreadableError):
        return

    assert triage(log).lines == log.lines
