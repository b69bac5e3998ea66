"""What a package is compiled from: the chains of a request, as they are at one position. No I/O."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from .chains import Chain
from .errors import MemoryInvalidError, MemoryMissingError
from .package_suggestions import ChainUse, SuggestedPackage, counted_from, suggestions_at
from .package_view import PackageRow
from .view import MemoryView

MOST_CHAINS: Final = 8  # of a package
MOST_NODES: Final = 2_000  # of all its chains; their ids are in one event


class PackagePlan(NamedTuple):
    """A package that is to be compiled."""

    package_id: str
    scope: str
    subject: str  # id of whose personal data it is; "" for nobody's
    anchors: tuple[str, ...]  # a node of each chain, by which they are found again
    chains: tuple[Chain, ...]  # none if all of them left


def planned_package(view: MemoryView, nodes: Sequence[str], scope: str) -> PackagePlan:
    """The package of the chains of *nodes*, which are of *scope*; one that exists keeps its id.

    Raises:
        MemoryInvalidError: There are too many, or they are of another scope or of two people.
        MemoryMissingError: There is no such node.
    """
    if not 1 <= len(nodes) <= MOST_CHAINS:
        raise MemoryInvalidError(
            f"a package cannot be of {len(nodes)} chains: name from 1 to {MOST_CHAINS}"
        )
    subject = _subject_of(view, nodes, scope)
    chains = _chains(view, nodes)
    before = _existing(view, chains, scope, subject)
    anchors = before.chains if before else tuple(sorted(_own(c, scope, subject) for c in chains))
    package_id = before.id if before else package_id_of(scope, subject, anchors)
    return PackagePlan(package_id, scope, subject, anchors, chains)


def planned_again(view: MemoryView, package_id: str, scope: str) -> PackagePlan:
    """A package that exists, from its chains as they are now.

    Raises:
        MemoryInvalidError: Its chains have become too long, or it is of another scope.
        PackageMissingError: There is no such package.
    """
    package = view.packages.package(package_id)
    if package.scope != scope or package.id != package_id:
        raise MemoryInvalidError(
            f"there is no package {package_id[:80]!r} in the scope {scope}: name its own scope"
        )
    there = [each for each in package.chains if each in view.nodes((each,))]
    chains = _chains(view, there)
    return PackagePlan(package.id, package.scope, package.subject, package.chains, chains)


def _subject_of(view: MemoryView, nodes: Sequence[str], scope: str) -> str:
    """The one subject of *nodes*, which are all of *scope*; raises as `planned_package`."""
    found = view.nodes(nodes)
    for each in nodes:
        if each not in found:
            raise MemoryMissingError(each, "is not there: `cortex memory search` shows ids")
        if found[each].scope != scope:
            # The grant to publish the request is for its scope.
            raise MemoryInvalidError(
                f"there is no memory {each[:80]!r} in the scope {scope}: name its own scope"
            )
    subjects = {node.subject for node in found.values()}
    if len(subjects) > 1:
        raise MemoryInvalidError(
            "these chains are about several subjects: what is of two people could not be erased "
            "for one of them; compile a package for each"
        )
    return subjects.pop()


def package_id_of(scope: str, subject: str, anchors: Iterable[str]) -> str:
    """The id of the package of these chains: 16 letters and digits."""
    named = "\0".join((scope, subject, *anchors))
    return base64.b32encode(hashlib.sha256(named.encode()).digest()[:10]).decode().lower()


def suggested_packages(view: MemoryView, time_ns: int) -> list[SuggestedPackage]:
    """The packages that are worth while at *time_ns*, by the prompts before it."""
    uses = list(view.packages.uses_since(counted_from(time_ns)))
    chain_of = _chains_of(view, dict.fromkeys(use.node_id for use in uses))
    packages = view.packages.holding(sorted({each.chain for each in chain_of.values()}))
    packaged = [_chains_in(each, chain_of) for each in packages]
    return suggestions_at(uses, chain_of, packaged)


def _chains_of(view: MemoryView, nodes: Iterable[str]) -> dict[str, ChainUse]:
    """The chain of each of *nodes* that is current; each chain is read once."""
    found: dict[str, ChainUse] = {}
    for node_id in nodes:
        if node_id in found or not view.nodes((node_id,)):
            continue
        chain = view.chain(node_id)
        if not chain.whole:
            continue
        for node in chain.nodes:
            own = _own(chain, node.scope, node.subject)
            found[node.id] = ChainUse(own, node.scope, node.subject)
    return found


def _chains_in(package: PackageRow, chain_of: dict[str, ChainUse]) -> frozenset[str]:
    return frozenset(chain_of[each].chain for each in package.chains if each in chain_of)


def _chains(view: MemoryView, nodes: Sequence[str]) -> tuple[Chain, ...]:
    """The chains of *nodes*, each once, in the order of their ids."""
    found: dict[str, Chain] = {}
    for node_id in nodes:
        if any(node_id in chain.states for chain in found.values()):
            continue
        chain = view.chain(node_id)
        if not chain.whole:
            raise MemoryInvalidError(
                f"the chain of memory {node_id} is longer than {MOST_NODES:,} memories: it cannot "
                "be in a package"
            )
        found[chain.id] = chain
    count = sum(len(chain.nodes) for chain in found.values())
    if count > MOST_NODES:
        raise MemoryInvalidError(
            f"these chains have {count:,} memories, a package may have {MOST_NODES:,}: compile "
            "packages of fewer chains"
        )
    return tuple(found[each] for each in sorted(found))


def _own(chain: Chain, scope: str, subject: str) -> str:
    """The oldest node of the chain that a package may have."""
    return next(n.id for n in chain.nodes if n.scope == scope and n.subject == subject)


def _existing(
    view: MemoryView, chains: Sequence[Chain], scope: str, subject: str
) -> PackageRow | None:
    """The package of exactly these chains, if there is one."""
    nodes = [node.id for chain in chains for node in chain.nodes]
    for package in view.packages.holding(nodes):
        of = [next((c.id for c in chains if each in c.states), None) for each in package.chains]
        same = None not in of and set(of) == {chain.id for chain in chains}
        if same and (package.scope, package.subject) == (scope, subject):
            return package
    return None
