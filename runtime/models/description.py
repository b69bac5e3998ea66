"""What a model says of itself: its abilities, prices and caching, and what its use costs."""

from collections.abc import Mapping
from math import floor, log10
from typing import Final, Literal, TypeAlias

import msgspec

Level: TypeAlias = Literal["low", "medium", "high"]


LEVELS: Mapping[str | None, int] = {None: 0, "low": 1, "medium": 2, "high": 3}


PERSON: Final = "human"  # the provider whose models are people


WRITTEN_OUT: Final = 1e-9  # US dollars; what is less has an exponent, or it would be all zeros


PER = 1_000_000  # prices are for so many tokens


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """US dollars for a million tokens of each class."""

    input: float = 0.0
    cached_read: float = 0.0  # prompt tokens that the endpoint had from an earlier call
    cached_write: float = 0.0  # prompt tokens that it keeps for a later one
    output: float = 0.0


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one call by class; each token is in exactly one."""

    input: int = 0
    cached_read: int = 0
    cached_write: int = 0
    output: int = 0


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


class ModelDescription(msgspec.Struct, frozen=True, kw_only=True):
    """One model as its provider announces it."""

    name: str  # its name in events and commands
    provider: str = ""  # routes `model.invoke` to the component of its provider
    model: str = ""  # its name at the endpoint
    window: int  # tokens of prompt and answer together
    local: bool  # True: nothing leaves this host
    reasoning: Level | None = None  # None: no level is known
    code: Level | None = None  # the same
    speed: Level | None = None  # the same
    tools: bool = True  # True: it can call tools
    stand_in: bool = False  # True: no model, only quotes; Cortex prefers any model to it
    encoding: str = "o200k_base"  # the tokenizer that counts its tokens
    price: Price = Price()  # US dollars for a million tokens
    caching: Caching = Caching()  # how its endpoint caches the beginnings of prompts


def cost(usage: Usage, price: Price) -> float:
    """What a call took, in US dollars."""
    return (
        usage.input * price.input
        + usage.cached_read * price.cached_read
        + usage.cached_write * price.cached_write
        + usage.output * price.output
    ) / PER


def dollars(amount: float) -> str:
    """*amount* for people, to the hundredth of a cent; a smaller one keeps its first digits."""
    if not amount:
        return "$0"
    if amount >= 0.0001:
        return f"${amount:.4f}"
    if amount < WRITTEN_OUT:
        return f"${amount:.2g}"
    return f"${amount:.{1 - floor(log10(amount))}f}".rstrip("0")  # its first two digits


def counted(usage: Usage) -> str:
    """Tokens by class, without the classes of the cache where nothing went through it."""
    cached = [
        f"{tokens:,} {what} the cache"
        for tokens, what in (
            (usage.cached_read, "read from"),
            (usage.cached_write, "written to"),
        )
        if tokens
    ]
    return ", ".join((f"{usage.input:,} in", *cached, f"{usage.output:,} out"))


def plus(one: Usage, other: Usage) -> Usage:
    """The tokens of both, class by class."""
    return Usage(
        input=one.input + other.input,
        cached_read=one.cached_read + other.cached_read,
        cached_write=one.cached_write + other.cached_write,
        output=one.output + other.output,
    )
