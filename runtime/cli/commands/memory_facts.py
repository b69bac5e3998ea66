"""Shows facts that answer a question only together."""

from cortex.runtime.admin import FactChainDocument

from ..screen import Screen


def show_facts(screen: Screen, chain: FactChainDocument | None) -> None:
    """Print the answer, and the memories by way of which it was found; nothing for None."""
    if chain is None:
        return
    screen.line(f"{chain.answer}  ({chain.certainty:.2f}), by way of", "bold")
    for fact in chain.facts:
        screen.line(f"  {fact.id}  {screen.cut(fact.content)}")
        screen.line(f"    {fact.thing} -> {fact.leads_to} ({fact.asked})", "dim")
    screen.line()
