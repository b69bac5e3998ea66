"""Numbers that keep how they were written: `1.10`, `1e3`, `0x1F`, `007`, `1_000`, `12:30`.

A JSON number is unchanged; a form that only YAML 1.1 or TOML has gets a mark before it.
"""

import math
import re
from typing import Final

JSON_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
DIGITS: Final = 4_000  # Python refuses to read longer whole numbers
_BITS = int(DIGITS * math.log2(10))
_OTHER = re.compile(
    r"[-+]?(?:0x[0-9A-Fa-f_]+|0o[0-7_]+|0b[01_]+|\.(?:inf|Inf|INF)|inf|nan|\.(?:nan|NaN|NAN)"
    r"|[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"
    r"|(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9][0-9_]*)?)"
)


class WrittenInt(int):
    """A whole number that keeps how it was written: -0."""

    written: str


class WrittenFloat(float):
    """A number that keeps how it was written: 1e5, 1.10."""

    written: str


def as_written(text: str) -> int | float:
    """The JSON number *text*, which remembers its spelling where Python would choose another.

    Raises:
        ValueError: it has more than `DIGITS` digits.
    """
    if not text.lstrip("-").isdigit():
        return _kept(text, float(text))
    if len(text) > DIGITS:
        raise ValueError(f"a whole number of {len(text):,} digits")
    return _kept(text, int(text))


def spelled(text: str, value: int | float) -> int | float:
    """*value*, spelled as *text* in its source; without the spelling if that means another value.

    Raises:
        ValueError: it has more than `DIGITS` digits.
    """
    if isinstance(value, int) and is_too_long(value):
        raise ValueError(f"a whole number of over {DIGITS:,} digits")
    try:
        own = as_written(text) if JSON_NUMBER.fullmatch(text) else other(text)
    except ValueError:
        return value
    return own if isinstance(own, int) == isinstance(value, int) and _equal(own, value) else value


def is_too_long(value: int) -> bool:
    """Whether *value* has more digits than Python writes."""
    return value.bit_length() > _BITS


def other(text: str) -> int | float:
    """The number that YAML 1.1 or TOML writes as *text*, and JSON does not.

    Raises:
        ValueError: it is not a number, or one of more than `DIGITS` digits.
    """
    if not _OTHER.fullmatch(text) or len(text) > DIGITS:
        raise ValueError(f"{text[:40]} is not a number")
    plain = text.replace("_", "").lower()
    sign, body = (-1 if plain[0] == "-" else 1), plain.lstrip("+-")
    if body[:2] in ("0x", "0o", "0b"):
        return _kept(text, sign * int(body, 0))
    if ":" in body:
        parts = [float(part) if "." in body else int(part) for part in reversed(body.split(":"))]
        return _kept(text, sign * sum(part * 60**at for at, part in enumerate(parts)))
    if body.isdigit():
        return _kept(text, sign * int(body, 8 if body[0] == "0" else 10))
    return _kept(text, sign * float(body.removeprefix(".") if body[1:2] in "in" else body))


def marked(value: int | float) -> str:
    """*value* as the notation writes it: `1.10`, `!0x1F`; `!!12:30:00`, as `!` alone is a time."""
    text = getattr(value, "written", None)
    if text is None:
        return _plain(value)
    if JSON_NUMBER.fullmatch(text):
        return str(text)
    return f"!!{text}" if ":" in text else f"!{text}"


def for_json(value: int | float) -> str:
    """*value* as JSON writes it, as it was written where JSON can."""
    text = getattr(value, "written", "")
    return text if JSON_NUMBER.fullmatch(text) else _plain(value)


def is_for_json(value: object) -> bool:
    """Whether JSON can write *value* as it was written."""
    text = getattr(value, "written", None)
    return text is None or JSON_NUMBER.fullmatch(text) is not None


def _plain(value: int | float) -> str:
    if isinstance(value, int):
        return int.__repr__(value)
    if math.isfinite(value):
        return float.__repr__(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _kept(text: str, value: int | float) -> int | float:
    if isinstance(value, int):
        if int.__repr__(value) == text:
            return value
        whole = WrittenInt(value)
        whole.written = text
        return whole
    if float.__repr__(value) == text:
        return value
    kept = WrittenFloat(value)
    kept.written = text
    return kept


def _equal(one: int | float, two: int | float) -> bool:
    return one == two or (math.isnan(one) and math.isnan(two))
