"""What a simulation finds.

CortexError
└── PromiseBrokenError       a schedule of faults made the bus break a promise
"""

from cortex.bus import CortexError

TAIL = 60  # lines of the trace that are shown


class PromiseBrokenError(CortexError):
    """A schedule of faults made the bus break a promise; the seed makes it happen again."""

    def __init__(self, promise: str, seed: int, trace: str) -> None:
        super().__init__(promise, seed, trace)
        self.promise, self.seed, self.trace = promise, seed, trace

    def __str__(self) -> str:
        lines = self.trace.splitlines()
        left_out = f"... {len(lines) - TAIL} lines before\n" if len(lines) > TAIL else ""
        return f"seed {self.seed}: {self.promise}\n{left_out}" + "\n".join(lines[-TAIL:])


def insist(holds: bool, otherwise: str, *about: object) -> None:
    """Raise an AssertionError where something does not hold; *otherwise* is formatted only then."""
    # Not an assert statement: `python -O` leaves those out, and then nothing would be found.
    if not holds:
        raise AssertionError(otherwise.format(*about))
