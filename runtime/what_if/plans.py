"""The plan of a what-if: what it would send and do, before anything is recorded."""

import msgspec


class PlannedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that is not on record, and would be sent."""

    step: str
    attempt: int
    turn: int
    within: str = ""  # of a child or an item: what it carries out
    prompt: str  # digest
    then: str = ""  # digest of the prompt at its place on record; "" if there was none
    model: str
    model_then: str = ""
    tokens: int
    most: float | None = None  # US dollars that it may cost at most; None: no price is known
    text: str = ""  # as it would be sent, if it was asked for


class PlannedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that is not on record: the plan does not know what comes of it, and ends there."""

    kind: str  # "action", "tool", "gate", "search" or "prompt"
    name: str
    step: str
    within: str = ""
    acts: bool = False  # whether a person has to agree, because it has an effect
    given: str = ""  # the parameters of one that acts, as JSON; a long text is cut


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a what-if comes to, if each answer to a new prompt were the recorded one."""

    execution: str
    process: str  # "triage 2"
    from_step: str = ""
    position: int = 0
    changed: tuple[str, ...] = ()
    prompts: tuple[PlannedPrompt, ...] = ()  # that would be sent
    calls: tuple[PlannedCall, ...] = ()  # at which it ends, because nobody knows their results
    answered: dict[str, int] = {}  # by kind, what the record answers
    ended: str = ""  # the status that it comes to; "running" if the plan ends before
    ended_then: str = ""
    through: int = 0  # position up to which the record counts

    @property
    def most(self) -> float | None:
        """US dollars that its prompts may cost at most; None if the price of one is not known."""
        prices = [each.most for each in self.prompts]
        known = [price for price in prices if price is not None]
        return sum(known) if len(known) == len(prices) else None
