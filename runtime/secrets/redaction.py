"""Takes tokens, keys and other secrets out of the lines that Cortex itself logs or shows.

Two things are hidden: what may be a secret by its shape, and what a caller says is one. A line of
ours may lose more than it must; what is recorded is masked by `mask`.
"""

import re
import traceback
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

from .mask import Mask
from .shapes import likely, mask_of

HIDDEN = mask_of(12).decode()  # the mask at its shortest; a line of ours need not be as long
SHORTEST = 6  # characters; a shorter one would be in other words
DEEPEST = 8  # levels of lists and maps that are looked into

_SHAPES = likely()
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
        self._masks: weakref.WeakSet[Mask] = weakref.WeakSet()  # those of runtimes that are gone go

    def follow(self, mask: Mask) -> None:
        """Hide what *mask* does, too, from now on."""
        self._masks.add(mask)

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
        for mask in tuple(self._masks):
            text = mask.known_in(text, HIDDEN)
        for pattern in _SHAPES:
            text = pattern.sub(_hidden, text)
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


def _hidden(match: re.Match[str]) -> str:
    if "secret" not in match.re.groupindex:
        return HIDDEN
    start, end = match.start("secret") - match.start(), match.end("secret") - match.start()
    return f"{match[0][:start]}{HIDDEN}{match[0][end:]}"


_SHAPES_ALONE = Redactor()


def redacted(text: str) -> str:
    """*text* without what has the shape of a secret."""
    return _SHAPES_ALONE.text(text)
