"""How many tokens condensing saves on prose, and whether a fact is ever lost.

Documents of the evaluation material (CORTEX_EVAL, default ../shared/eval; skipped where it is
absent): tokens saved, facts that the independent checker misses, gold answers that stand literally
in condensed passages; beside dropping articles, copulas and fillers by one regular expression, and
unwrapping lines, which is all that exact prose can give; the same over the pages of docs/, on which
no rule was tried. "Of prose" is the share of the tokens of paragraphs and items: code, tables,
headings and what else stays do not count. Then 10,000 drafts as a careless model might write them,
seeded, behind the checker, and judged without it: the words of each sentence are known, so they are
looked for.
"""

import json
import os
import random
import re
import sys
import time
from collections import Counter
from pathlib import Path

import rankings
from measure import Ratios, quickly, stamp

from cortex.runtime.context import TokenCounter
from cortex.runtime.ctx import check, condense, decode, extract
from cortex.runtime.ctx.prose import prose_of, restored, sentences, split

EVAL = Path(os.environ.get("CORTEX_EVAL", Path(__file__).parents[2] / "shared" / "eval"))
COUNTER = TokenCounter()
DROPPED = re.compile(
    r"\b(?:the|a|an|is|are|was|were|very|really|just|quite) (?=[a-z])", re.IGNORECASE
)
DRAFTS = 10_000
EXTRACTED_CHARS = 30_000  # of each document
LEAST_SENTENCES = 10
STATED = re.compile(
    r"`[^`\n]+`|https?://[^\s)>\]]+|\b\d[\d.,:/-]*\w*|\b[A-Z][a-z]+(?: [A-Z][a-z]+)+\b"
    r"|\b\w+_\w+\b|\b[A-Z]{2,}\b|(?<=[a-z,] )[A-Z][a-z]{2,}"
)
DOCS = Path(__file__).parents[1] / "docs"


def unwrapped(text: str) -> str:
    lines = (b.head + prose_of(b) if b.is_prose else "\n".join(b.lines) for b in split(text))
    return "\n".join(lines)


def documents(paths: list[Path], *, each: bool = True) -> None:
    totals, missed = [0, 0, 0, 0, 0, 0], 0
    spent, size = 0.0, 0
    print(
        f"{'document':34}{'source':>8}{'ours':>8}{'saved':>7}{'lost':>6}{'legend':>8}{'regex':>7}"
        f"{'unwrap':>8}{'of prose':>10}"
    )
    for path in paths:
        text = path.read_text(encoding="utf-8")
        start = time.process_time()
        package = condense(text, "markdown", counter=COUNTER)
        spent += time.process_time() - start
        size += len(text)
        lost = len(check(text, "markdown", package.text).lost)
        plain = [COUNTER.count(form) for form in (DROPPED.sub("", text), unwrapped(text))]
        named = condense(text, "markdown", counter=COUNTER, named=True)
        lost += len(check(text, "markdown", named.text).lost)
        prose = sum(COUNTER.count("\n".join(b.lines)) for b in split(text) if b.is_prose)
        counts = [package.source_tokens, package.tokens, named.tokens, *plain, prose]
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
        missed += lost
        if each:
            print(row(path.name[:33], counts, lost))
    print(row("all" if each else f"{len(paths)} pages of docs/", totals, missed))
    print(f"{size / 1e6 / spent:.2f} MB/s of processor time")


def row(name: str, counts: list[int], lost: int) -> str:
    source, ours, named, regex, unwrap, prose = counts
    saved = [100 * (1 - each / source) for each in (ours, regex, unwrap)]
    legend = 100 * (ours - named) / source  # what it would save beside, off by default
    of_prose = 100 * (source - ours) / max(prose, 1)
    shares = f"{legend:7.1f}%{saved[1]:6.1f}%{saved[2]:7.1f}%{of_prose:9.1f}%"
    return f"{name:34}{source:8,}{ours:8,}{saved[0]:6.1f}%{lost:6}{shares}"


def passages(file: Path) -> None:
    kept = asked = before = after = 0
    for question in json.loads(file.read_text(encoding="utf-8")):
        answers = {
            question["answer"],
            *(step["answer"] for step in question["question_decomposition"]),
        }
        for paragraph in question["paragraphs"]:
            text = paragraph["paragraph_text"]
            golden = (
                [each for each in answers if each in text] if paragraph["is_supporting"] else []
            )
            if not golden:
                continue
            package = condense(text, counter=COUNTER)
            before, after = before + package.source_tokens, after + package.tokens
            result = str(decode(package.text).data)
            asked, kept = asked + len(golden), kept + sum(each in result for each in golden)
    print(f"gold answers literally present: {kept} of {asked}, {100 * kept / asked:.2f} %")
    print(f"tokens saved on these passages, headers included: {100 * (1 - after / before):.1f} %")


# What is written, and the facts in it, between which plain words may go.
SUBJECTS = {
    "harbour": "",
    "ferry of Port Ellen": "Port Ellen",
    "north pier": "",
    "pump `p_12`": "`p_12`",
    "lock keeper": "",
}
VERBS = {
    "must not open": "must not open",
    "may close": "may close",
    "should be checked": "should .*checked",
    "opens": "",
    "can not be moved": "can not .*moved",
    "will wait": "will wait",
}
WHENS = {
    "if the tide is above 4.2 metres": r"if .*tide .*above 4\.2 metres",
    "unless Ann Black agrees": "unless Ann Black",
    "before 06:30": "before 06:30",
    "on 1 May 2019": "1 May 2019",
    "within 48 hours": "within 48 hours",
    "for 12.50 euros a day": r"12\.50 euros .*day",
    "when the valve_state is off": "when .*valve_state",
}
CHANGES = (  # what is written, what a careless model makes of it
    ("must not", "must"),
    ("can not", "can"),
    ("may", "must"),
    ("should", "may"),
    ("will", "may"),
    ("Ann Black", "Ann"),
    ("4.2 metres", "4.2 feet"),
    ("1 May 2019", "5 January 2019"),
    ("48 hours", "48 minutes"),
    ("a day", "a week"),
    ("above", "below"),
    (" unless Ann Black agrees", ""),
    (" if the tide is above 4.2 metres", ""),
    ("unless", "if"),
    ("before", "after"),
)
Statement = tuple[str, str, str, str]  # subject, verb, when, for how many days


def statements(chance: random.Random) -> list[Statement]:
    who, does, when = map(list, (SUBJECTS, VERBS, WHENS))
    return [
        (
            chance.choice(who),
            chance.choice(does),
            chance.choice(when),
            f"took {chance.randint(2, 99)} days",
        )
        for _ in range(chance.randint(2, 6))
    ]


def written(said: list[Statement]) -> str:
    return " ".join(f"The {who} {does} {when}, because it {n}." for who, does, when, n in said)


def mutated(said: list[Statement], chance: random.Random) -> str:
    rows = [list(row) for row in said]
    if chance.random() < 0.5:  # a part of two sentences changes places
        part, one, other = chance.randrange(4), chance.choice(rows), chance.choice(rows)
        one[part], other[part] = other[part], one[part]
    text = written([(who, does, when, n) for who, does, when, n in rows])
    if chance.random() < 0.5:
        text = re.sub(r"\bThe |, because it", "", text)
    if chance.random() < 0.5:
        old, new = chance.choice(CHANGES)
        text = text.replace(old, new)
    return scrambled(text, chance) if chance.random() < 0.5 else text


def scrambled(text: str, chance: random.Random) -> str:
    words = text.split(" ")
    for _ in range(chance.randint(1, 4)):
        at, other = chance.randrange(len(words)), chance.randrange(len(words))
        how = chance.randrange(6)
        if how == 0:
            del words[at : at + chance.randint(1, 4)]
        elif how == 1:
            words[at] = re.sub(r"\d", lambda m: str((int(m.group()) + 3) % 10), words[at])
        elif how == 2:
            words[at], words[other] = words[other], words[at]
        elif how == 3:
            words = [
                word for word in words if word not in ("not", "unless", "must", "if", "should")
            ]
        elif how == 4:
            words[at] = words[at].swapcase()
        else:
            words = words[at:] + words[:at]
        words = words or ["nothing"]
    return " ".join(words)


def judged(said: list[Statement], result: str) -> tuple[int, int]:
    """Statements whose facts are not in *result*, and sentences in it that none of them says."""
    sentences = re.split(r"(?<=days\.) ", result)
    facts = [
        re.compile(".*".join((SUBJECTS[who], VERBS[does], WHENS[when], n[4:])))
        for who, does, when, n in said
    ]
    lost = sum(not any(each.search(sentence) for sentence in sentences) for each in facts)
    parts = {part for each in said for part in each}
    told = [{part for part in parts if part in sentence} for sentence in sentences]
    false = sum(not any(each <= set(one) for one in said) for each in told)
    return lost, false


def drafts(count: int) -> None:
    chance = random.Random(20)
    lost = false = kept = 0
    for _ in range(count):
        said = statements(chance)
        source, draft = written(said), mutated(said, chance)
        result = restored(source, draft)
        missed, wrong = judged(said, result)
        lost, false, kept = lost + missed, false + wrong, kept + (result == draft)
    print(
        f"over {count:,} mutated drafts: facts of {lost} sentences lost, {false} sentences that "
        f"say what the source does not; {kept:,} drafts taken as they were"
    )


def stated(text: str) -> set[str]:
    """Facts by a list of forms that the extractor does not know."""
    return {found.strip(".,:") for found in STATED.findall(text)}


def extractions(what: str, paths: list[Path]) -> None:
    """Facts in a third of the tokens: ours, the head of the text, TextRank, MMR."""
    totals: Counter[str] = Counter()
    for path in paths:
        text = path.read_text(encoding="utf-8")[:EXTRACTED_CHARS]
        budget = COUNTER.count(text) // 3
        said = [s for block in split(text) if block.is_prose for s in sentences(prose_of(block))]
        if len(said) < LEAST_SENTENCES:
            continue
        package = extract(text, "markdown", tokens=budget, counter=COUNTER)
        made = {
            "ours": str(decode(package.text).text),
            "head": head(text, budget),
            "textrank": filled(rankings.textrank(said), said, budget),
            "mmr": filled(rankings.mmr(said), said, budget),
        }
        there = stated(text)
        totals["all"] += len(there)
        for name, each in made.items():
            totals[name] += len(stated(each) & there)
    ours = totals["ours"]
    peers = ", ".join(
        f"{name} {totals[name]:,} (ours {ours / totals[name]:.2f} x)"
        for name in ("head", "textrank", "mmr")
    )
    print(f"a third of the tokens of {what}: {ours:,} of {totals['all']:,} facts; {peers}")


def head(text: str, budget: int) -> str:
    lines = text.split("\n")
    kept = len(lines)
    while COUNTER.count("\n".join(lines[:kept])) > budget:
        kept -= max(1, kept // 100)
    return "\n".join(lines[:kept])


def filled(order: list[int], said: list[str], budget: int) -> str:
    taken: list[int] = []
    used = 0
    for at in order:
        tokens = COUNTER.count(said[at]) + 1
        if used + tokens <= budget:
            used, taken = used + tokens, [*taken, at]
    return " ".join(said[at] for at in sorted(taken))


def quick() -> Ratios:
    """Tokens of pages of docs/ with their lines unwrapped, to what is left of them condensed."""
    pages = [path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))[:3]]
    ours = sum(condense(page, "markdown", counter=COUNTER).tokens for page in pages)
    return {"tokens": sum(COUNTER.count(unwrapped(page)) for page in pages) / ours}


def main() -> None:
    quickly(quick)
    print(f"{stamp()}; tokens of {COUNTER.encoding}")
    count = int(sys.argv[1]) if len(sys.argv) > 1 else DRAFTS
    COUNTER.count("load")
    if EVAL.is_dir():
        documents(sorted((EVAL / "corpus" / "narrative").iterdir()))
        passages(EVAL / "hipporag" / "musique_train.json")
    else:
        print(f"skipped: {EVAL} is not there; set CORTEX_EVAL")
    documents(sorted(DOCS.glob("*.md")), each=False)
    if EVAL.is_dir():
        extractions("the documents above", sorted((EVAL / "corpus" / "narrative").iterdir()))
    extractions("pages of docs/", sorted(DOCS.glob("*.md")))
    drafts(count)


if __name__ == "__main__":
    main()
