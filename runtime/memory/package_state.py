"""Which packages are stale: a fold of the facts of memory and of packages. Pure.

A package is stale as soon as a fact changes a node of its chains, or joins one to another node. One
request at a time is open for it: what changes while it is compiled is asked for behind it.
"""

from collections.abc import Iterable

import msgspec

from cortex.bus import Event
from cortex.bus.events import (
    MemoryCollected,
    MemoryCorrected,
    MemoryForgotten,
    MemoryLinked,
    MemoryRecorded,
    MemoryRestored,
    MemorySuperseded,
    MemoryUndone,
    PackageCompile,
    PackageCompiled,
    PackageRefused,
    SubjectErased,
)


class KnownPackage(msgspec.Struct, array_like=True):
    """What is known of a package."""

    scope: str
    subject: str
    nodes: tuple[str, ...]  # of its chains
    through: int  # position up to which it has seen memory
    changed: int = 0  # position of the last fact that changed a node of it
    asked: bool = False  # whether it is to be compiled again, and was not yet
    compiled: int = 0  # position of the event that says so


class PackageState(msgspec.Struct):
    """All packages, by id, and by the nodes of their chains."""

    packages: dict[str, KnownPackage] = {}
    by_node: dict[str, set[str]] = {}

    def apply(self, fact: Event, position: int, subject: str = "") -> tuple[PackageCompile, ...]:
        """Fold *fact*, and ask for the packages that it makes stale.

        Args:
            fact: A fact of memory or of packages; others change nothing.
            position: Of its record.
            subject: Id of whose personal data that carries.
        """
        match fact:
            case PackageCompiled():
                return self._compiled(fact, position, subject)
            case PackageRefused():
                known = self.packages.get(fact.package_id)
                if known is not None:
                    known.asked = False  # the next change asks again
                return ()
            case SubjectErased():
                for each in [n for n, p in self.packages.items() if p.subject == fact.subject]:
                    self._drop(each)
                return ()
            case MemoryCollected():
                for each in fact.packages:
                    self._drop(each)
                return tuple(self._stale(fact.nodes, position))
            case _:
                return tuple(self._stale(changed_by(fact), position))

    def left_alone(self, ids: Iterable[str], through: int) -> tuple[str, ...]:
        """Those of *ids* that were not compiled after position *through*, and are not now."""
        known = {each: self.packages[each] for each in sorted(ids) if each in self.packages}
        return tuple(n for n, p in known.items() if p.compiled <= through and not p.asked)

    def _compiled(
        self, fact: PackageCompiled, position: int, subject: str
    ) -> tuple[PackageCompile, ...]:
        before = self.packages.get(fact.package_id)
        changed = before.changed if before is not None else 0
        self._drop(fact.package_id)
        nodes = tuple(dict.fromkeys((*fact.sources, *fact.replaced, *fact.beside, *fact.chains)))
        known = KnownPackage(fact.scope, subject, nodes, fact.through, changed, compiled=position)
        self.packages[fact.package_id] = known
        for each in nodes:
            self.by_node.setdefault(each, set()).add(fact.package_id)
        if changed <= fact.through:
            return ()
        known.asked = True
        return (PackageCompile(package_id=fact.package_id, scope=fact.scope),)

    def _stale(self, nodes: Iterable[str], position: int) -> Iterable[PackageCompile]:
        touched = {each for node in nodes for each in self.by_node.get(node, ())}
        for package_id in sorted(touched):
            known = self.packages[package_id]
            if position <= known.through:
                continue
            known.changed = position
            if not known.asked:
                known.asked = True
                yield PackageCompile(package_id=package_id, scope=known.scope)

    def _drop(self, package_id: str) -> None:
        known = self.packages.pop(package_id, None)
        for each in known.nodes if known is not None else ():
            of_node = self.by_node.get(each, set())
            of_node.discard(package_id)
            if not of_node:
                self.by_node.pop(each, None)


def changed_by(fact: Event) -> tuple[str, ...]:
    """The nodes that a fact of memory changes, or joins to others."""
    match fact:
        case MemoryRecorded() if fact.edges:
            return (fact.node_id, *(edge.to for edge in fact.edges))
        case MemoryLinked():
            return fact.node_id, fact.to
        case MemorySuperseded():
            return fact.node_id, fact.successor
        case MemoryCorrected():
            return fact.node_id, fact.correction
        case MemoryForgotten() | MemoryRestored():
            return (fact.node_id,)
        case MemoryUndone():
            return fact.nodes
        case _:
            return ()
