"""Whether and when a failed attempt is tried again, and when a model is asked again."""

from typing import Final

from cortex.bus import Backoff
from cortex.bus.events import StepFailed
from cortex.runtime.processes import Retry

MODEL_BACKOFF: Final = Backoff(first_s=2.0, longest_s=300.0)
MODEL_JITTER: Final = 0.5  # of the wait at most, on top: those who were refused together part
LOOKS: Final = Backoff(first_s=0.1, longest_s=2.0)  # for the tools of a step
OFTEN: Final = 34  # looks for tools that come within a minute
SELDOM_S: Final = 10.0  # between the later ones


def wait_before_call(calls: int, asked_s: float | None, fraction: float) -> float:
    """Seconds until a model is asked again.

    Args:
        calls: How often it was asked.
        asked_s: What the endpoint asks for; it is given that, up to the longest wait.
        fraction: From 0 to 1, another one for each that waits.
    """
    longest_s = MODEL_BACKOFF.longest_s
    wait_s = max(MODEL_BACKOFF.after_s(calls), asked_s or 0.0)
    if not wait_s < longest_s:  # what is no number is longer, too
        return longest_s
    return min(longest_s, wait_s * (1 + MODEL_JITTER * fraction))


def wait_before_look(looks: int) -> float:
    """Seconds until it is looked again whether the tools of a step are there."""
    return LOOKS.after_s(looks + 1) if looks < OFTEN else SELDOM_S


def waited_s(looks: int) -> float:
    """Seconds that so many looks took together."""
    return sum(wait_before_look(each) for each in range(looks))


def wait_before_retry(retry: Retry, tries: int, failed: StepFailed) -> float | None:
    """Seconds until the next attempt after *tries* failed ones; None if there is no next."""
    if not failed.retry or tries >= retry.attempts:
        return None
    if retry.on and failed.kind not in retry.on:
        return None
    return Backoff(retry.backoff_s, retry.max_backoff_s, retry.factor).after_s(tries)
