"""How endpoints keep the beginnings of prompts: what a prefix must be so that it is read again."""

import msgspec


class Caching(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one model's prompt cache; without a lifetime nothing is known to be kept."""

    minimum_tokens: int = 0  # a shorter prefix is not kept
    granularity_tokens: int = 1  # what is read is a multiple of it
    breakpoints: int = 0  # most in one request; 0: prefixes are kept without being marked
    look_back: int = 0  # blocks before a breakpoint among which an earlier entry is found; 0: all
    lifetimes_s: tuple[int, ...] = ()  # that can be had, the usual one first; each read renews it

    @property
    def keeps(self) -> bool:
        """Whether anything is known to be kept."""
        return bool(self.lifetimes_s)
