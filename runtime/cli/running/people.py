"""Who is at the keyboard, and what they are asked."""

import sys

import click

from .keyboard import Interrupts, Keyboard

YES = ("y", "yes")
NO = ("n", "no", "")


def has_person() -> bool:
    """Whether somebody is there who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def answer_to(question: str, keyboard: Keyboard) -> str:
    """What the person at the keyboard says: "approved" or "denied"; only Enter denies.

    Raises:
        click.Abort: Nothing; the input ended, or it was interrupted.
        Terminated: The command was told to end.
    """
    while True:
        click.echo(f"{question} [y/N]: ", nl=False, err=True)
        line = _line(keyboard)
        if not line:
            click.echo(err=True)  # Ctrl-D leaves the line of the question as it is
            raise click.Abort
        said = line.strip().lower()
        if said in YES:
            return "approved"
        if said in NO:
            return "denied"
        click.echo("answer y or n", err=True)


def written_answer(keyboard: Keyboard) -> str:
    """What the person at the keyboard writes, in as many lines as it takes, until Ctrl-D.

    Raises:
        click.Abort: Nothing was written, or it was interrupted.
        Terminated: The command was told to end.
    """
    lines = [_line(keyboard)]
    while lines[-1].endswith("\n"):
        lines.append(_line(keyboard))
    text = "".join(lines).strip()
    if not text:
        raise click.Abort
    return text


def input_text() -> str:
    """What stands on standard input; as `written_answer`."""
    with Interrupts() as interrupts:
        return written_answer(Keyboard(interrupts))


def _line(keyboard: Keyboard) -> str:
    try:
        return keyboard.line()
    except KeyboardInterrupt:
        raise click.Abort from None
