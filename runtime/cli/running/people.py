"""Who is at the keyboard, and what they are asked."""

import contextlib
import getpass
import os
import sys

import click


def user_name() -> str:
    """Who is at the keyboard, as far as the system can tell."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number alone
        return f"uid {os.getuid()}"


def has_person() -> bool:
    """Whether somebody is there who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def answer_to(question: str) -> str:
    """What the person at the keyboard says: "approved" or "denied".

    Raises:
        click.Abort: Nothing; the input ended.
    """
    return "approved" if click.confirm(question, err=True) else "denied"


def written_answer() -> str:
    """What the person at the keyboard writes, in as many lines as it takes, until Ctrl-D.

    Raises:
        click.Abort: Nothing was written, or it was interrupted.
    """
    with contextlib.suppress(AttributeError):  # a stand-in for standard input has no such thing
        sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        text = "".join(iter(sys.stdin.readline, "")).strip()
    except KeyboardInterrupt:
        raise click.Abort from None
    if not text:
        raise click.Abort
    return text
