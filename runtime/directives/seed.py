"""The seed profile: everyday wording, one device in focus, a list of what is prohibited.

don't X, do not X, never X, please don't X         X is prohibited (a list: "a, b and c")
allow X, you can X, X is fine                      X is not prohibited any more
use X, set X, I'm using X, I am using X            the device is X; "please" may precede
actually X, I meant X, correction: X, no, X        the device is X, where there was one
no use X, don use X                                asks whether X is prohibited
reset policies, clear constraints                  nothing is prohibited
clear state                                        and there is no device
"""

import re
from typing import Final
from unicodedata import normalize

from .change import (
    DEVICE,
    Answered,
    Asked,
    Change,
    FactSet,
    Pending,
    PoliciesReset,
    PolicyRemoved,
    PolicySet,
    StateCleared,
)
from .decision import EMPTY_OPERAND, PASSTHROUGH, Clarify, Decision, Passthrough
from .identity import listed, plain, scalars
from .prose import reads_like_prose
from .rules import updated
from .state import State, apply

_RESETS: Final = frozenset({"reset policies", "clear constraints"})
_CLEAR: Final = "clear state"
_NEGATIVES: Final = ("please don't ", "don't ", "do not ", "never ")
_POSITIVES: Final = ("use ", "set ", "i am using ", "i'm using ")
_PLEASE: Final = "please "
_LONGEST: Final = 1000  # characters; who says more says something else as well

# A wide and cheap test: what it passes over lays nothing down.
_MAY_BEGIN: Final = re.compile(
    r"\s*+(?:actually|i\s*meant|correction:|no,|no\s+use|don\s+use|dont\s|don['\u2019`]t\s|do\s+not\s"
    r"|never\s|please\s+(?:don|use|set|i)|allow\s|you\s+can\s|use\s|set\s|i\s+am\s+using\s|i['\u2019`]m\s+using\s"
    r"|reset\s|clear\s)",
    re.IGNORECASE,
)
_FINE: Final = ["is", "fine"]
_CORRECTION: Final = re.compile(r"(?:actually|i meant|correction:|no,)\s*(.*)", re.IGNORECASE)
_ALLOW: Final = re.compile(r"(?:allow|you\s+can)\s+(\S.*)", re.IGNORECASE)
_POSITIVE: Final = re.compile(
    r"(?:use|set|i\s+am\s+using|i['\u2019]m\s+using)\s+(\S.*)", re.IGNORECASE
)
_PLEASE_RAW: Final = re.compile(r"please\s+", re.IGNORECASE)
_UNCLEAR: Final = re.compile(r"(?:don|no)\s+use\s+(\S.*)", re.IGNORECASE)
_LINKS: Final = ("and", "or")


def step(state: State, text: str) -> tuple[State, Decision]:
    """The state after *text*, and what was decided."""
    if state.pending is not None:
        return _answered(state, state.pending, text)
    said = scalars(text).strip()
    if len(said) > _LONGEST or not _may_direct(said):
        return state, PASSTHROUGH
    message = _message(said)
    if message in _RESETS:
        return updated(state, (PoliciesReset(),))
    if message == _CLEAR:
        return updated(state, (StateCleared(),))
    return _directed(state, said, message)


def _may_direct(text: str) -> bool:
    if _MAY_BEGIN.match(text) or text.rstrip()[-4:].lower() == "fine":
        return True
    return not text.isascii() and bool(_MAY_BEGIN.match(normalize("NFKC", text)))


def _message(text: str) -> str:
    lower = (
        " ".join(normalize("NFKC", text).lower().split()).replace("\u2019", "'").replace("`", "'")
    )
    return re.sub(r"\bdont\b", "don't", lower) if "dont" in lower else lower


def _directed(state: State, text: str, message: str) -> tuple[State, Decision]:
    correction = _operand(_CORRECTION, text)
    if correction is not None:
        return _corrected(state, correction)
    for start in _NEGATIVES:
        if message.startswith(start):
            return _prohibited(state, _items(message[len(start) :].removeprefix("use ")))
    allowed = _operand(_ALLOW, text) or _fine(text)
    if allowed is not None:
        return _allowed(state, _items(allowed))
    positive = _positive(text, message)
    if positive is not None:
        return _focused(state, positive)
    unclear = _operand(_UNCLEAR, text)
    if unclear is not None:
        return _unclear(state, _items(unclear))
    return state, PASSTHROUGH


def _operand(pattern: re.Pattern[str], text: str) -> str | None:
    """What *pattern* finds, without blanks at its end; None where text goes on on another line."""
    found = pattern.match(text)
    if found is None or text[found.end() :].strip():
        return None
    return found[1].rstrip()


def _fine(text: str) -> str | None:
    parts = text.rsplit(None, 2)
    is_fine = len(parts) == 3 and [part.lower() for part in parts[1:]] == _FINE
    return parts[0] if is_fine and "\n" not in parts[0] else None


def _items(text: str) -> tuple[str, ...]:
    # In plain form first: a wide comma separates items here as it does in a prohibition.
    parts = re.split(r",|\s+and\s+", plain(text), flags=re.IGNORECASE)
    return tuple(filter(None, map(listed, parts)))


def _positive(text: str, message: str) -> str | None:
    polite = message.startswith(_PLEASE)
    if not message.removeprefix(_PLEASE).startswith(_POSITIVES):
        return None
    return _operand(_POSITIVE, _PLEASE_RAW.sub("", text, count=1) if polite else text)


def _is_one_value(text: str) -> bool:
    if (
        len([part for part in re.split(r",|\s+and\s+", text, flags=re.IGNORECASE) if part.strip()])
        > 1
    ):
        return False
    return text.lower().split(" ", 1)[0] not in _LINKS


def _corrected(state: State, value: str) -> tuple[State, Decision]:
    if state.device is None:
        return state, _clarify("There is no device yet to correct. Which device do you use?")
    if not value:
        return state, _clarify("Which device do you use?")
    return _focused(state, value)


def _focused(state: State, text: str) -> tuple[State, Decision]:
    value = plain(text)
    if not _is_one_value(value):
        return state, _clarify("Only one device can be in use. Which one is it?")
    if reads_like_prose(text):
        prompt = f'Do you want to lay down that the device in use is "{value}"?'
        return _ask(state, Pending(kind="fact_set", items=(value,), prompt=prompt))
    return updated(state, (FactSet(name=DEVICE, value=value),))


def _prohibited(state: State, items: tuple[str, ...]) -> tuple[State, Decision]:
    if not items:
        return state, _clarify("What is prohibited?")
    if any(map(reads_like_prose, items)):
        return _ask(state, _prohibition(items))
    return updated(state, tuple(PolicySet(item=each, rule="prohibit") for each in items))


def _allowed(state: State, items: tuple[str, ...]) -> tuple[State, Decision]:
    if not items:
        return state, _clarify("What is allowed?")
    return updated(state, tuple(PolicyRemoved(item=each) for each in items))


def _unclear(state: State, items: tuple[str, ...]) -> tuple[State, Decision]:
    if not items:
        return state, PASSTHROUGH
    if len(items) > 1:
        return state, _clarify("That can mean more than one thing. Name one item.")
    return _ask(state, _prohibition(items))


def _prohibition(items: tuple[str, ...]) -> Pending:
    named = ", ".join(f'"{each}"' for each in items)
    return Pending(kind="policy_add", items=items, prompt=f"Do you want to prohibit {named}?")


def _clarify(prompt: str) -> Clarify:
    return Clarify(failure=EMPTY_OPERAND, prompt_to_user=prompt)


def _ask(state: State, question: Pending) -> tuple[State, Decision]:
    asked = Asked(pending=question)
    return apply(state, asked), Clarify(
        changes=(asked,), pending=question, prompt_to_user=question.prompt
    )


def _answered(state: State, pending: Pending, text: str) -> tuple[State, Decision]:
    answer = text.strip()
    said = _message(answer) if len(answer) <= _LONGEST else ""
    if said == "yes":
        return updated(state, (Answered(yes=True), *_meant(pending)))
    if said == "no":
        answered = Answered(yes=False)
        return apply(state, answered), Passthrough(changes=(answered,))
    prompt = f"{pending.prompt} Answer yes or no."
    return state, Clarify(pending=pending, prompt_to_user=prompt)


def _meant(pending: Pending) -> tuple[Change, ...]:
    if pending.kind == "fact_set":
        return (FactSet(name=DEVICE, value=plain(pending.items[0])),)
    return tuple(PolicySet(item=listed(each), rule="prohibit") for each in pending.items)
