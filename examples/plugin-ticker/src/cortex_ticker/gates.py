"""A gate: `even_minute`."""

import cortex

MINUTE_NS = 60_000_000_000


@cortex.gate("even_minute")
def even_minute(step: cortex.Step) -> cortex.Verdict:
    """Passes in every other minute: that in which it was asked, so that a replay says the same."""
    minute = step.time_ns // MINUTE_NS
    if minute % 2:
        reason = "this minute is odd: resume in the next"
        return cortex.Verdict.failed(reason, minute=minute % 60)
    return cortex.Verdict.passed(minute=minute % 60)
