"""The ledgers of scopes as they are at each query: read again only after a further fact."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Final

from cortex.bus import Blobs, Recorded, Vocabulary
from cortex.bus.events import VOCABULARY

from .in_force import Ledgers
from .ledger import ScopeLedger

KEPT: Final = 64  # scopes, each as it was at one position


class RecentLedgers:
    """Gives the newest ledger of a scope, or that of an earlier position; thread-safe.

    Every query looks at the stream, so that an answer has whatever was acknowledged before.
    """

    def __init__(
        self,
        history: Callable[[str], Iterable[Recorded]],
        blobs: Blobs,
        vocabulary: Vocabulary = VOCABULARY,
    ) -> None:
        self._history, self._blobs, self._vocabulary = history, blobs, vocabulary
        self._kept: OrderedDict[tuple[str, int], ScopeLedger] = OrderedDict()
        self._lock = Lock()

    def at(self, scope: str, position: int = 0) -> tuple[ScopeLedger, int]:
        """The ledger of *scope* after *position*, 0 for now; and the position of its newest record.

        Raises:
            CortexError: A blob with changes is missing or damaged.
        """
        records = [
            each
            for each in self._history(f"directive/{scope}")
            if not position or each.position <= position
        ]
        newest = records[-1].position if records else 0
        with self._lock:
            found = self._kept.get((scope, newest))
        if found is None:
            found = Ledgers(lambda _: records, self._blobs, self._vocabulary).at(scope)
        with self._lock:
            self._kept[scope, newest] = found
            self._kept.move_to_end((scope, newest))
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found, newest
