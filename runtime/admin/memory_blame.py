"""Which memories informed an execution, which of them were stale, and which were missing."""

from collections.abc import Iterator, Sequence

import msgspec

from cortex.bus.events import ContextCompiled, MemoryRequest
from cortex.runtime.kernel import Home
from cortex.runtime.memory import HomeMemory, MemoryView, Node, NodeState, execution_of

LOOKED_AT = 20  # nodes, for what is missing


class BlamedMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A memory, as it stood when the prompt was compiled, and as it stands now."""

    id: str
    kind: str
    content: str
    then: str  # "current", "replaced", "contradicted", "forgotten", "collected", "not recorded"
    now: str  # likewise
    successors: tuple[str, ...] = ()  # ids of what replaced it, by now


class BlamedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt of the execution, and the memories that it stood on."""

    step: str
    attempt: int
    turn: int
    position: int  # of the event that says it was compiled
    asked: tuple[str, ...]  # what the step asked memory; empty if it asked nothing
    informed: list[BlamedMemory]  # in the prompt
    missing: list[BlamedMemory]  # current then and about the same, and not in the prompt
    later: list[BlamedMemory]  # recorded since, and about the same

    @property
    def stale(self) -> list[BlamedMemory]:
        """Those of the informing ones that did not hold then, or do not hold now."""
        return [each for each in self.informed if (each.then, each.now) != ("current", "current")]


class BlameDocument(msgspec.Struct, frozen=True, kw_only=True):
    """All prompts of an execution that asked memory, in order."""

    execution: str
    position: int  # of the log, for "now"
    prompts: list[BlamedPrompt]


def blame(home: Home, prefix: str) -> BlameDocument:
    """The memories behind the prompts of the execution whose id starts with *prefix*.

    What is missing is found by the same questions, in the scopes that the step saw, by words.

    Raises:
        NotFoundError: There is no such execution, or several.
        MemoryStoreError: The store cannot be used.
        RetrievalError: No index can be made.
    """
    with HomeMemory.open(home) as memory:
        execution = memory.source.execution_id(prefix)
        now = memory.view
        compiled = list(_compiled(memory, execution))
        prompts: list[BlamedPrompt] = []
        for position, event, asked in compiled:
            with HomeMemory.open(home.at(position)) as past:
                prompts.append(_blamed(past, now, position, event, asked))
                if asked is not None:
                    ids = _later(memory, asked, position)
                    later = _stood(ids, past.view, now)
                    prompts[-1] = msgspec.structs.replace(prompts[-1], later=later)
        return BlameDocument(execution=execution, position=now.position, prompts=prompts)


def _compiled(
    memory: HomeMemory, execution: str
) -> Iterator[tuple[int, ContextCompiled, MemoryRequest | None]]:
    """The prompts that asked memory, with their positions and what they asked."""
    asked: dict[tuple[str, int], MemoryRequest] = {}
    for record in memory.source.stream(f"execution/{execution}"):
        if record.position > memory.view.position or record.erased:
            continue
        event = memory.source.event(record)
        if isinstance(event, MemoryRequest):
            asked[event.step_id, event.attempt] = event
        elif isinstance(event, ContextCompiled):
            request = asked.get((event.step_id, event.attempt))
            if request is not None or event.memories:
                yield record.position, event, request


def _blamed(
    past: HomeMemory,
    now: MemoryView,
    position: int,
    event: ContextCompiled,
    asked: MemoryRequest | None,
) -> BlamedPrompt:
    missing: list[str] = []
    if asked is not None:
        found = past.find(asked.texts, asked.scopes, limit=LOOKED_AT)
        ids = dict.fromkeys(hit.node.id for each in found for hit in each.hits)
        missing = [each for each in ids if each not in event.memories]
    return BlamedPrompt(
        step=event.step_id,
        attempt=event.attempt,
        turn=event.turn,
        position=position,
        asked=asked.texts if asked is not None else (),
        informed=_stood(event.memories, past.view, now),
        missing=_stood(missing, past.view, now),
        later=[],
    )


def _later(memory: HomeMemory, asked: MemoryRequest, position: int) -> list[str]:
    found = memory.find(asked.texts, asked.scopes, limit=LOOKED_AT)
    nodes = {hit.node.id: hit.node for each in found for hit in each.hits}
    return [
        each
        for each, node in nodes.items()
        # What came of the execution itself cannot have informed it.
        if node.position > position and execution_of(each) != asked.execution_id
    ]


def _stood(ids: Sequence[str], then: MemoryView, now: MemoryView) -> list[BlamedMemory]:
    nodes = now.nodes(ids)
    before, after = _standing(ids, then), _standing(ids, now)
    states = now.states(ids)
    return [
        BlamedMemory(
            id=each,
            kind=node.kind,
            content=node.content,
            then=before[each],
            now=after[each],
            successors=states[each].successors,
        )
        for each, node in nodes.items()
    ]


def _standing(ids: Sequence[str], view: MemoryView) -> dict[str, str]:
    nodes, states = view.nodes(ids), view.states(ids)
    against = {end for e in view.edges(ids) if e.edge == "contradicts" for end in (e.node_id, e.to)}
    return {each: _stands(nodes.get(each), states[each], each in against) for each in ids}


def _stands(node: Node | None, state: NodeState, contradicted: bool) -> str:  # one call
    if node is None:
        return "not recorded"
    if state.gone:
        return state.gone
    if state.successors:
        return "replaced"
    return "contradicted" if contradicted else "current"
