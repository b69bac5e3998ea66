"""How well a triage tells what failed in the unseen logs: one measure, for test and benchmark."""

import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from cortex.runtime.code.triage import GAP, excerpt, parse_log, triage

FIRST, SECOND = (
    Path(__file__).parent / "fixtures" / name for name in ("triage_unseen", "triage_unseen_2")
)
BUDGET_TOKENS = 1_000
_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")

Fact = list[str]  # parts that all have to be there


class Gold(msgspec.Struct, frozen=True, kw_only=True):
    """What a person who fixes the failure needs of one log; see the README beside the logs."""

    package: str
    changed: tuple[str, int, str, str, str]  # kind, number, place, the line before and after
    first: list[Fact]  # the first finding names one of them
    facts: list[Fact]
    lines: list[tuple[int, int]]  # where the log tells of the failure, from 1, the last included


class Score(msgspec.Struct, frozen=True):
    """What the triage made of one log, or of all."""

    first: float  # share of logs whose first finding names what failed
    facts: float  # share of facts that an excerpt of `BUDGET_TOKENS` keeps
    told: float  # share of the excerpt's tokens that stand where the log tells of the failure


def load(drawn: Path) -> dict[str, Gold]:
    """Return the gold of each log of the set *drawn*, by its name."""
    return msgspec.convert(
        tomllib.loads((drawn / "gold.toml").read_text(encoding="utf-8")), dict[str, Gold]
    )


def text_of(drawn: Path, name: str) -> str:
    """Return the log as its runner printed it."""
    return (drawn / "logs" / f"{name}.log").read_text(encoding="utf-8", errors="replace")


def score(text: str, gold: Gold, count: Callable[[str], int]) -> Score:
    """Measure the triage of one log."""
    log = parse_log(text)
    findings = triage(log).findings
    named = f"{findings[0].title} {findings[0].message}" if findings else ""
    view = excerpt(log, BUDGET_TOKENS, count)
    shown = view.text()
    kept = [_holds(shown, fact) for fact in gold.facts]
    lines = zip(view.numbers, view.texts, strict=True)
    told = sum(count(f"{line}\n") for number, line in lines if _is_told(number, gold))
    return Score(
        first=float(any(_holds(named, fact) for fact in gold.first)),
        facts=sum(kept) / len(kept),
        told=min(1.0, told / max(1, count(shown))),
    )


def scores(drawn: Path, count: Callable[[str], int]) -> Iterator[tuple[str, Score]]:
    """Measure the triage of every log of the set *drawn*."""
    for name, gold in load(drawn).items():
        yield name, score(text_of(drawn, name), gold, count)


def mean(each: list[Score]) -> Score:
    """Return the mean of *each*, every log weighing the same."""
    return Score(
        first=sum(one.first for one in each) / len(each),
        facts=sum(one.facts for one in each) / len(each),
        told=sum(one.told for one in each) / len(each),
    )


def _is_told(number: int, gold: Gold) -> bool:
    return any(first <= number <= last for first, last in gold.lines)


def _holds(text: str, fact: Fact) -> bool:
    said = _plain(text.replace(GAP, ""))
    return all(_plain(part) in said for part in fact)


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", _TERMINAL_CODES.sub("", text))
