"""How tests wait for what another thread or process does: by looking at it until it is there.

A machine may be ten times slower than the one a test was written on, and stand still for seconds.
So no test guesses how long a thing takes: it looks until it is so, and gives up only where nothing
can come any more.
"""

import time
from collections.abc import Callable
from typing import Any

PATIENCE_S = 120.0  # nothing takes as long, whatever else the machine does; what is lost does
LOOK_S = 0.02  # between two looks


def until(done: Callable[[], Any], *, look_s: float = LOOK_S) -> Any:
    """What *done* gives, once that is something.

    Raises:
        AssertionError: It did not come to that.
    """
    ends_s = time.monotonic() + PATIENCE_S
    while not (found := done()):
        assert time.monotonic() < ends_s, f"it did not come to that within {PATIENCE_S:.0f} s"
        time.sleep(look_s)
    return found


def held_by(name: str) -> str:
    """What `run:` of a step takes for a program that ends once the file *name* is in its folder.

    A step is under way for as long as a test needs it to be; five minutes where the test is gone.
    """
    wait = f"until [ -e {name} ] || [ $n -gt 6000 ]; do n=$((n+1)); sleep 0.05; done"
    return f"[sh, -c, 'n=0; {wait}']"
