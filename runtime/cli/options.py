"""Options that several commands share."""

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .screen import Screen
from .tree import HOME as NAMED_HOME

if TYPE_CHECKING:
    from cortex.runtime.kernel import Home

Function = TypeVar("Function", bound=Callable[..., Any])


def with_screen(function: Function) -> Function:
    """Add --json; the command gets its `Screen` as `screen`."""

    @wraps(function)
    def call(*args: Any, as_json: bool, **options: Any) -> Any:
        return function(*args, screen=Screen(as_json=as_json), **options)

    option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    return option(call)  # type: ignore[return-value]  # it takes the place of *function*


def with_home(function: Function) -> Function:
    """Add --home; the command gets the `Home` as `home`, which has to be there."""
    return _with_home(function, lambda home, _: home.require())


def with_any_home(function: Function) -> Function:
    """The same for a command that has something to say where nobody has made a home yet.

    Or one that makes the home where it needs one. A home that was named has to be there all the
    same: else its name is wrong, and what is asked for would be done in an empty home instead.
    """
    return _with_home(function, lambda home, named: home.require() if named else None)


def _with_home(function: Function, accept: "Callable[[Home, bool], None]") -> Function:
    @wraps(function)
    def call(*args: Any, home: Path | None, **options: Any) -> Any:
        found = home_at(home)
        accept(found, named_home(home) is not None or found.is_named())
        code = function(*args, home=found, **options)
        _note_untrusted(found)
        return code

    option = click.option(
        "--home",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="FOLDER",
        help="The home, instead of the one that belongs to this folder.",
    )
    return option(call)  # type: ignore[return-value]  # it takes the place of *function*


def _note_untrusted(home: "Home") -> None:
    """Say of a home that was read whether it could act, too; what acts was refused before."""
    # Here, not at the top: `cortex --help` gets along without the bus.
    from cortex.bus import CortexError

    with suppress(CortexError):
        if home.untrusted_because:
            Screen().note(
                f"{home.path} is not trusted, nothing of it runs: `cortex trust --show`", "yellow"
            )


def with_running(function: Function) -> Function:
    """Add the options of commands that follow an execution."""
    for option in (
        click.option("-q", "--quiet", is_flag=True, help="Do not show progress."),
        click.option("-y", "--yes", is_flag=True, help="Answer every question with yes."),
    ):
        function = option(function)
    return function


def question_of(words: tuple[str, ...]) -> str:
    """What is to be found, of the arguments of a command.

    Raises:
        UsageError: They hold no word.
    """
    text = " ".join(words).strip()
    if not text:
        raise click.UsageError("TEXT is empty: say in a few words what to find")
    return text


def home_at(path: Path | None) -> "Home":
    """The home at *path*, else as --home names it before the command, else by where one stands."""
    from cortex.runtime.kernel import Home

    named = named_home(path)
    return Home.find() if named is None else Home(named.expanduser().absolute())


def named_home(path: Path | None) -> Path | None:
    """The home that the command line names, behind the command or before it."""
    context = click.get_current_context(silent=True)
    return path or (context.meta.get(NAMED_HOME) if context else None)
