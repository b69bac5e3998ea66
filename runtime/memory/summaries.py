"""Summaries of long chains: sentences of what it holds, unchanged, which say most of it. Pure.

A chain of `LONG_CHAIN` or more current memories of one scope and subject, that take more than
`SUMMARY_TOKENS` together, becomes an observation, "Summary of 12 memories: ...". It consists of
sentences of what it cites, and cites each memory by an edge `refines`. A chain that has grown by
`FEWEST` and by a tenth is summarised anew, from all that it holds: the newer summary supersedes the
older one, and says nothing that only a summary said.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from .past import Past
from .state import MemoryState
from .written import Estimated, WrittenMemory, has_grown, summarised

LONG_CHAIN: Final = 8  # memories
SUMMARY_TOKENS: Final = 300  # of one summary
MOST_SUMMED: Final = 500  # memories, the newest, that one summary cites
# To read a memory that is too long for the state takes the log.
MOST_LONG: Final = 100  # of one summary
# A sentence, or what leads to the next one, up to its end; quotes and brackets may follow.
ENDED: Final = re.compile(r"[.!?:;…。\uff01\uff1f]\W*$")


def summaries(state: MemoryState, scope: str, most: int, past: Past) -> Iterator[WrittenMemory]:
    """The summaries that are due in *scope* ("" for all), of at most *most* memories together.

    At least one, however long its chain is: each consolidation goes on.
    """
    left = most
    for (of_scope, subject), ids in _chains(state, scope):
        told = state.times_told(ids, "summary")
        if not has_grown(len(ids), told) or (len(ids) > left and left < most):
            continue
        cited = ids[-MOST_SUMMED:]
        texts = _texts(state, cited, past)
        counter = Estimated()
        if sum(map(counter.count, texts)) <= SUMMARY_TOKENS:
            continue
        text = summarised(texts, SUMMARY_TOKENS)
        if not text:
            continue
        left -= len(cited)
        yield WrittenMemory(
            form="summary",
            scope=of_scope,
            subject=subject,
            ids=tuple(cited),
            content=f"Summary of {len(cited)} memories: {_running(text)}",
            quote="",
            confidence=min(state.nodes[each].confidence for each in cited),
            times=len(ids),
            replaces=state.made_of(ids, "summary"),
        )


def _running(lines: str) -> str:
    """*lines* in one; a statement without a full stop gets one, or it runs on into the next one."""
    said = [" ".join(line.split()) for line in lines.splitlines()]
    *before, last = said
    ended = (each if ENDED.search(each) else f"{each}." for each in before)
    return " ".join([*ended, last])


def _chains(state: MemoryState, scope: str) -> Iterator[tuple[tuple[str, str], list[str]]]:
    """Current memories that edges join, by scope and subject, in the order they were recorded."""
    first: dict[str, str] = {}

    def root(each: str) -> str:
        first.setdefault(each, each)
        while first[each] != each:
            first[each] = first[first[each]]
            each = first[each]
        return each

    for node_id, edges in state.edges.items():
        known = state.nodes.get(node_id)
        if known is not None and known.form:
            continue  # what is said in one way is no chain
        for _, to in edges:
            first[root(node_id)] = root(to)
    chains: dict[tuple[str, str, str], list[str]] = {}
    for node_id, known in state.nodes.items():
        if (
            node_id in first
            and not known.form
            and known.origin != "model"  # its words would become those of a rule
            and (not scope or known.scope == scope)
            and state.is_current(node_id)
        ):
            chains.setdefault((known.scope, known.subject, root(node_id)), []).append(node_id)
    for (of_scope, subject, _), ids in chains.items():
        if len(ids) >= LONG_CHAIN:
            yield (of_scope, subject), ids


def _texts(state: MemoryState, ids: Sequence[str], past: Past) -> list[str]:
    """What *ids* say, in order; of the long ones the newest."""
    found: list[str] = []
    long = 0
    for node_id in reversed(ids):
        said = state.said.get(node_id)
        if said is not None:
            found.append(said[0])
        elif long < MOST_LONG:
            long += 1
            node = past(node_id)
            found += [node.content] if node is not None else []
    return found[::-1]
