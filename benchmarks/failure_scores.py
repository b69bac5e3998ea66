"""How often each way leads from the log of a real failure to what its fix changed."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

from failure_baselines import (
    PLACES,
    WAYS,
    Place,
    chance_of_code,
    chance_of_file,
    in_changed_code,
    in_changed_file,
)
from real_failures import Case, Shelf, UnavailableError, read_cases, told

from cortex.runtime.code.source import Checkout, find_relevant_code

TOPS: Final = (1, 3, PLACES)


class Question(NamedTuple):
    """A failure, its log, and the folder that it happened in."""

    case: Case
    log: str
    root: Path


def questions(shelf: Shelf, cases: Sequence[Case]) -> list[Question]:
    """All failures that can be had; each other one is told."""
    found = []
    for case in cases:
        try:
            log = shelf.log(case)
            root = shelf.checkout(case.project, case.before, case.after)
        except UnavailableError as error:
            told(f"left out: {case.project} {case.after}: {error}")
        else:
            found.append(Question(case, log, root))
    return found


def real(shelf: Shelf) -> Iterator[str]:
    """How often each way leads to what the fix of a real failure changed."""
    cases = read_cases()
    try:
        if not all(map(shelf.has, cases)):
            shelf.reach_index(cases[0])
    except UnavailableError as error:
        yield f"real     skipped: the package index cannot be reached ({error})"
        return
    asked = questions(shelf, cases)
    halves = {
        "visible": [each for each in asked if each.case.visible],
        "unseen": [each for each in asked if not each.case.visible],
    }
    yield f"real     {len(asked)} of {len(cases)} failures; right among the first 1, 3, 5 places"
    for half, some in halves.items():
        projects = len({each.case.project for each in some})
        yield f"{half:<8} {len(some)} failures of {projects} projects"
        yield from scores(some)


def scores(some: Sequence[Question]) -> Iterator[str]:
    """A line for each way: files, then functions or lines, then the time of a question."""
    yield f"  {'':<26}{'file':^18}   {'function or line':^18}"
    for name, way in WAYS.items():
        rows, took = [], []
        for question in some:
            checkout = Checkout(question.root)
            began = time.perf_counter()
            rows.append((question.case, way(question.log, checkout)))
            took.append(time.perf_counter() - began)
        files = _shares(rows, in_changed_file)
        codes = _shares(rows, in_changed_code) if name != "BM25 over files" else ""
        yield f"  {name:<26}{files}   {codes:<18}  {fmean(took) * 1000:6.1f} ms"
    chances = [
        "".join(f"{fmean(of(q.case, top) for q in some):6.0%}" for top in TOPS)
        for of in (chance_of_file, chance_of_code)
    ]
    yield f"  {'chance':<26}{chances[0]}   {chances[1]}"


def _shares(
    rows: Sequence[tuple[Case, list[Place]]], is_right: Callable[[Case, Place], bool]
) -> str:
    return "".join(
        f"{fmean(any(is_right(case, place) for place in found[:top]) for case, found in rows):6.0%}"
        for top in TOPS
    )


def misses(shelf: Shelf) -> Iterator[str]:
    """What ours says of the visible failures whose first place outside of tests is wrong."""
    for case, log, root in questions(shelf, [each for each in read_cases() if each.visible]):
        found = WAYS["ours, outside tests"](log, Checkout(root))
        if not found or not in_changed_code(case, found[0]):
            yield f"{case.project} {case.before} -> {case.after}, {case.test}"
            yield f"  changed {[(each.path, each.functions, each.lines) for each in case.changed]}"
            for each in find_relevant_code(log, Checkout(root), limit=PLACES):
                yield f"  found   {each.path}:{each.line} {each.symbol} ({each.score}, {each.why})"
