"""Does a memory know what is current, how it came to be, and what follows from several facts?

Nothing here asks a language model. Four parts, each with its baselines in the same run:

*Corrections*: generated histories of 5 to 20 corrections (changing_facts.py), alone and among the
turns of real conversations (LoCoMo); the same where nobody gave an edge. *Edges*: which of the
edges `replaced` finds by itself, and how surely. *Chains*: numbered facts of which the later ones
win, asked over one to four of them (chained_facts.py). *Dialogues*: BEAM: evidence among the first
20 messages, the new statement above the old, answerable or not.

A question may have two right answers: "Where can I find Anna?" asks for her room or her town. Then
what is current of either counts, for the baselines, too. This was judged for the visible questions
alone; nobody reads the unseen ones. The parts that need the material of CORTEX_EVAL (default
../shared/eval) skip, and say so, where it is not there.
"""

import argparse
import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from chained_facts import HOPS, chained, relations
from chained_facts import Facts as Numbered
from changing_facts import OWNERS, Chain, Said, World, wordings, world
from measure import keep, peer, stamp
from memory_baselines import Baseline, Fused, Recent, TimeWeighted, Vectors, Words
from memory_dialogues import dialogue_lines
from memory_worlds import Memory, among, conversations, dated

from cortex.runtime.memory.updates import (
    SURE,
    Facts,
    Hit,
    Statement,
    history,
    order_current,
    replaced,
)
from cortex.runtime.retrieval import Embedder, HashingEmbedder, StaticEmbedder

EVAL = Path(os.environ.get("CORTEX_EVAL", "../shared/eval")).resolve()
RESULT = Path(__file__).parent / "results" / "bench_memory_updates.txt"
FOUND: Final = 20
SETS: Final = ("visible", "unseen")
SEEDS: Final = {"visible": (20, 21), "unseen": (40, 41)}
Edges = dict[str, str]  # the newer statement that replaced it, by the older one


class Score(NamedTuple):
    """How one ranking did on one question."""

    current: bool  # the current statement ranks first, or that of another chain that answers, too
    superseded: bool  # what ranks first is of a history, and not its end
    above: bool  # the current statement ranks above the one before it


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--peers", type=Path, default=Path(os.environ.get("CORTEX_PEERS", ".peers"))
    )
    parser.add_argument("--without-model", action="store_true", help="leave MiniLM out")
    asked = parser.parse_args()
    keep(lines(asked.peers, without_model=asked.without_model), RESULT)


def lines(peers: Path, *, without_model: bool) -> Iterator[str]:
    """The record."""
    yield stamp()
    embedders: dict[str, Embedder] = {"static": StaticEmbedder(), "hashing": HashingEmbedder()}
    there = (EVAL / "eval_beam.py").is_file()
    if there and not without_model:
        from retrieval_adapter import Local

        embedders["MiniLM"] = Local().embedder()
    python = peer(peers, "langchain", "langchain-classic", "numpy")
    without = {name: one for name, one in embedders.items() if name != "MiniLM"}
    for name in SETS:
        worlds = [world(wordings(name), seed, 24, 20, 5) for seed in SEEDS[name]]
        yield from corrections(f"histories of 5 to 20 corrections, {name}", worlds, without, python)
    if there:
        for name in SETS:
            yield from corrections(
                f"histories among the turns of real conversations, {name}",
                [
                    among(turns, _personal(name, turns, at))
                    for at, turns in enumerate(conversations())
                ],
                {"static": embedders["static"]},
                python,
            )
        yield _small_talk(embedders["static"])
    yield from chains(embedders)
    if there:
        yield from dialogue_lines(embedders)
    else:
        yield f"skipped: there is no material in {EVAL}; set CORTEX_EVAL"


def _small_talk(embedder: Embedder) -> str:
    """How many edges are found among turns alone, most of which replace nothing."""
    turns = edges = 0
    for talk in conversations():
        with Memory(dated(talk), embedder) as memory:
            turns, edges = turns + len(talk), edges + len(_found(memory))
    return f"\n# among {turns} turns of real conversations alone, {edges} edges are found"


def _personal(name: str, turns: Sequence[Said], seed: int) -> World:
    """A history of what the two speakers of *turns* say of themselves."""
    speakers = tuple(dict.fromkeys(turn.speaker for turn in turns))
    owners = {"person": (*speakers, *OWNERS["person"][:2]), "self": OWNERS["self"]}
    return world(wordings(name), 70 + seed, 12, 12, 5, owners)


def corrections(
    title: str, worlds: Sequence[World], embedders: Mapping[str, Embedder], python: str | None
) -> Iterator[str]:
    """Which statement ranks first, with the edges given, with those found, and without."""
    count = sum(len(each.chains) for each in worlds)
    said = sum(len(each.said) for each in worlds)
    yield f"\n# {title}: {said} statements, {count} questions"
    yield f"{'':44}{'current 1st':>13}{'replaced 1st':>14}{'above old':>11}{'ms':>8}"
    static = embedders["static"]
    plain: list[Baseline] = [Words(), *(Vectors(one, name) for name, one in embedders.items())]
    plain.append(Fused(Words(), Vectors(static, "static")))
    for baseline in [*plain, *map(Recent, plain)]:
        yield _line(baseline.name, _baseline(baseline, worlds))
    if python:
        weighted = TimeWeighted(python, static)
        yield _line(weighted.name, _weighted(weighted, worlds))
    for name, embedder in embedders.items():
        yield from _ours(name, embedder, worlds)


def _baseline(baseline: Baseline, worlds: Sequence[World]) -> tuple[list[Score], list[float]]:
    scores, took = list[Score](), list[float]()
    for each in worlds:
        baseline.index(each.said)
        for chain in each.chains:
            began = time.perf_counter()
            ranked = baseline.rank(chain.ask)
            took.append(time.perf_counter() - began)
            scores.append(_score(each, chain, [each.said[at].id for at in ranked]))
    return scores, took


def _weighted(weighted: TimeWeighted, worlds: Sequence[World]) -> tuple[list[Score], list[float]]:
    scores: list[Score] = []
    for each in worlds:
        weighted.index(each.said)
        ranks = weighted.ranks([chain.ask for chain in each.chains])
        for chain, ranked in zip(each.chains, ranks, strict=True):
            scores.append(_score(each, chain, [each.said[at].id for at in ranked]))
    return scores, [0.0]


def _ours(name: str, embedder: Embedder, worlds: Sequence[World]) -> Iterator[str]:
    given, found, none = [(list[Score](), list[float]()) for _ in range(3)]
    quality = list[str]()
    histories = list[tuple[bool, float]]()
    for each in worlds:
        with Memory(each.said, embedder) as memory:
            edges = _found(memory)
            heads = {
                "given": _heads(_given(each)),
                "found": _heads(edges),
                "none": dict[str, str](),
            }
            for kind, (scores, took) in (("given", given), ("found", found), ("none", none)):
                for chain in each.chains:
                    began = time.perf_counter()
                    hits = _hits(memory, chain, heads[kind])
                    ranked = order_current(chain.ask, hits, complete=kind == "given")
                    took.append(time.perf_counter() - began)
                    scores.append(_score(each, chain, [hit.statement.id for hit in ranked]))
            quality.append(_quality(each, edges))
            histories += _histories(each, memory, edges)
    yield _line(f"ours ({name}), edges given", given)
    yield _line(f"ours ({name}), edges found", found)
    yield _line(f"ours ({name}), no edges", none)
    if name == "static":
        yield f"edges found from certainty {SURE} on: {'; '.join(quality)}"
        whole = 100 * statistics.mean(share for share, _ in histories)
        share = 100 * statistics.mean(share for _, share in histories)
        yield f"whole history in order: edges given {whole:.1f} %; edges found, of it {share:.1f} %"


def _hits(memory: Memory, chain: Chain, heads: Mapping[str, str]) -> list[Hit]:
    """The first hits with the heads of their chains, as an accessor gives them."""
    asker = memory.statements[chain.statements[-1]].speaker
    ranked = memory.find(chain.ask, asker)[:FOUND]
    there = {statement.id for statement, _ in ranked}
    more = {heads[one]: score for one, score in _scored(ranked) if one in heads}
    ranked += [(memory.statements[one], score) for one, score in more.items() if one not in there]
    return [Hit(statement, score, heads.get(statement.id, "")) for statement, score in ranked]


def _scored(ranked: Sequence[tuple[Statement, float]]) -> list[tuple[str, float]]:
    return [(statement.id, score) for statement, score in ranked]


def _given(each: World) -> Edges:
    return {
        old: new
        for chain in each.chains
        for old, new in zip(chain.statements, chain.statements[1:], strict=False)
    }


def _found(memory: Memory) -> Edges:
    """What `replaced` is sure of, as statements come in; candidates are found by retrieval."""
    edges: Edges = {}
    for one in memory.statements.values():
        earlier = [
            statement
            for statement, _ in memory.find(one.text, one.speaker)
            if statement.time_ns < one.time_ns and statement.id not in edges
        ]
        for found in replaced(one, earlier[:FOUND]):
            if found.certainty >= SURE:
                edges[found.old_id] = one.id
    return edges


def _heads(edges: Edges) -> Edges:
    """What is current in the place of each statement that was replaced."""
    heads: Edges = {}
    for old in edges:
        head = old
        while head in edges:
            head = edges[head]
        heads[old] = head
    return heads


def _quality(each: World, edges: Edges) -> str:
    of = {one: chain.id for chain in each.chains for one in chain.statements}
    right = sum(of.get(old, "") == of.get(new, "-") for old, new in edges.items())
    wrong = sum(
        of.get(old, "") != of.get(new, "-") for old, new in edges.items() if old in of or new in of
    )
    reached = sum(old in edges for old in _given(each))
    return (
        f"{right} right, {wrong} wrong ({100 * right / max(right + wrong, 1):.1f} %), "
        f"{100 * reached / len(_given(each)):.0f} % of the replaced"
    )


def _histories(each: World, memory: Memory, found: Edges) -> Iterator[tuple[bool, float]]:
    """For each chain: whether its whole history comes back in order, and how much by *found*."""
    statements = list(memory.statements.values())
    given = [(new, old) for old, new in _given(each).items()]
    ours = [(new, old) for old, new in found.items()]
    for chain in each.chains:
        whole = tuple(one.id for one in history(chain.statements[-1], statements, given))
        part = {one.id for one in history(chain.statements[-1], statements, ours)}
        yield whole == chain.statements, len(part.intersection(chain.statements)) / len(whole)


def _score(each: World, chain: Chain, ranked: Sequence[str]) -> Score:
    ends = {other.statements[-1] for other in each.chains}
    told = {one for other in each.chains for one in other.statements}
    place = {one: at for at, one in enumerate(ranked)}
    new, old = chain.statements[-1], chain.statements[-2]
    right = {new, *(other.statements[-1] for other in each.chains if other.id in chain.also)}
    return Score(
        ranked[0] in right,
        ranked[0] in told and ranked[0] not in ends,
        place.get(new, len(told)) < place.get(old, len(told)),
    )


def _line(name: str, measured: tuple[list[Score], list[float]]) -> str:
    scores, took = measured
    current, replaced_first, above = (
        100 * statistics.mean(score[at] for score in scores) for at in range(3)
    )
    ms = statistics.median(took) * 1e3
    return f"{name:44}{current:13.1f}{replaced_first:14.1f}{above:11.1f}{ms:8.2f}"


def chains(embedders: Mapping[str, Embedder]) -> Iterator[str]:
    """Right answers over one to four facts, by wordings and embedder."""
    several: dict[str, Embedder | None] = {"no embedder": None, **embedders}
    for name in ("visible", "second", "unseen"):
        made = [chained(relations(name), seed) for seed in range(10, 14)]
        facts = sum(len(each.facts) for each in made)
        yield f"\n# numbered facts, {name} wordings: {facts} facts; right answers in %"
        yield (
            f"{'':20}"
            + "".join(f"{f'{hops} hops':>9}" for hops in HOPS)
            + f"{'2 to 4':>9}{'ms':>8}"
        )
        right = {hops: list[bool]() for hops in HOPS}
        for each in made:
            _by_words(each, right)
        yield _chain_line("BM25, newest of 5", right, 0.0)
        for label, embedder in several.items():
            right = {hops: list[bool]() for hops in HOPS}
            took = list[float]()
            for each in made:
                told = [Statement(str(at), text, at) for at, text in enumerate(each.facts, 1)]
                memory = Facts(told, embedder)
                for hops, questions in each.questions.items():
                    for question in questions:
                        began = time.perf_counter()
                        chain = memory.follow(question.text)
                        took.append(time.perf_counter() - began)
                        answer = chain.answer if chain else ""
                        right[hops].append(_plain(answer).endswith(_plain(question.answer)))
            yield _chain_line(label, right, statistics.median(took) * 1e3)


def _by_words(each: Numbered, right: Mapping[int, list[bool]]) -> None:
    """The last fact of a chain, by words and date alone: what a search without hops finds."""
    base = Recent(Words())
    base.index([Said(str(at), text, at, "", "", 0, "") for at, text in enumerate(each.facts)])
    for hops, asked in each.questions.items():
        right[hops] += [base.rank(question.text)[0] == question.chain[-1] for question in asked]


def _plain(answer: str) -> str:
    return f" {answer.lower().removeprefix('the ')}"


def _chain_line(name: str, right: Mapping[int, Sequence[bool]], ms: float) -> str:
    shares = [100 * statistics.mean(right[hops]) for hops in HOPS]
    several = 100 * statistics.mean([one for hops in HOPS[1:] for one in right[hops]])
    return f"{name:20}" + "".join(f"{share:9.1f}" for share in shares) + f"{several:9.1f}{ms:8.2f}"


if __name__ == "__main__":
    main()
