"""What took fewest tokens the first times a shape was met is not measured again."""

from typing import Final, Literal

Layout = Literal["in line", "over lines"]
IN_LINE: Final = "in line"
OVER_LINES: Final = "over lines"
ENOUGH: Final = 4  # times in a row


class Habits:
    """How values of one shape were laid out so far."""

    def __init__(self) -> None:
        self._met: dict[object, tuple[Layout, int]] = {}

    def known(self, shape: object) -> Layout | None:
        """The layout that was best each time of late; None where that is not certain."""
        layout, times = self._met.get(shape, (None, 0))
        return layout if times >= ENOUGH else None

    def learn(self, shape: object, layout: Layout) -> None:
        """Note that *layout* was best for a value of that *shape*."""
        last, times = self._met.get(shape, (layout, 0))
        self._met[shape] = (layout, times + 1 if last == layout else 1)
