"""Are the weights of the ranking those that other questions would have chosen?

Cross-validation over the sets of CORTEX_EVAL (default ../shared/eval) in three folds: each holds
back one conversation of LoCoMo, and each third question of MuSiQue and dialogue of BEAM. Every
weight takes one other value after the other, all else as shipped. A fold chooses each weight by the
questions of the other two, if that brings more than nothing, takes all it chose at once, and is
asked its own questions. What counts is the mean of three recalls in percent: LoCoMo (categories 1
to 4) and MuSiQue in 1,000 tokens, BEAM among 20 messages.

A line shows a value, what it changes in points on each set, the spread of that over the folds (a
standard deviation), and how many folds chose it. The last lines compare, on questions that chose
nothing, the shipped weights with the chosen ones. Skips, and says so, where there is no material.
"""

import argparse
import importlib
import json
import lzma
import os
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from measure import keep, stamp

from cortex.runtime.retrieval import WEIGHTS, Near

EVAL = Path(os.environ.get("CORTEX_EVAL", "../shared/eval")).resolve()
RESULT = Path(__file__).parent / "results" / "bench_weights.txt"
FOLDS: Final = 3
TOKENS: Final = 1_000
MESSAGES: Final = 20
ADVERSARIAL: Final = 5
OTHERS: Final[Mapping[str, Sequence[Any]]] = {
    "repeated": (1.0, 2.0, 3.0),
    "length": (0.2, 0.6, 0.75),
    "near": (
        Near((0.5,), 100.0),
        Near((0.4, 0.2), 100.0),
        Near((0.6, 0.4, 0.2), 100.0),
        Near((0.6, 0.4, 0.2, 0.1), 100.0),
        Near((0.5, 0.3, 0.15), 50.0),
        Near((0.5, 0.3, 0.15), 200.0),
    ),
    "vector_near": (Near((), 100.0), Near((0.2, 0.1), 100.0), Near((0.45, 0.2), 100.0)),
    "expansion": (0.0, 0.2, 0.3),
    "speaker": (0.15, 0.2, 0.4),
    "link": (0.5, 0.75, 1.5),
    "link_passages": (3, 6),
    "link_names": (8, 24),
    "link_words": (50.0, 200.0),
    "link_any": (0.0, 0.6),
    "link_rest": (1.0, 3.0),
    "meaning": (0.19, 0.31, 0.38),
}

Change = tuple[str, Any]  # the name of a weight, its value
Fold = int | None  # None: all of them
Means = dict[Fold, dict[str, float]]  # by fold and set
Recall = Callable[[Sequence[int]], float]  # of the places of all documents, best first


class Asked(NamedTuple):
    """A question of a set."""

    set: str
    fold: int
    text: str
    recall: Recall


class Corpus(NamedTuple):
    """Documents, and what is asked about them."""

    docs: Sequence[Any]
    asked: Sequence[Asked]


def conversations() -> Iterator[Corpus]:
    """LoCoMo: each conversation is a fold."""
    locomo = importlib.import_module("eval_locomo")
    for fold, talk in enumerate(locomo.load(str(EVAL / "locomo" / "locomo-dev.json"))):
        filler, places = locomo.Filler(talk["docs"]), {d.id: i for i, d in enumerate(talk["docs"])}

        def recall(evidence: set[int], filler: Any = filler) -> Recall:
            return lambda order: _share(evidence, filler.fill(order, TOKENS)[0])

        yield Corpus(
            talk["docs"],
            [
                Asked("LoCoMo", fold, each["q"], recall({places[e] for e in each["ev"]}))
                for each in talk["qa"]
                if each["cat"] != ADVERSARIAL
            ],
        )


def hops() -> Iterator[Corpus]:
    """MuSiQue: questions go to the folds by turns."""
    docs, questions, _ = importlib.import_module("eval_multihop").musique()
    count = importlib.import_module("eval_locomo").ntok
    costs = [count(f"{doc.text}\n\n") for doc in docs]

    def recall(evidence: set[int]) -> Recall:
        return lambda order: _share(evidence, _filled(order, costs))

    yield Corpus(
        docs,
        [
            Asked("MuSiQue", at % FOLDS, text, recall(set(evidence)))
            for at, (text, evidence, _) in enumerate(questions)
        ],
    )


def dialogues() -> Iterator[Corpus]:
    """BEAM: dialogues go to the folds by turns."""
    doc = importlib.import_module("retrievers").Doc
    with lzma.open(EVAL / "beam" / "dev-100k.json.xz") as file:
        chats = json.load(file)
    for at, chat in enumerate(chats):
        said = chat["messages"]
        places = {message[0]: place for place, message in enumerate(said)}

        def recall(evidence: set[int]) -> Recall:
            return lambda order: _share(evidence, order[:MESSAGES])

        yield Corpus(
            [
                doc(str(number), text, date or "", place, {"role": role, "date": date})
                for place, (number, role, date, text, *_) in enumerate(said)
            ],
            [
                Asked("BEAM", at % FOLDS, each["question"], recall(evidence))
                for each in chat["questions"]
                if (evidence := {places[e] for e in each["evidence"] if e in places})
            ],
        )


def _share(evidence: set[int], found: Sequence[int]) -> float:
    return 100 * len(evidence.intersection(found)) / len(evidence)


def _filled(order: Sequence[int], costs: Sequence[int]) -> list[int]:
    left, taken = TOKENS, list[int]()
    for place in order:
        if costs[place] <= left:
            left -= costs[place]
            taken.append(place)
    return taken


class Measured:
    """Recalls of all questions under any weights."""

    def __init__(self, embedder: str) -> None:
        adapter = importlib.import_module("retrieval_adapter")
        self._corpora = [*conversations(), *hops(), *dialogues()]
        self._stores = [getattr(adapter, embedder)() for _ in self._corpora]
        for store, corpus in zip(self._stores, self._corpora, strict=True):
            store.index(corpus.docs)

    def means(self, values: Mapping[str, Any]) -> Means:
        """The mean recall of each set in each fold, and in all, with these *values*."""
        print(f"{values or 'as shipped'} ...", file=sys.stderr, flush=True)
        found: dict[tuple[Fold, str], list[float]] = {}
        for store, corpus in zip(self._stores, self._corpora, strict=True):
            store.weigh(msgspec.structs.replace(WEIGHTS, **values))
            for asked in corpus.asked:
                recall = asked.recall(store.rank(asked.text))
                found.setdefault((asked.fold, asked.set), []).append(recall)
                found.setdefault((None, asked.set), []).append(recall)
        means: Means = {}
        for (fold, name), recalls in found.items():
            means.setdefault(fold, {})[name] = statistics.mean(recalls)
        return means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--embedder", nargs="*", default=("Static", "Local"), help="classes of retrieval_adapter"
    )
    asked = parser.parse_args()
    sys.path.insert(0, str(EVAL))
    if not (EVAL / "eval_locomo.py").is_file():
        print(f"skipped: there is no material in {EVAL}; set CORTEX_EVAL")
        return
    keep(lines(asked.embedder), RESULT)


def lines(embedders: Sequence[str]) -> Iterator[str]:
    """The record."""
    yield stamp()
    for embedder in embedders:
        yield from _validated(embedder)


def _validated(embedder: str) -> Iterator[str]:
    measured = Measured(embedder)
    shipped = measured.means({})
    yield f"{embedder}, as shipped: {_told(shipped[None])}"
    changes = [(name, value) for name, values in OTHERS.items() for value in values]
    gains = {change: _gains(measured.means(dict([change])), shipped) for change in changes}
    chosen = [_chosen(gains, fold) for fold in range(FOLDS)]
    for change, gain in gains.items():
        yield _line(change, gain, chosen)
    own = [_gains(measured.means(values), shipped)[at] for at, values in enumerate(chosen)]
    for fold, values in enumerate(chosen):
        said = [f"{name} {_written(value)}" for name, value in values.items()]
        chose = "; ".join(said) or "what is shipped"
        yield f"fold {fold + 1} chose {chose}. Its questions: {_told(own[fold], '+')}"
    means = [_mean(gain) for gain in own]
    yield (
        "held back, what was chosen against what is shipped: "
        f"{statistics.mean(means):+.2f}, spread {statistics.stdev(means):.2f}"
    )


def _line(change: Change, gain: Means, chosen: Sequence[Mapping[str, Any]]) -> str:
    name, value = change
    spread = statistics.stdev(_mean(gain[fold]) for fold in range(FOLDS))
    took = sum(name in each and each[name] == value for each in chosen)
    return (
        f"{name:12} {_written(value):16} {_told(gain[None], '+')}; "
        f"mean {_mean(gain[None]):+.2f}, spread {spread:.2f}, chosen by {took} of {FOLDS}"
    )


def _written(value: Any) -> str:
    if isinstance(value, Near):
        return f"{'/'.join(map(str, value.shares)) or 'none'}, {value.far_words:.0f} words"
    return str(value)


def _gains(found: Means, before: Means) -> Means:
    """What *found* has more than *before*, in points."""
    return {
        fold: {name: recall - before[fold][name] for name, recall in recalls.items()}
        for fold, recalls in found.items()
    }


def _chosen(gains: Mapping[Change, Means], held_back: int) -> dict[str, Any]:
    """The best value of each weight by the questions of the other folds, where one is better."""
    best: dict[str, tuple[float, Any]] = {}
    for (name, value), gain in gains.items():
        mean = statistics.mean(_mean(gain[fold]) for fold in range(FOLDS) if fold != held_back)
        if mean > max(0.0, best.get(name, (0.0, None))[0]):
            best[name] = mean, value
    return {name: value for name, (_, value) in best.items()}


def _mean(recalls: Mapping[str, float]) -> float:
    return statistics.mean(recalls.values())


def _told(recalls: Mapping[str, float], sign: str = "") -> str:
    return ", ".join(f"{name} {recall:{sign}.1f}" for name, recall in recalls.items())


if __name__ == "__main__":
    main()
