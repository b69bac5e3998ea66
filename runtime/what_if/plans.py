"""The plan of a what-if, and its lines: what it would send and do, before anything is recorded."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from cortex.runtime.kernel import many
from cortex.runtime.replay import ReportLine

DIGEST: Final = 12  # characters shown of one


class PlannedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that is not on record, and would be sent."""

    step: str
    attempt: int
    turn: int
    within: str = ""  # of a child or an item: what it carries out
    prompt: str  # digest
    then: str = ""  # digest of the prompt at its place on record; "" if there was none
    model: str
    model_then: str = ""
    tokens: int
    most: float | None = None  # US dollars that it may cost at most; None: no price is known
    text: str = ""  # as it would be sent, if it was asked for


class PlannedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that is not on record: the plan does not know what comes of it, and ends there."""

    kind: str  # "action", "tool", "gate", "search" or "prompt"
    name: str
    step: str
    within: str = ""
    acts: bool = False  # whether a person has to agree, because it has an effect
    given: str = ""  # the parameters of one that acts, as JSON; a long text is cut


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a what-if comes to, if each answer to a new prompt were the recorded one."""

    execution: str
    process: str  # "triage 2"
    from_step: str = ""
    position: int = 0
    changed: tuple[str, ...] = ()
    prompts: tuple[PlannedPrompt, ...] = ()  # that would be sent
    calls: tuple[PlannedCall, ...] = ()  # at which it ends, because nobody knows their results
    answered: dict[str, int] = {}  # by kind, what the record answers
    ended: str = ""  # the status that it comes to; "running" if the plan ends before
    ended_then: str = ""
    through: int = 0  # position up to which the record counts

    @property
    def most(self) -> float | None:
        """US dollars that its prompts may cost at most; None if the price of one is not known."""
        prices = [each.most for each in self.prompts]
        known = [price for price in prices if price is not None]
        return sum(known) if len(known) == len(prices) else None


def plan_lines(plan: Plan) -> Iterator[ReportLine]:
    """What would be sent, at which price, and what the plan does not know."""
    at = f" from position {plan.position:,}" if plan.position else ""
    step = f" from step {plan.from_step}" if plan.from_step and not plan.position else ""
    yield head_line(f"{plan.execution}{at}{step}", plan.changed)
    if plan.answered:
        kinds = ", ".join(many(count, kind) for kind, count in plan.answered.items())
        yield ReportLine(f"  from the record, not done again: {kinds}", "dim")
    for prompt in plan.prompts:
        yield ReportLine(f"  to send: {_prompt(prompt)}", "yellow")
        for line in prompt.text.splitlines():
            yield ReportLine(f"    | {line}".rstrip())
    for call in plan.calls:
        yield ReportLine(f"  not on record: {_call(call)}", "yellow")
    if plan.prompts:
        total = "price unknown" if plan.most is None else f"at most ${plan.most:.4f}"
        yield ReportLine(f"  {many(len(plan.prompts), 'prompt')} to send, {total}", "bold")
        yield ReportLine(
            "  prompts that change because an answer changes are not in this plan: a person is "
            "asked about each, unless --budget covers it",
            "dim",
        )
    elif not plan.calls:
        yield ReportLine("  nothing to send: no prompt has other bytes than recorded", "green")


def head_line(about: str, changed: Sequence[str]) -> ReportLine:
    """What the what-if is about, and what it changes."""
    words = ", ".join(changed) or "nothing"
    return ReportLine(f"what if execution {about}: {words} changed", "bold")


def _prompt(prompt: PlannedPrompt) -> str:
    place = f"step {prompt.step}, attempt {prompt.attempt}"
    place += f", turn {prompt.turn}" if prompt.turn else ""
    place += f" ({prompt.within})" if prompt.within else ""
    price = "price unknown" if prompt.most is None else f"at most ${prompt.most:.4f}"
    was = f", recorded {prompt.then[:DIGEST]}" if prompt.then else ", none on record"
    asked = f" in place of {prompt.model_then}" if prompt.model_then != prompt.model else ""
    asked = asked if prompt.model_then else ""
    return (
        f"{place}: {prompt.tokens:,} tokens to {prompt.model}{asked}, {price}; "
        f"prompt {prompt.prompt[:DIGEST]}{was}"
    )


def _call(call: PlannedCall) -> str:
    then = "it stops there until a person agrees" if call.acts else "the plan ends there"
    within = f" ({call.within})" if call.within else ""
    given = f" {call.given}" if call.given else ""
    return f"{call.kind} {call.name}{given} of step {call.step or '-'}{within}: {then}"
