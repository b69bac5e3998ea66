"""`cortex directive`: lay something down, take it back, and show what holds and since when."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

import click

from cortex.bus.events import (
    DirectiveBranch,
    DirectiveMerge,
    DirectivePin,
    DirectiveRedo,
    DirectiveSubmit,
    DirectiveUndo,
)
from cortex.runtime.admin import (
    DirectivesExported,
    StepDocument,
    ask_directive,
    asking,
    directive_history,
    directive_scopes,
    directives_in,
    directives_in_force,
    export_directives,
    import_directives,
    preview_directive,
)
from cortex.runtime.directives import (
    LARGEST_STATE_BYTES,
    MAIN,
    PROFILES,
    Request,
)
from cortex.runtime.kernel import Home, many

from ..exits import OK
from ..options import (
    FILE,
    FILE_THERE,
    at_home,
    composed,
    question_of,
    with_limit,
    with_past,
    with_subject,
    words,
)
from ..screen import Screen
from ..tree import Family
from .directive_shown import (
    HISTORY,
    SCOPES,
    said_outcome,
    show_in_force,
    show_outcome,
    show_state,
)

STDOUT = Path("-")
with_scope = click.option(
    "--scope",
    callback=composed,
    default="user",
    show_default=True,
    metavar="SCOPE",
    help="Where it holds.",
)
with_branch = click.option(
    "--branch", default=MAIN, show_default=True, metavar="BRANCH", help="The line of the scope."
)
with_profile = click.option(
    "--profile",
    type=click.Choice(tuple(PROFILES)),
    default=None,
    help="How sentences are read; as config.toml says unless given.",
)
LONGEST_LINE: Final = 200_000  # bytes
REPL_COMMANDS: Final = (":state", ":undo", ":redo", ":quit")
REPL_HELP: Final = f"a sentence lays something down; {' '.join(REPL_COMMANDS)}"
SHOWN: Final = 60  # characters of a line that is wrong


@click.group(cls=Family)
def directive() -> None:
    """Lay down what holds until you change it, whatever a model says.

    A directive is a sentence such as `prohibit docker`, `use podman instead of lxc` or `set premise
    short answers`. No model is asked about it, and no text of a model changes it.

    A scope says where it holds: `user` everywhere in this home, `project:NAME` in work in a folder
    of that name, `process:NAME` in steps of that process, `execution:ID` in that execution. The
    narrower one wins. Only the branch `main` is in force; others are for trying things out.
    """


@directive.command()
@words
@with_scope
@with_branch
@with_profile
@with_subject
@at_home
def step(
    words: tuple[str, ...],
    scope: str,
    branch: str,
    profile: str | None,
    subject: str,
    home: Home,
    screen: Screen,
) -> int:
    """Take TEXT as a directive, or as the answer to an open question."""
    text = question_of(words)
    asked = DirectiveSubmit(scope=scope, text=text, profile=profile or "", branch=branch)
    return show_outcome(screen, ask_directive(home, asked, subject))


@directive.command()
@click.option(
    "--scope",
    "scopes",
    callback=composed,
    multiple=True,
    metavar="SCOPE",
    help="Where it holds; several show what is in force where all apply [default: user].",
)
@with_branch
@at_home
@with_past
def state(scopes: tuple[str, ...], branch: str, home: Home, screen: Screen) -> None:
    """Show what is laid down, and the event behind each part of it.

    With several scopes, what is in force where all of them apply: the narrower one wins, and what
    it overrules is shown as such.
    """
    if len(scopes) > 1:
        if branch != MAIN:
            raise click.UsageError("only the branch main is in force: name one scope, or no branch")
        together = directives_in_force(home, scopes)
        screen.document(together)
        show_in_force(screen, together)
        return
    found = directives_in(home, scopes[0] if scopes else "user", branch)
    screen.document(found)
    show_state(screen, found)


@directive.command()
@with_limit(50, 10_000)
@with_scope
@at_home
@with_past
def history(limit: int, scope: str, home: Home, screen: Screen) -> None:
    """List what was laid down, taken back and refused, the newest last."""
    rows = directive_history(home, scope, limit)
    screen.rows(rows, HISTORY, empty=f"nothing was laid down in {scope} yet")


@directive.command()
@with_scope
@with_branch
@with_subject
@at_home
def undo(scope: str, branch: str, subject: str, home: Home, screen: Screen) -> int:
    """Take back the newest change, or the open question."""
    return show_outcome(
        screen, ask_directive(home, DirectiveUndo(scope=scope, branch=branch), subject)
    )


@directive.command()
@with_scope
@with_branch
@with_subject
@at_home
def redo(scope: str, branch: str, subject: str, home: Home, screen: Screen) -> int:
    """Make the change again that was undone last."""
    return show_outcome(
        screen, ask_directive(home, DirectiveRedo(scope=scope, branch=branch), subject)
    )


@directive.command()
@words
@with_scope
@with_branch
@with_profile
@at_home
@with_past
def preview(
    words: tuple[str, ...],
    scope: str,
    branch: str,
    profile: str | None,
    home: Home,
    screen: Screen,
) -> None:
    """Show what TEXT would do; nothing is laid down."""
    found = preview_directive(home, question_of(words), scope, branch, profile or "")
    screen.document(found)
    screen.line(found.decision, "bold")
    for name, before, after in found.changed:
        screen.line(f"  {name}: {before or 'nothing'} -> {after or 'nothing'}")
    if found.says:
        screen.line(f"  {found.says}")


@directive.command()
@at_home
@with_past
def scopes(home: Home, screen: Screen) -> None:
    """List the scopes in which something was laid down, the widest first."""
    empty = "nothing was laid down yet: `cortex directive step` does that"
    screen.rows(directive_scopes(home), SCOPES, empty=empty)


@directive.command()
@click.argument("name", metavar="NAME")
@click.option("--from", "branch", default=MAIN, show_default=True, help="Where it starts.")
@click.option("--delete", is_flag=True, help="Delete the branch instead.")
@with_scope
@at_home
def branch(name: str, branch: str, delete: bool, scope: str, home: Home, screen: Screen) -> int:
    """Start the branch NAME, to try directives out without having them in force."""
    asked = DirectiveBranch(scope=scope, name=name, branch=branch, delete=delete)
    return show_outcome(screen, ask_directive(home, asked))


@directive.command()
@click.argument("source", metavar="[SOURCE]", required=False)
@click.option("--into", "branch", default=MAIN, show_default=True, help="The branch to change.")
@click.option(
    "--from-scope",
    default="",
    callback=composed,
    metavar="SCOPE",
    help="Recall it from this scope.",
)
@with_scope
@with_subject
@at_home
def merge(
    source: str | None,
    branch: str,
    from_scope: str,
    scope: str,
    subject: str,
    home: Home,
    screen: Screen,
) -> int:
    """Bring what the branch SOURCE changed into another branch, or recall another scope.

    If both changed the same, nothing is merged, and the conflicts are shown. What was cleared does
    not come back. SOURCE is `main` if a scope is recalled.
    """
    if source is None and not from_scope:
        raise click.UsageError("name the branch SOURCE to merge, or a scope with --from-scope")
    asked = DirectiveMerge(
        scope=scope, branch=branch, source=source or MAIN, source_scope=from_scope
    )
    return show_outcome(screen, ask_directive(home, asked, subject))


@directive.command()
@click.argument("name", metavar="NAME")
@click.option("--release", is_flag=True, help="Let it be changed again.")
@with_scope
@with_branch
@with_subject
@at_home
def pin(
    name: str, release: bool, scope: str, branch: str, subject: str, home: Home, screen: Screen
) -> int:
    """Pin the premise or the item NAME: nothing changes it until it is released."""
    asked = DirectivePin(scope=scope, name=name, branch=branch, pinned=not release)
    return show_outcome(screen, ask_directive(home, asked, subject))


@directive.command()
@click.argument("file", type=FILE, metavar="FILE|-")
@with_scope
@with_branch
@with_profile
@at_home
@with_past
def export(
    file: Path, scope: str, branch: str, profile: str | None, home: Home, screen: Screen
) -> None:
    """Write what is laid down to FILE, as canonical JSON with a version; - is standard output."""
    text, digest, left = export_directives(home, scope, branch, profile or "")
    if left:
        screen.note(f"left out, as another profile laid it down: {', '.join(left[:5])}", "yellow")
    if file == STDOUT:
        sys.stdout.write(text + "\n")
        return
    file.write_text(text + "\n", encoding="utf-8")
    screen.document(
        DirectivesExported(scope=scope, branch=branch, file=str(file), digest=digest, left_out=left)
    )
    screen.line(f"wrote {scope} to {file}")


@directive.command("import")
@click.argument("file", type=FILE_THERE)
@with_scope
@with_branch
@with_profile
@with_subject
@at_home
def import_(
    file: Path,
    scope: str,
    branch: str,
    profile: str | None,
    subject: str,
    home: Home,
    screen: Screen,
) -> int:
    """Replace what is laid down by the export in FILE: all of it, or nothing if it is damaged."""
    home.require_trust()  # first: what is wrong with the file is nothing to a home of somebody else
    with file.open("rb") as opened:
        state = opened.read(LARGEST_STATE_BYTES + 1)  # one more, so that a larger one is seen
    return show_outcome(
        screen, import_directives(home, state, scope, branch, profile or "", subject)
    )


@directive.command()
@with_scope
@with_branch
@with_profile
@at_home
def repl(scope: str, branch: str, profile: str | None, home: Home, screen: Screen) -> int:
    """Take directives line by line from standard input, and answer each.

    `:state` shows what is laid down, `:undo` and `:redo` take back and make again, `:quit` or the
    end of the input ends it. With --json, each line gets one line of JSON.
    """
    asks = sys.stdin.isatty()
    if asks:
        screen.note(REPL_HELP)
    code = OK
    with asking(home) as ask, suppress(EOFError):
        while (line := _next_line(asks)) != ":quit":
            if not line:
                continue
            if line == ":state":
                found = directives_in(home, scope, branch)
                screen.record(found)
                show_state(screen, found)
                continue
            wrong = _wrong(line)
            asked = _asked(line, scope, branch, profile or "")
            document = _refused(asked, wrong) if wrong else ask(asked)
            screen.record(document)
            code = max(code, said_outcome(screen, document))
    return code if not asks else OK


def _next_line(asks: bool) -> str:
    """The next line without blanks around it; EOFError at the end of the input."""
    if asks:
        return input("> ").strip()
    line = sys.stdin.buffer.readline()  # bytes: one bad line does not end the others
    if not line:
        raise EOFError
    return line.decode("utf-8", "surrogateescape").strip()


def _wrong(line: str) -> str:
    """What is wrong with a line that is neither a sentence nor a command of the pipe; else ""."""
    shown = line.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")[:SHOWN]
    if any("\ud800" <= each <= "\udfff" for each in line):
        return f"{shown} is not UTF-8"
    if (size := len(line.encode())) > LONGEST_LINE:
        return f"this line has {many(size, 'byte')}, and at most {LONGEST_LINE:,} are taken"
    if line.startswith(":") and line not in REPL_COMMANDS:
        return f"there is no command {shown}; there is: {' '.join(REPL_COMMANDS)}"
    return ""


def _refused(asked: Request, why: str) -> StepDocument:
    return StepDocument(
        outcome="refused", scope=asked.scope, branch=asked.branch, position=0, says=why
    )


def _asked(line: str, scope: str, branch: str, profile: str) -> Request:
    if line == ":undo":
        return DirectiveUndo(scope=scope, branch=branch)
    if line == ":redo":
        return DirectiveRedo(scope=scope, branch=branch)
    return DirectiveSubmit(scope=scope, text=line, profile=profile, branch=branch)
