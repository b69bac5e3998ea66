"""Takes tokens, keys and other secrets out of what is logged, recorded or shown.

Two things are hidden: what has the shape of a secret, wherever it stands, and what a caller says is
one. Every pattern is linear: it starts where its literal stands, takes what follows in one run, and
never goes back (possessive quantifiers, or a bound).
"""

import re
import traceback
from collections.abc import Iterable, Mapping
from typing import Any

HIDDEN = "[hidden]"
SHORTEST = 6  # characters; a shorter one would stand in other words
DEEPEST = 8  # levels of lists and maps that are looked into

# First what is told by its own shape: it is hidden whole, whatever stands around it.
_SHAPES = re.compile(
    r"""
    cortex_[A-Za-z0-9_-]{16,}+                                   # our own
    | -----BEGIN[ ][A-Z ]{0,40}PRIVATE[ ]KEY-----
      (?:[^-]|-(?!----END))*+ (?:-----END[A-Z ]{0,60}-----)?
    | (?<![A-Za-z0-9])(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}+        # model and payment endpoints
    | gh[pousr]_[A-Za-z0-9]{20,}+ | github_pat_[A-Za-z0-9_]{20,}+ | glpat-[A-Za-z0-9_-]{16,}+
    | xox[abeprs]-[A-Za-z0-9-]{10,}+ | AIza[A-Za-z0-9_-]{30,}+
    | (?:AKIA|ASIA)[0-9A-Z]{16}
    | (?<![\w-])eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?  # a signed claim
    """,
    re.VERBOSE,
)
# Then what is told by the words before it, which stay.
_NAMED = re.compile(
    r"""
    (   (?:api[_-]?key|access[_-]?key|private[_-]?key|secret|password|passwd|token|authorization)
        ["']?\s{0,4}[:=]\s{0,4}(?:(?:bearer|basic|token)\s{1,4})?  )
    (?: "[^"\n]++"? | '[^'\n]++'? | [^\s"',;&]{6,}+ )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BEARER = re.compile(r"(bearer\s{1,4})[A-Za-z0-9._~+/=-]{16,}+", re.IGNORECASE)
_IN_URL = re.compile(r"(://[^/\s:@]{0,256}:)[^/\s@]{1,256}(?=@)")
_FIELD = re.compile(
    r"(?:.*[_-])?(?:api_?key|access_?key|private_?key|secret|password|passwd|token|authorization"
    r"|credential|cookie)s?",
    re.IGNORECASE,
)


class Redactor:
    """Hides what has the shape of a secret, and every one of *known*.

    It is a processor for structlog, too: put it before whatever renders.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        long_enough = sorted({k for k in known if len(k) >= SHORTEST}, key=len, reverse=True)
        # The longest first: one that begins with another is hidden whole.
        self._known = re.compile("|".join(map(re.escape, long_enough))) if long_enough else None

    def __call__(self, logger: Any, method: str, fields: Any) -> Any:  # noqa: ARG002  # structlog's
        """The fields of a log line without secrets; an exception becomes its text."""
        said = dict(fields)
        raised = said.pop("exc_info", None)
        if raised:
            error = raised[1] if isinstance(raised, tuple) else raised
            lines = (
                traceback.format_exception(error)
                if isinstance(error, BaseException)
                else [traceback.format_exc()]
            )
            said["exception"] = "".join(lines).rstrip()
        return self.value(said)

    def text(self, text: str) -> str:
        """*text* without secrets."""
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        text = _SHAPES.sub(HIDDEN, text)
        for pattern in (_NAMED, _BEARER, _IN_URL):
            text = pattern.sub(rf"\1{HIDDEN}", text)
        return text

    def value(self, value: Any, depth: int = 0) -> Any:
        """*value* without secrets in any of its texts; what is no plain value becomes a text."""
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            return self.text(value.decode(errors="backslashreplace"))
        if depth >= DEEPEST:
            return "…"
        if isinstance(value, Mapping):
            return {self._name(k): self._field(k, v, depth + 1) for k, v in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.value(each, depth + 1) for each in value]
        return self.text(str(value) if isinstance(value, BaseException) else repr(value))

    def _name(self, name: Any) -> Any:
        return self.text(name) if isinstance(name, str) else name

    def _field(self, name: Any, value: Any, depth: int) -> Any:
        secret = isinstance(name, str) and _FIELD.fullmatch(name)
        return HIDDEN if secret and isinstance(value, str | bytes) else self.value(value, depth)


_SHAPES_ALONE = Redactor()


def redacted(text: str) -> str:
    """*text* without what has the shape of a secret."""
    return _SHAPES_ALONE.text(text)
