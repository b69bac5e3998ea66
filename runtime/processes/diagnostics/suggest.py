"""Finds the known name nearest to an unknown one ("did you mean")."""

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches

CLOSE = 0.6  # of 1, as difflib measures it
TYPO = 0.8  # what is less close may be the name of something else that is not there
MAX_CANDIDATES = 1_000  # difflib compares with each: beyond this the wait costs more than it gives


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the name of *known* that is closest to *name*, if one is close.

    Of names with dots what follows the parts that they share has to be close: `a.testing` is not
    meant by `a.reviewing`, however long `a` is.
    """
    name = name[:100]
    letters, room = set(name), 2 + len(name) // 2
    shared = len(letters) / 2
    # What shares too few letters cannot be close, and is dropped before difflib looks at it.
    candidates = [
        each
        for each in sorted(known)[:MAX_CANDIDATES]
        if abs(len(each) - len(name)) <= room and len(letters.intersection(each)) >= shared
    ]
    found = get_close_matches(name, candidates, n=1, cutoff=CLOSE)
    return found[0] if found and _is_close(name, found[0]) else None


def is_typo(name: str, meant: str) -> bool:
    """Whether *name* is so close to *meant* that it hardly is the name of anything else."""
    swapped = sorted(name) == sorted(meant)  # of a short name that is much of it
    return swapped or SequenceMatcher(None, name[:100], meant[:100]).ratio() >= TYPO


def _is_close(name: str, found: str) -> bool:
    own, other = name.split("."), found.split(".")
    while own and other and own[0] == other[0]:
        del own[0], other[0]
    if own == name.split("."):
        return True  # they share no part: difflib has compared all there is
    return SequenceMatcher(None, ".".join(own), ".".join(other)).ratio() >= CLOSE


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a remedy: the nearest of *known*, else *otherwise*."""
    found = nearest(name, known)
    return f"did you mean `{found}`?" if found else otherwise


def listed(names: Iterable[str], limit: int = 12) -> str:
    """Return *names* in words, cut where there are many."""
    known = sorted(names)
    shown = ", ".join(f"`{name}`" for name in known[:limit])
    return f"{shown} and {len(known) - limit} more" if len(known) > limit else shown or "none"
