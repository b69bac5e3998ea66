"""How an execution goes on a terminal: finished lines scroll up, below them what goes on now."""

import time
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from cortex.runtime.executions.view import Activity, FinishedLine, LiveState
from cortex.runtime.kernel import duration
from cortex.runtime.models import dollars

from ..screen import clean

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.live import Live
    from rich.text import Text

A_SECOND = 8  # times that the lower part is drawn
SHOWN = 3  # activities at once
TAIL_LINES = 2  # of an answer that is coming
LEAD = 10  # columns of the leading word
BAR = "  | "  # before the text of a model


class _Picture(NamedTuple):
    """What the lower part shows; replaced whole, since another thread draws it."""

    activities: tuple[Activity, ...] = ()
    tail: str = ""
    spent: str = ""


class LiveView:
    """Standard error of a terminal, in the hands of rich while the block is entered."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._picture = _Picture()
        self._live: Live | None = None

    def __enter__(self) -> Self:
        # Here, not at the top: most commands show nothing of the kind, and rich takes its time.
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._live = Live(
            self,
            console=console,
            refresh_per_second=A_SECOND,
            transient=True,  # the result follows, not what was going on
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        """Show what goes on now."""
        of_items = tuple(count.activity() for count in tally.items.values())
        latest = tuple(tally.activities.values())[-SHOWN:]
        self._picture = _Picture((*of_items[:SHOWN], *latest), tally.tail, _spent(tally))

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.text import Text

        picture, now_s = self._picture, time.monotonic()
        width = max(LEAD, options.max_width - 1)
        if picture.tail.strip():
            lines = _wrapped(console, clean(picture.tail), width - len(BAR))
            for line in lines[-TAIL_LINES:]:
                yield Text(f"{BAR}{line}", style="dim")
        for activity in picture.activities:
            took = duration(now_s - activity.since_s)
            text = Text(f"{_beat(now_s)} {clean(activity.text)}", no_wrap=True)
            text.truncate(max(1, width - len(took) - 2), overflow="ellipsis")
            yield text.append(f"  {took}", style="dim")
        spent = Text(f"{picture.spent}  {duration(now_s - self._began_s)}".strip(), style="dim")
        spent.truncate(width, overflow="ellipsis")
        yield spent

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


def _beat(now_s: float) -> str:
    """A sign of life that changes place, in characters that every terminal has."""
    return "|/-\\"[int(now_s * A_SECOND) % 4]


def _brief(tokens: int) -> str:
    return f"{tokens:,}" if tokens < 10_000 else f"{tokens / 1_000:.1f}k"
