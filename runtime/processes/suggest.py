"""Did you mean: the known name that is nearest to one that is not known."""

from collections.abc import Iterable
from difflib import get_close_matches

MAX_CANDIDATES = 1_000  # difflib compares with each: beyond this the wait costs more than it gives


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the name of *known* that is closest to *name*, if one is close."""
    name = name[:100]
    letters, room = set(name), 2 + len(name) // 2
    shared = len(letters) / 2
    # What shares too few letters cannot be close, and is dropped before difflib looks at it.
    candidates = [
        each
        for each in sorted(known)[:MAX_CANDIDATES]
        if abs(len(each) - len(name)) <= room and len(letters.intersection(each)) >= shared
    ]
    found = get_close_matches(name, candidates, n=1, cutoff=0.6)
    return found[0] if found else None


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a remedy: the nearest of *known*, else *otherwise*."""
    found = nearest(name, known)
    return f"did you mean `{found}`?" if found else otherwise


def listed(names: Iterable[str], limit: int = 12) -> str:
    """Return *names* in words, cut where there are many."""
    known = sorted(names)
    shown = ", ".join(f"`{name}`" for name in known[:limit])
    return f"{shown} and {len(known) - limit} more" if len(known) > limit else shown or "none"
