"""Feeds an effect that may happen only once: records intent before and outcome after.

Parts of the generators in `feed`: they yield requests and are sent the answers.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Literal, TypeAlias

import msgspec

from cortex.bus import (
    Answer,
    BegunError,
    Finish,
    LeaseLostError,
    Page,
    Publish,
    Recorded,
    Refused,
    Request,
)

from ..components.effect import Contract
from ..hosts.host import NOTHING, Effects, Host, Outcome
from ..hosts.tracebacks import Tracebacks

LOST = "it began, and the process that did it ended or did not report again"
RAISED = "it was begun, and its handler failed:"

Intent: TypeAlias = Literal["new", "begun", "unwanted"]
Asking: TypeAlias = Generator[Sequence[Request], Sequence[Answer], None]


def intend(
    contract: Contract, record: Recorded
) -> Generator[Sequence[Request], Sequence[Answer], Intent]:
    """Record that an effect begins, unless it began before or is no longer wanted."""
    answer = (yield (Publish((contract.intended(record),), sync=True),))[0]
    if not isinstance(answer, Refused):
        return "new"
    error = answer.error()
    if not isinstance(error, BegunError):
        raise error
    return "begun" if error.why == "begun" else "unwanted"


def try_once(
    contract: Contract,
    host: Host,
    record: Recorded,
    attempt: int,
    intent: Intent,
    traces: Tracebacks | None = None,
) -> Effects:
    """The outcome of an effect that begins now, or of a search for one that began before."""
    if intent == "new" or (intent == "begun" and contract.recovers):
        outcome = host.handle((record,), attempt, begun=intent == "begun")
        return settled(contract, record, outcome, traces)
    return left(contract, record, intent)


def settled(
    contract: Contract, record: Recorded, outcome: Outcome, traces: Tracebacks | None = None
) -> Effects:
    """What a handler reports about its effect; a failed handler reports nothing."""
    if outcome.failure is None:
        return outcome.done[0]
    trace = ""
    if traces is not None:
        traces.take(record, outcome, 1)
        trace = traces.kept(outcome)
    return Effects((contract.unknown(record, f"{RAISED} {outcome.failure}", trace),))


def left(contract: Contract, record: Recorded, intent: Intent) -> Effects:
    """The result for an effect that does not begin here: a question to a person if it began."""
    return Effects((contract.unknown(record, LOST),)) if intent == "begun" else NOTHING


def report(finish: Finish) -> Asking:
    """Record the outcome of an effect, however late: only this worker has it."""
    answer = (yield (finish,))[0]
    if not isinstance(answer, Refused):
        return
    error = answer.error()
    if not isinstance(error, LeaseLostError):
        raise error
    late = (yield (Publish(finish.events, due=finish.due, forget=finish.forget),))[0]
    if isinstance(late, Refused):
        raise late.error()


def up_to_once(contract: Contract, page: Page) -> Page:
    """The part of *page* before its first effect of this kind, or that one alone."""
    return alone(page, contract.is_once)


def alone(page: Page, wanted: Callable[[Recorded], bool]) -> Page:
    """The part of *page* before the first event that is *wanted*, or that one alone."""
    for index, record in enumerate(page.records):
        if wanted(record):
            through = record.position - 1 if index else record.position
            return msgspec.structs.replace(
                page, records=page.records[: index or 1], through=through
            )
    return page
