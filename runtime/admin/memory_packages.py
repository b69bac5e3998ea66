"""The packages of a home for commands: what is shown of them, and requests to compile one."""

from collections.abc import Sequence

import msgspec

from cortex.bus.events import PackageCompile, PackageCompiled, PackageRefused
from cortex.runtime.directives import Ledgers, ScopedOverruling, package_with_overruled
from cortex.runtime.kernel import Home, RefusedError, iso
from cortex.runtime.memory import (
    HomeMemory,
    PackageRow,
    Scope,
    package_id_of,
    suggested_packages,
)
from cortex.runtime.projections import HomeLog
from cortex.runtime.sessions import BRIEF_S, Session


class PackageDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A package: from what it was compiled, how large it is, and how often it was used."""

    id: str
    scope: str
    chains: list[str]  # a memory of each chain
    sources: list[str]  # ids of the memories that hold, in the order of the text's numbers
    replaced: list[str]  # ids of those that were replaced, behind them
    raw_tokens: int  # of these memories as prompts show them one by one
    tokens: int  # of the text
    current_tokens: int  # of the text without what was replaced
    ratio: float  # raw to compiled
    compiled: str  # UTC: when it was compiled last
    position: int  # of that event
    fresh: bool
    changed: int  # position of the first change since; 0 if it is fresh
    uses: int  # prompts that it was in
    used: str = ""  # UTC: the last of them
    by: str = ""  # who asked for it last
    digest: str = ""  # of the blob with the text
    current_digest: str = ""
    collected: int = 0  # position at which a collection took it out; 0: it is there
    suggested: int = 0  # position at which it was suggested last; 0 if it never was


class ShownPackage(msgspec.Struct, frozen=True, kw_only=True):
    """A package with its text."""

    package: PackageDocument
    text: str


class SuggestionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A package that is worth while."""

    id: str  # that it will have
    scope: str
    chains: list[str]
    steps: int  # in whose prompts the chains were together


def compile_package(home: Home, chains: Sequence[str]) -> PackageDocument:
    """Compile the chains of these memories into one package.

    Args:
        home: Whose memory it is.
        chains: Beginnings of ids, one of each chain.

    Raises:
        MemoryMissingError: There is no such memory, or several that begin so.
        RefusedError: They are of several scopes or people, or too many.
    """
    home.require_trust()
    with HomeMemory.open(home) as memory:
        ids = tuple(memory.view.resolve(each) for each in chains)
        scope = memory.view.nodes(ids[:1])[ids[0]].scope
    with Session.open(home, patience_s=BRIEF_S) as session:
        asked = PackageCompile(chains=ids, scope=scope)
        answer, _ = session.answer_to(asked, PackageCompiled, PackageRefused)
    if isinstance(answer, PackageRefused):
        raise RefusedError(answer.reason)
    return show_package(home, answer.package_id).package


def package_rows(home: Home, scopes: Sequence[str] = (), limit: int = 50) -> list[PackageDocument]:
    """The packages that were compiled last, newest first.

    Raises:
        MemoryInvalidError: One of the scopes is none.
        MemoryStoreError: The store cannot be used.
    """
    wanted = [str(Scope.parse(scope)) for scope in scopes]
    with HomeMemory.open(home) as memory:
        return [_document(memory, each) for each in memory.packages(wanted, limit)]


def show_package(home: Home, begins: str, *, history: bool = True) -> ShownPackage:
    """The package whose id begins with *begins*, and its text; with what was replaced, or without.

    Raises:
        PackageMissingError: There is no such package, or several.
        MemoryStoreError: The store cannot be used.
        BlobError: The text cannot be read.
    """
    with HomeMemory.open(home) as memory:
        package = memory.package(begins)
        text = memory.package_text(package, history=history)
        document = _document(memory, package)
    with HomeLog.open(home) as source:
        by = ScopedOverruling(Ledgers(source.stream, source.blobs, source.vocabulary)).by
        text = package_with_overruled(text, lambda content: by(content, package.scope))
    return ShownPackage(package=document, text=text)


def package_suggestions(home: Home) -> list[SuggestionRow]:
    """The packages that are worth while by the prompts of the last 30 days, and do not exist.

    Raises:
        MemoryStoreError: The store cannot be used.
    """
    with HomeMemory.open(home) as memory:
        newest = memory.source.at(memory.view.position)
        found = suggested_packages(memory.view, newest.time_ns if newest is not None else 0)
    return [
        SuggestionRow(
            id=package_id_of(each.scope, each.subject, each.chains),
            scope=each.scope,
            chains=list(each.chains),
            steps=each.steps,
        )
        for each in found
    ]


def _document(memory: HomeMemory, package: PackageRow) -> PackageDocument:
    suggested = memory.view.packages.suggested(package.id)
    return PackageDocument(
        id=package.id,
        scope=package.scope,
        chains=list(package.chains),
        sources=list(package.sources),
        replaced=list(package.replaced),
        raw_tokens=package.raw_tokens,
        tokens=package.tokens,
        current_tokens=package.current_tokens,
        ratio=round(package.ratio, 2),
        compiled=iso(package.time_ns),
        position=package.position,
        fresh=package.fresh,
        changed=package.changed,
        uses=package.uses,
        used=iso(package.used_ns) if package.used_ns else "",
        by=package.by,
        digest=package.digest,
        current_digest=package.current_digest,
        collected=package.collected,
        suggested=suggested[-1][0] if suggested else 0,
    )
