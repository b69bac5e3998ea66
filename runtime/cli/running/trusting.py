"""The one question about a home that is not trusted, to whoever is at the terminal."""

from pathlib import Path

from cortex.runtime.access.trust import UntrustedHomeError, give_trust
from cortex.runtime.kernel import Home
from cortex.runtime.serving import ActingDocument, acting_document, acting_lines

from ..screen import Screen, clean
from .keyboard import Interrupts, Keyboard
from .people import answer_to, has_person

BY_QUESTION = "asked on a terminal"
LEAD = 22  # columns before what would act


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


def _in_one_line(text: str) -> str:
    # A file may have a line of ours in its name.
    return " ".join(text.split())
