"""Packages in what a step remembers: one text in place of nodes, where that is shorter. Pure.

A package may be used if nothing changed since it was compiled, if the step sees its scope, and if
the personal data in it is that of the step's own subject. It replaces those nodes that the search
found and that it has. It is used if it has fewer tokens than these nodes have one by one; of
several, the one that saves most comes first. A step that asks for no history gets the text without
what was replaced. A package that people laid down to use comes first, and is used though it saves
nothing, if it fits into what the step asks for; one that they prohibited is not used.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from cortex.bus.events import MemoryRequest
from cortex.runtime.retrieval import TOKENS

from .package_view import PackageRow
from .recall import RecalledNode, RecalledNodes, RecalledPackage, line_of


class UsablePackage(msgspec.Struct, frozen=True):
    """A package, and the text that a step may get of it."""

    package: PackageRow
    history: bool  # whether the text has what was replaced

    @property
    def digest(self) -> str:
        """Of the blob with the text."""
        return self.package.digest if self.history else self.package.current_digest

    @property
    def tokens(self) -> int:
        """Of the text."""
        return self.package.tokens if self.history else self.package.current_tokens

    @property
    def nodes(self) -> tuple[str, ...]:
        """Ids of the nodes in the text."""
        replaced = self.package.replaced if self.history else ()
        return (*self.package.sources, *replaced)


class Preferred(msgspec.Struct, frozen=True):
    """Packages that people laid down to use."""

    ids: tuple[str, ...] = ()  # or how they begin
    tokens: int = 0  # that they may have together


NO_PREFERENCE: Final = Preferred()


def usable(
    packages: Iterable[PackageRow], scopes: Sequence[str], subject: str, *, history: bool
) -> list[UsablePackage]:
    """Those of *packages* that a step may have.

    Args:
        packages: Of one position.
        scopes: That the step sees.
        subject: Id of whose personal data the step's events carry; "" for nobody's.
        history: Whether the step asks for what was replaced, too.
    """
    return [
        UsablePackage(each, history)
        for each in packages
        if each.fresh and each.scope in scopes and each.subject in ("", subject)
    ]


def not_asked_for(packages: Iterable[PackageRow]) -> list[PackageRow]:
    """Those of *packages* that are stale, and that nobody asked to compile again since.

    So a burst of steps asks once, and one that cannot be compiled is not asked for time and again.
    """
    return [each for each in packages if each.changed > each.asked]


def in_packages(
    found: RecalledNodes,
    packages: Sequence[PackageRow],
    asked: MemoryRequest,
    subject: str,
    text_of: Callable[[str], str | None],
) -> RecalledNodes:
    """*found*, with those of *packages* in place of nodes that the step may have, and that save.

    Args:
        found: What was found for a step.
        packages: Some that have one of its nodes, as of the position of *found*.
        asked: The request of the step.
        subject: Id of whose personal data the step's events carry; "" for nobody's.
        text_of: The text of a package, by its digest; None if it cannot be read.
    """
    left = [each for each in packages if not each.id.startswith(asked.avoided_packages)]
    may = usable(left, asked.scopes, subject, history=asked.history)
    texts = {each.digest: text_of(each.digest) for each in may}
    readable = [each for each in may if texts[each.digest] is not None]
    if not readable:
        return found
    # Not above: most steps have no package, and need no encoding.
    from cortex.runtime.context import counter_for

    from .package_text import COUNTED_IN

    count = counter_for(COUNTED_IN).count
    preferred = Preferred(
        asked.preferred_packages, TOKENS if asked.tokens is None else asked.tokens
    )
    return with_packages(found, readable, lambda digest: texts[digest] or "", count, preferred)


def with_packages(
    found: RecalledNodes,
    packages: Sequence[UsablePackage],
    text_of: Callable[[str], str],
    count: Callable[[str], int],
    preferred: Preferred = NO_PREFERENCE,
) -> RecalledNodes:
    """*found*, with packages in place of the nodes that they have in fewer tokens.

    Args:
        found: What was found for a step.
        packages: That it may have.
        text_of: The text of a package, by its digest.
        count: Tokens of a text.
        preferred: Those that people laid down to use.
    """
    if not packages:
        return found
    left = {node.id: node for node in found.nodes}
    tokens = {each: count(f"{line_of(node)}\n") for each, node in left.items()}
    taken: list[RecalledPackage] = []
    for best in packages_laid_down(packages, preferred):
        covered = [left.pop(each) for each in best.nodes if each in left]
        if covered:
            saving = sum(tokens[node.id] for node in covered) - best.tokens
            taken.append(_taken(best, covered, saving, text_of(best.digest)))
    while True:
        saving, best = max(
            ((_saved(each, left, tokens), each) for each in packages),
            key=lambda pair: (pair[0], pair[1].package.id),
        )
        if saving <= 0:
            break
        covered = [left.pop(each) for each in best.nodes if each in left]
        taken.append(_taken(best, covered, saving, text_of(best.digest)))
    return msgspec.structs.replace(found, nodes=tuple(left.values()), packages=tuple(taken))


def packages_laid_down(
    packages: Sequence[UsablePackage], preferred: Preferred
) -> list[UsablePackage]:
    """Those of *packages* that are *preferred* and fit together, in the order of their ids."""
    chosen: list[UsablePackage] = []
    left = preferred.tokens
    for each in sorted(packages, key=lambda each: each.package.id):
        if each.package.id.startswith(preferred.ids) and each.tokens <= left:
            chosen.append(each)
            left -= each.tokens
    return chosen


def _saved(package: UsablePackage, left: dict[str, RecalledNode], tokens: dict[str, int]) -> int:
    covered = sum(tokens[each] for each in package.nodes if each in left)
    return covered - package.tokens if covered else 0


def _taken(
    usable: UsablePackage, covered: Sequence[RecalledNode], saving: int, text: str
) -> RecalledPackage:
    return RecalledPackage(
        package_id=usable.package.id,
        digest=usable.digest,
        text=text,
        position=usable.package.position,
        score=max(node.score for node in covered),
        confidence=min(node.confidence for node in covered),
        nodes=usable.nodes,
        covers=tuple(node.id for node in covered),
        tokens=usable.tokens,
        instead_of=usable.tokens + saving,
    )
