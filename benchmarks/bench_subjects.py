"""What does it cost to record for a subject, beside recording without one?

One client publishes batches of 100 `step.completed` to a hub in this process, on a log on disk:
*plain* by a hub that knows of no subjects, *unused* by one that could, in a home without any, and
*subject* in an execution of a subject, so that every body is encrypted. *read* and *read subject*
read both logs and decode every record. *bare* encrypts the same bodies with AES-256-GCM, and does
nothing else. All in turn, each on a new log; medians are printed.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from measure import (
    Figures,
    Ratios,
    Run,
    arguments,
    heading,
    in_turn,
    keep,
    quickly,
    ratio,
    report,
    run,
)

from cortex.bus import Client, Draft, Hub, LocalHub, SystemClock, decode, system_entropy
from cortex.bus.events import VOCABULARY, ExecutionRequest, StepCompleted
from cortex.runtime.log import EventLog
from cortex.runtime.subjects import HubSubjects, PersonalLog, SubjectKeys

RESULT = Path(__file__).parent / "results" / "bench_subjects.txt"
EVENTS, QUICK = 50_000, 5_000
BATCH = 100
PAGE, PAGE_BYTES = 1_024, 4 << 20
NAMES = ("plain", "unused", "subject", "read", "read subject", "bare")
EVENT = StepCompleted(
    execution_id="k3f9q2m7",
    step_id="run_tests",
    result={"exit_code": 0, "text": "148 passed in 12.3 s", "findings": ["cart.py:17"] * 8},
    summary="148 passed",
)


def measured(name: str, events: int) -> None:
    """One of `NAMES`, on *events*."""
    if name == "bare":
        cipher, body = AESGCM(bytes(32)), Draft.of(EVENT).body
        started = time.perf_counter()
        for number in range(events):
            cipher.encrypt(number.to_bytes(12, "big"), body, b"")
        report({"took_s": time.perf_counter() - started, "events": float(events)})
        return
    with tempfile.TemporaryDirectory(prefix="cortex-subjects-") as folder:
        report(_recorded(name, events, Path(folder)))


def _recorded(name: str, events: int, folder: Path) -> Figures:
    keys, stored = SubjectKeys(folder / "subjects"), EventLog.open(folder / "log.db")
    log = PersonalLog(stored, keys)
    port = None if name == "plain" else HubSubjects(keys, log, VOCABULARY)
    hub = Hub(stored if port is None else log, VOCABULARY, system_entropy, subjects=port)
    with closing(stored), closing(LocalHub(hub, SystemClock())) as local:
        client = Client("bench", local, log, VOCABULARY)
        subject = "somebody" if name.endswith("subject") else ""
        client.publish(ExecutionRequest(execution_id=EVENT.execution_id, subject=subject))
        batch = [Draft.of(EVENT)] * BATCH
        started = time.perf_counter()
        for _ in range(events // BATCH):
            client.publish_drafts(batch)
        took_s = time.perf_counter() - started
        size_bytes = float((folder / "log.db-wal").stat().st_size)
        if name.startswith("read"):
            started, after = time.perf_counter(), 0
            while page := log.read(after, PAGE, PAGE_BYTES):
                after = [decode(data) for data in page][-1].position
            took_s = time.perf_counter() - started
    return {"took_s": took_s, "events": float(events), "bytes": size_bytes}


def runs_of(events: int) -> dict[str, Run]:
    """What is measured in turn."""
    call = partial(run, sys.executable, __file__)
    return {name: partial(call, name, str(events)) for name in NAMES}


def main() -> None:
    """Measure, keep the table."""
    parser = arguments(__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    given = parser.parse_args()
    found = in_turn(given.rounds, runs_of(given.events))
    keep(lines(given.rounds, found), RESULT)


def lines(rounds: int, found: dict[str, Figures]) -> Iterator[str]:
    """The table."""
    yield heading(rounds)
    for name in NAMES:
        each = found[name]
        each_s = each["took_s"] / each["events"]
        yield f"{name:14} {1 / each_s:>10,.0f} events/s, {each_s * 1e6:.1f} us/event"
    plain, subject = found["plain"], found["subject"]
    yield f"unused {plain['took_s'] / found['unused']['took_s']:.2f} times the speed of plain"
    yield f"subject {plain['took_s'] / subject['took_s']:.2f} times the speed of plain"
    yield f"subject {subject['bytes'] / plain['bytes']:.2f} times the bytes of plain"


def quick() -> Ratios:
    """Publishing and reading, each to the same without a subject."""
    runs = runs_of(QUICK)

    def speed(name: str) -> float:
        return float(1 / runs[name]()["took_s"])

    pairs = {"publish": ("subject", "plain"), "unused": ("unused", "plain")}
    pairs["read"] = ("read subject", "read")
    return {
        name: ratio(partial(speed, ours), partial(speed, bare))
        for name, (ours, bare) in pairs.items()
    }


if __name__ == "__main__":
    quickly(quick)
    if " ".join(sys.argv[1:2]) in NAMES:
        measured(sys.argv[1], int(sys.argv[2]))
    else:
        main()
