"""Finds repeated phrases of a text by its tokens, which are the unit of cost.

Each token gets a hash, each run of n tokens the hash of its tokens, out of two sums; equal hashes
count as equal runs, and callers search the text for the phrase. A long run is searched only where
a shorter run within it occurs twice.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

LINE_TOKENS: Final = 3  # of an entry of the legend beside its phrase
_RUNS: Final = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)  # tokens
_KEPT: Final = 600  # phrases of each length
_LOOKED_AT: Final = 16  # places of a run, when it is widened
_LEAST_ALNUM: Final = 4  # letters and digits of a phrase
_BASE: Final = 0x9E3779B97F4A7C15  # odd, hence with an inverse among 64 bits
_INVERSE: Final = pow(_BASE, -1, 1 << 64)
Numbers = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]


class Use(NamedTuple):
    """A repeated phrase of a text."""

    tokens: int  # of the phrase
    times: int  # that it occurs, cut into the same tokens
    places: list[int]  # characters at which some of these begin


def find(text: str, lengths: Sequence[int]) -> dict[str, Use]:
    """Phrases that occur in *text* at least twice.

    Args:
        text: Text to search.
        lengths: UTF-8 bytes of each of its tokens.
    """
    data = text.encode(errors="surrogatepass")
    bounds = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, len(lengths)), out=bounds[1:])
    starts = bounds[:-1]
    tokens = _Tokens(_token_hashes(data, starts))
    found: dict[str, Use] = {}
    for length, places, times in _repeated(tokens):
        left, right = tokens.around(places, length)
        sizes = left + length + right
        first = places - left[:, None]
        begun = _characters(text, data, starts[first]).tolist()
        edges = zip(starts[first[:, 0]], bounds[first[:, 0] + sizes], strict=True)
        uses = zip(sizes.tolist(), times.tolist(), begun, strict=True)
        for (start, end), (size, many, some) in zip(edges, uses, strict=True):
            phrase = data[start:end].decode(errors="ignore")
            if sum(map(str.isalnum, phrase)) >= _LEAST_ALNUM:
                found[phrase] = Use(size, many, some[:many])
    return found


def _characters(text: str, data: bytes, places: Numbers) -> Numbers:
    """Of each byte at *places*, the character that it is of."""
    if text.isascii():
        return places
    numbers: Any = np.cumsum(np.frombuffer(data, np.int8) >= -64, dtype=np.int32) - 1
    found: Numbers = numbers[places]
    return found


def _token_hashes(data: bytes, starts: Numbers) -> Hashes:
    """A number for each token, the same for the same bytes."""
    within = np.arange(len(data), dtype=np.int32)
    within -= np.repeat(starts.astype(np.int32), np.diff(starts, append=len(data)))
    weighed = _powers(_BASE, int(within.max()) + 1)[within]
    weighed *= np.add(np.frombuffer(data, np.uint8), 1, dtype=np.uint64)
    hashes: Hashes = np.add.reduceat(weighed, starts)
    hashes ^= hashes >> np.uint64(29)  # else runs would be sums of their bytes
    return hashes


def _powers(base: int, count: int) -> Hashes:
    powers: Hashes = np.full(count, base, np.uint64)
    powers[0] = 1
    return np.cumprod(powers, dtype=np.uint64)


class _Tokens:
    """The tokens of a text, of which any run has a hash at once."""

    def __init__(self, hashes: Hashes) -> None:
        self.size = len(hashes)
        self._sums = np.zeros(self.size + 1, np.uint64)
        np.cumsum(hashes * _powers(_BASE, self.size), out=self._sums[1:])
        self._back = _powers(_INVERSE, self.size)

    def runs(self, starts: Numbers, lengths: Any) -> Hashes:
        """The hashes of the runs that begin at *starts*."""
        hashes: Hashes = (self._sums[starts + lengths] - self._sums[starts]) * self._back[starts]
        return hashes

    def around(self, places: Numbers, length: int) -> tuple[Numbers, Numbers]:
        """How many tokens before and behind the runs of each row of *places* are the same too."""
        left = np.zeros(len(places), np.int64)
        right = left.copy()
        for step in (1 << bit for bit in reversed(range(length.bit_length()))):
            longer = left + step
            left += step * self._alike(places - longer[:, None], longer, length)
            longer = right + step
            right += step * self._alike(places, longer, length)
        return left, right

    def _alike(self, starts: Numbers, longer: Numbers, length: int) -> Numbers:
        """1 for each row of *starts* whose runs, *longer* than *length* by so much, are equal."""
        sizes = (longer + length)[:, None]
        inside = ((starts >= 0) & (starts + sizes <= self.size)).all(axis=1)
        inside &= longer <= length
        kept = np.flatnonzero(inside)
        hashes = self.runs(starts[kept], sizes[kept])
        alike = np.zeros(len(starts), np.int64)
        alike[kept] = (hashes == hashes[:, :1]).all(axis=1)
        return alike


def _repeated(tokens: _Tokens) -> Iterator[tuple[int, Numbers, Numbers]]:
    """For each length, the runs that would save most: a row of places of each, how many it has."""
    size = tokens.size
    again, shorter = np.ones(size, bool), 1  # where a run of the shorter length occurs twice
    for length in _RUNS:
        if length >= size:
            break
        within = again[: size - length + 1] & again[length - shorter : size - shorter + 1]
        places = np.flatnonzero(within)
        hashes = tokens.runs(places, length)
        order = np.argsort(hashes, kind="stable")
        places, hashes = places[order], hashes[order]
        edges = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1]))[: len(places)])
        times = np.diff(edges, append=len(places))
        times_at = np.zeros(size + 1, np.int64)
        times_at[places] = np.repeat(times, times)
        again, shorter = times_at[:size] > 1, length
        gains = (times - 1) * (length - 1) - LINE_TOKENS
        # If the run one token earlier is as frequent, this one is the rest of a longer phrase.
        gains[times_at[places[edges] - 1] == times] = 0
        best = np.argsort(-gains, kind="stable")[: min(_KEPT, int((gains > 0).sum()))]
        some = np.minimum(np.arange(_LOOKED_AT), times[best, None] - 1)
        yield length, places[edges[best, None] + some], times[best]
