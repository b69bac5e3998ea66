"""Does certainty tell questions that a store answers from those that it does not?

Asks the questions of docs_questions.toml of docs/, by each embedder that is installed: AUROC; the
shares of unanswerable and of answerable questions that find nothing, and of those whose passages
are under a line that they are uncertain; and how often the right section is among the first three.
The half that weights were chosen by stands apart from the other. With CORTEX_EVAL, the same for
LoCoMo and MuSiQue: their own questions against those about docs/ and about nothing, and MiniLM.
The last line of an embedder has the shares below other lines than the two of `certainty.py`, of all
questions that chose no weight: the lines were chosen by them.
"""

import argparse
import importlib
import os
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from measure import keep, stamp

from cortex.runtime.knowledge import Root, index
from cortex.runtime.retrieval import (
    SHOWN,
    SURE,
    Embedder,
    Finder,
    HashingEmbedder,
    LocalEmbedder,
    PassageStore,
    StaticEmbedder,
)

HERE = Path(__file__).resolve().parent
EVAL = Path(os.environ.get("CORTEX_EVAL", "../shared/eval")).resolve()
RESULT = HERE / "results" / "bench_certainty.txt"
UNANSWERABLE: Final = ("off_topic", "near_topic", "letters")
OTHER_LINES: Final = (0.3, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9)
TUNED: Final = "conv-26"  # the conversation that weights were chosen by
FIRST: Final = 3  # sections among which the right one is looked for

Halves = Sequence[tuple[str, slice]]
HALVES: Halves = (("tuned by", slice(0, None, 2)), ("held out", slice(1, None, 2)))


class HeldOut(NamedTuple):
    """Certainties of all questions to one embedder that chose no weight."""

    answerable: list[float]
    unanswerable: list[float]


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    keep(lines(), RESULT)


def lines() -> Iterator[str]:
    """The result, as it comes."""
    yield stamp()
    asked = tomllib.loads((HERE / "docs_questions.toml").read_text())
    for name, make in _embedders():
        held = HeldOut([], [])
        with tempfile.TemporaryDirectory() as folder:
            store = PassageStore.open(Path(folder) / "knowledge.db")
            index(store, [Root(str(HERE.parent / "docs"), "home")])
            finder = Finder(store, make())
            finder.embed()
            yield from _about_docs(name, finder, asked, held)
            store.close()
        if (EVAL / "eval_locomo.py").is_file():
            yield from _about_others(name, make, asked, held)
        yield f"{name:8} held out, below a line, unanswerable; answerable: {_at_lines(held)}"


def _embedders() -> Iterator[tuple[str, Callable[[], Embedder | None]]]:
    yield "words", lambda: None
    yield "hashing", HashingEmbedder
    if StaticEmbedder.is_installed():
        yield "static", StaticEmbedder
    tokenizer = next((EVAL / "emb").rglob("tokenizer.json"), None)
    if tokenizer is not None:
        yield "minilm", lambda: LocalEmbedder(EVAL / "emb", tokenizer)


def _about_docs(name: str, finder: Finder, asked: dict[str, Any], held: HeldOut) -> Iterator[str]:
    for half, part in HALVES:
        questions = asked["answerable"][part]
        named = [_certainty(finder, question) for question, *_ in questions]
        kinds = {kind: [_certainty(finder, q) for q in asked[kind][part]] for kind in UNANSWERABLE}
        others = [each for found in kinds.values() for each in found]
        if half == "held out":
            held.answerable.extend(named)
            held.unanswerable.extend(others)
        right = sum(_is_found(finder, question, sections) for question, *sections in questions)
        refused = ", ".join(
            f"{kind} {_share(_below(found, SHOWN))}" for kind, found in kinds.items()
        )
        yield (
            f"{name:8} docs/, {half}: {_told(named, others)} "
            f"({refused}); right section among {FIRST}: {_share(right / len(questions))}"
        )


def _about_others(
    name: str, make: Callable[[], Embedder | None], asked: dict[str, Any], held: HeldOut
) -> Iterator[str]:
    sys.path.insert(0, str(EVAL))
    adapter = importlib.import_module("retrieval_adapter")
    locomo, hops = importlib.import_module("eval_locomo"), importlib.import_module("eval_multihop")
    about_docs = [question for question, *_ in asked["answerable"]]
    nowhere = [*about_docs, *asked["off_topic"], *asked["letters"]]
    documents, questions, _ = hops.musique()
    stores = [("musique", documents, [question for question, *_ in questions])]
    for talk in locomo.load(str(EVAL / "locomo" / "locomo-dev.json")):
        own = [each["q"] for each in talk["qa"] if locomo.CAT[each["cat"]] != "adversarial"]
        stores.append((talk["id"], talk["docs"], own))
    for store, docs, own in stores:
        made = adapter.Words()
        made.embedder = make
        made.index(docs)
        found = [_certainty(made.finder, question) for question in own]
        others = [_certainty(made.finder, question) for question in nowhere]
        if store != TUNED:
            held.answerable.extend(found)
            held.unanswerable.extend(others)
        yield f"{name:8} {store}: {_told(found, others)}"


def _certainty(finder: Finder, question: str) -> float:
    return finder.rank(question)[0].certainty


def _told(named: Sequence[float], others: Sequence[float]) -> str:
    pairs = sum((one > other) + (one == other) / 2 for one in named for other in others)
    auroc = pairs / len(named) / len(others)
    return (
        f"AUROC {auroc:.3f}, unanswerable refused {_levels(others)}, "
        f"answerable refused {_levels(named)}"
    )


def _at_lines(held: HeldOut) -> str:
    return ", ".join(
        f"{line:.2f} {100 * _below(held.unanswerable, line):.1f} %; "
        f"{100 * _below(held.answerable, line):.1f} %"
        for line in OTHER_LINES
    )


def _levels(found: Sequence[float]) -> str:
    refused = _below(found, SHOWN)
    return f"{_share(refused)}, uncertain {_share(_below(found, SURE) - refused)}"


def _below(found: Sequence[float], line: float) -> float:
    return sum(each < line for each in found) / len(found)


def _share(share: float) -> str:
    return f"{100 * share:.0f} %"


def _is_found(finder: Finder, question: str, sections: Sequence[str]) -> bool:
    """Whether one of *sections* is among the first that are found, each counted once."""
    wanted = [section.split(" > ", 1) for section in sections]
    passages = finder.find(question, 30, tokens=None).passages
    places = dict.fromkeys((passage.topic, passage.heading) for passage in passages)
    return any(
        topic == page and heading in titles.split(" > ")
        for topic, titles in islice(places, FIRST)
        for page, heading in wanted
    )


if __name__ == "__main__":
    main()
