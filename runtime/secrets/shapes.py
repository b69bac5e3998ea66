"""The one table of what secrets look like.

What is `certain` is masked wherever Cortex keeps or shows text: shapes that their makers gave a
mark, keys in their armour, and long values that are assigned to a name which says what they are. A
digest or an id in a log is evidence, and stays. The rest hides more than it must, and is for the
lines that Cortex itself logs.

Every pattern is linear: it begins where its mark is, and never goes back (possessive quantifiers,
or a bound). What is masked has as many bytes as before, so that offsets, line numbers and encodings
around it stay true.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

SHORTEST_RUN: Final = 16  # every certain secret has as many bytes in a row of these
_RUN: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./~"

_OPEN: Final = "\u27e6"
_CLOSE: Final = "\u27e7"
_WORD: Final = "secret"
_FRAME: Final = len((_OPEN + _CLOSE).encode())
MASKED: Final = re.compile(f"{_OPEN}(?:{_WORD})?\\**{_CLOSE}")


class Shape(NamedTuple):
    """One kind of secret."""

    name: str
    marks: tuple[str, ...]  # one of them is in every text that the pattern matches; lower case
    pattern: str  # the group `secret`, else the whole match, is what is hidden
    certain: bool = True


_ASSIGNED_TO = r"(?:password|passwd|secret|api[_-]?key|access[_-]?key|auth[_-]?token)"
_NAMED = (
    r"(?:api[_-]?key|access[_-]?key|private[_-]?key|secret|password|passwd|token|authorization)"
)
# Without a digit, or of digits alone, it is a word or a number: the name of a variable, say.
_MIXED = r"(?=[A-Za-z+/_=-]{0,200}[0-9])(?=[0-9]{0,200}[A-Za-z+/_-])"


def _begins(mark: str, within: str = "[A-Za-z0-9]") -> str:
    """*mark* at the beginning of a word, also behind an escape of JSON or a URL, or a colour.

    It looks back from behind the mark, so that the search can look for that.
    """
    ways = (
        rf"(?<!{within}{mark})",
        rf"(?<=\\[bfnrt]{mark})",
        rf"(?<=\\u[0-9A-Fa-f]{{4}}{mark})",
        rf"(?<=%[0-9A-Fa-f]{{2}}{mark})",
        rf"(?<=[0-9;\[]m{mark})",
    )
    return f"{mark}(?:{'|'.join(ways)})"


_LINE_END = r"(?:[\s\"',]|\\[nr])"
SHAPES: Final = (
    Shape("cortex", ("cortex_",), r"cortex_[A-Za-z0-9_-]{40,}+"),
    Shape("aws", ("akia", "asia"), _begins("(?:AKIA|ASIA)") + r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    Shape(
        "model",
        ("sk-", "pk-", "rk-"),
        _begins("[spr]k-") + r"(?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{20,}+",
    ),
    Shape(
        "stripe",
        ("_live_", "_test_"),
        _begins("[spr]k_(?:live|test)_") + r"[A-Za-z0-9]{16,}+",
    ),
    Shape("github", ("gho_", "ghp_", "ghr_", "ghs_", "ghu_"), r"gh[oprsu]_[A-Za-z0-9]{20,}+"),
    Shape("github", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{20,}+"),
    Shape("gitlab", ("glpat-",), r"glpat-[A-Za-z0-9_-]{16,}+"),
    Shape("slack", ("xox",), _begins("xox[abeprs]-") + r"[A-Za-z0-9-]{15,}+"),
    Shape("google", ("aiza",), _begins("AIza") + r"[A-Za-z0-9_-]{30,}+"),
    Shape("huggingface", ("hf_",), _begins("hf_") + r"[A-Za-z0-9]{30,}+"),
    Shape("npm", ("npm_",), _begins("npm_") + r"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    Shape("pypi", ("pypi-",), _begins("pypi-") + r"[A-Za-z0-9_-]{60,}+"),
    Shape(
        "claim",
        ("eyj",),
        _begins("eyJ", r"[\w-]")
        + r"[A-Za-z0-9_-]{10,}+\.eyJ[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{10,}+",
    ),
    Shape(
        "armour",
        ("private key-----",),
        rf"-----BEGIN[ ][A-Z ]{{0,40}}PRIVATE[ ]KEY-----{_LINE_END}{{0,8}}"
        rf"(?P<secret>(?:[A-Za-z0-9+/=]{{16,}}+{_LINE_END}{{0,8}})++[A-Za-z0-9+/=]*+)",
    ),
    Shape(
        "assigned",
        (
            *("password", "passwd", "secret"),
            *("apikey", "api_key", "api-key", "accesskey", "access_key", "access-key"),
            *("authtoken", "auth_token", "auth-token"),
        ),
        rf"(?i:{_ASSIGNED_TO})[\"']?\s{{0,4}}[:=]\s{{0,4}}[\"']?"
        rf"(?P<secret>{_MIXED}[A-Za-z0-9+/_=-]{{16,400}}+)(?![(.\[])",
    ),
    Shape(
        "bearer",
        ("bearer",),
        r"(?i:bearer)\s{1,4}(?P<secret>(?=[A-Za-z._~+/=-]{0,200}[0-9])[A-Za-z0-9._~+/=-]{20,}+)",
    ),
    # What follows is for our own lines: text that we keep may hold such a thing for good reasons.
    Shape("cortex", ("cortex_",), r"cortex_[A-Za-z0-9_-]{16,}+", certain=False),
    Shape(
        "model", ("sk", "pk", "rk"), r"(?<![A-Za-z0-9])[spr]k[-_][A-Za-z0-9_-]{16,}+", certain=False
    ),
    Shape("slack", ("xox",), r"xox[abeprs]-[A-Za-z0-9-]{10,}+", certain=False),
    Shape(
        "claim",
        ("eyj",),
        r"(?<![\w-])eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?",
        certain=False,
    ),
    Shape(
        "armour",
        ("private key-----",),
        r"-----BEGIN[ ][A-Z ]{0,40}PRIVATE[ ]KEY-----"
        r"(?:[^-]|-(?!----END))*+(?:-----END[A-Z ]{0,60}-----)?",
        certain=False,
    ),
    Shape(
        "named",
        ("key", "secret", "passw", "token", "authorization"),
        rf"(?i:{_NAMED}[\"']?\s{{0,4}}[:=]\s{{0,4}}(?:(?:bearer|basic|token)\s{{1,4}})?)"
        r"(?P<secret>\"[^\"\n]++\"?|'[^'\n]++'?|[^\s\"',;&]{6,}+)",
        certain=False,
    ),
    Shape(
        "bearer",
        ("bearer",),
        r"(?i:bearer)\s{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{16,}+)",
        certain=False,
    ),
    Shape(
        "address", ("://",), r"://[^/\s:@]{0,256}:(?P<secret>[^/\s@]{1,256})(?=@)", certain=False
    ),
)
_CERTAIN: Final = [re.compile(shape.pattern.encode()) for shape in SHAPES if shape.certain]
# What several marks have in common is looked for once: mostly it is not there, nor are they.
_SHARED: Final = ("ey", "-", "gh", "ia", "token", "passw")
_AS_RUN: Final = bytes(ord("a") if byte in _RUN else ord(" ") for byte in range(256))
_RUN_OF: Final = b"a" * SHORTEST_RUN
_BEFORE: Final = 64  # bytes before such a run in which its mark begins, at twice the most of any
_FEW: Final = 16  # runs whose surroundings are looked at alone: of more, all of the text is
_PARTS: Final = re.compile(rb"(\\[nr]|[\s\"',]+)")


def _by_stem(shapes: Iterable[tuple[str, ...]]) -> dict[str, list[tuple[str, int]]]:
    """Marks with the index of their shape, by a part of them that is looked for first."""
    found: dict[str, list[tuple[str, int]]] = {}
    for index, marks in enumerate(shapes):
        for mark in marks:
            stem = next((part for part in _SHARED if part in mark), mark)
            found.setdefault(stem, []).append((mark, index))
    return found


_MARKS: Final = _by_stem(shape.marks for shape in SHAPES if shape.certain)


def may_hold(data: bytes) -> bool:
    """Whether a certain secret can be in *data*; a fraction of the cost of looking for one.

    It can where a run is long enough. All that is recorded is asked this first.
    """
    return _RUN_OF in data.translate(_AS_RUN)


def marked(data: bytes) -> list[re.Pattern[bytes]]:
    """The patterns of certain secrets whose mark is in *data*, each once, in the table's order."""
    near = _near_runs(data)
    lower = near.lower().decode("latin-1")  # a text is searched at a third of the cost
    if not any(map(lower.__contains__, _MARKS)):
        return []
    found: set[int] = set()
    for stem, marks in _MARKS.items():
        if stem in lower:
            found.update(index for mark, index in marks if mark in lower)
    return [_CERTAIN[index] for index in sorted(found)]


def _near_runs(data: bytes) -> bytes:
    """The parts of *data* where the mark of a certain secret can be."""
    as_runs = data.translate(_AS_RUN)
    parts: list[bytes] = []
    start = as_runs.find(_RUN_OF)
    while start >= 0:
        if len(parts) == _FEW:
            return data
        end = as_runs.find(b" ", start)
        end = end if end >= 0 else len(data)
        parts.append(data[max(0, start - _BEFORE) : end])
        start = as_runs.find(_RUN_OF, end)
    return b" ".join(parts)


def masked_shapes(data: bytes, known: Sequence[tuple[int, int]] = ()) -> tuple[bytes, int]:
    """*data* with every certain secret masked, as long as before, and how many there were.

    Where several overlap, all that they cover is hidden: one that another is a part of goes whole.

    Args:
        data: What is searched.
        known: Where other secrets stand in it, in order and apart; each gets one mask.
    """
    spans = sorted((*known, *(s for each in marked(data) for s in _found(each, data))))
    if not spans:
        return data, 0
    parts: list[bytes] = []
    left = list(reversed(known))
    found = over = 0
    for start, end in _united(spans):
        found += 1
        parts.append(data[over:start])
        over = start
        while left and left[-1][0] < end:
            first, last = left.pop()
            parts += _hidden(data[over:first]), mask_of(last - first)
            over = last
        parts.append(_hidden(data[over:end]))
        over = end
    return b"".join([*parts, data[over:]]), found


def _united(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """*spans*, which are in order, with those that overlap as one."""
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if found and start < found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def mask_shapes(text: str) -> tuple[str, int]:
    """The same of a text."""
    data = text.encode(errors="surrogatepass")
    masked, found = masked_shapes(data)
    return (masked.decode(errors="surrogatepass"), found) if found else (text, 0)


def mask_of(size_bytes: int) -> bytes:
    """What stands in the place of a secret of so many bytes."""
    whole = size_bytes - _FRAME - len(_WORD)
    if whole >= 0:
        return f"{_OPEN}{_WORD}{'*' * whole}{_CLOSE}".encode()
    if size_bytes >= _FRAME:
        return f"{_OPEN}{'*' * (size_bytes - _FRAME)}{_CLOSE}".encode()
    return b"*" * size_bytes


def likely(names: Iterable[str] = ()) -> list[re.Pattern[str]]:
    """Patterns of every shape, the certain ones first; without the kinds in *names*."""
    without = frozenset(names)
    return [re.compile(shape.pattern) for shape in SHAPES if shape.name not in without]


def _found(pattern: re.Pattern[bytes], data: bytes) -> Iterable[tuple[int, int]]:
    """Where the secrets of one shape begin and end."""
    group: int | str = "secret" if "secret" in pattern.groupindex else 0
    return (match.span(group) for match in pattern.finditer(data))


def _hidden(secret: bytes) -> bytes:
    """A mask for *secret*, line by line."""
    parts = _PARTS.split(secret)
    return b"".join(
        mask_of(len(part)) if index % 2 == 0 else part for index, part in enumerate(parts)
    )
