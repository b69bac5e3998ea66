"""The result of a check of `cortex doctor`."""

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

import msgspec

from cortex.bus import CortexError

State: TypeAlias = Literal["ok", "warn", "fail"]


class Check(msgspec.Struct):
    """One result of a check."""

    name: str
    state: State
    found: str
    todo: str = ""


def guarded(name: str, checks: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    """The results of *checks*; a check that cannot be carried out becomes a failed result."""
    try:
        yield from checks()
    except (CortexError, OSError) as error:
        yield Check(name, "fail", str(error))
