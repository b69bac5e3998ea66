"""A summary in fewer words, which somebody drafted, a model for instance; the checker approves it.

It is the checker of condensed prose: what the draft lost of the summary is put back, sentence by
sentence, and a draft of which nothing stands is refused. What is left is an observation of the
origin `model`, whoever wrote the draft, since nobody answers for its words; an edge `refines` leads
to the summary and to each memory that the summary cites. It replaces nothing, and goes with the
summary.
"""

from typing import Final

from .errors import MemoryInvalidError
from .past import Past
from .state import MemoryState
from .written import Estimated, WrittenMemory

LONGEST_DRAFT: Final = 16_000  # characters
OF: Final = "memory "  # what the source of a wording begins with


def reworded(state: MemoryState, node_id: str, draft: str, past: Past) -> WrittenMemory:
    """What *draft* makes of the summary *node_id*.

    Raises:
        MemoryInvalidError: It is no summary that holds, or the draft does not stand, or saves
            nothing.
    """
    known, node = state.nodes.get(node_id), past(node_id)
    if known is None or node is None or known.form != "summary" or not state.is_current(node_id):
        raise MemoryInvalidError(
            f"memory {node_id} is no summary that holds: `cortex memory consolidate` writes those"
        )
    if len(draft) > LONGEST_DRAFT:
        raise MemoryInvalidError(
            f"the draft has {len(draft):,} characters, it may have {LONGEST_DRAFT:,}: shorten it"
        )
    begins, _, text = node.content.partition(": ")
    from cortex.runtime.ctx import checked_draft  # needs numpy, which most commands do without

    said = checked_draft(text, " ".join(draft.split()))
    if said is None:
        raise MemoryInvalidError(
            "the draft states in no sentence all that a sentence of the summary states: keep its "
            "names, numbers, conditions and negations"
        )
    counter = Estimated()
    if counter.count(said) >= counter.count(text):
        raise MemoryInvalidError(
            "with what the draft lost of the summary it is not shorter: nothing is written"
        )
    cited = [to for edge, to in state.edges.get(node_id, ()) if edge == "refines"]
    return WrittenMemory(
        form="wording",
        scope=known.scope,
        subject=known.subject,
        ids=(*cited, node_id),
        content=f"{begins}: {said}",
        quote="",
        confidence=known.confidence,
        times=known.times,
        origin="model",
        source=f"{OF}{node_id}",
    )


def worded(source: str) -> str:
    """The summary that a wording with this *source* is of."""
    return source.removeprefix(OF)
