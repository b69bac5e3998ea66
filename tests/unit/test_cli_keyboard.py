"""Questions at the keyboard: no signal is lost before one, none acts in the middle of a write."""

import os
import pty
import select
import signal
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from cortex.runtime.cli.terminal import (
    Interrupts,
    Keyboard,
    answer_to,
    input_text,
    written_answer,
)
from cortex.runtime.sessions import Terminated

SIGNALS = [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]


class Typist:
    """The other end of the terminal that is this process's standard input."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def type(self, text: bytes) -> None:
        os.write(self._descriptor, text)


@pytest.fixture
def typist(monkeypatch: pytest.MonkeyPatch) -> Iterator[Typist]:
    mine, theirs = pty.openpty()
    with os.fdopen(theirs) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        yield Typist(mine)
    os.close(mine)


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    with Interrupts() as interrupts:
        yield interrupts


def press(number: int) -> None:
    os.kill(os.getpid(), number)


def just_before_the_wait(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Have *act* done when all checks are over and the wait has not begun."""
    wait = select.select

    def late(*args: Any) -> Any:
        act()
        return wait(*args)

    monkeypatch.setattr(select, "select", late)


@pytest.mark.parametrize(("number", "order"), SIGNALS)
def test_a_signal_just_before_the_wait_is_heard(
    typist: Typist,
    interrupts: Interrupts,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    order: type[BaseException],
) -> None:
    just_before_the_wait(monkeypatch, lambda: press(number))

    with pytest.raises(order):
        Keyboard(interrupts).line()


@pytest.mark.parametrize(("number", "order"), SIGNALS)
def test_a_signal_is_raised_where_it_is_looked_for_and_nowhere_before(
    interrupts: Interrupts, number: int, order: type[BaseException]
) -> None:
    press(number)
    written = list(range(1_000))  # stands for what must not be cut in two

    with pytest.raises(order):
        interrupts.check()
    interrupts.check()  # it is heard once
    assert len(written) == 1_000


def test_a_second_one_acts_at_once_where_the_first_was_not_heard(interrupts: Interrupts) -> None:
    press(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        press(signal.SIGINT)

    interrupts.check()  # nothing is left of them


def test_who_ignores_ctrl_c_goes_on_ignoring_it() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interrupts() as interrupts:
            press(signal.SIGINT)
            interrupts.check()
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_was_there_before_is_there_again() -> None:
    before = [signal.getsignal(number) for number, _ in SIGNALS]

    with Interrupts():
        pass

    assert [signal.getsignal(number) for number, _ in SIGNALS] == before


def test_sigterm_that_nobody_hears_ends_the_command_as_a_shell_expects() -> None:
    assert Terminated().code == 128 + signal.SIGTERM


def test_lines_come_one_by_one_until_the_input_ends(typist: Typist, interrupts: Interrupts) -> None:
    typist.type("One\nTwö \ud83d\n\x04".encode(errors="surrogatepass"))

    assert written_answer(Keyboard(interrupts)) == "One\nTwö \ufffd\ufffd\ufffd"


def test_nothing_written_leaves_the_question_open(typist: Typist, interrupts: Interrupts) -> None:
    typist.type(b"\n \n\x04")

    with pytest.raises(click.Abort):
        written_answer(Keyboard(interrupts))


@pytest.mark.parametrize(
    ("typed", "answer"),
    [(b"y\n", "approved"), (b" YES \n", "approved"), (b"n\n", "denied"), (b"\n", "denied")],
)
def test_a_question_wants_yes_or_no(
    typist: Typist,
    interrupts: Interrupts,
    capsys: pytest.CaptureFixture[str],
    typed: bytes,
    answer: str,
) -> None:
    typist.type(b"perhaps\n" + typed)

    assert answer_to("Go on?", Keyboard(interrupts)) == answer
    assert capsys.readouterr().err == "Go on? [y/N]: answer y or n\nGo on? [y/N]: "


def test_the_end_of_the_input_is_no_answer(typist: Typist, interrupts: Interrupts) -> None:
    typist.type(b"\x04")

    with pytest.raises(click.Abort):
        answer_to("Go on?", Keyboard(interrupts))


def test_two_answers_on_one_pipe_are_two_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupts: Interrupts
) -> None:
    (tmp_path / "answers").write_text("y\nn\n")
    keyboard = Keyboard(interrupts)
    with (tmp_path / "answers").open() as answers:
        monkeypatch.setattr(sys, "stdin", answers)

        assert [answer_to("Go on?", keyboard) for _ in range(2)] == ["approved", "denied"]


def test_an_answer_from_a_file_is_taken_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "answer").write_text("Under\nthe mat")
    with (tmp_path / "answer").open() as answer:
        monkeypatch.setattr(sys, "stdin", answer)

        assert input_text() == "Under\nthe mat"


def test_a_line_that_ctrl_c_takes_back_before_it_is_read_is_not_waited_for(typist: Typist) -> None:
    class Late:
        """Hears Ctrl-C once what was typed is gone from the terminal."""

        waits = 0

        def wait_for(self, descriptor: int) -> None:
            self.waits += 1
            if self.waits > 1:
                raise KeyboardInterrupt
            typist.type(b"It is\n")
            select.select([descriptor], [], [])
            termios.tcflush(descriptor, termios.TCIFLUSH)

    late: Any = Late()

    with pytest.raises(KeyboardInterrupt):
        Keyboard(late).line()
