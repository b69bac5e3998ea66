"""Did you mean: the known name that is nearest to one that is not known."""

from collections.abc import Iterable
from difflib import get_close_matches

MAX_CANDIDATES = (
    5_000  # difflib compares with each: beyond this the wait is worth less than the hint
)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the name of *known* that is closest to *name*, if one is close."""
    candidates = sorted(known)[:MAX_CANDIDATES]
    found = get_close_matches(name[:100], candidates, n=1, cutoff=0.6)
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
