"""Whether and when a failed attempt is tried again."""

from cortex.bus.events import StepFailed

from ..linked import Retry


def wait_before_retry(retry: Retry, tries: int, failed: StepFailed) -> float | None:
    """Seconds until the next attempt after *tries* failed ones; None where there is none."""
    if not failed.retry or tries >= retry.attempts:
        return None
    if retry.on and failed.kind not in retry.on:
        return None
    wait_s = retry.backoff_s
    for _ in range(tries - 1):  # not a power, which overflows long before the ceiling is looked at
        if wait_s >= retry.max_backoff_s:
            break
        wait_s *= retry.factor
    return min(wait_s, retry.max_backoff_s)
