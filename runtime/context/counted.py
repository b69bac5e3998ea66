"""Counts of texts that are counted again and again: once each, and as parts of one text."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import Final, TypeAlias

from .tokens import BLOCK_CHARS, Counter, TokenCounter, stretches

KEPT: Final = 1 << 16  # texts: about 8 MB of digests
Pieces: TypeAlias = tuple[str, str, str]  # a text with what is before it and behind it


class CountedOnce:
    """A counter that caches token counts by the text's digest; thread-safe."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self.encoding = counter.encoding
        self.exact = counter.exact
        # Of other counters nobody knows where their counts add up.
        self.adds_up = isinstance(counter, TokenCounter)
        self._known: dict[bytes, int] = {}

    def count(self, text: str) -> int:
        """Tokens of *text*."""
        digest = blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
        known = self._known.get(digest)
        if known is None:
            known = self._counter.count(text)
            if len(self._known) >= KEPT:
                self._known = {}  # in one step, so that no other thread sees half of it
            self._known[digest] = known
        return known

    def lengths(self, text: str) -> Sequence[int]:
        """UTF-8 bytes of each token of *text*, in order."""
        return self._counter.lengths(text)


def shares(parts: Sequence[Pieces], counter: Counter) -> list[int]:
    """Tokens of each of *parts* where they are one text; a token belongs to that of its first byte.

    Parts between which no token can be are counted one by one, so that the known ones are not
    counted again.
    """
    if not isinstance(counter, CountedOnce) or not counter.adds_up:
        return _of_one_text([*map("".join, parts)], counter)
    if not _is_plain(parts):
        return _of_one_text([*map("".join, parts)], counter)
    found: list[int] = []
    for run in _runs(parts):
        if len(run) == 1:
            found.append(_of_one(run[0], counter))
        else:
            found += _of_one_text([*map("".join, run)], counter)
    return found


def ends_token(before: str, after: str) -> bool:
    """Whether a token surely ends between *before* and *after*.

    In both encodings a line break ends one, unless white space or a slash follows.
    """
    return before[-1:] == "\n" and after[:1] not in ("", "/") and not after[0].isspace()


def _is_plain(parts: Sequence[Pieces]) -> bool:
    """Whether no run of characters of one sort is so long that it is counted in stretches."""
    size = sum(len(piece) for pieces in parts for piece in pieces)
    if size < BLOCK_CHARS:
        return True
    long = [text for _, text, _ in parts if len(text) >= BLOCK_CHARS]
    whole = "".join(piece for pieces in parts for piece in pieces)
    return all(len(stretches(text)) == 1 for text in (whole, *long))


def _runs(parts: Sequence[Pieces]) -> Iterator[list[Pieces]]:
    """*parts* in runs, between which a token ends."""
    run: list[Pieces] = []
    before = ""
    for pieces in parts:
        text = next(filter(None, pieces), "")
        if run and ends_token(before, text):
            yield run
            run = []
        run.append(pieces)
        before = next(filter(None, reversed(pieces)), before)
    if run:
        yield run


def _of_one(pieces: Pieces, counter: Counter) -> int:
    opening, text, closing = pieces
    if ends_token(opening, text) and ends_token(text, closing):
        return counter.count(opening + closing) + counter.count(text)  # as each was counted before
    return counter.count("".join(pieces))


def _of_one_text(texts: Sequence[str], counter: Counter) -> list[int]:
    begins = list(accumulate(counter.lengths("".join(texts)), initial=0))[:-1]  # of each token
    ends = accumulate(len(text.encode()) for text in texts)
    through = [0, *(bisect_left(begins, end) for end in ends)]
    return [last - first for first, last in pairwise(through)]
