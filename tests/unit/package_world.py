"""Packages in memory: a world of memory that also compiles packages, as their engine does."""

from collections.abc import Sequence

from cortex.bus.events import PackageCompile, PackageCompiled, SubjectErased
from cortex.runtime.context import counter_for
from cortex.runtime.memory import (
    PACKAGER,
    PackagePlan,
    PackageRow,
    PackageState,
    PackageText,
    package_text,
    planned_again,
    planned_package,
)

from .memory_world import MemoryWorld, typed

COUNTER = counter_for("o200k_base")


class PackageWorld(MemoryWorld):
    """Texts are kept by the id of the package."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, PackageText] = {}

    def package(self, nodes: Sequence[str], scope: str = "user") -> str:
        """Compile the chains of *nodes*; the id of the package."""
        return self.compile(planned_package(self.view(), nodes, scope))

    def again(self, package_id: str, scope: str = "user") -> str:
        """Compile a package again."""
        return self.compile(planned_again(self.view(), package_id, scope))

    def compile(self, plan: PackagePlan) -> str:
        """Record what follows from *plan*."""
        text = package_text(plan.chains, plan.scope, plan.subject, COUNTER)
        self.texts[plan.package_id] = text
        fact = PackageCompiled(
            package_id=plan.package_id,
            scope=plan.scope,
            subject=plan.subject,
            chains=plan.anchors,
            sources=text.sources,
            replaced=text.replaced,
            beside=text.beside,
            digest="whole" if text.text else "",
            tokens=text.tokens,
            current_digest="current" if text.text else "",
            current_tokens=text.current_tokens,
            raw_tokens=text.raw_tokens,
            through=len(self.records),
            by="ada",
        )
        self.add(fact, PACKAGER, plan.subject or None)
        return plan.package_id

    def row(self, package_id: str) -> PackageRow:
        """The package as the projection has it."""
        return self.view().packages.package(package_id)

    def folded(self) -> tuple[PackageState, list[PackageCompile]]:
        """The state after all that is recorded, and all that it asked for."""
        state, asked = PackageState(), list[PackageCompile]()
        for record, fact in zip(self.records, typed(self.records), strict=True):
            asked += state.apply(fact, record.position, record.subject or "")
        return state, asked

    def erase(self, subject: str) -> None:
        """Record that a subject was erased."""
        fact = SubjectErased(subject=subject, by="ada", why="asked", asked_ns=0, events=0, blobs=0)
        self.decider.state.apply(fact, "", self.add(fact))
