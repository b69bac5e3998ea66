"""Compacts the turns of a step: which ones epochs shorten and drop, and why."""

from collections.abc import Callable
from typing import Final, Literal

from cortex.runtime.models import Price

from ..material import Choice, Left
from ..segments import Epoch
from ..selection.fit import Count
from .pieces import Fitted, TurnPiece, note_of

KEPT_SHARE: Final = 0.5  # share of the room used after an epoch that shortens
STANDING_SHARE: Final = 0.85  # share of the room used after an epoch that drops whole turns
NOTE_TOKENS: Final = 40  # of the line about dropped turns
KEPT_TURNS: Final = 3  # newest turns, which stay unchanged as long as there is room


class RentOrBuy:
    """The cost of unneeded tokens since the last epoch, in the unit of the prices."""

    def __init__(self, price: Price) -> None:
        self._read = price.cached_read
        self._rewrite = max(price.cached_write or price.input, price.input) - price.cached_read
        self.rent = 0.0

    @property
    def knows(self) -> bool:
        """Whether prices are known."""
        return self._read > 0 and self._rewrite > 0

    def carry(self, sheddable: int) -> None:
        """Count one more prompt with *sheddable* unneeded tokens."""
        self.rent += self._read * sheddable

    def pays(self, behind: int) -> bool:
        """Whether dropping them pays, if *behind* tokens must be written again."""
        return self.knows and self.rent > 0 and self.rent >= self._rewrite * behind

    def bought(self) -> None:
        """Reset: they were dropped."""
        self.rent = 0.0


class HistoryCompactor:
    """A fold over turns; equal turns give equal bytes."""

    def __init__(self, room: int, count: Count, rent: RentOrBuy) -> None:
        self._room = room
        self._count = count
        self._rent = rent
        self._pieces: list[TurnPiece] = []
        self._firsts: list[int] = []  # index of the first piece of each turn
        self._shortened: dict[int, int] = {}  # the epoch that shortened a piece, by its index
        self._dropped: dict[int, int] = {}
        self._declared: list[Epoch] = []
        self._number = 0  # of the newest epoch
        self.tokens = 0

    def add(self, pieces: list[TurnPiece]) -> None:
        """Add one turn; declares an epoch if it does not fit, or if an epoch pays."""
        newest = len(self._pieces)
        self._firsts.append(newest)
        self._pieces += pieces
        self.tokens += sum(piece.fresh.sized.whole_tokens for piece in pieces)
        if self.tokens > self._room:
            self._epoch("room", newest, lambda: self._make_room(newest))
        elif self._rent.knows:
            self._weigh(newest)

    def _weigh(self, newest: int) -> None:
        old = [at for at in range(self._kept_from()) if self._can_shorten(at)]
        shed = sum(self._gain(at) for at in old)
        if not shed:
            return
        self._rent.carry(shed)
        behind = sum(self._size(at) for at in range(old[0], newest)) - shed
        if self._rent.pays(behind):
            self._epoch("price", newest, lambda: self._shorten_all(old))

    def _epoch(self, why: Literal["room", "price"], newest: int, make: Callable[[], None]) -> None:
        before = self.tokens
        self._number += 1
        make()
        changed = [
            at
            for at, epoch in (*self._shortened.items(), *self._dropped.items())
            if epoch == self._number and at < newest
        ]
        # If only parts of the newest turn were shortened, no byte that was sent has changed.
        behind = range(min(changed, default=newest), newest)
        self._declared.append(
            Epoch(
                number=self._number,
                turn=self._pieces[newest].turn + 1,
                why=why,
                shed=before - self.tokens,
                rewritten=sum(self._size(at) for at in behind if at not in self._dropped),
            )
        )
        self._rent.bought()

    def _kept_from(self) -> int:
        """Index of the first piece of the newest turns, which stay unchanged."""
        return self._firsts[-KEPT_TURNS] if len(self._firsts) > KEPT_TURNS else 0

    def _make_room(self, newest: int) -> None:
        """Shorten results first, then the model's texts, then drop whole turns; oldest first."""
        places = [at for at in range(newest) if at not in self._dropped]
        kept = self._kept_from()
        # The newest turns only if the older ones free too little.
        for at in sorted(places, key=lambda at: (at >= kept, not self._pieces[at].said.handle)):
            least = KEPT_SHARE if at < kept else STANDING_SHARE
            if self.tokens > self._room * least:
                self._shorten(at)
        for at in places:
            if self.tokens > self._room * STANDING_SHARE and at not in self._dropped:
                self._drop(at)
        for at in range(newest, len(self._pieces)):
            if self.tokens > self._room:
                self._shorten(at)

    def _can_shorten(self, at: int) -> bool:
        return self._pieces[at].shrinks and at not in self._shortened and at not in self._dropped

    def _gain(self, at: int) -> int:
        piece = self._pieces[at]
        return piece.fresh.sized.whole_tokens - piece.short.sized.whole_tokens

    def _shorten(self, at: int) -> None:
        if self._can_shorten(at):
            self.tokens -= self._gain(at)
            self._shortened[at] = self._number

    def _shorten_all(self, places: list[int]) -> None:
        for at in places:
            self._shorten(at)

    def _drop(self, at: int) -> None:
        # A turn is dropped as a whole: a result without its call would be unclear.
        turn = self._pieces[at].turn
        self.tokens += 0 if self._dropped else NOTE_TOKENS
        for each, piece in enumerate(self._pieces):
            if piece.turn == turn:
                self.tokens -= self._size(each)
                self._dropped[each] = self._number

    def _size(self, at: int) -> int:
        piece = self._pieces[at]
        choice = piece.short if at in self._shortened else piece.fresh
        return choice.sized.whole_tokens

    def fitted(self) -> Fitted:
        """The current turns."""
        choices: list[Choice] = []
        if self._dropped:
            choices.append(note_of(max(self._pieces[at].turn for at in self._dropped), self._count))
        left: list[Left] = []
        for at, piece in enumerate(self._pieces):
            if at in self._dropped:
                ranked = piece.fresh.ranked
                reason = f"epoch {self._dropped[at]} left the oldest turns out"
                left.append(Left(ranked.item, reason, ranked.neutralised))
            elif at in self._shortened:
                reason = f"epoch {self._shortened[at]} shortened the oldest turns"
                choices.append(piece.short._replace(reason=reason))
            else:
                choices.append(piece.fresh)
        changed = self._shortened.keys() | self._dropped.keys()
        gone = [at for at, piece in enumerate(self._pieces) if at in changed or piece.fresh.cut]
        away = tuple(self._pieces[at].said for at in gone)
        return Fitted(tuple(choices), tuple(left), tuple(self._declared), away)
