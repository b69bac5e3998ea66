"""A recorded home as a test: whatever was decided in it is decided again."""

from pathlib import Path

from cortex.runtime.kernel import Home
from cortex.runtime.replay import Replayed, replayed, report_of


def replay(home: Path | str, execution: str = "", *, process: Path | str | None = None) -> Replayed:
    """Decide again what was decided in *home*, or in one *execution* of it.

    No model is asked and nothing happens in the world. The home is only read; nothing of it runs.

    Args:
        home: The folder, as ``tests/recorded/.cortex``.
        execution: An id, or its beginning, if that is unique; "" for the whole log.
        process: A file with another version of the process that *execution* ran: its recorded
            facts are run through that version.

    Raises:
        AssertionError: Something is decided otherwise; the message shows the first difference.
        CortexError: The home cannot be read, has no such execution, or *process* does not fit.
        ValueError: A *process* without an *execution*.
    """
    opened = Home(Path(home))
    opened.require()
    found = replayed(opened, execution, None if process is None else Path(process))
    if not found.same:
        raise AssertionError("\n".join(line.text for line in report_of(found)))
    return found
