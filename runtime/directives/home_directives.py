"""The directives of a home for commands and programs, without a runtime or beside one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from msgspec import Struct
from msgspec.structs import replace

from cortex.bus import Recorded
from cortex.bus.events import DirectiveRefused
from cortex.runtime.kernel import Config, Home
from cortex.runtime.memory import Scope
from cortex.runtime.projections import HomeLog, Selection

from .codec import export_state
from .document import (
    FACTS,
    PreviewDocument,
    ScopeDocument,
    line_of,
    preview_document,
    scope_document,
)
from .errors import DirectivesError
from .in_force import InForce, Ledgers, in_force
from .ledger import ENGINE, MAIN, Branch, ScopeLedger
from .overruling import ScopedOverruling
from .profile import PROFILES, Profile

if TYPE_CHECKING:  # numpy and faiss take their time to load
    from cortex.runtime.memory import MemoryResult


class NoSuchBranchError(DirectivesError, LookupError):
    """The scope has no branch of that name."""

    exit_code = 3  # the command line's for a missing thing

    def __init__(self, scope: str, branch: str, known: Sequence[str]) -> None:
        super().__init__(scope, branch, known)
        self.scope, self.branch, self.known = scope, branch, known

    def __str__(self) -> str:
        return (
            f"the scope {self.scope} has no branch {self.branch!r}; there is: "
            f"{', '.join(self.known)}"
        )


class HistoryRow(Struct, frozen=True, kw_only=True):
    """One fact of a scope's history."""

    position: int  # of the fact
    request: int  # of the request that led to it
    time_ns: int
    branch: str
    topic: str
    by: str
    said: str


class HomeDirectives:
    """What is laid down in a home, up to where `home.as_of` says."""

    def __init__(self, home: Home, source: HomeLog) -> None:
        self.home, self.source = home, source
        self._ledgers = Ledgers(source.stream, source.blobs, source.vocabulary)
        self._profile = Config.load(home).directives.profile

    @classmethod
    @contextmanager
    def open(cls, home: Home) -> Iterator[Self]:
        """The directives of *home*, until the block is left.

        Raises:
            HomeError: There is no such home, or it cannot be read.
            LogError: Its log cannot be read.
        """
        with HomeLog.open(home) as source:
            yield cls(home, source)

    def ledger(self, scope: str) -> ScopeLedger:
        """All branches of *scope*.

        Raises:
            MemoryInvalidError: It is no scope.
        """
        return self._ledgers.at(str(Scope.parse(scope)))

    def branch(self, scope: str, branch: str = MAIN) -> Branch:
        """One branch of a scope.

        Raises:
            MemoryInvalidError: It is no scope.
            NoSuchBranchError: The scope has no such branch.
        """
        ledger = self.ledger(scope)
        found = ledger.branches.get(branch)
        if found is None:
            raise NoSuchBranchError(scope, branch, sorted(ledger.branches))
        return found

    def state(self, scope: str, branch: str = MAIN) -> ScopeDocument:
        """What is laid down in a branch; raises as `branch`."""
        self.branch(scope, branch)
        return scope_document(scope, branch, self.ledger(scope))

    def in_force(self, scopes: Sequence[str]) -> InForce:
        """What holds where all of *scopes* apply; the narrower one wins.

        Raises:
            MemoryInvalidError: One of them is no scope.
        """
        ordered = sorted(dict.fromkeys(scopes), key=lambda each: Scope.parse(each).precedence)
        return in_force([(each, self.ledger(each)) for each in ordered])

    def marked(self, found: "MemoryResult", scopes: Sequence[str] = ()) -> "MemoryResult":
        """What `HomeMemory.find` has found, where each hit says what overrules it.

        Args:
            found: The result.
            scopes: Those that were asked for; without, each hit goes by its own and the user's.
        """
        by = ScopedOverruling(self._ledgers, scopes).by
        hits = (
            replace(hit, overruled_by=by(hit.node.content, hit.node.scope)) for hit in found.hits
        )
        return replace(found, hits=tuple(hits))

    def preview(
        self, text: str, scope: str, branch: str = MAIN, profile: str = ""
    ) -> PreviewDocument:
        """What *text* would do; raises as `branch`."""
        return preview_document(self.profile(profile), self.branch(scope, branch), text)

    def export(self, scope: str, branch: str = MAIN, profile: str = "") -> str:
        """The state of a branch as canonical JSON, without an open question; raises as `branch`."""
        return export_state(self.profile(profile), self.branch(scope, branch).settled.state)

    def profile(self, name: str = "") -> Profile:
        """The profile of that name; that of the configuration for ""."""
        return PROFILES[name or self._profile]

    def scopes(self) -> list[str]:
        """The scopes in which something was ever laid down, the widest first."""
        topics = tuple(each.topic_name() for each in FACTS if each is not DirectiveRefused)
        found = {
            record.stream.removeprefix("directive/")
            for record in self.source.select(Selection(topics=topics))
            if record.source == ENGINE
        }
        return sorted(found, key=lambda each: (-Scope.parse(each).precedence, each))

    def history(self, scope: str) -> list[HistoryRow]:
        """What was laid down in a scope and refused, the oldest first.

        Raises:
            MemoryInvalidError: It is no scope.
        """
        stream = self.source.stream(f"directive/{Scope.parse(scope)}")
        return [row for record in stream if (row := self._row(record)) is not None]

    def _row(self, record: Recorded) -> HistoryRow | None:
        event = self.source.event(record) if record.source == ENGINE and not record.erased else None
        if not isinstance(event, FACTS):
            return None
        return HistoryRow(
            position=record.position,
            request=record.causation or 0,
            time_ns=record.time_ns,
            branch=event.branch,
            topic=record.topic,
            by=event.by,
            said=line_of(event),
        )
