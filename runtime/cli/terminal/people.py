"""Questions to the person at the keyboard, if there is one."""

import sys
from collections.abc import Callable
from pathlib import Path

import click

from cortex.runtime.access.trust import UntrustedHomeError, give_trust
from cortex.runtime.kernel import Home, RefusedError
from cortex.runtime.serving import ActingDocument, acting_document, acting_lines
from cortex.runtime.sessions import CONTINUE, EDIT, STEP

from ..screen import Screen, clean
from .keyboard import Interrupts, Keyboard

YES = ("y", "yes")
NO = ("n", "no", "")
BY_QUESTION = "asked on a terminal"
LEAD = 22  # columns before what would act


def has_person() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def answer_to(question: str, keyboard: Keyboard) -> str:
    """The answer of the person at the keyboard: "approved" or "denied"; Enter alone denies.

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


def wanted_at_breakpoint(keyboard: Keyboard, *, can_edit: bool, show: Callable[[], None]) -> str:
    """What the person wants: STEP, CONTINUE, EDIT, or "" for Enter, Ctrl-D and Ctrl-C.

    Args:
        keyboard: Where they type.
        can_edit: Whether there is a prompt to change.
        show: Shows all that there is to see; then they are asked again.
    """
    wants = {"s": STEP, "c": CONTINUE, **({"e": EDIT} if can_edit else {})}
    edit = ", [e]dit what is sent" if can_edit else ""
    asks = f"[s]tep, [c]ontinue{edit}, [d]ebug: show all, or Enter to leave it paused: "
    while True:
        click.echo(asks, nl=False, err=True)
        try:
            line = _line(keyboard)
        except click.Abort:
            line = ""
        if not line.endswith("\n"):
            click.echo(err=True)
        said = line.strip().lower()
        if said and "debug".startswith(said):
            show()
            continue
        want = wants.get(said[:1], "")
        if want.startswith(said):
            return want
        click.echo(f"answer {', '.join(wants)} or d", err=True)


def written_answer(keyboard: Keyboard) -> str:
    """The lines that the person at the keyboard writes, until Ctrl-D.

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
    """The text on standard input; as `written_answer`."""
    with Interrupts() as interrupts:
        return written_answer(Keyboard(interrupts))


def edited_text(before: str) -> str:
    """What the person saved in their editor, which shows *before*.

    Raises:
        RefusedError: Nothing was saved.
    """
    edited = click.edit(before, extension=".txt")
    if edited is None:
        raise RefusedError("the prompt is not changed: nothing was saved")
    return edited


def trusted_when_asked(error: UntrustedHomeError) -> bool:
    """Whether the person at the terminal trusts the home, now that they saw what would act.

    False if nobody can be asked.

    Raises:
        TrustError: The home was changed meanwhile, or the trust cannot be stored.
        click.Abort: The question was left open.
    """
    if not has_person():
        return False
    home = Home(Path(error.home))
    document = acting_document(home)
    show_acting(Screen(as_json=True), document)
    return asked_for_trust(home, document)


def asked_for_trust(home: Home, document: ActingDocument, *, own: bool = False) -> bool:
    """Ask whether the person trusts *home* as *document* describes it; store the answer.

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
