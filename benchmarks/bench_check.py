"""Has anything become slow since its ratio to the bare limit was recorded?

Runs the short form (`--quick`) of each benchmark that has a bare limit and compares its ratios with
`results/ratios.toml`: one that fell below half of what is recorded is measured once more, alone,
and then fails. The limit is measured in the same run, in turn, so that a slow or busy machine is
slow or busy for both.

    python benchmarks/bench_check.py                 # as `make bench-check`
    python benchmarks/bench_check.py --only steps    # some
    python benchmarks/bench_check.py --record        # raise what has become better
    python benchmarks/bench_check.py --lower NAME RATIO REASON
    python benchmarks/bench_check.py --stale         # records that are older than the code

A recorded ratio is raised by anybody who measured it. It is lowered only with a reason, which
stands beside it with the ratio that it had before; a file that says otherwise is refused.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

BENCHMARKS = Path(__file__).parent
RECORDED = BENCHMARKS / "results" / "ratios.toml"
NAMES = (
    "backup",
    "bus",
    "cache",
    "compile",
    "condense",
    "context",
    "ctx_exact",
    "diff",
    "directives",
    "export",
    "fan",
    "first_gate",
    "gc",
    "hosts",
    "knowledge",
    "limits",
    "log",
    "memory",
    "models",
    "relevant_code",
    "replay",
    "start",
    "steps",
    "subjects",
    "wire",
)
FELL = 0.5  # below this share of what is recorded it fails
RISEN = 1.1  # above this it is worth recording
LONGEST_S = 120.0  # for one short form; whatever takes longer has become slow, too
PRODUCT = {"actors", "bus", "plugins", "runtime"}
COMMIT = re.compile(r", commit ([0-9a-f]{7,40})(\+?)")
IMPORTED = re.compile(r"^(?:from|import) cortex\.([a-z_]+(?:\.[a-z_]+)?)", re.MULTILINE)
HEAD = """\
# Ours over the bare limit of the same run, by the short form of each benchmark. `make bench-check`
# fails where one falls below half of this. `python benchmarks/bench_check.py --record` raises them;
# one that is lowered has the ratio that it had before, and why: `--lower NAME RATIO REASON`.
"""


class Recorded(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One ratio of `ratios.toml`."""

    ratio: float
    date: str
    before: float = 0.0  # of one that was lowered: what it was
    reason: str = ""  # and why

    def problem(self) -> str:
        """What is wrong with it; empty where nothing is."""
        if not self.ratio > 0:
            return "is no ratio: give a number above 0"
        if bool(self.before) != bool(self.reason.strip()):
            return "has a ratio of before without a reason, or the other way round: give both"
        if self.before and self.before <= self.ratio:
            return "has a reason, and is not lower than before: drop `before` and `reason`"
        return ""


def read(text: str) -> dict[str, Recorded]:
    """The recorded ratios, by name.

    Raises:
        ValueError: One of them is not as it has to be.
    """
    found = msgspec.convert(tomllib.loads(text), dict[str, Recorded])
    wrong = [f"{name} {problem}" for name, each in found.items() if (problem := each.problem())]
    if wrong:
        raise ValueError("; ".join(wrong))
    return found


def written(recorded: Mapping[str, Recorded]) -> str:
    """The text of `ratios.toml`."""
    blocks = [HEAD]
    for name, each in sorted(recorded.items()):
        fields = msgspec.to_builtins(each)
        lines = [
            f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items()
        ]
        blocks.append("\n".join([f"[{json.dumps(name)}]", *lines, ""]))
    return "\n".join(blocks)


def unexplained(old: Mapping[str, Recorded], new: Mapping[str, Recorded]) -> list[str]:
    """What was lowered, or left out, from *old* to *new* without a reason for just that."""
    wrong = []
    for name, before in old.items():
        after = new.get(name)
        if after is None:
            wrong.append(f"{name} was recorded at {before.ratio:g} and is gone")
        elif after.ratio < before.ratio and (after.before < before.ratio or not after.reason):
            wrong.append(
                f"{name} was lowered from {before.ratio:g} to {after.ratio:g} and does not say why"
            )
    return wrong


def committed() -> dict[str, Recorded]:
    """What the newest commit records; nothing where there is no git, or no such file in it yet."""
    place = f"HEAD:./{RECORDED.relative_to(BENCHMARKS)}"
    command = ["git", "-C", str(BENCHMARKS), "show", place]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return {}
    return read(done.stdout)


def measured(name: str) -> dict[str, float]:
    """The ratios of one benchmark's short form, by name.

    Raises:
        RuntimeError: It failed; the message is what it said.
    """
    command = [sys.executable, str(BENCHMARKS / f"bench_{name}.py"), "--quick"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=LONGEST_S
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"it took more than {LONGEST_S:.0f} s") from None
    if done.returncode:
        raise RuntimeError((done.stdout + done.stderr).strip())
    ratios: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return {f"{name}: {each}": ratio for each, ratio in ratios.items()}


def fallen(found: Mapping[str, float], recorded: Mapping[str, Recorded]) -> list[str]:
    """Names of those that are below half of what is recorded."""
    return [
        name
        for name, ratio in found.items()
        if name in recorded and ratio < FELL * recorded[name].ratio
    ]


def check(name: str, recorded: Mapping[str, Recorded]) -> dict[str, float]:
    """The ratios of one benchmark; the better of two runs where the first one fell."""
    found = measured(name)
    low = fallen(found, recorded)
    if low:
        print(f"  {', '.join(low)}: once more", file=sys.stderr, flush=True)
        again = measured(name)
        found = {each: max(ratio, again.get(each, 0.0)) for each, ratio in found.items()}
    return found


def lines(found: Mapping[str, float], recorded: Mapping[str, Recorded]) -> Iterator[str]:
    """What was found, one line each."""
    for name, ratio in found.items():
        known = recorded.get(name)
        share = f"{ratio / known.ratio:6.0%} of {known.ratio:.4g}" if known else "not recorded yet"
        low = "  FELL BELOW HALF" if name in fallen(found, recorded) else ""
        yield f"{name:28} {ratio:10.4g} x the limit, {share}{low}"


def raised(found: Mapping[str, float], recorded: Mapping[str, Recorded]) -> dict[str, Recorded]:
    """What is recorded, with all that has become better."""
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    new = dict(recorded)
    for name, ratio in found.items():
        known = recorded.get(name)
        if known is None or ratio > RISEN * known.ratio:
            new[name] = Recorded(round(ratio, 4), today)
    return new


def lower(name: str, ratio: float, reason: str) -> int:
    """Record a lower ratio, with what it was and why it is."""
    recorded = read(RECORDED.read_text())
    if name not in recorded:
        print(f"there is no {name!r} in {RECORDED}; one of {', '.join(recorded)}")
        return 2
    was = max(recorded[name].ratio, committed().get(name, recorded[name]).ratio)
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    recorded[name] = Recorded(ratio, today, before=was, reason=reason)
    if problem := recorded[name].problem():
        print(f"{name} {problem}")
        return 2
    RECORDED.write_text(written(recorded))
    return 0


def stale(record: Path) -> str:
    """Why *record* may say what is true no more; empty where the rooms it measures are unchanged.

    A record names its commit. The rooms are those that its benchmark imports; all of them for one
    that a test makes.
    """
    named = COMMIT.search(record.read_text(encoding="utf-8").partition("\n")[0])
    if named is None:
        return "names no commit"
    script = BENCHMARKS / f"{record.stem}.py"
    found = rooms_of(script.read_text(encoding="utf-8")) if script.exists() else PRODUCT
    rooms = [f":/{room}" for room in sorted(found)]
    git = ["git", "-C", str(BENCHMARKS.parent)]
    command = [*git, "rev-list", "--count", f"{named[1]}..HEAD", "--", *rooms]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"names the commit {named[1]}, which is not here"
    changes = int(done.stdout)
    if changes:
        return f"{changes} commits changed what it measures since {named[1]}"
    return "was made with files that are in no commit" if named[2] else ""


def rooms_of(source: str) -> set[str]:
    """The folders of the rooms that a benchmark with this source imports."""
    return {name.replace(".", "/") for name in IMPORTED.findall(source)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="those that have this in their name")
    parser.add_argument("--record", action="store_true", help="raise what has become better")
    parser.add_argument("--lower", nargs=3, metavar=("NAME", "RATIO", "REASON"))
    parser.add_argument(
        "--stale", action="store_true", help="list old records, and measure nothing"
    )
    asked = parser.parse_args()
    if asked.stale:
        for record in sorted(RECORDED.parent.glob("*.txt")):
            print(f"{record.stem:28} {stale(record) or 'up to date'}")
        return 0
    if asked.lower:
        return lower(asked.lower[0], float(asked.lower[1]), asked.lower[2])
    recorded = read(RECORDED.read_text()) if RECORDED.exists() else {}
    if wrong := unexplained(committed(), recorded):
        print("\n".join(wrong))
        return 1
    # As users have it. Without bytecode a start compiles all that it imports.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    found: dict[str, float] = {}
    failed: list[str] = []
    began = time.monotonic()
    for name in NAMES:
        if asked.only not in name:
            continue
        try:
            ratios = check(name, recorded)
        except RuntimeError as error:
            print(f"{name} failed: {error}", flush=True)
            failed.append(name)
            continue
        print("\n".join(lines(ratios, recorded)), flush=True)
        found |= ratios
    if asked.record:
        RECORDED.write_text(written(raised(found, recorded)))
    failed += [] if asked.record else fallen(found, recorded)
    print(
        f"{len(found)} ratios in {time.monotonic() - began:.0f} s: {'FAILED' if failed else 'ok'}"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
