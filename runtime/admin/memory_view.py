"""The viewport into memory: what a step would see for a text, and what lies behind it."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from cortex.bus.events import MemoryRequest
from cortex.runtime.context import Budgets, counter_for
from cortex.runtime.directives import Ledgers, ScopedOverruling, package_with_overruled
from cortex.runtime.kernel import Config, Home
from cortex.runtime.memory import (
    USER,
    HomeMemory,
    RecalledNode,
    RecalledNodes,
    RecalledPackage,
    Scope,
    execution_of,
    graph_page,
    line_of,
)
from cortex.runtime.projections import HomeLog
from cortex.runtime.retrieval import TOKENS
from cortex.runtime.subjects import SubjectKeys

NODES = 20  # as a step has, unless it says otherwise
WINDOW = 24_000  # tokens
ENCODING = "o200k_base"


class SeenMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A memory as a prompt shows it, and its chain behind it."""

    id: str
    line: str
    tokens: int
    score: float
    chain: str  # id of its oldest node
    behind: int  # nodes of its chain that are not seen
    sources: int  # how often it was recorded
    executions: int  # that are in its chain


class SeenPackage(msgspec.Struct, frozen=True, kw_only=True):
    """A package in place of memories that were found."""

    id: str
    text: str
    tokens: int
    instead_of: int  # tokens of these memories, one by one
    memories: list[str]  # ids of those that were found and that it has


class ViewDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What a step would see, best first."""

    asked: str
    scopes: tuple[str, ...]
    position: int
    packages: list[SeenPackage]
    seen: list[SeenMemory]  # that are in none of the packages
    tokens: int  # of all lines and packages
    budget: int  # in tokens: what a step asks for, unless it says otherwise
    stored: int  # nodes in these scopes
    notes: list[str]


def view_memory(
    home: Home, text: str, scopes: Sequence[str] = (), nodes: int = NODES, subject: str = ""
) -> ViewDocument:
    """What a step that asks *text* would be given; of all scopes unless some are named.

    *subject* is that of its execution: what is about somebody else is not given to it.

    Raises:
        MemoryInvalidError: One of the scopes is none.
        MemoryStoreError: The store cannot be used.
        RetrievalError: The index cannot be used.
    """
    count = counter_for(ENCODING).count
    wanted = tuple(str(Scope.parse(scope)) for scope in scopes)
    with HomeMemory.open(home) as memory:
        view = memory.view
        wanted = wanted or tuple(view.scopes())
        asked = MemoryRequest(
            execution_id="", step_id="", texts=(text,), scopes=wanted, limit=nodes
        )
        # A name without a key is nobody's that memory knows.
        of_whom = SubjectKeys.of_home(home.path).find(subject) or subject
        found = memory.recall(asked, of_whom)
        found = _with_overruled(home, found, wanted if scopes else ())
        shown = {node.id for node in found.nodes}
        seen = [_seen(memory, node, shown, count(line_of(node))) for node in found.nodes]
        packages = [_seen_package(each) for each in found.packages]
        stored = view.count(wanted)
    window = Config.shown(home).context.window or WINDOW
    notes = [*found.notes, *((found.caution,) if found.caution else ())]
    return ViewDocument(
        asked=text,
        scopes=wanted,
        position=found.position,
        packages=packages,
        seen=seen,
        tokens=sum(each.tokens for each in packages) + sum(each.tokens for each in seen),
        budget=min(TOKENS, Budgets.scaled_to(window).memory),
        stored=stored,
        notes=notes,
    )


def chain_page(home: Home, begins: str) -> str:
    """The chain of a node as one HTML page.

    Raises:
        MemoryMissingError: There is no such node, or several.
        MemoryStoreError: The store cannot be used.
    """
    with HomeMemory.open(home) as memory:
        chain = memory.view.chain(begins)
    with HomeLog.open(home) as source:
        by = ScopedOverruling(Ledgers(source.stream, source.blobs, source.vocabulary)).by
        overruled = {node.id: by(node.content, node.scope) for node in chain.nodes}
    return graph_page(chain, f"Memory: chain {chain.id}", overruled)


def _with_overruled(home: Home, found: RecalledNodes, asked: Sequence[str]) -> RecalledNodes:
    with HomeLog.open(home) as source:
        ledgers = Ledgers(source.stream, source.blobs, source.vocabulary)
        by = ScopedOverruling(ledgers, asked).by
        nodes = [replace(each, overruled_by=by(each.content, each.scope)) for each in found.nodes]
        packages = [
            replace(each, text=package_with_overruled(each.text, lambda text: by(text, USER)))
            for each in found.packages
        ]
    return replace(found, nodes=tuple(nodes), packages=tuple(packages))


def _seen_package(package: RecalledPackage) -> SeenPackage:
    return SeenPackage(
        id=package.package_id,
        text=package.text,
        tokens=package.tokens,
        instead_of=package.instead_of,
        memories=list(package.covers),
    )


def _seen(memory: HomeMemory, node: RecalledNode, shown: set[str], tokens: int) -> SeenMemory:
    chain = memory.view.chain(node.id)
    ids = [each.id for each in chain.nodes]
    return SeenMemory(
        id=node.id,
        line=line_of(node),
        tokens=tokens,
        score=node.score,
        chain=chain.id,
        behind=sum(each not in shown for each in ids),
        sources=chain.states[node.id].sources,
        executions=len({execution_of(each) for each in ids} - {""}),
    )
