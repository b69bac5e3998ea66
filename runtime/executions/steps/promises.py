"""Tools that a step declares and that are not offered at present: it waits, then fails."""

from msgspec import UNSET

from cortex.bus.events import ToolUnclaimed
from cortex.runtime.processes import LinkedStep
from cortex.runtime.registry import Registry
from cortex.runtime.tools import allowed

from ..state.values import clipped
from .deadlines import wait_before_look, waited_s
from .dialogue import Offers
from .outbox import Outbox


def waits_for_tools(outbox: Outbox, step: LinkedStep, offers: Offers, looks: int) -> bool:
    """Whether *step* keeps waiting because its first prompt would lack tools.

    The missing tools are recorded once. After the configured time the wait ends: a missing required
    tool fails the attempt, and an optional one is left out.

    A tool that cannot appear is not waited for.
    """
    state = outbox.state
    if not step.tools or state.stage != "idle":
        return False
    tools = offers(step.tools)
    missing = _missing(step, tools)
    if any(map(tools.never, missing)):
        return False
    if not (missing or tools.awaited()) or waited_s(looks) >= offers.wait_s:
        return False
    attempt = state.attempts.get(step.id, 0) + 1
    if missing and not looks:
        unclaimed = ToolUnclaimed(
            execution_id=state.execution_id,
            step_id=step.id,
            attempt=attempt,
            tools=missing,
            reasons=_reasons(missing, tools),
            wait_s=offers.wait_s,
        )
        outbox.say(unclaimed)
    outbox.look_again(step.id, attempt, looks + 1, wait_before_look(looks))
    return True


def missing_tools(step: LinkedStep, offers: Offers) -> str | None:
    """Why the model of *step* cannot be asked with all the tools that it declares, or None."""
    if step.promised is UNSET:
        return None
    tools = offers(step.tools)
    missing = _missing(step, tools)
    if not missing:
        return None
    noun = "tool" if len(missing) == 1 else "tools"
    reasons = "; ".join(_reasons(missing, tools))
    because = f" ({reasons})" if reasons else ""
    return clipped(
        f"{step.id} declares the {noun} {', '.join(missing)}, which no component or server "
        f"offers{because}: start what serves it and try again, or write "
        "`{name: ..., optional: true}`"
    )


def _missing(step: LinkedStep, tools: Registry) -> tuple[str, ...]:
    """What *step* must have; a process linked before tools were promises has nothing it must."""
    return () if step.promised is UNSET else allowed(step.promised, tools.tools).unknown


def _reasons(missing: tuple[str, ...], tools: Registry) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(tools.why_not, missing))))
