"""The memory of a home for commands and programs: it works without a runtime, and beside one."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from cortex.bus.events import MemoryRequest
from cortex.runtime.kernel import Home
from cortex.runtime.log import BlobError
from cortex.runtime.projections import HomeLog

from .opening import IndexFolder, OpenedFinder, opened_finder, opened_store
from .view import MemoryView

if TYPE_CHECKING:
    from .finding import MemoryResult
    from .package_text import PackageText
    from .package_view import PackageRow
    from .recall import RecalledNodes

LONGEST_TEXT = 1_000  # characters of a question


class HomeMemory:
    """What a home remembers, up to `view.position`."""

    def __init__(
        self, home: Home, source: HomeLog, index: IndexFolder | None, view: MemoryView
    ) -> None:
        self.home, self.source, self.view = home, source, view
        self._index = index  # None for one that passes

    @classmethod
    @contextmanager
    def open(cls, home: Home) -> Iterator[Self]:
        """The memory of *home*, until the block is left; as it was where `home.as_of` says.

        Raises:
            HomeError: There is no such home, or it cannot be read.
            LogError: Its log cannot be read.
            MemoryStoreError: The store cannot be made anywhere, or not be read.
        """
        now = replace(home, as_of=None) if home.as_of is not None else home
        with HomeLog.open(now) as source, ExitStack() as stack:
            opened = opened_store(now, source, stack)
            with opened.store.view(home.as_of) as view:
                yield cls(home, source, opened.place, view)

    def find(
        self,
        texts: Sequence[str],
        scopes: Sequence[str],
        *,
        history: bool = False,
        limit: int = 10,
    ) -> "list[MemoryResult]":
        """What fits each of *texts* best.

        By words alone if it is of an earlier moment, or in a home that is not trusted.

        Raises:
            RetrievalError: The index cannot be used.
        """
        with self._finder() as (finder, notes):
            found = [
                finder.find(
                    text[:LONGEST_TEXT],
                    self.view,
                    scopes,
                    history=history,
                    limit=limit,
                    asked_ns=time.time_ns() if self.home.as_of is None else 0,
                )
                for text in texts
            ]
        return [replace(each, notes=(*each.notes, *notes)) for each in found]

    def packages(self, scopes: Sequence[str] = (), limit: int = 50) -> "list[PackageRow]":
        """The packages that were compiled last, newest first; of all scopes unless some are given.

        Each is as its chains are now, though only a runtime compiles it again. One of which nothing
        is current any more is left out.
        """
        rows = self.view.packages.listed(scopes, limit)
        return [found for found in map(self._as_it_stands, rows) if found.sources]

    def package(self, begins: str) -> "PackageRow":
        """The one package whose id begins with *begins*, as its chains are now.

        Raises:
            PackageMissingError: There is none, or several.
            MemoryInvalidError: Its chains have become too long for a package.
        """
        return self._as_it_stands(self.view.packages.package(begins))

    def package_text(self, package: "PackageRow", *, history: bool = True) -> str:
        """What a model reads of *package*; with *history*, what was replaced, too.

        Empty if nothing of it is current. What left memory since it was compiled is not in it.

        Raises:
            BlobError: The blob with the text cannot be read.
            MemoryInvalidError: Its chains have become too long for a package.
        """
        if package.changed or package.collected:
            made = self._compiled_now(package)
            return made.text if history else made.current_text
        digest = package.digest if history else package.current_digest
        return self.source.blobs.get(digest).decode() if digest else ""

    def _as_it_stands(self, package: "PackageRow") -> "PackageRow":
        """*package* with the memories and sizes that it has now; it stays stale, without a blob."""
        if not package.changed and not package.collected:
            return package
        made = self._compiled_now(package)
        return replace(
            package,
            sources=made.sources,
            replaced=made.replaced,
            digest="",
            tokens=made.tokens,
            current_digest="",
            current_tokens=made.current_tokens,
            raw_tokens=made.raw_tokens,
        )

    def _compiled_now(self, package: "PackageRow") -> "PackageText":
        # Not above: only what is stale is compiled, and needs an encoding.
        from cortex.runtime.context import counter_for

        from .package_planning import planned_again
        from .package_text import COUNTED_IN, package_text

        plan = planned_again(self.view, package.id, package.scope)
        return package_text(plan.chains, plan.scope, plan.subject, counter_for(COUNTED_IN))

    @contextmanager
    def finding(self) -> "Iterator[Callable[[MemoryRequest, str], RecalledNodes]]":
        """A function that recalls, for many requests: the index is opened once.

        It is given a request, and the subject of the execution; "" for nobody.
        """
        from .package_use import in_packages
        from .recall import recalled

        with self._finder() as (finder, _):

            def find(asked: MemoryRequest, subject: str) -> "RecalledNodes":
                results = [
                    finder.find(
                        text[:LONGEST_TEXT],
                        self.view,
                        asked.scopes,
                        history=asked.history,
                        limit=asked.limit,
                        thorough=False,
                        subject=subject,
                    )
                    for text in asked.texts
                ]
                found = recalled(results, asked.limit, asked.tokens)
                packages = self.view.packages.holding([node.id for node in found.nodes])
                return in_packages(found, packages, asked, subject, self._text_of)

            yield find

    def recall(self, asked: MemoryRequest, subject: str = "") -> "RecalledNodes":
        """What a step that asks *asked* would be given, in an execution with this *subject*."""
        with self.finding() as find:
            return find(asked, subject)

    def _text_of(self, digest: str) -> str | None:
        try:
            return self.source.blobs.get(digest).decode()
        except BlobError:
            return None

    @contextmanager
    def _finder(self) -> Iterator[OpenedFinder]:
        index = self._index if self.home.as_of is None else None
        with ExitStack() as stack:
            yield opened_finder(self.home, index, self.view, stack)
