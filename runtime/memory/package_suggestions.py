"""Which chains a package is worth while of: a rule over the memories in prompts. Pure.

Of the prompts of the last `DAYS` days, each step of an execution counts once, however many prompts
it had. A package is suggested for

* two chains, if memories of both were in the prompts of at least `STEPS` steps;
* one chain, if at least `SEVERAL` of its memories were in the prompts of one step, and that in at
  least `STEPS` steps.

Chains are of one scope and one subject, and no package has all of them. At most `MOST` are
suggested at a time, those of most steps first.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Final, NamedTuple

STEPS: Final = 3
DAYS: Final = 30
SEVERAL: Final = 2  # memories of one chain in a step
MOST: Final = 20  # suggestions at a time
MOST_CHAINS: Final = 40  # of one step that are joined to pairs
DAY_NS: Final = 86_400 * 10**9


class MemoryUse(NamedTuple):
    """A memory in the prompt of a step."""

    step: str  # of an execution
    node_id: str


class ChainUse(NamedTuple):
    """The chain of a memory, as far as it is of the memory's scope and subject."""

    chain: str  # id of its oldest node there
    scope: str
    subject: str


class SuggestedPackage(NamedTuple):
    """Chains of which a package is worth while."""

    chains: tuple[str, ...]  # one or two, sorted
    scope: str
    subject: str
    steps: int


def counted_from(time_ns: int) -> int:
    """The time from which on prompts count for suggestions at *time_ns*, UTC nanoseconds."""
    return max(0, time_ns - DAYS * DAY_NS)


def suggestions_at(
    uses: Iterable[MemoryUse],
    chain_of: Mapping[str, ChainUse],
    packaged: Iterable[frozenset[str]] = (),
) -> list[SuggestedPackage]:
    """What is suggested after *uses*, most steps first.

    Args:
        uses: Of the last `DAYS` days, in any order.
        chain_of: The chain of each memory that is there; others do not count.
        packaged: The chains of each package that exists.
    """
    steps, have = _steps(uses, chain_of), list(packaged)
    found = [
        SuggestedPackage(tuple(each.chain for each in chains), *chains[0][1:], count)
        for chains, count in steps.items()
        if count >= STEPS and not any(known.issuperset(c.chain for c in chains) for known in have)
    ]
    return sorted(found, key=lambda each: (-each.steps, each.chains, each.scope, each.subject))[
        :MOST
    ]


def _steps(
    uses: Iterable[MemoryUse], chain_of: Mapping[str, ChainUse]
) -> Counter[tuple[ChainUse, ...]]:
    """In how many steps two chains were together, or several memories of one."""
    seen: dict[str, dict[ChainUse, set[str]]] = {}
    for use in uses:
        chain = chain_of.get(use.node_id)
        if chain is not None:
            seen.setdefault(use.step, {}).setdefault(chain, set()).add(use.node_id)
    steps: Counter[tuple[ChainUse, ...]] = Counter()
    for chains in seen.values():
        steps.update((chain,) for chain, nodes in chains.items() if len(nodes) >= SEVERAL)
        ordered = sorted(chains)[:MOST_CHAINS]
        steps.update(pair for pair in combinations(ordered, 2) if pair[0][1:] == pair[1][1:])
    return steps
