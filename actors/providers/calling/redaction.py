"""The key of an endpoint, taken out of what the endpoint says before anybody records it."""

from typing import Any

HIDDEN = "[key]"
SHORTEST_KEY = 4  # characters; a shorter one would stand in every other word


class Redaction:
    """Replaces one key; nothing where there is none."""

    def __init__(self, key: str = "") -> None:
        self._key = key if len(key) >= SHORTEST_KEY else ""
        self._held = ""  # what may be the beginning of the key

    def text(self, text: str) -> str:
        """*text* without the key."""
        return text.replace(self._key, HIDDEN) if self._key else text

    def value(self, value: Any) -> Any:
        """A JSON value without the key in any of its texts."""
        if not self._key:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(name): self.value(inner) for name, inner in value.items()}
        return [self.value(inner) for inner in value] if isinstance(value, list) else value

    def next(self, text: str, *, last: bool) -> str:
        """The next piece of a text; all of them together are `text` of the whole.

        A beginning of the key at its end is held back, until it is known how it goes on.
        """
        if not self._key:
            return text
        *parts, tail = (self._held + text).split(self._key)
        held = 0 if last else self._begun(tail)
        self._held = tail[len(tail) - held :]
        return HIDDEN.join((*parts, tail[: len(tail) - held]))

    def _begun(self, tail: str) -> int:
        sizes = range(min(len(tail), len(self._key) - 1), 0, -1)
        return next((size for size in sizes if self._key.startswith(tail[-size:])), 0)
