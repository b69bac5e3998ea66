"""The accessor of directives: what is laid down, now or earlier, and what a text would do."""

from collections.abc import Callable, Iterator

import msgspec

from cortex.bus import Blobs, CortexError, Event, Recorded, Vocabulary
from cortex.bus.events import VOCABULARY, DirectiveAnswer, DirectiveGet
from cortex.runtime.directives import (
    PROFILES,
    RecentLedgers,
    preview_document,
    scope_document,
)
from cortex.runtime.kernel import Component, Config, Delivery, on
from cortex.runtime.memory import MemoryInvalidError, Scope


class DirectiveAccessor(Component):
    """Reads the stream of a scope for each query: it holds whatever was acknowledged before."""

    def __init__(
        self,
        history: Callable[[str], Iterator[Recorded]],
        blobs: Blobs,
        vocabulary: Vocabulary = VOCABULARY,
        config: Config | None = None,
    ) -> None:
        self._ledgers = RecentLedgers(history, blobs, vocabulary)
        self._profile = (config or Config()).directives.profile

    @on(DirectiveGet)
    def get(self, event: DirectiveGet, delivery: Delivery) -> Iterator[Event]:
        """What is laid down in a branch of a scope."""
        if event.at < 0:
            yield DirectiveAnswer(problem=f"{event.at} is no position: give one of the log, or 0")
            return
        try:
            scope = str(Scope.parse(event.scope))
        except MemoryInvalidError as error:
            yield DirectiveAnswer(problem=error.problem)
            return
        try:
            ledger, newest = self._ledgers.at(scope, event.at)
        except CortexError as error:
            yield DirectiveAnswer(problem=f"what is laid down cannot be read: {error}")
            return
        branch = ledger.branches.get(event.branch)
        if branch is None:
            known = ", ".join(sorted(ledger.branches))
            yield DirectiveAnswer(
                problem=f"the scope {scope} has no branch {event.branch[:64]!r}; there is: {known}"
            )
            return
        previewed = None
        if event.text:
            previewed = preview_document(PROFILES[self._profile], branch, event.text)
        yield DirectiveAnswer(
            state=msgspec.to_builtins(scope_document(scope, event.branch, ledger)),
            preview=msgspec.to_builtins(previewed) if previewed is not None else {},
            position=event.at or newest,
        )
