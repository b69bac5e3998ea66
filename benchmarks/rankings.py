"""Sentences ranked by what is usual: TextRank (Mihalcea and Tarau, 2004), MMR (Carbonell, 1998)."""

import math
import re
from collections import Counter

import numpy as np

STOPPED = frozenset(
    {"the", "a", "an", "is", "are", "of", "to", "in", "and", "or", "for", "on", "that", "this"}
    | {"it", "as", "be", "with", "by", "not", "at", "from", "if", "can", "will", "we", "you"}
)
DAMPING, ROUNDS, BALANCE = 0.85, 40, 0.5


def words(sentence: str) -> list[str]:
    return [w for w in re.findall(r"[a-z]{2,}", sentence.lower()) if w not in STOPPED]


def textrank(said: list[str]) -> list[int]:
    """Positions in *said*, the most central first, by the words that two sentences share."""
    sets = [set(words(each)) for each in said]
    likeness = np.zeros((len(said), len(said)))
    for i, one in enumerate(sets):
        for j, other in enumerate(sets[:i]):
            if len(one) > 1 and len(other) > 1 and (shared := len(one & other)):
                weight = shared / (math.log(len(one)) + math.log(len(other)))
                likeness[i, j] = likeness[j, i] = weight
    sums = likeness.sum(1)
    sums[sums == 0] = 1
    moves = (likeness / sums[:, None]).T
    rank = np.full(len(said), 1 / len(said))
    for _ in range(ROUNDS):
        rank = (1 - DAMPING) / len(said) + DAMPING * moves @ rank
    return [int(at) for at in np.argsort(-rank)]


def mmr(said: list[str]) -> list[int]:
    """Positions in *said*: near the middle of the text and far from what was taken before."""
    counts = [Counter(words(each)) for each in said]
    found = Counter(word for each in counts for word in each)
    places = {word: at for at, word in enumerate(found)}
    vectors = np.zeros((len(said), max(1, len(places))))
    for at, each in enumerate(counts):
        for word, count in each.items():
            vectors[at, places[word]] = count * math.log(len(said) / found[word])
    lengths = np.linalg.norm(vectors, axis=1)
    lengths[lengths == 0] = 1
    vectors /= lengths[:, None]
    middle = vectors.mean(0)
    relevance = vectors @ (middle / (np.linalg.norm(middle) or 1))
    nearest, left, order = np.zeros(len(said)), set(range(len(said))), []
    while left:
        best = max(left, key=lambda at: BALANCE * relevance[at] - (1 - BALANCE) * nearest[at])
        order.append(best)
        left.remove(best)
        nearest = np.maximum(nearest, vectors @ vectors[best])
    return order
