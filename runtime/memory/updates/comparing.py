"""Compares two sentences: whether the newer one gives the same thing another value.

The words that both have say what they are about; the words in which they differ are taken apart
into runs. Of two statements about one attribute, one run of each is the value, and little else is
left over; what is left over on both sides says that they are about two things.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from .reading import DATE, NAME, NUMBER, WORD, Reading, Word
from .vocabulary import DONE

_LIGHT: Final = 0.5  # weight of a number or a date that both have: it is seldom what they are about
_ENOUGH: Final = 3.0  # shared weight from which more shared words say no more

Run = tuple[Word, ...]
NO_RUN: Final[Run] = ()


class Compared(NamedTuple):
    """What speaks for and against one sentence replacing another; the order is that of WEIGHTS."""

    shared: float  # weight of the words both have, up to 1
    about: float  # share of what they are about that both have
    clear: float  # 1 if values of one kind stand where values do, and nothing is in conflict
    left_new: float  # words of the newer one that are neither shared nor value
    left_old: float
    conflict: float  # left over on both sides: they are about two things
    key_conflict: float  # 1 if each is about a name that the other has not
    value_is_key: float  # 1 if what would be the value is in the place of what it is about
    first: float  # 1 if the value of both is what stands first, without "is the head of"
    elsewhere: float  # 1 if a value is among what both have
    fit: float  # `clear`, by how much both have of what they are about
    named_fit: float  # the same, if the older value is named as no longer so
    changes: float  # the newer one announces a change
    late: float  # by a word such as "now"
    named: float  # the newer one names the older value as no longer so
    former_unknown: float  # it names a former value, and the older one has another
    adds: float

    # No features:
    value: tuple[str, str] = ("", "")  # older and newer value, as read
    is_loose: bool = False  # values are common words, and nothing says that one has changed


_PLAIN: Final = (NAME, WORD)
FEATURES: Final = len(Compared._fields) - 2


class Common(NamedTuple):
    """What two sentences have in common; it costs a tenth of comparing them."""

    stems: frozenset[str]
    named: bool  # the newer one names what the older one says as no longer so
    weight: float  # of the words both have


def in_common(new: Reading, old: Reading) -> Common | None:
    """What *new* and *old* have in common; None if *new* surely does not replace *old*.

    A question, a plan or a condition replaces nothing, and is not replaced.
    """
    if new.unsure or old.unsure:
        return None
    named = bool(new.former) and not new.former.isdisjoint(old.stems)
    if not named and (new.stems.isdisjoint(old.stems) or new.stems == old.stems):
        return None  # about other things, or the same again
    shared = new.stems & old.stems
    weight = sum(
        _LIGHT if word.kind in (DATE, NUMBER) else 1.0
        for word in {word.stem: word for word in new.words if word.stem in shared}.values()
        if not word.former
    )
    if new.first_person and old.first_person:
        weight += 1.0  # whoever speaks is what both are about
    return Common(shared, named, weight)


def compared(new: Reading, old: Reading, common: Common) -> Compared:
    """The features of *new* in the place of *old*, which have *common* in common."""
    shared, named, weight = common
    runs_new = _runs([word for word in new.words if word.stem not in old.stems and not word.former])
    runs_old = _runs([word for word in old.words if word.stem not in new.stems and not word.former])
    value_new, value_old = _values(new, old, runs_new, runs_old)
    rest_new = [run for run in runs_new if run is not value_new]
    rest_old = [run for run in runs_old if run is not value_old]
    left_new, left_old = sum(map(len, rest_new)), sum(map(len, rest_old))
    ends = named and new.negates  # "I no longer live in Rome": no other value is needed
    lacking = (not value_new and not ends) or (not value_old and not named)
    same_kind = _alike(value_new, value_old)
    keys_new = [run for run in rest_new if _is_key(run, new)]
    keys_old = [run for run in rest_old if _is_key(run, old)]
    key_conflict = bool(keys_new and keys_old) or _contrast(new, old, rest_new, rest_old)
    value_is_key = bool(value_new and value_old) and (
        _is_key(value_new, new) or _is_key(value_old, old)
    )
    first = bool(value_new) and value_new[0] is new.words[0] and not new.titled
    elsewhere = _elsewhere(value_new, new, shared)
    clear = (same_kind or named) and not (key_conflict or value_is_key or elsewhere or lacking)
    about = weight / (weight + left_new + left_old) if weight else 0.0
    return Compared(
        shared=_enough(weight),
        about=about,
        clear=float(clear),
        left_new=min(left_new, 4) / 4,
        left_old=min(left_old, 4) / 4,
        conflict=min(left_new, left_old, 3) / 3,
        key_conflict=float(key_conflict),
        value_is_key=float(value_is_key),
        first=float(first),
        elsewhere=float(elsewhere),
        fit=clear * about * _enough(weight),
        named_fit=named * clear * about,
        changes=float(new.changes),
        late=float(new.late),
        named=float(named),
        former_unknown=float(bool(new.former) and not named),
        adds=float(new.adds or old.adds),
        value=(_text(value_old) or _text(_named(new, old)), _text(value_new)),
        is_loose=not named
        and ((_kind(value_new) == WORD and not new.announces) or _are_both_done(new, old)),
    )


def _are_both_done(new: Reading, old: Reading) -> bool:
    """Whether both tell of a thing that was done once: "we merged PR 12", "we merged PR 13"."""
    return any(word in DONE and word in old.low for word in new.low)


def highest(new: Reading, old: Reading, common: Common) -> Compared:
    """No less than each feature that speaks for it, no more than each that speaks against it.

    It takes no look at the order of the words, in which nearly all of the time of comparing goes.
    """
    named, shared = float(common.named), _enough(common.weight)
    return Compared(
        shared=shared,
        about=1.0,
        clear=1.0,
        left_new=0.0,
        left_old=0.0,
        conflict=0.0,
        key_conflict=0.0,
        value_is_key=0.0,
        first=0.0,
        elsewhere=0.0,
        fit=shared,
        named_fit=named,
        changes=float(new.changes),
        late=float(new.late),
        named=named,
        former_unknown=float(bool(new.former) and not common.named),
        adds=float(new.adds or old.adds),
        is_loose=not (common.named or new.announces or _has_value(new, old.stems)),
    )


def has_value(new: Reading) -> bool:
    """Whether *new* has a name, a number or a date that is so."""
    return _has_value(new, frozenset())


def _has_value(new: Reading, known: frozenset[str]) -> bool:
    return any(
        word.kind != WORD and word.stem not in known and not word.former for word in new.words
    )


def _enough(weight: float) -> float:
    return min(weight / _ENOUGH, 1.0)


def _contrast(new: Reading, old: Reading, runs_new: Sequence[Run], runs_old: Sequence[Run]) -> bool:
    """Whether two runs stand in one place: "the search endpoint", "the upload endpoint"."""
    places = {place for run in runs_new for place in _place(new, run)}
    return any(place in places for run in runs_old for place in _place(old, run))


def _place(reading: Reading, run: Run) -> tuple[tuple[str, str], ...]:
    before, behind = reading.before(run[0]), reading.behind(run[-1])
    return tuple(
        (side, word) for side, word in (("before", before), ("behind", behind)) if len(word) > 3
    )


def _is_key(run: Run, reading: Reading) -> bool:
    """Whether *run* is in the place of what a statement is about, not of what it says."""
    if not run or _kind(run) == DATE:
        return False
    if reading.is_called(run[0]):
        return True
    if _kind(run) == NUMBER:
        return False
    if run[0] is reading.words[0] and reading.verb > run[0].place:
        return not reading.titled  # "X is ...", but not "X is the head of ..."
    return any(reading.is_key(word) for word in run)


def _runs(words: Sequence[Word]) -> list[Run]:
    """*words* in runs of those that stand side by side."""
    runs: list[list[Word]] = []
    for word in words:
        last = runs[-1][-1] if runs else None
        # "14 engineers" is a value and what it counts; "Python 3.7" may be one value.
        counts = last is not None and last.kind == NUMBER and word.kind in (WORD, NAME)
        if last is not None and word.joined and word.place - last.place == 1 and not counts:
            runs[-1].append(word)
        else:
            runs.append([word])
    return [tuple(run) for run in runs]


def _values(
    new: Reading, old: Reading, runs_new: Sequence[Run], runs_old: Sequence[Run]
) -> tuple[Run, Run]:
    """Which run of each is its value: of one kind, and late in the sentence."""
    best, found = (
        -99.0,
        (runs_new[-1] if runs_new else NO_RUN, runs_old[-1] if runs_old else NO_RUN),
    )
    others = [(run, _kind(run), _is_key(run, old)) for run in runs_old]
    for at, one in enumerate(runs_new):
        kind, is_key = _kind(one), _is_key(one, new)
        for beside, (other, other_kind, other_is_key) in enumerate(others):
            if _are_alike(kind, other_kind):
                fits = at + beside + 10.0 * (kind in (DATE, NUMBER))
                fits += 5.0 * (one[0] is new.words[0] and new.titled) + 0.1
                fits -= 5.0 * (is_key or other_is_key)
                if fits > best:
                    best, found = fits, (one, other)
    if best == -99.0 and runs_new and not new.former.isdisjoint(old.stems):
        return runs_new[-1], NO_RUN
    return found


def _kind(run: Run) -> str:
    kinds = {word.kind for word in run}
    return next((kind for kind in (DATE, NUMBER, NAME) if kind in kinds), WORD)


def _alike(one: Run, other: Run) -> bool:
    if not one or not other:
        return False
    return _are_alike(_kind(one), _kind(other))


def _are_alike(one: str, other: str) -> bool:
    return one == other or (one in _PLAIN and other in _PLAIN)


def _elsewhere(run: Run, reading: Reading, shared: frozenset[str]) -> bool:
    """Whether what both have holds a value, so that *run* is what they are about."""
    if not run:
        return False
    is_word = _kind(run) in (NAME, WORD)
    for word in reading.words:
        if word.stem in shared and not word.former:
            behind = word.place > run[-1].place
            if word.kind in (DATE, NUMBER) and (behind or is_word):
                return True
            if behind and is_word and word.kind == NAME and not reading.is_key(word):
                return True
    return False


def _text(run: Run) -> str:
    return " ".join(word.text for word in run)


def _named(new: Reading, old: Reading) -> Run:
    """What of the older one the newer one says to be no longer so."""
    return tuple(word for word in old.words if word.stem in new.former)
