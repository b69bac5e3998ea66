"""Options that several commands share."""

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from unicodedata import normalize

import click

from .screen import Screen
from .tree import HOME as NAMED_HOME

if TYPE_CHECKING:
    from cortex.runtime.kernel import Home

MOST_USD = 1_000_000_000.0
FOLDER = click.Path(path_type=Path, file_okay=False)
FOLDER_THERE = click.Path(path_type=Path, file_okay=False, exists=True)
FILE = click.Path(path_type=Path, dir_okay=False)
STDOUT = Path("-")  # as a FILE that is written
FILE_THERE = click.Path(path_type=Path, dir_okay=False, exists=True)

Function = TypeVar("Function", bound=Callable[..., Any])


class _Dollars(click.FloatRange):
    """US dollars; what is no number is compared with nothing, and would bound nothing."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        amount: float = super().convert(value, param, ctx)
        if isnan(amount):
            self.fail(f"{value!r} is not an amount of US dollars", param, ctx)
        return amount


def composed(_: click.Context, __: click.Parameter, given: Any) -> Any:
    """Names of scopes as folders have them: a terminal may give accents in another form."""
    if isinstance(given, tuple):
        return tuple(normalize("NFC", each) for each in given)
    return normalize("NFC", given)


def with_options(*options: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Add several options, shown in this order."""

    def add(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return add


DOLLARS = _Dollars(min=0.0, max=MOST_USD)

with_note = click.option("--note", default="", help="Why, for the record.")
with_reason = click.option("--reason", default="", help="Why, for the record.")
with_scopes = click.option(
    "--scope",
    "scopes",
    multiple=True,
    callback=composed,
    metavar="SCOPE",
    help="Only this scope; all unless given.",
)
with_version = click.option(
    "--version", type=click.IntRange(min=1), help="Use this version instead of the newest."
)
with_workspace = click.option(
    "--workspace",
    type=FOLDER_THERE,
    default=".",
    help="The folder that the work is about [default: .].",
)


def _subject(_context: click.Context, _option: click.Parameter, name: str | None) -> str:
    # A variable of a shell that was never set would have everything recorded in clear for ever.
    if name is not None and not name.strip():
        raise click.BadParameter("is empty: name a person, or leave it out")
    return name or ""


with_subject = click.option(
    "--subject",
    callback=_subject,
    metavar="NAME",
    help="Whose personal data it is about: all that is recorded of it is encrypted, and "
    "`cortex audit erase NAME` makes it unreadable.",
)
with_running = with_options(
    click.option("-y", "--yes", is_flag=True, help="Answer every question with yes."),
    click.option("-q", "--quiet", is_flag=True, help="Do not show progress."),
)
words = click.argument("words", metavar="TEXT...", nargs=-1, required=True)


def with_limit(default: int, most: int | None = None) -> Callable[[Function], Function]:
    """Add -n: how many are shown."""
    return click.option(
        "-n",
        "--limit",
        type=click.IntRange(1, most),
        default=default,
        show_default=True,
        help="How many are shown at most.",
    )


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
    """The same for a command that also works without a home.

    Or one that makes the home if it needs one. A home that was named must exist all the same:
    otherwise a mistyped name would make the command work in an empty home.
    """
    return _with_home(function, lambda home, named: home.require() if named else None)


def at_home(function: Function) -> Function:
    """Add --home, which has to be there, and --json."""
    return with_home(with_screen(function))


def at_any_home(function: Function) -> Function:
    """Add --home, as `with_any_home` does, and --json."""
    return with_any_home(with_screen(function))


def with_past(function: Function) -> Function:
    """Add --at; the command, below `at_home`, gets the `Home` as it was then."""

    @wraps(function)
    def call(*args: Any, at: str, home: "Home", screen: Screen, **options: Any) -> Any:
        if at:
            from cortex.runtime.projections import position_at

            home = home.at(position_at(home, at))
            screen.note(f"as of position {home.as_of:,}", "dim")
        return function(*args, home=home, screen=screen, **options)

    option = click.option(
        "--at",
        default="",
        metavar="POSITION|TIME",
        help="Show it as it was at this position of the log, or at this time.",
    )
    return option(call)  # type: ignore[return-value]  # it takes the place of *function*


def _with_home(function: Function, accept: "Callable[[Home, bool], None]") -> Function:
    @wraps(function)
    def call(*args: Any, home: Path | None, **options: Any) -> Any:
        from cortex.runtime.sessions import ArgumentError

        found = home_at(home)
        accept(found, named_home(home) is not None or found.is_named())
        try:
            code = function(*args, home=found, **options)
        except ArgumentError as error:
            raise click.UsageError(str(error)) from None
        _note_untrusted(found)
        return code

    option = click.option(
        "--home",
        type=FOLDER,
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


def question_of(words: tuple[str, ...]) -> str:
    """A text, of the arguments of a command.

    Raises:
        UsageError: They hold no word.
    """
    text = " ".join(words).strip()
    if not text:
        raise click.UsageError("TEXT is empty: say it in a few words")
    return text


def home_at(path: Path | None) -> "Home":
    """The home at *path*, else the one of --home before the command, else of the working folder."""
    from cortex.runtime.kernel import Home

    named = named_home(path)
    return Home.find() if named is None else Home(named.expanduser().absolute())


def named_home(path: Path | None) -> Path | None:
    """The home that the command line names, behind the command or before it."""
    context = click.get_current_context(silent=True)
    return path or (context.meta.get(NAMED_HOME) if context else None)
