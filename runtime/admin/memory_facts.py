"""Facts that answer a question only together, as commands show them."""

import msgspec

from cortex.runtime.memory import FactChain


class FactRow(msgspec.Struct, frozen=True, kw_only=True):
    """One fact of a chain."""

    id: str
    content: str
    thing: str  # from which it leads
    leads_to: str
    asked: str  # the words of the question that it answers


class FactChainDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that lead from what a question names to its answer."""

    answer: str
    certainty: float
    facts: list[FactRow]


def fact_chain_document(chain: FactChain | None) -> FactChainDocument | None:
    """A chain as commands show it; None for none."""
    if chain is None:
        return None
    facts = [
        FactRow(
            id=step.node.id,
            content=step.node.content,
            thing=step.thing,
            leads_to=step.leads_to,
            asked=step.asked,
        )
        for step in chain.steps
    ]
    return FactChainDocument(answer=chain.answer, certainty=chain.certainty, facts=facts)
