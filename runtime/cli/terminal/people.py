"""Who is at the keyboard, and what they are asked."""

import sys
from pathlib import Path

import click

from cortex.runtime.access.trust import UntrustedHomeError, give_trust
from cortex.runtime.kernel import Home
from cortex.runtime.serving import ActingDocument, acting_document, acting_lines

from ..screen import Screen, clean
from .keyboard import Interrupts, Keyboard

YES = ("y", "yes")
NO = ("n", "no", "")
BY_QUESTION = "asked on a terminal"
LEAD = 22  # columns before what would act


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


def trusted_when_asked(error: UntrustedHomeError) -> bool:
    """Whether the person at the terminal trusts the home, now that they saw what would act.

    False where nobody is there.

    Raises:
        TrustError: The home was changed meanwhile, or trust cannot be kept.
        click.Abort: The question was left open.
    """
    if not has_person():
        return False
    home = Home(Path(error.home))
    document = acting_document(home)
    show_acting(Screen(as_json=True), document)
    return asked_for_trust(home, document)


def asked_for_trust(home: Home, document: ActingDocument, *, own: bool = False) -> bool:
    """Whether the person at the terminal trusts *home* as *document* says it is; it is kept.

    Raises:
        TrustError: As for `trusted_when_asked`.
        click.Abort: As for `trusted_when_asked`.
    """
    with Interrupts() as interrupts:
        question = f"trust {clean(document.home)} so that this may act?"
        said = answer_to(question, Keyboard(interrupts))
    if said != "approved":
        return False
    give_trust(home.path, by=BY_QUESTION, digest=document.digest, own=own)
    return True


def show_acting(screen: Screen, document: ActingDocument) -> None:
    """Say on standard error what would act in a home."""
    state = "is trusted" if document.trusted else "is not trusted"
    screen.note(f"{document.home} {state}", "" if document.trusted else "yellow")
    for reason in document.reasons:
        screen.note(f"  {_in_one_line(reason)}")
    screen.note("what can act in it:" if document.files or document.recorded else "nothing can act")
    for word, about in acting_lines(document):
        screen.note(_in_one_line(about), lead=f"  {_in_one_line(word):<{LEAD}} ")


def _line(keyboard: Keyboard) -> str:
    try:
        return keyboard.line()
    except KeyboardInterrupt:
        raise click.Abort from None


def _in_one_line(text: str) -> str:
    # A file may have a line of ours in its name.
    return " ".join(text.split())
