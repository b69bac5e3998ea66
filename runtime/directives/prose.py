"""Whether what a directive names reads like a sentence, not like the name of a thing."""

import re
from typing import Final

_WORDS_OF_A_NAME: Final = 12  # a longer operand is a sentence
_ADDRESSED: Final = re.compile(
    r"\b(?:you|your|yours|yourself|when|whenever|whether|if|unless|because|while|until|that)\b"
    r"|[\n\r]|[?][ \t]*\Z",
    re.IGNORECASE,
)


def reads_like_prose(operand: str) -> bool:
    """Whether a profile that can ask should ask before it stores *operand*.

    It should if the operand speaks to the model ("your best judgment"), has a clause ("when
    answering"), goes over lines, ends as a question, or has more than 12 words.
    """
    return operand.count(" ") >= _WORDS_OF_A_NAME or bool(_ADDRESSED.search(operand))
