"""Token counts without a network: exact with shipped rank files, otherwise an upper bound."""

import re
import struct
import threading
from collections.abc import Sequence
from importlib import resources
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Protocol

import zstandard

from .errors import EncodingUnknownError

if TYPE_CHECKING:
    import tiktoken

# Both patterns are tiktoken's (tiktoken_ext/openai_public.py); counts must equal its counts.
_O200K_PATTERN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CL100K_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_PACKED: Final = {  # name -> (pattern, tokens in the packed file)
    "cl100k_base": (_CL100K_PATTERN, 100_256),
    "o200k_base": (_O200K_PATTERN, 199_998),
}
ENCODINGS: Final = tuple(_PACKED)
# A run of letters, of marks or of whitespace is one piece for tiktoken: a long one costs more than
# its length, and on a million blanks its regex engine panics with a BaseException. Longer runs are
# counted in stretches: a block of this many characters that is all of one sort ends one.
BLOCK_CHARS: Final = 8_192
_MARKS = re.compile(r"(?:[^\w\s]|_)*+")
_lock = threading.Lock()
_loaded: dict[str, "tuple[tiktoken.Encoding, bytes]"] = {}  # one copy of the ranks a process


class Counter(Protocol):
    """Counts tokens; `count(text)` is `len(lengths(text))`."""

    @property
    def encoding(self) -> str:
        """Name that goes into the manifest."""
        ...

    @property
    def exact(self) -> bool:
        """Whether `count` is exact under that encoding; otherwise it is an upper bound."""
        ...

    def count(self, text: str) -> int:
        """Tokens of *text*; control tokens in it count as ordinary text."""
        ...

    def lengths(self, text: str) -> Sequence[int]:
        """UTF-8 bytes of each token of *text*, in order; they add up to the whole text."""
        ...


def counter_for(encoding: str) -> Counter:
    """Exact counts under *encoding* if its ranks are shipped, otherwise an upper bound."""
    return TokenCounter(encoding) if encoding in _PACKED else ByteCounter(encoding)


class ByteCounter:
    """An upper bound for an unknown tokenizer: one token for each byte of UTF-8.

    A tokenizer over bytes, or one that falls back to them, never needs more, since each of its
    tokens has at least one byte.
    """

    exact = False

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding

    def count(self, text: str) -> int:
        """Tokens of *text*, at most."""
        return len(_encodable(text).encode())

    def lengths(self, text: str) -> Sequence[int]:
        """1 for each byte of *text*."""
        return b"\1" * self.count(text)


class TokenCounter:
    """Exact counts under one of tiktoken's encodings; cheap to create, thread-safe.

    The ranks are loaded at the first count (about 0.25 s) and kept for the process.

    Raises:
        EncodingUnknownError: *encoding* is not one of `ENCODINGS`.
    """

    exact = True

    def __init__(self, encoding: str = "o200k_base") -> None:
        if encoding not in _PACKED:
            raise EncodingUnknownError(encoding, ENCODINGS)
        self.encoding = encoding

    def count(self, text: str) -> int:
        """Tokens of *text* as `tiktoken`'s `encode_ordinary` counts them."""
        encoder, _ = _load(self.encoding)
        return sum(len(encoder.encode_ordinary(part)) for part in stretches(text))

    def lengths(self, text: str) -> Sequence[int]:
        """UTF-8 bytes of each token of *text*, in order."""
        encoder, lengths = _load(self.encoding)
        return [lengths[rank] for part in stretches(text) for rank in encoder.encode_ordinary(part)]

    def truncate(self, text: str, tokens: int) -> str:
        """The first *tokens* tokens of *text*, without a split code point at their end.

        The answer is a prefix of *text* and counts at most *tokens* on its own (the end of a prefix
        is sometimes encoded differently than in the whole; such an end is dropped, token by token).
        """
        lengths = self.lengths(text)
        if len(lengths) <= tokens:
            return text
        data = _encodable(text).encode()
        for kept in range(max(tokens, 0), 0, -1):
            prefix = data[: sum(lengths[:kept])].decode(errors="ignore")
            if self.count(prefix) <= tokens:
                return prefix
        return ""


def stretches(text: str) -> list[str]:
    """*text* in the parts that are counted one by one; nearly always one."""
    cuts = [0]
    for end in range(BLOCK_CHARS, len(text), BLOCK_CHARS):
        block = text[end - BLOCK_CHARS : end]
        if block.isspace() or block.isalpha() or _MARKS.fullmatch(block):
            cuts.append(end)
    return [text[start:end] for start, end in pairwise([*cuts, len(text)])]


def _encodable(text: str) -> str:
    # tiktoken does the same with surrogates before it counts.
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _load(name: str) -> "tuple[tiktoken.Encoding, bytes]":
    if name not in _loaded:
        with _lock:
            if name not in _loaded:
                _loaded[name] = _unpack(name)
    return _loaded[name]


def _unpack(name: str) -> "tuple[tiktoken.Encoding, bytes]":
    pattern, count = _PACKED[name]
    packed = resources.files(__package__).joinpath("ranks", f"{name}.zst").read_bytes()
    body = zstandard.ZstdDecompressor().decompress(packed)
    lengths = body[:count]
    # One C call instead of 200,000 slices: 48 ms instead of 85.
    widths = [f"{length}s" for length in range(256)]
    tokens = struct.Struct("".join(map(widths.__getitem__, lengths))).unpack(body[count:])
    ranks = dict(zip(tokens, range(count), strict=True))
    import tiktoken  # only when something is counted

    encoder = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return encoder, lengths
