"""What a consolidation writes, how it quotes what it cites, and when it writes it anew. Pure."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from cortex.bus.events import Form, Origin

from .nodes import LONGEST_QUOTE

FEWEST: Final = 3  # statements, or things that happened, of which something is written
TENTH: Final = 10  # of what was told before, that must have come since
CHARS_A_TOKEN: Final = 4  # about, where nothing counts them
FENCES: Final = ("```", "~~~")


class WrittenMemory(NamedTuple):
    """A memory that a consolidation writes."""

    form: Form
    scope: str
    subject: str  # id of whose personal data all that it cites is
    ids: tuple[str, ...]  # that it cites, oldest first
    content: str
    quote: str
    confidence: float  # of the least certain that it cites
    times: int  # how often what it says was seen; at least what it cites
    replaces: tuple[str, ...] = ()  # older ones about the same
    entities: tuple[str, ...] = ()
    since_ns: int = 0  # 0: since it is recorded
    origin: Origin = "rule"
    source: str = ""  # "" for the consolidation


class Estimated:
    """A counter of tokens without a model's encoding."""

    def count(self, text: str) -> int:
        """Tokens of *text*, about."""
        return len(text) // CHARS_A_TOKEN + 1

    def lengths(self, text: str) -> Sequence[int]:
        """As many UTF-8 bytes for each token as there are on average."""
        tokens, whole = self.count(text), len(text.encode())
        each, more = divmod(whole, tokens)
        return [each + (at < more) for at in range(tokens)]


def has_grown(times: int, told: int) -> bool:
    """Whether what was seen *times* is to be told anew, if it was told when it was *told* times.

    What is seen every day would be written every day, else.
    """
    return times - told >= max(FEWEST, told // TENTH)


def quoted(texts: Sequence[str]) -> str:
    """*texts*, each once; their sentences that together say most where there is no room for all."""
    each = list(dict.fromkeys(text.strip() for text in texts))
    whole = "\n".join(each)
    if len(whole) < LONGEST_QUOTE:
        return whole
    return summarised(each, LONGEST_QUOTE // CHARS_A_TOKEN)


def summarised(texts: Sequence[str], tokens: int) -> str:
    """Sentences of *texts*, unchanged and in order, that say most of them in at most *tokens*.

    Texts that begin with a fence of code are left out: a fence that nothing ends holds all others.
    """
    plain = (" ".join(text.split()) for text in texts)
    paragraphs = "\n\n".join(text for text in plain if not text.startswith(FENCES))
    # Needs numpy, which most commands do without.
    from cortex.runtime.ctx import sentences_that_cover

    found = sentences_that_cover(paragraphs, tokens=tokens, counter=Estimated())
    return "\n".join(line for line in found.split("\n") if line)
