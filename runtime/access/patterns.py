"""Patterns as a grant may state them: of topics, which a `Filter` matches, and of gates."""

import re
from collections.abc import Iterable

from cortex.bus import Pair, is_too_long

from .errors import GrantInvalidError

LONGEST = 200  # characters of a pattern, without its key

_PART = r"[A-Za-z_][A-Za-z0-9_-]*"
_PATTERN = re.compile(rf"\*|{_PART}(?:\.{_PART})*(?:\.\*)?")
_NAMED = r"(?:\*|[\w][\w.-]*)"
_GATE = re.compile(rf"\*|{_NAMED}/{_NAMED}")


class GatePatterns:
    """A compiled set of ``process/gate``, either of them ``*`` for all; or ``*`` alone."""

    __slots__ = ("_pairs",)

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._pairs = frozenset(("*", "*") if p == "*" else _halves(p) for p in patterns)

    def matches(self, gate: str) -> bool:
        """Whether *gate*, "process/gate", is one of these."""
        process, name = _halves(gate)
        exact = ((process, name), (process, "*"), ("*", name), ("*", "*"))
        return any(pair in self._pairs for pair in exact)


def checked_gates(what: str, patterns: Iterable[str]) -> tuple[str, ...]:
    """As `checked_patterns`, for patterns of gates."""
    for pattern in patterns:
        if len(pattern) > LONGEST or not _GATE.fullmatch(pattern):
            raise GrantInvalidError(
                what,
                pattern[:LONGEST],
                "give a process and its gate such as deploy/approved, 'deploy/*', '*/approved', "
                "or '*'",
            )
    return tuple(sorted(set(patterns)))


def checked_patterns(what: str, patterns: Iterable[str]) -> tuple[str, ...]:
    """*patterns* without repeats, sorted.

    Raises:
        GrantInvalidError: One of them is not a pattern; *what* names its field.
    """
    for pattern in patterns:
        topic, key = pair_of(pattern)
        if len(topic) > LONGEST or not _PATTERN.fullmatch(topic):
            raise GrantInvalidError(
                what,
                pattern[:LONGEST],
                "give a topic such as step.completed, a family such as 'step.*', or '*'",
            )
        if key is not None:
            _check_key(what, topic, key)
    return tuple(sorted(set(patterns)))


def pair_of(pattern: str) -> Pair:
    """The topic and the key of "topic=key"; the key is None where there is no sign of one."""
    topic, keyed, key = pattern.partition("=")
    return topic, key if keyed else None


def _check_key(what: str, topic: str, key: str) -> None:
    pattern = f"{topic}={key}"[:LONGEST]
    if topic == "*":  # what a key says depends on the family
        raise GrantInvalidError(what, pattern, "a key needs a topic or a family before it")
    if not key or not key.isprintable() or key != key.strip() or is_too_long(key):
        raise GrantInvalidError(
            what,
            pattern,
            "give a key after the '=', printable and of 256 bytes at most, such as "
            "memory.record=project:shop",
        )


def _halves(gate: str) -> tuple[str, str]:
    process, _, name = gate.partition("/")
    return process, name
