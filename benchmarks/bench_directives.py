"""What a step of the directives costs: on prose, on an update at any size, on 1 MB of text.

And what a directive costs in a running home, from the request to the fact.

Beside it the published package, where CORTEX_DIRECTIVES_REFERENCE names a folder of its versions
(tests/directives_peer/reference.py), and the bare limit: one comparison of prefixes for prose, one
name in its normal form put into a dict for an update; in a home, request and fact appended to a
bare log. CPU time; medians.
"""

import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unicodedata import normalize

from directives_home import in_a_home
from directives_peer import peer
from measure import Ratios, keep, quickly, ratio, speed, stamp

from cortex.runtime.directives import (
    DIALOGUE,
    INITIAL,
    SEED,
    STRICT,
    DirectiveHolder,
    Profile,
    State,
    preview,
    state_diff,
)

RESULT = Path(__file__).parent / "results" / "bench_directives.txt"
ROUNDS, LOOPS = 7, 2_000
SIZES = (0, 100, 10_000)  # policies
THREADS, EACH = 8, 300
PROSE = (
    "I think we should look at the deployment again, since the pipeline was slow yesterday.",
    "Please have a look at the failing test in module x.",
    "You could try another approach, couldn't you?",
    "user data is stored where?",
    "Überprüfe bitte die Übertragung \u2013 danke",
)
LONG = "a word of the report, and another one. " * 27_000  # 1.05 MB
GOALS = {"prose": 3.0, "update": 20.0, "1 MB": 20_000.0}  # microseconds
PROFILES = ((SEED, "never use", "0.1.0"), (DIALOGUE, "use", "0.8.3"), (STRICT, "use", "0.9.2"))


def each_us(work: Callable[[], object], loops: int = LOOPS) -> float:
    """Microseconds of CPU time that *work* takes."""
    took = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(loops):
            work()
        took.append((time.process_time() - began) / loops * 1e6)
    return statistics.median(took)


def filled(profile: Profile, head: str, size: int) -> State:
    state = INITIAL
    for number in range(size):
        state, _ = profile.step(state, f"{head} thing {number}")
    return state


class Stepping:
    """An engine of ours, with the method of theirs; each update names something new."""

    def __init__(self, profile: Profile, head: str, state: State = INITIAL) -> None:
        self.profile, self.head, self.state, self.number = profile, head, state, 0

    def step(self, text: str) -> None:
        """Take *text*."""
        self.state, _ = self.profile.step(self.state, text)

    def update(self) -> None:
        """Lay down something new."""
        self.number += 1
        self.step(f"{self.head} item {self.number}")

    def update_and_digest(self) -> None:
        """Lay down something new, and ask for the digest of all."""
        self.update()
        _ = self.state.digest


def their_engine(version: str) -> Any:
    module = peer.module(version, "engine")
    return module.Engine()


def fill_theirs(engine: Any, size: int) -> None:
    # Not by its steps: 10,000 of them copy 10,000 policies each. So by what it keeps for itself.
    state = getattr(engine, "_working_memory", None) or engine._state  # noqa: SLF001
    names = [f"thing {number}" for number in range(size)]
    if "prohibit" in state["policies"]:
        state["policies"]["prohibit"] = names
    else:
        state["policies"].update(dict.fromkeys(names, "use"))


def their_update_us(version: str, head: str, size: int) -> float:
    engine = their_engine(version)
    fill_theirs(engine, size)
    numbers = iter(range(10**9))
    return each_us(lambda: engine.step(f"{head} item {next(numbers)}"), 3 if size > 1000 else 200)


def kept_of_threads(step: Callable[[str], object], count: Callable[[], int]) -> str:
    """How many of the updates of all threads are there in the end."""

    def work(thread: int) -> None:
        for number in range(EACH):
            step(f"use thing {thread}-{number}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return f"{count():,} of {THREADS * EACH:,} kept"


def limit_of_update() -> Callable[[], None]:
    found: dict[str, str] = {}
    numbers = iter(range(10**9))

    def put() -> None:
        name = f"Item {next(numbers)}"
        found[" ".join(normalize("NFKC", name).casefold().split())] = "use"

    return put


def line(title: str, ours: float, theirs: float | None, limit: float | None = None) -> str:
    beside = "-         -" if theirs is None else f"{theirs:12,.1f}{theirs / ours:9,.0f}x"
    bare = "" if limit is None else f"{limit:9.2f}{ours / limit:8.1f}x"
    return f"{title:34}{ours:11,.2f}{beside:>22}{bare}"


def quick() -> Ratios:
    """A step on prose and an update at 10,000 policies, to their limits."""
    big = Stepping(STRICT, "use", filled(STRICT, "use", 10_000))
    put, heads = limit_of_update(), ("use ", "set ", "prohibit ")

    def repeated(work: Callable[[], object]) -> Callable[[], float]:
        return lambda: speed(lambda: [work() for _ in range(5_000)])

    return {
        "prose": ratio(
            repeated(lambda: STRICT.step(INITIAL, PROSE[0])),
            repeated(lambda: PROSE[0].startswith(heads)),
        ),
        "update": ratio(repeated(big.update), repeated(put)),
    }


def rows() -> list[str]:
    met: dict[str, float] = dict.fromkeys(GOALS, 0.0)
    found = [f"{'us a step':34}{'ours':>11}{'package':>12}{'':10}{'limit':>9}"]
    beside = peer.folder() is not None
    bare = each_us(lambda: PROSE[0].startswith(("use ", "set ", "prohibit ")))
    put = each_us(limit_of_update())
    for profile, head, version in PROFILES:
        prose, updates, long = of_profile(profile, head, version if beside else "")
        for goal, many in zip(GOALS, (prose, updates, long), strict=True):
            met[goal] = max(met[goal], *(ours for _, ours, _ in many))
        found += [line(*each, bare) for each in prose]
        found += [line(*each, put) for each in updates]
        found += [line(*each) for each in long]
    found += others(beside)
    found += in_a_home()
    reached = ", ".join(
        f"{name} {met[name]:,.1f} of {goal:,.0f} us" for name, goal in GOALS.items()
    )
    missed = [name for name, goal in GOALS.items() if met[name] > goal]
    return [*found, f"goals: {reached}: {'MISSED: ' + ', '.join(missed) if missed else 'met'}"]


Row = tuple[str, float, float | None]  # what, ours and theirs in microseconds


def of_profile(profile: Profile, head: str, version: str) -> tuple[list[Row], list[Row], list[Row]]:
    """On prose, of updates, and on long texts; theirs where *version* is named."""
    name = profile.name

    def ours_us(text: str, loops: int = LOOPS) -> float:
        return each_us(lambda: profile.step(INITIAL, text), loops)

    def theirs_us(text: str, loops: int = LOOPS) -> float | None:
        return each_us(lambda: their_engine(version).step(text), loops) if version else None

    engine = their_engine(version) if version else None
    # B023: each text is timed before the next one is taken.
    theirs = max(each_us(lambda: engine.step(text)) for text in PROSE) if engine else None  # noqa: B023
    prose = [(f"{name}: prose, the slowest of {len(PROSE)}", max(map(ours_us, PROSE)), theirs)]
    updates: list[Row] = []
    for size in SIZES:
        stepping = Stepping(profile, head, filled(profile, head, size))
        ours = each_us(stepping.update, 200 if size < LOOPS else LOOPS)
        theirs = their_update_us(version, head, size) if version else None
        updates.append((f"{name}: update beside {size:,}", ours, theirs))
    long = [
        (f"{name}: 1 MB, {kind}", ours_us(text, 3), theirs_us(text, 1))
        for kind, text in (("prose", LONG), ("a directive", f"{head} {LONG}"))
    ]
    return prose, updates, long


def others(beside: bool) -> list[str]:
    """What the package has no equal of, and what threads lose."""
    big = Stepping(STRICT, "use", filled(STRICT, "use", 10_000))
    digest = each_us(big.update_and_digest)
    state = big.state
    later, _ = STRICT.step(state, "use something else")
    compared = each_us(lambda: state_diff(state, later))
    looked = each_us(lambda: preview(STRICT, state, "use podman"))
    holder = DirectiveHolder(STRICT)
    ours = kept_of_threads(holder.step, lambda: len(holder.state.policies))
    lines = [
        line("update and digest beside 10,000", digest, None),
        line("preview beside 10,000", looked, None),
        line("difference of one, beside 10,000", compared, None),
        f"{THREADS} threads, {EACH} updates each: ours {ours}",
    ]
    if beside:
        engine = their_engine("0.9.2")
        interval = sys.getswitchinterval()
        sys.setswitchinterval(0.0005)  # as our runtime has it
        theirs = kept_of_threads(engine.step, lambda: len(engine.policies))
        sys.setswitchinterval(interval)
        lines[-1] += f"; the package {theirs}"
    return lines


def main() -> int:
    quickly(quick)
    peers = "seed / 0.1.0, dialogue / 0.8.3, strict / 0.9.2" if peer.folder() else "none"
    keep([f"{stamp()}; package: {peers}; CPU time, medians of {ROUNDS}", *rows()], RESULT)
    return int("MISSED" in RESULT.read_text())


if __name__ == "__main__":
    sys.exit(main())
