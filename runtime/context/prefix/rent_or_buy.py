"""When it pays to write the beginning of a prompt anew: rent or buy, without knowing the future.

Tokens that could be shed are *rent*: every further prompt reads them from the cache. Shedding them
is *buying*: what stands behind the first changed byte must be written to the cache again. Nobody
knows how many prompts are still to come. The rule buys as soon as the rent that was paid reaches
what buying costs now. Where that cost stays as it is, no one who knew the future would have paid
less than half; where it moves between `least` and `most` meanwhile, no less than
`least / (2 x most)` of it.
"""

from cortex.runtime.models import Price


class RentOrBuy:
    """The rent since the last epoch, in the unit of the prices."""

    def __init__(self, price: Price) -> None:
        self._read = price.cached_read
        self._rewrite = max(price.cached_write or price.input, price.input) - price.cached_read
        self.rent = 0.0

    @property
    def knows(self) -> bool:
        """Whether there are prices to decide by."""
        return self._read > 0 and self._rewrite > 0

    def carry(self, sheddable: int) -> None:
        """One prompt more had *sheddable* tokens that it could have done without."""
        self.rent += self._read * sheddable

    def pays(self, behind: int) -> bool:
        """Whether it is time to shed them, with *behind* tokens to be written anew."""
        return self.knows and self.rent > 0 and self.rent >= self._rewrite * behind

    def bought(self) -> None:
        """They were shed."""
        self.rent = 0.0
