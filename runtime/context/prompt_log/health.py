"""How full the context of an execution is, and the last actions on it."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from cortex.runtime.kernel import many
from cortex.runtime.projections import HomeLog

from .recorded import Compiled, manifest_of

BAR: Final = 30  # columns


class SectionHealth(msgspec.Struct):
    """One section of the newest prompt."""

    section: str
    tokens: int
    budget: int


class Health(msgspec.Struct):
    """The newest prompt of an execution against its window."""

    execution: str
    step: str
    turn: int
    model: str
    prompt: str  # digest
    tokens: int
    headroom: int
    window: int  # V_e
    utilisation: float  # prompt and headroom, of the window
    sections: list[SectionHealth]
    stretches: dict[str, int]  # tokens: stable, epoch, append, volatile
    eligible: int
    epochs: int
    strategy: str
    warnings: tuple[str, ...]
    actions: tuple[str, ...]  # what was cut, left out or made harmless
    turns: list[int]  # tokens of the prompts of this step, in order


def health_of(history: HomeLog, prompts: list[Compiled]) -> Health:
    """The health of an execution by its *prompts*, the newest first; there is at least one.

    Raises:
        BlobError: The manifest is missing or damaged.
    """
    newest = prompts[0]
    event, manifest = newest.event, manifest_of(history, newest)
    stretches: dict[str, int] = {}
    for segment in manifest.segments:
        stretches[segment.stretch] = stretches.get(segment.stretch, 0) + segment.tokens
    same_step = [
        each.event.tokens
        for each in prompts
        if (each.event.step_id, each.event.attempt) == (event.step_id, event.attempt)
    ]
    return Health(
        execution=event.execution_id,
        step=event.step_id,
        turn=event.turn,
        model=event.model,
        prompt=event.prompt,
        tokens=event.tokens,
        headroom=event.headroom,
        window=event.window,
        utilisation=round((event.tokens + event.headroom) / max(event.window, 1), 4),
        sections=[
            SectionHealth(name, tokens, manifest.budgets.get(name, 0))
            for name, tokens in manifest.sections.items()
        ],
        stretches=stretches,
        eligible=manifest.eligible,
        epochs=manifest.epochs,
        strategy=manifest.strategy,
        warnings=manifest.warnings,
        actions=event.actions,
        turns=same_step[::-1],
    )


class Line(NamedTuple):
    """One line for a screen."""

    text: str
    style: str = ""


def health_lines(found: Health) -> Iterator[Line]:
    """The lines of a health report."""
    yield Line(f"execution {found.execution}  step {found.step}  turn {found.turn}", "bold")
    share = found.tokens / max(found.window, 1)
    of = f"{found.tokens:,} of {found.window:,} tokens, {share:.0%}"
    yield Line(f"{_bar(share)}  {of}; {found.headroom:,} kept for the answer")
    for each in found.sections:
        if each.tokens:
            share = each.tokens / max(each.budget, 1)
            of = f"{each.tokens:>7,} of {each.budget:>7,}"
            yield Line(f"  {each.section:<13} {of}  {share:>4.0%}")
    stretches = ", ".join(f"{name} {tokens:,}" for name, tokens in found.stretches.items())
    yield Line(f"  {found.strategy}: {stretches}; {found.eligible:,} cacheable")
    by_turn = ", ".join(f"{tokens:,}" for tokens in found.turns)
    yield Line(f"  {many(found.epochs, 'epoch')}; tokens by turn: {by_turn}")
    for warning in found.warnings:
        yield Line(f"  {warning}", "yellow")
    for action in found.actions:
        yield Line(f"  - {action}")


def _bar(share: float) -> str:
    full = round(min(max(share, 0.0), 1.0) * BAR)
    return f"[{'#' * full}{'.' * (BAR - full)}]"
