"""What the extractive provider gives back: spans of its context, and the text made of them."""

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

import msgspec

from cortex.bus import CortexError
from cortex.runtime.models import ModelDescription

Count: TypeAlias = Callable[[str], int]
Role: TypeAlias = Literal[
    "failed", "error", "evidence", "file", "cause", "related", "answer", "found"
]

MODEL: Final = ModelDescription(
    name="extractive",
    provider="extractive",
    model="extractive",
    window=200_000,
    local=True,
    speed="high",
    stand_in=True,
)


class Quote(msgspec.Struct, frozen=True, kw_only=True):
    """Words of one item, exactly as they stand in the context."""

    item_id: str
    first_line: int
    last_line: int
    text: str
    role: Role
    score: float


class Extract(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that holds nothing but spans, citations and fixed labels."""

    text: str
    spans: tuple[Quote, ...]  # in the order of the text; empty if the context holds no answer
    answered: bool
    left_out: int  # spans that were found and did not fit max_tokens


class AnswerTooSmallError(CortexError):
    """There is no room even to say that an answer is extractive."""

    def __init__(self, max_tokens: int, needed: int) -> None:
        super().__init__(max_tokens, needed)
        self.max_tokens, self.needed = max_tokens, needed

    def __str__(self) -> str:
        return (
            f"an extractive answer needs at least {self.needed} tokens, {self.max_tokens} are "
            "allowed: raise the headroom of the context"
        )
