"""What a model says of itself; what a step needs of one is matched against it."""

from typing import Literal, TypeAlias

import msgspec

Level: TypeAlias = Literal["low", "medium", "high"]


class ModelDescription(msgspec.Struct, frozen=True, kw_only=True):
    """One model as its provider announces it."""

    name: str
    window: int  # tokens of prompt and answer together
    local: bool  # nothing leaves this host
    reasoning: Level | None = None  # None: none to speak of
    code: Level | None = None
    speed: Level | None = None
    encoding: str = "o200k_base"  # how its tokens are counted
    price_in: float = 0.0  # US dollars for a million tokens of prompt
    price_out: float = 0.0  # US dollars for a million tokens of answer
