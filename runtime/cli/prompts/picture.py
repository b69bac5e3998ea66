"""The health of a context as it changes: on a terminal each picture stands over the last one."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

from cortex.runtime.context.prompt_log import Health, health_lines

from ..screen import Screen, clean

if TYPE_CHECKING:
    from rich.live import Live


class Picture:
    """Standard output, in the hands of rich while the block is entered on a terminal.

    The last picture stays when the block is left, also by Ctrl-C.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._live: Live | None = None
        self._shown = False

    def __enter__(self) -> Self:
        if self._screen.terminal and not self._screen.as_json:
            # Here, not at the top: most commands draw nothing over, and rich takes its time.
            from rich.console import Console
            from rich.live import Live

            console = Console(highlight=False, markup=False, emoji=False)
            self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop")
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

    def show(self, found: Health) -> None:
        """Show *found* in place of what was shown before."""
        lines = list(health_lines(found))
        if self._live is None:
            if self._shown:
                self._screen.line()
            self._shown = True
            for line in lines:
                self._screen.line(line.text, line.style)
            return
        from rich.text import Text

        drawn = [Text(clean(line.text), style=line.style, overflow="fold") for line in lines]
        self._live.update(Text("\n").join(drawn), refresh=True)
