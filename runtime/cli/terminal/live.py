"""Shows progress: a line for each event and, on a terminal, the current work below them."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Self

from cortex.bus import Event, Recorded, steady_s
from cortex.bus.events import ModelDelta, StepDelegated
from cortex.runtime.context.prompt_log import Health, health_lines
from cortex.runtime.executions.view import Activity, FinishedLine, LiveState, Teller
from cortex.runtime.kernel import duration
from cortex.runtime.models import dollars

from ..screen import Screen, clean, is_terminal

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.live import Live
    from rich.text import Text

A_SECOND = 8  # times that the lower part is drawn
SHOWN = 3  # activities at once
TAIL_LINES = 2  # of an answer that is coming
LEAD = 10  # columns of the leading word
QUIET = frozenset(("green", "cyan", "dim", ""))  # lines about what is in order
BAR = "  | "  # before the text of a model


class ProgressLines:
    """Shows an execution and its children on standard error, each child's lines further in."""

    def __init__(self, screen: Screen, execution_id: str, tally: LiveState) -> None:
        self._screen, self._tally = screen, tally
        self._own = execution_id
        self._margins = {execution_id: ""}
        # Executions within an item where so many run that each says only what is wrong.
        self._of_many: set[str | None] = set()
        self._teller = Teller()
        self._live = LiveView() if is_terminal(sys.stderr) else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, record: Recorded, event: Event) -> None:
        """Show an event of an execution that is followed."""
        margin = self._margins.get(record.correlation or self._own, "")
        of_many = record.correlation in self._of_many
        if isinstance(event, StepDelegated):
            self._margins.setdefault(event.child, f"{margin}  ")
            many = event.item and self._teller.is_many(event.execution_id, event.step_id)
            if many or of_many:
                self._of_many.add(event.child)
        finished = self._tally.fold(event, steady_s())
        told = None if isinstance(event, ModelDelta) else self._teller.tell(record, event)
        if told and of_many and told.style in QUIET:
            told = None
        if self._live is None:
            if told:
                lead = f"{margin}{told.lead:<{LEAD - 1}}" if told.text else f"{margin}{told.lead}"
                self._screen.note(told.text.replace("\n", " "), told.style, lead=lead)
            return
        for line in finished if not of_many else ():
            self._live.said(line, margin)
        if told and record.position:
            self._live.line(told, margin)
        self._live.update(self._tally)


class _Picture(NamedTuple):
    """What the lower part shows; replaced whole, since another thread draws it."""

    activities: tuple[Activity, ...] = ()
    tail: str = ""
    spent: str = ""


class LiveView:
    """Standard error of a terminal, which rich draws from `start` to `stop`."""

    def __init__(self) -> None:
        self._began_s = steady_s()
        self._picture = _Picture()
        self._live: Live | None = None

    def start(self) -> None:
        """Draw from now on."""
        from rich.live import Live

        from ..drawing import console

        self._live = Live(
            self,
            console=console(stderr=True),
            refresh_per_second=A_SECOND,
            transient=True,  # the result follows, not what was going on
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )
        self._live.start()

    def stop(self) -> None:
        """Stop drawing; the current work disappears from the screen."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def line(self, told: FinishedLine, margin: str = "") -> None:
        """Let a finished line scroll up."""
        lead = f"{margin}{told.lead:<{LEAD - 1}}"
        self._print(told.text, lead, " " * len(lead), told.style, "")

    def said(self, text: str, margin: str = "") -> None:
        """Let a line that a model wrote scroll up."""
        self._print(text, f"{margin}{BAR}", f"{margin}{BAR}", "dim", "dim")

    def update(self, tally: LiveState) -> None:
        """Show the current work."""
        of_items = tuple(count.activity() for count in tally.items.values())
        latest = tuple(tally.activities.values())[-SHOWN:]
        self._picture = _Picture((*of_items[:SHOWN], *latest), tally.tail, _spent(tally))

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.spinner import Spinner
        from rich.table import Table
        from rich.text import Text

        picture, now_s = self._picture, steady_s()
        if picture.tail.strip():
            lines = _wrapped(console, clean(picture.tail), options.max_width - len(BAR))
            for line in lines[-TAIL_LINES:]:
                yield Text(f"{BAR}{line}", style="dim")
        beat = Spinner("line")  # in characters that every terminal has
        beat.start_time = self._began_s
        at_work = Table.grid(padding=(0, 1, 0, 0))
        at_work.add_column(no_wrap=True)
        at_work.add_column()
        at_work.add_column(no_wrap=True)
        for activity in picture.activities:
            text = Text(clean(activity.text), no_wrap=True, overflow="ellipsis")
            took = duration(now_s - activity.since_s)
            at_work.add_row(beat.render(now_s), text, Text(took, "dim"))
        yield at_work
        spent = f"{picture.spent}  {duration(now_s - self._began_s)}".strip()
        yield Text(spent, "dim", no_wrap=True, overflow="ellipsis")

    def _print(self, text: str, first: str, later: str, lead_style: str, style: str) -> None:
        from rich.text import Text

        if self._live is None:
            return
        console = self._live.console
        lines = _wrapped(console, clean(text), console.width - len(first)) or [Text()]
        for number, line in enumerate(lines):
            shown = Text.assemble((later if number else first, lead_style), (line.plain, style))
            shown.rstrip()
            console.print(shown, soft_wrap=True)


def _spent(tally: LiveState) -> str:
    usage = tally.usage
    parts = [
        f"{_brief(tokens)} {name}"
        for tokens, name in (
            (usage.input, "in"),
            (usage.cached_read, "cached"),
            (usage.cached_write, "written"),
            (usage.output, "out"),
        )
        if tokens
    ]
    most = "" if tally.max_cost is None else f" of {dollars(tally.max_cost)}"
    return "  ".join([*parts, f"{dollars(tally.cost)}{most}"])


def _wrapped(console: "Console", text: str, width: int) -> "list[Text]":
    from rich.text import Text

    return list(Text(text, tab_size=4).wrap(console, max(LEAD, width), overflow="fold"))


def _brief(tokens: int) -> str:
    return f"{tokens:,}" if tokens < 10_000 else f"{tokens / 1_000:.1f}k"


@contextmanager
def health_pictures(screen: Screen) -> Iterator[Callable[[Health], None]]:
    """Prints the health of a context; on a terminal each picture replaces the last one.

    The last picture stays when the block is left, also by Ctrl-C.
    """
    if not screen.terminal or screen.as_json:
        margin = iter(("",))

        def show(found: Health) -> None:
            if next(margin, None) is None:
                screen.line()
            for line in health_lines(found):
                screen.line(line.text, line.style)

        yield show
        return
    from rich.live import Live
    from rich.text import Text

    from ..drawing import console

    with Live(console=console(), auto_refresh=False, vertical_overflow="crop") as live:

        def draw(found: Health) -> None:
            lines = health_lines(found)
            drawn = [Text(clean(line.text), style=line.style, overflow="fold") for line in lines]
            live.update(Text("\n").join(drawn), refresh=True)

        yield draw
