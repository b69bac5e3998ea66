"""What can go wrong between a request for context and a prompt.

CortexError
├── EncodingUnknownError   no packed ranks of that name
├── ContextRefusedError    required material does not fit
├── EditUnfitError         an edit of a prompt cannot be applied
├── ItemRepeatedError      two items have the same id
└── ItemLinesError         line numbers that do not match the lines
"""

from cortex.bus import CortexError


class EncodingUnknownError(CortexError):
    """No packed token ranks of that name."""

    def __init__(self, encoding: str, known: tuple[str, ...]) -> None:
        super().__init__(encoding, known)
        self.encoding, self.known = encoding, known

    def __str__(self) -> str:
        return f"Cortex has no token encoding {self.encoding}: use {', '.join(self.known)}"


class ContextRefusedError(CortexError):
    """Required material does not fit; nothing was cut or rendered."""

    def __init__(self, what: str, tokens: int, limit: int, limited_by: str, remedy: str) -> None:
        super().__init__(what, tokens, limit, limited_by, remedy)
        self.what = what  # the section or item that is too big
        self.tokens = tokens  # tokens that it needs
        self.limit = limit  # tokens available for it
        self.limited_by = limited_by  # "budgets.knowledge", "effective_window"
        self.remedy = remedy

    @property
    def over(self) -> int:
        """How many tokens it is too big."""
        return self.tokens - self.limit

    def __str__(self) -> str:
        return (
            f"{self.what} takes {self.tokens:,} tokens, {self.over:,} over the {self.limit:,} "
            f"that {self.limited_by} leaves: {self.remedy}"
        )


class EditUnfitError(CortexError):
    """A person's edit of a prompt cannot be applied."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(where, problem)
        self.where = where  # "step", or the id of an item
        self.problem = problem

    def __str__(self) -> str:
        return f"the edit of {self.where} does not fit: {self.problem}"


class ItemRepeatedError(CortexError):
    """Two items of one request have the same id."""

    def __init__(self, item_id: str) -> None:
        super().__init__(item_id)
        self.item_id = item_id

    def __str__(self) -> str:
        return f"two items have the id {self.item_id}: rename one, ids must differ"


class ItemLinesError(CortexError):
    """An item must have one ascending line number for each of its lines."""

    def __init__(self, item_id: str, lines: int, numbers: int) -> None:
        super().__init__(item_id, lines, numbers)
        self.item_id, self.lines, self.numbers = item_id, lines, numbers

    def __str__(self) -> str:
        return (
            f"item {self.item_id} has {self.lines} lines and {self.numbers} line numbers: "
            "give one number for each line, ascending, or no numbers"
        )
