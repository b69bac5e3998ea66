"""Memory: nodes and typed edges that say how the agent came to know, folded from the log."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .candidates import Candidates
    from .chains import Chain, ChainStep, NodeState, history_of, joined, walk
    from .collecting import CollectionPlan, planned, recorded_in
    from .consolidation import MOST_READ
    from .dated import Span, spans
    from .decide import Decider
    from .errors import (
        MemoryInvalidError,
        MemoryMissingError,
        MemoryStoreError,
        PackageMissingError,
    )
    from .exchange import (
        Exchange,
        ExchangedEdge,
        ExchangedNode,
        ExchangedSource,
        lines_in,
        lines_of,
        read_lines,
    )
    from .exchanging import Exported, ImportRequests, exported, import_requests
    from .fading import freshness
    from .finding import MemoryFinder, MemoryHit, MemoryResult
    from .following import FactChain, FactStep
    from .graph_page import graph_page
    from .home_memory import HomeMemory
    from .memory_heap import MemoryHeap, RecordedCollection, packaged
    from .nodes import EDGES, KINDS, Edge, Node, same_digest
    from .origins import FurtherSource
    from .package_planning import (
        PackagePlan,
        package_id_of,
        planned_again,
        planned_package,
        suggested_packages,
    )
    from .package_reading import numbered_in
    from .package_rows import PACKAGER
    from .package_state import PackageState
    from .package_suggestions import (
        ChainUse,
        MemoryUse,
        SuggestedPackage,
        counted_from,
        suggestions_at,
    )
    from .package_text import COUNTED_IN, PackageText, package_text
    from .package_use import (
        Preferred,
        UsablePackage,
        in_packages,
        not_asked_for,
        usable,
        with_packages,
    )
    from .package_view import PackageRow, PackageView
    from .past import Past, PastNodes
    from .projection import MemoryProjection
    from .recall import RecalledNode, RecalledNodes, RecalledPackage, line_of, recalled
    from .recurring import recurring
    from .requests import FindUpdates, RequestRecord, Update
    from .rules import COLLECTOR, ENGINE, derived_of, execution_of, outcome_id
    from .scopes import USER, Scope, check_scope, seen_by
    from .state import Known, MemoryState
    from .store import FILE, MemoryStore
    from .view import MemoryView
    from .wordings import rewordings
else:
    lazily(__name__)

__all__ = [
    "COLLECTOR",
    "COUNTED_IN",
    "EDGES",
    "ENGINE",
    "FILE",
    "KINDS",
    "MOST_READ",
    "PACKAGER",
    "USER",
    "Candidates",
    "Chain",
    "ChainStep",
    "ChainUse",
    "CollectionPlan",
    "Decider",
    "Edge",
    "Exchange",
    "ExchangedEdge",
    "ExchangedNode",
    "ExchangedSource",
    "Exported",
    "FactChain",
    "FactStep",
    "FindUpdates",
    "FurtherSource",
    "HomeMemory",
    "ImportRequests",
    "Known",
    "MemoryFinder",
    "MemoryHeap",
    "MemoryHit",
    "MemoryInvalidError",
    "MemoryMissingError",
    "MemoryProjection",
    "MemoryResult",
    "MemoryState",
    "MemoryStore",
    "MemoryStoreError",
    "MemoryUse",
    "MemoryView",
    "Node",
    "NodeState",
    "PackageMissingError",
    "PackagePlan",
    "PackageRow",
    "PackageState",
    "PackageText",
    "PackageView",
    "Past",
    "PastNodes",
    "Preferred",
    "RecalledNode",
    "RecalledNodes",
    "RecalledPackage",
    "RecordedCollection",
    "RequestRecord",
    "Scope",
    "Span",
    "SuggestedPackage",
    "Update",
    "UsablePackage",
    "check_scope",
    "counted_from",
    "derived_of",
    "execution_of",
    "exported",
    "freshness",
    "graph_page",
    "history_of",
    "import_requests",
    "in_packages",
    "joined",
    "line_of",
    "lines_in",
    "lines_of",
    "not_asked_for",
    "numbered_in",
    "outcome_id",
    "package_id_of",
    "package_text",
    "packaged",
    "planned",
    "planned_again",
    "planned_package",
    "read_lines",
    "recalled",
    "recorded_in",
    "recurring",
    "rewordings",
    "same_digest",
    "seen_by",
    "spans",
    "suggested_packages",
    "suggestions_at",
    "usable",
    "walk",
    "with_packages",
]
