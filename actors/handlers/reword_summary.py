"""The action `reword_summary`: a summary of memory in the words of a model, behind the checker."""

import msgspec

from cortex.bus.events import MemoryReword
from cortex.runtime.functions import ActionStep, action
from cortex.runtime.kernel import Component


class RewordSummaryParameters(msgspec.Struct, frozen=True):
    """Have a model put a summary of memory into fewer words; it is used as far as it stands."""

    memory: str  # id of the summary
    text: str  # what it says; the model sees it in its prompt
    scope: str = "user"  # of the summary


class RewordSummaryResult(msgspec.Struct, frozen=True):
    """What `reword_summary` gives."""

    draft: str  # the answer of the model; memory says what became of it


class RewordSummary(Component):
    """Hands the answer of a model to memory, which checks it, and may refuse it."""

    rests = True

    @action("reword_summary", effect="none", asks_model=True)
    def execute(self, asked: RewordSummaryParameters, step: ActionStep) -> RewordSummaryResult:
        """Ask for the wording."""
        draft = str(step.answer.get("text", ""))
        step.publish(
            MemoryReword(
                node_id=asked.memory,
                draft=draft,
                scope=asked.scope,
                subject=step.delivery.subject or "",
            )
        )
        step.summary = f"memory checks {len(draft):,} characters"
        return RewordSummaryResult(draft)
