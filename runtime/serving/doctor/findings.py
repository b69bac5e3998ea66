"""What a check of `cortex doctor` found."""

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

import msgspec

from cortex.bus import CortexError

State: TypeAlias = Literal["ok", "warn", "fail"]


class Check(msgspec.Struct):
    """One thing that was looked at."""

    name: str
    state: State
    found: str
    todo: str = ""


def guarded(name: str, checks: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    """*checks*, the last of which failed where it cannot be carried out."""
    try:
        yield from checks()
    except (CortexError, OSError) as error:
        yield Check(name, "fail", str(error))
