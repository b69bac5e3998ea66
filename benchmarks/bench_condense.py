"""How many tokens condensing saves on prose, and whether a fact is ever lost.

Documents of the evaluation material (CORTEX_EVAL, default ../shared/eval; skipped where it is
absent): tokens saved, facts that the independent checker misses, gold answers that stand literally
in condensed passages; beside dropping articles, copulas and fillers by one regular expression, and
unwrapping lines, which is all that exact prose can give. Then 10,000 drafts as a careless model
might write them, seeded: facts lost behind the checker.
"""

import json
import os
import random
import re
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from cortex.runtime.context import TokenCounter
from cortex.runtime.ctx import check, condense, decode
from cortex.runtime.ctx.prose import missing, prose_of, restored, split

EVAL = Path(os.environ.get("CORTEX_EVAL", Path(__file__).parents[2] / "shared" / "eval"))
COUNTER = TokenCounter()
DROPPED = re.compile(
    r"\b(?:the|a|an|is|are|was|were|very|really|just|quite) (?=[a-z])", re.IGNORECASE
)
DRAFTS = 10_000


def unwrapped(text: str) -> str:
    lines = (b.head + prose_of(b) if b.is_prose else "\n".join(b.lines) for b in split(text))
    return "\n".join(lines)


def documents(folder: Path) -> None:
    totals, missed = [0, 0, 0, 0, 0], 0
    spent, size = 0.0, 0
    print(
        f"{'document':34}{'source':>8}{'ours':>8}{'saved':>7}{'lost':>6}{'legend':>8}{'regex':>7}{'unwrap':>8}"
    )
    for path in sorted(folder.iterdir()):
        text = path.read_text(encoding="utf-8")
        start = time.process_time()
        package = condense(text, "markdown", counter=COUNTER)
        spent += time.process_time() - start
        size += len(text)
        whole = str(decode(package.text).data)
        lost = len(check(text, "markdown", package.text).lost)
        plain = [COUNTER.count(each) for each in (whole, DROPPED.sub("", text), unwrapped(text))]
        counts = [package.source_tokens, package.tokens, *plain]
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
        missed += lost
        print(row(path.name[:33], counts, lost))
    print(row("all", totals, missed))
    print(f"{size / 1e6 / spent:.2f} MB/s")


def row(name: str, counts: list[int], lost: int) -> str:
    source, ours, whole, regex, unwrap = counts
    saved = [100 * (1 - each / source) for each in (ours, regex, unwrap)]
    legend = 100 * (whole - ours) / source
    shares = f"{legend:7.1f}%{saved[1]:6.1f}%{saved[2]:7.1f}%"
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


SUBJECTS = (
    "The harbour",
    "The ferry of Port Ellen",
    "Mary Stone",
    "The pump `p_12`",
    "The north pier",
)
VERBS = (
    "must not open",
    "may close",
    "should be checked",
    "opens",
    "can not be moved",
    "will wait",
)
WHENS = (
    "if the tide is above 4.2 metres",
    "unless Ann Black agrees",
    "before 06:30",
    "on 1 May 2019",
    "within 48 hours",
    "for 12.50 euros",
    "when the valve_state is off",
)


def source_of(chance: random.Random) -> str:
    made = [
        f"{chance.choice(SUBJECTS)} {chance.choice(VERBS)} {chance.choice(WHENS)}, "
        f"because it took {chance.randint(2, 99)} days."
        for _ in range(chance.randint(2, 6))
    ]
    return " ".join(made)


def mutated(text: str, chance: random.Random) -> str:
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


def lost_facts(count: int) -> Iterator[int]:
    chance = random.Random(20)
    for _ in range(count):
        source = source_of(chance)
        yield len(missing(source, restored(source, mutated(source, chance))))


def main() -> None:
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; "
        f"tokens of {COUNTER.encoding}"
    )
    count = int(sys.argv[1]) if len(sys.argv) > 1 else DRAFTS
    COUNTER.count("load")
    if EVAL.is_dir():
        documents(EVAL / "corpus" / "narrative")
        passages(EVAL / "hipporag" / "musique_train.json")
    else:
        print(f"skipped: {EVAL} is not there; set CORTEX_EVAL")
    print(f"facts lost over {count:,} mutated drafts: {sum(lost_facts(count))}")


if __name__ == "__main__":
    main()
