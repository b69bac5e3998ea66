"""Which summaries a model is asked to put into fewer words, and by which executions. Pure.

Each is one execution of the process `reword_summary`, whose id names the summary and the try. So
the log says what was asked, what it cost and what came of it, a kill ends nothing, and nothing is
asked twice: a draft that the checker refused is an answer, too. A try that failed is followed by
another one at the next consolidation, up to `TRIES`.
"""

from collections.abc import Callable, Iterator
from typing import Final

from cortex.bus.events import ExecutionCancelled, ExecutionFailed, ExecutionRequest

from .rewording import worded
from .rules import REWORD, REWORDING
from .view import MemoryView

TRIES: Final = 3
UNANSWERED: Final = frozenset(each.topic_name() for each in (ExecutionCancelled, ExecutionFailed))


def rewordings(
    view: MemoryView, most: int, topics_of: Callable[[str], frozenset[str]]
) -> Iterator[ExecutionRequest]:
    """The requests for the wordings of at most *most* summaries, the oldest first.

    Args:
        view: Of memory.
        most: The budget.
        topics_of: The topics in the log of an execution; none if it was never asked for.
    """
    rows = view.query(
        "select id, form, source from memory_nodes where form in ('summary', 'wording') "
        "and content != '' and position <= ? order by position, id",
        (view.position,),
    )
    said = {worded(source) for _, form, source in rows if form == "wording"}
    ids = [node_id for node_id, form, _ in rows if form == "summary" and node_id not in said]
    states, nodes = view.states(ids), view.nodes(ids)
    left = most
    for node_id in ids:
        execution_id = _next_try(node_id, topics_of) if left and states[node_id].current else ""
        if not execution_id:
            continue
        left -= 1
        node = nodes[node_id]
        yield ExecutionRequest(
            execution_id=execution_id,
            process=REWORDING,
            inputs={
                "memory": node.id,
                "text": node.content.partition(": ")[2],
                "scope": node.scope,
            },
            goal=f"put the summary {node.id} into fewer words",
            subject=node.subject,
        )


def _next_try(node_id: str, topics_of: Callable[[str], frozenset[str]]) -> str:
    """The id of the next execution; "" if one goes on or was answered, or there were enough."""
    for number in range(1, TRIES + 1):
        execution_id = f"{REWORD}{node_id}-{number}"
        topics = topics_of(execution_id)
        if not topics:
            return execution_id
        if topics.isdisjoint(UNANSWERED):
            return ""
    return ""
