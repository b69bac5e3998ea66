"""Facts about an execution for people: what it is for, who asked, what it waits for and took."""

from collections.abc import Iterator

from cortex.runtime.kernel import duration, local, many, parse_time
from cortex.runtime.models import dollars

from .. import other_decider
from .edits import edit_line
from .summary import ExecutionDocument, GivenAnswer

# What a person said to a gate, or about an effect of unknown outcome.
_SAID = {
    "approved": "approved",
    "denied": "denied",
    "happened": "that it happened",
    "again": "to do it again",
}


def facts_of(document: ExecutionDocument) -> Iterator[tuple[str, str]]:
    """What is known of an execution beside its steps, each with its name; "" for what is not."""
    version = f" version {document.version}" if document.version else ""
    requested = local(parse_time(document.requested, 0))
    at_work = document.status == "running" and not document.waiting
    yield "process", f"{document.process or 'ad-hoc work'}{version}"
    yield "what-if of" if document.what_if else "fork of", fork_line(document)
    yield "changed", changed_line(document)
    yield "decider", _decider(document)
    yield "goal", document.goal
    yield "workspace", document.workspace
    yield "worktree", document.worktree
    yield "at work", document.step if at_work else ""
    yield "reason", document.reason
    yield "waiting", _waiting(document)
    yield "asks", document.question
    yield "may do", ", ".join(document.may)
    yield "verdict", document.verdict
    yield "asked by", document.requested_by
    for given in document.answers:
        note = f": {given.note}" if given.note else ""
        yield "answered", f"{_answer(given)} by {given.by}{note}"
    for edit in document.edits:
        yield "changed", edit_line(edit)
    took = f"took {duration(document.duration_s)}, {taken_line(document)}"
    yield "requested", f"{requested}, {took}"


def fork_line(document: ExecutionDocument) -> str:
    """What the execution was forked from; "" if it was not."""
    at = f", from step {document.from_step}" if document.from_step else ""
    return f"{document.fork_of}{at}" if document.fork_of else ""


def changed_line(document: ExecutionDocument) -> str:
    """What a what-if changes; "" for what is none."""
    return ", ".join(document.changed) or ("nothing" if document.what_if else "")


def _decider(document: ExecutionDocument) -> str:
    if document.decider is None:
        return ""
    return other_decider(document.decider) or f"version {document.decider}"


def _waiting(document: ExecutionDocument) -> str:
    at = f"{document.step}: " if document.step else ""
    return f"{at}{document.waiting}" if document.waiting else ""


def _answer(given: GivenAnswer) -> str:
    said = _SAID.get(given.answer, "in a model's place")
    void = "" if given.counted else ", which the gate does not take,"
    return f"{said} at {given.step}{void}" if given.step else f"{said}{void}"


def taken_line(document: ExecutionDocument) -> str:
    """The tokens and dollars that an execution took, with the bound that it had to keep."""
    most = "" if document.max_cost is None else f" of {dollars(document.max_cost)}"
    cost = f", {dollars(document.cost)}{most}" if document.cost or most else ""
    return f"{many(document.tokens, 'token')}{cost}"
