"""A step handler: carries out the action `count_down`."""

import cortex

MOST = 1_000


class CountedDown(cortex.Struct):
    """What `count_down` gives; later steps refer to `${steps.<id>.text}`."""

    text: str


@cortex.action("count_down", effect="none", workers=2)
def count_down(start: int, step: cortex.Step) -> CountedDown:
    """Count down to nothing."""
    if not 0 <= start <= MOST:
        raise cortex.StepError(f"count_down: start is 0 to {MOST}", retry=False)
    step.summary = " ".join(str(n) for n in range(start, -1, -1))
    return CountedDown(step.summary)
